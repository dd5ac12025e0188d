"""The pages in the browser: controls change the address only, and the address alone determines what is shown."""

# pyright: reportArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnusedFunction=false
# (Dash declares its components and callbacks without types)
from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from dash import ALL, Dash, Input, Output, State, dcc, html, no_update
from dash.exceptions import PreventUpdate

from polarbear.web.address import Address
from polarbear.web.components import AS_USUAL, FAULTS, header, main, message, sidebar
from polarbear.web.kind import LOOKS, NONE, SCALES, Opened
from polarbear.web.sending import answer_sending, drop_zone
from polarbear.web.settings_page import answer_settings, settings_page
from polarbear.web.sources import Sources
from polarbear.web.uploads import Uploads
from polarbear.web.views import View
from polarbear.web.waiting import answer_waiting, waiting
from polarbear.web.work import Job, Work

_REFRESH = 3_000
"""Interval, in milliseconds, at which the studies of running races are checked for changes on disk."""
PATIENCE = 0.7
"""Seconds after which unfinished work is shown as being in progress."""


def make_app(sources: Sources, uploads: Uploads, *, patience: float | None = PATIENCE) -> Dash:
    """The application that shows these studies.

    Args:
        sources: Studies to show.
        uploads: Store of the files that visitors send.
        patience: Seconds after which unfinished work is shown as being in progress; None always waits for it.
    """
    work = Work()
    assets = str(Path(__file__).parent / "assets")
    app = Dash("polarbear", assets_folder=assets, serve_locally=True, title="polarbear analyzer", update_title="")
    app.config.suppress_callback_exceptions = True
    app.index_string = app.index_string.replace("<html>", '<html lang="en">')
    app.layout = html.Div(
        [
            dcc.Location(id="address", refresh="callback-nav"),
            dcc.Interval(id="tick", interval=_REFRESH),
            dcc.Store(id="seen"),
            html.Div(id="page"),
        ]
    )
    _answer_addresses(app, sources, work, patience)
    _answer_controls(app, sources)
    answer_sending(app, uploads, work)
    answer_settings(app, sources)
    return app


def _answer_addresses(app: Dash, sources: Sources, work: Work, patience: float | None) -> None:
    """Show the page of an address, and show it again when its study has changed."""

    def begun(path: str, search: str, now: str) -> Any:
        """The page if it is ready soon, else the progress of the work on it."""
        try:
            job = work.begin(lambda: _page(path, search, sources))
        except FAULTS as fault:
            return _lost(fault), now
        return (_made(job, work) if job.wait(patience) else waiting(job, "page")), now

    @app.callback(
        Output("page", "children"),
        Output("seen", "data"),
        Input("address", "pathname"),
        Input("address", "search"),
    )
    def show(path: str, search: str) -> Any:
        return begun(path, search, _seen(path, search, sources))

    @app.callback(
        Output("page", "children", allow_duplicate=True),
        Output("seen", "data", allow_duplicate=True),
        Input("tick", "n_intervals"),
        State("address", "pathname"),
        State("address", "search"),
        State("seen", "data"),
        prevent_initial_call=True,
    )
    def follow(_: int, path: str, search: str, before: str | None) -> Any:
        now = _seen(path, search, sources)
        if now in ("", before):
            raise PreventUpdate
        return begun(path, search, now)

    page = Output("page", "children", allow_duplicate=True)
    answer_waiting(app, work, "page", page, lambda job: _made(job, work))


def _answer_controls(app: Dash, sources: Sources) -> None:
    """Go to the address that the controls describe."""

    @app.callback(
        Output("address", "href"),
        Input({"type": "control", "name": ALL}, "value"),
        State({"type": "control", "name": ALL}, "id"),
        State("address", "pathname"),
        State("address", "search"),
        prevent_initial_call=True,
    )
    def change(values: list[Any], ids: list[dict[str, str]], path: str, search: str) -> Any:
        try:
            address = _address(path, search, sources)
        except FAULTS:  # the page itself reports what is wrong with its address
            return no_update
        given = {each["name"]: value for each, value in zip(ids, values, strict=True)}
        changed = _changed(address, given, sources)
        if changed is None:
            return no_update
        return changed.of_settings if _is_settings(path) else changed.url


