"""The pages in the browser: what a control changes is the address, and what is shown follows from the address alone."""

# pyright: reportArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnusedFunction=false
# (dash declares its components and callbacks without types)
from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from dash import ALL, Dash, Input, Output, State, dcc, html, no_update
from dash.exceptions import PreventUpdate

from polarbear.quantities import plural
from polarbear.store import Imported
from polarbear.web.address import LOOKS, Address
from polarbear.web.components import FAULTS, header, main, message, sidebar
from polarbear.web.settings_page import answer_settings, settings_page
from polarbear.web.sources import Sources
from polarbear.web.uploads import LARGEST, Uploads

_REFRESH = 3_000
"""Milliseconds between looks at the disk, for a race that is running."""
_MOMENT = 700
"""Milliseconds after which work that is not done is shown to be under way."""
_WAITING = "Reading the data and computing what is to be shown …"
_NAMED = 20
"""Problems of an import that are listed."""


def make_app(sources: Sources, uploads: Uploads) -> Dash:
    """The application that shows these studies."""
    assets = str(Path(__file__).parent / "assets")
    app = Dash("polarbear", assets_folder=assets, serve_locally=True, title="polarbear analyzer", update_title="")
    app.config.suppress_callback_exceptions = True
    app.layout = html.Div(
        [
            dcc.Location(id="address", refresh="callback-nav"),
            dcc.Interval(id="tick", interval=_REFRESH),
            dcc.Store(id="seen"),
            dcc.Loading(html.Div(id="page"), delay_show=_MOMENT, custom_spinner=html.P(_WAITING, className="waiting")),
        ],
        lang="en",
    )

    def page(path: str, search: str) -> tuple[Any, str]:
        settings = _is_settings(path)
        try:
            address = Address.of("/" if settings else path or "/", search or "", sources.names)
        except FAULTS as fault:
            return html.Div([_lost(), message(fault)], className="shell"), ""
        if settings:
            return settings_page(address, sources), _seen(address, sources)
        body = html.Div([_side(address, sources), main(address, sources)], className="body")
        look = "shell dark" if address.dark else "shell"
        return html.Div([header(address, sources), body], className=look), _seen(address, sources)

    @app.callback(
        Output("page", "children"),
        Output("seen", "data"),
        Input("address", "pathname"),
        Input("address", "search"),
    )
    def show(path: str, search: str) -> tuple[Any, str]:
        return page(path, search)

    @app.callback(
        Output("page", "children", allow_duplicate=True),
        Output("seen", "data", allow_duplicate=True),
        Input("tick", "n_intervals"),
        State("address", "pathname"),
        State("address", "search"),
        State("seen", "data"),
        prevent_initial_call=True,
    )
    def follow(_: int, path: str, search: str, seen: str | None) -> Any:
        try:
            address = Address.of("/" if _is_settings(path) else path or "/", search or "", sources.names)
        except FAULTS as fault:
            raise PreventUpdate from fault
        if _seen(address, sources) == seen:
            raise PreventUpdate
        return page(path, search)

    @app.callback(
        Output("address", "href"),
        Input({"type": "control", "name": ALL}, "value"),
        State({"type": "control", "name": ALL}, "id"),
        State("address", "pathname"),
        State("address", "search"),
        prevent_initial_call=True,
    )
    def change(values: list[Any], ids: list[dict[str, str]], path: str, search: str) -> Any:
        settings = _is_settings(path)
        try:
            address = Address.of("/" if settings else path or "/", search or "", sources.names)
        except FAULTS:  # the page says what is wrong with its address
            return no_update
        given = {each["name"]: value for each, value in zip(ids, values, strict=True)}
        changed = _changed(address, given, sources)
        if changed is None:
            return no_update
        return changed.of_settings if settings else changed.url

    @app.callback(
        Output("uploaded", "children"),
        Input("upload", "contents"),
        State("upload", "filename"),
        prevent_initial_call=True,
    )
    def upload(content: str | None, name: str | None) -> Any:
        if content is None:
            return no_update
        try:
            study, imported = uploads.take(name or "data", content)
        except FAULTS as fault:
            return message(fault)
        return _imported(study, imported)

    answer_settings(app, sources)
    return app


def _is_settings(path: str | None) -> bool:
    return (path or "").strip("/") == "settings"


def _changed(address: Address, given: dict[str, Any], sources: Sources) -> Address | None:
    """The address after controls have changed; None if they say what it says."""
    shown = {**_defaults(address, sources), **address.view.params, **address.look, "study": address.view.study}
    news = {name: _text(value) for name, value in given.items() if _text(value) != _text(shown.get(name, ""))}
    if not news:
        return None
    look = {**address.look, **{name: text for name, text in news.items() if name in LOOKS}}
    params = {**address.view.params, **{name: text for name, text in news.items() if name not in (*LOOKS, "study")}}
    view = replace(address.view, study=news.get("study", address.view.study), params={} if "study" in news else params)
    return Address(address.page, view, {name: text for name, text in look.items() if text})


def _defaults(address: Address, sources: Sources) -> dict[str, str]:
    """What controls stand at before anything is chosen."""
    kind = address.view.of_kind
    try:
        source = address.view.source(sources)
        return {name: str(control.convert(None, source)) for name, control in kind.controls.items()}
    except FAULTS:
        return {}


def _text(value: Any) -> str:
    """A control's value in an address; numbers alike however they are written."""
    text = "" if value in (None, "as usual") else str(value)
    try:
        return f"{float(text):.15g}"
    except ValueError:
        return text


def _seen(address: Address, sources: Sources) -> str:
    """When the study was changed last; as text, since nanoseconds are more than browsers count."""
    try:
        return str(sources.stamp(address.view.study))
    except FAULTS:
        return ""


def _lost() -> Any:
    return html.Header([html.Div("polarbear", className="brand"), html.Nav([dcc.Link("Overview", href="/")])])


def _side(address: Address, sources: Sources) -> Any:
    """The sidebar; on the first page with a place to drop files on."""
    side = sidebar(address, sources)
    if address.page == "overview":
        drop = dcc.Upload(
            html.Button("Drop a file here, or choose one", className="upload"), id="upload", max_size=LARGEST
        )
        side.children = [*side.children, drop, dcc.Loading(html.Div(id="uploaded"))]
    return side


def _imported(study: str, imported: Imported) -> Any:
    problems = [html.Li(str(each)) for each in imported.skipped[:_NAMED]]
    more = len(imported.skipped) - len(problems)
    found = f"{plural(imported.added, 'run')} of {', '.join(imported.algorithms)}"
    return html.Div(
        [
            html.P([f"{found}. ", dcc.Link("Look at them", href=f"/overview/loaded?study={study}", id="look")]),
            html.Ul([*problems, *([html.Li(f"and {more} more")] if more else [])]),
        ],
        role="status",
    )
