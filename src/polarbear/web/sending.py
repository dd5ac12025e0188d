"""Upload files, name the columns of a CSV file, and see what was imported."""

# pyright: reportArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnusedFunction=false
# (Dash declares its components and callbacks without types)
from __future__ import annotations

from typing import Any

from dash import ALL, Dash, Input, Output, State, dcc, html, no_update

from polarbear.quantities import plural
from polarbear.store import Imported
from polarbear.web.components import FAULTS, labelled, message
from polarbear.web.uploads import LARGEST, NAMED, Parcel, Uploads
from polarbear.web.waiting import answer_waiting, waiting
from polarbear.web.work import Job, Work

_LISTED = 20
"""Maximum number of problems of an import that are listed."""
_WAIT = 0.7
"""Seconds after which an unfinished import is shown as being in progress."""


def drop_zone() -> Any:
    """The drop zone for files, with the outcome of imports below it."""
    drop = dcc.Upload(html.Button("Drop a file here, or choose one", className="upload"), id="upload", max_size=LARGEST)
    example = html.Button("Open example data", id="example", className="button")
    return html.Div([drop, example, html.Div(id="made"), html.Div(id="uploaded")], className="sending")


def answer_sending(app: Dash, uploads: Uploads, work: Work) -> None:
    """Import files sent by visitors, in the background."""

    def begun(parcel: Parcel, *args: Any, **kwargs: Any) -> Any:
        job = work.begin(lambda: _taken(uploads, parcel, *args, **kwargs))
        return _done(job, work) if job.wait(_WAIT) else waiting(job, "upload")

    @app.callback(
        Output("uploaded", "children"),
        Input("upload", "contents"),
        State("upload", "filename"),
        prevent_initial_call=True,
    )
    def receive(content: str | None, name: str | None) -> Any:
        if content is None:
            return no_update
        try:
            parcel = uploads.receive(name or "data", content)
            return begun(parcel) if parcel.speaks_for_itself else _form(parcel)
        except FAULTS as fault:
            return message(fault)

    @app.callback(
        Output("uploaded", "children", allow_duplicate=True),
        Input("take", "n_clicks"),
        State({"type": "column", "name": ALL}, "value"),
        State({"type": "column", "name": ALL}, "id"),
        State("take-algorithm", "value"),
        State("take-maximize", "value"),
        State("parcel", "data"),
        prevent_initial_call=True,
    )
    def take(clicks: int | None, values: Any, ids: Any, algorithm: str, maximize: Any, parcel: str) -> Any:
        if not clicks:
            return no_update
        try:
            columns = {each["name"]: value or "" for each, value in zip(ids, values, strict=True)}
            return begun(uploads.find(parcel), columns, algorithm=algorithm or "", maximize=bool(maximize))
        except FAULTS as fault:
            return message(fault)

    answer_waiting(
        app, work, "upload", Output("uploaded", "children", allow_duplicate=True), lambda job: _done(job, work)
    )
    _answer_example(app, uploads, work)


def _answer_example(app: Dash, uploads: Uploads, work: Work) -> None:
    """Make the example data on request, and open them."""

    @app.callback(
        Output("made", "children"),
        Input("example", "n_clicks"),
        prevent_initial_call=True,
    )
    def example(clicks: int | None) -> Any:
        if not clicks:
            return no_update
        try:
            job = work.begin(lambda: _opened(uploads))
        except FAULTS as fault:
            return message(fault)
        return _done(job, work) if job.wait(_WAIT) else waiting(job, "made")

    @app.callback(
        Output("address", "href", allow_duplicate=True),
        Input("go", "data"),
        prevent_initial_call="initial_duplicate",
    )
    def go(address: str | None) -> Any:
        return address or no_update

    answer_waiting(app, work, "made", Output("made", "children", allow_duplicate=True), lambda job: _done(job, work))


def _taken(uploads: Uploads, parcel: Parcel, *args: Any, **kwargs: Any) -> Any:
    try:
        return _imported(*uploads.take(parcel, *args, **kwargs))
    except FAULTS as fault:
        return html.Div([message(fault), *([_form(parcel)] if parcel.columns else [])])


def _opened(uploads: Uploads) -> Any:
    """The address of the example, which is opened next."""
    try:
        address = f"/overview/standings?study={uploads.example()}"
    except FAULTS as fault:
        return message(fault)
    return dcc.Store(id="go", data=address)


def _done(job: Job, work: Work) -> Any:
    work.forget(job)
    try:
        return message("This was cancelled.") if job.cancelled else job.result
    except RuntimeError as fault:
        return message(fault)


def _form(parcel: Parcel) -> Any:
    """A form that assigns the columns of a CSV file."""
    guess = parcel.guess
    named = [
        labelled(
            ours,
            dcc.Dropdown(
                list(parcel.columns), guess.get(ours), id={"type": "column", "name": ours}, placeholder="none"
            ),
        )
        for ours in NAMED
    ]
    algorithm = labelled(
        "algorithm, if there is no column for it", dcc.Input(value=parcel.file.stem, id="take-algorithm", type="text")
    )
    return html.Div(
        [
            dcc.Store(id="parcel", data=parcel.id),
            html.P(f"Which column of {parcel.name} holds what?", className="note"),
            html.Pre("\n".join(line[:200] for line in parcel.beginning)),
            *named,
            algorithm,
            dcc.Checklist(["values are to be maximized"], id="take-maximize"),
            html.Button("Import", id="take", className="button"),
        ],
        id="columns",
        role="group",
        **{"aria-label": f"columns of {parcel.name}"},
    )


def _imported(study: str, imported: Imported) -> Any:
    problems = [html.Li(str(each)) for each in imported.skipped[:_LISTED]]
    more = len(imported.skipped) - len(problems)
    summary = f"{plural(imported.added, 'run')} of {', '.join(imported.algorithms)}"
    return html.Div(
        [
            html.P([f"{summary}. ", dcc.Link("Look at them", href=f"/overview/loaded?study={study}", id="look")]),
            html.Ul([*problems, *([html.Li(f"and {more} more")] if more else [])]),
        ],
        role="status",
    )