def _page(path: str, search: str, sources: Sources) -> Any:
    """The page of an address."""
    try:
        address = _address(path, search, sources)
    except FAULTS as fault:
        return _lost(fault)
    if _is_settings(path):
        return settings_page(address, sources)
    body = html.Div([_side(address, sources), main(address, sources)], className="body")
    return html.Div([header(address, sources), body], className="shell dark" if address.dark else "shell")


def _made(job: Job, work: Work) -> Any:
    """The page made by a job, or the reason why there is none."""
    work.forget(job)
    try:
        return _lost("This was cancelled. Reload the page to start again.") if job.cancelled else job.result
    except RuntimeError as fault:
        return _lost(fault)


def _address(path: str | None, search: str | None, sources: Sources) -> Address:
    """The address that a browser's address means; for the settings page, that of the first page with these settings."""
    return Address.of("/" if _is_settings(path) else path or "/", search or "", sources.names)


def _is_settings(path: str | None) -> bool:
    return (path or "").strip("/") == "settings"


def _changed(address: Address, given: dict[str, Any], sources: Sources) -> Address | None:
    """The address after controls have changed; None if it is the same."""
    view = address.view
    params = {name: list(of.names(view.params[name])) for name, of in _several(view) if name in view.params}
    shown = {**_defaults(address, sources), **view.params, **params, **view.scales, **address.look, "study": view.study}
    news = {name: _text(value) for name, value in given.items() if _text(value) != _text(shown.get(name, ""))}
    if not news:
        return None
    if "study" in news:
        view = replace(view, study=news["study"], params={})
    else:
        params = {name: text for name, text in news.items() if name not in (*LOOKS, *SCALES)}
        scales = {**view.scales, **{name: text for name, text in news.items() if name in SCALES}}
        scales = {name: text for name, text in scales.items() if text}
        view = replace(view, params={**view.params, **params}, scales=scales)
    look = {**address.look, **{name: text for name, text in news.items() if name in LOOKS}}
    return Address(address.page, view, {name: text for name, text in look.items() if text})


def _several(view: View) -> Iterator[tuple[str, Opened]]:
    """The parameters that take any number of names."""
    controls = view.of_kind.controls.items()
    return ((name, of) for name, of in controls if isinstance(of, Opened) and of.several)


def _defaults(address: Address, sources: Sources) -> dict[str, str]:
    """The values of controls before anything is chosen."""
    kind = address.view.of_kind
    try:
        source = address.view.source(sources)
        return {
            name: ("" if control.several else NONE)
            if isinstance(control, Opened)
            else str(control.convert(None, source))
            for name, control in kind.controls.items()
        }
    except FAULTS:
        return {}


def _text(value: Any) -> str:
    """The value of a control as text in an address; numbers in a canonical form, several names as JSON."""
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False) if value else ""
    text = "" if value in (None, AS_USUAL) else str(value)
    try:
        return f"{float(text):.15g}"
    except ValueError:
        return text


def _seen(path: str, search: str, sources: Sources) -> str:
    """Time of the last change of an address's study, as text, since browsers cannot represent nanoseconds exactly."""
    try:
        view = _address(path, search, sources).view
        return str(sources.stamp(view.study, *view.settings.beside))
    except FAULTS:
        return ""


def _lost(why: object) -> Any:
    """A page that reports an error."""
    back = html.Header([html.Div("polarbear", className="brand"), html.Nav([dcc.Link("Overview", href="/")])])
    return html.Div([back, message(why)], className="shell")


def _side(address: Address, sources: Sources) -> Any:
    """The sidebar; on the overview also a drop zone for files, and a link to save a study imported here."""
    side, study = sidebar(address, sources), address.view.study
    if address.page == "overview":
        side.children = [*side.children, drop_zone()]
        if study and study not in sources.names:
            saved = html.A("Save this study", href=f"/study.zip?{urlencode({'study': study})}", download=True)
            side.children.append(html.P(saved, className="downloads"))
    return side
