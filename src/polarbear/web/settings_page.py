"""The settings page: each control changes the address, which contains all settings."""

# pyright: reportArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnusedFunction=false
# (Dash declares its components and callbacks without types)
from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dash import ALL, Dash, Input, Output, State, dcc, html, no_update

from polarbear.figures.layout import LEGENDS
from polarbear.figures.style import Look, drawn_as, looks
from polarbear.web.address import Address
from polarbear.web.components import FAULTS, header, labelled, message
from polarbear.web.identity import attributes
from polarbear.web.settings import LARGEST, LISTED, MARKER_NAMES, MARKERS, PRESETS, Settings
from polarbear.web.sources import Sources


def settings_page(address: Address, sources: Sources) -> Any:
    """The page with the settings of an address."""
    settings = address.view.settings
    body = [
        html.H1("Settings"),
        html.P("They are part of the address: they are shared with it, and affect no other visitor.", className="note"),
        _files(address),
        html.Div(id="settings-said"),
        html.H2("Figures and tables"),
        html.Div(_numbers(settings), className="controls across"),
        html.Div(_layout(settings), className="controls across"),
        html.H2("What is shown"),
        html.Div(_chosen(address, sources), className="controls across"),
        html.H2("What defines an algorithm"),
        _identity(address, sources),
        html.H2("Colours and markers"),
        _colors(address, sources),
        html.H2("Names of functions in figures"),
        _function_names(address, sources),
    ]
    links = [
        dcc.Link("Back to the overview", href=address.url),
        dcc.Link("Reset to defaults", href=_usual(address).of_settings),
    ]
    side = html.Aside([html.P("Settings of all pages.", className="note"), html.Ul([html.Li(link) for link in links])])
    main = html.Main(body, id="main")
    page = [header(address, sources, current="settings"), html.Div([side, main], className="body")]
    return html.Div(page, className="shell dark" if address.dark else "shell")


def _usual(address: Address) -> Address:
    return replace(address, view=replace(address.view, settings=Settings()))


def _files(address: Address) -> Any:
    query = address.url.partition("?")[2]
    load = dcc.Upload(
        html.Button("Load settings (JSON), or colours (CSV: algorithm, color, marker)", className="upload"),
        id="settings-file",
        max_size=LARGEST,
    )
    save = [
        html.A("settings.json", href=f"/settings.json?{query}", download=True),
        html.A("colors.csv", href=f"/colors.csv?{query}", download=True),
    ]
    return html.Div([load, html.P(["Save: ", *save], className="downloads")])


def _setting(name: str) -> dict[str, str]:
    return {"type": "setting", "name": name}


def _numbers(settings: Settings) -> list[Any]:
    quantiles = ", ".join(map(repr, settings.quantiles))
    typed = {"type": "text", "debounce": True}
    given = (
        (
            "size of figures in files",
            dcc.Dropdown(list(PRESETS), settings.preset, id=_setting("preset"), clearable=False),
        ),
        ("digits in tables", dcc.Input(value=str(settings.digits), id=_setting("digits"), **typed)),
        ("quantiles in tables", dcc.Input(value=quantiles, id=_setting("quantiles"), **typed)),
    )
    controls = [labelled(label, control) for label, control in given]
    controls[-1].className = "control wide"
    return controls


def _layout(settings: Settings) -> list[Any]:
    typed = {"type": "text", "debounce": True}
    paper, (across, down) = dict.fromkeys(settings.paper), settings.margins
    given = (
        ("background (one colour, or figure, panels)", ", ".join(paper), "paper"),
        ("width of lines (points)", f"{settings.line_width:g}", "line_width"),
        ("margins (inches across, down)", f"{across:g}, {down:g}", "margins"),
    )
    legend = dcc.Dropdown(list(LEGENDS), settings.legend, id=_setting("legend"), clearable=False, className="select")
    controls = [labelled(label, dcc.Input(value=value, id=_setting(name), **typed)) for label, value, name in given]
    return [*controls, labelled("legend", legend)]


def _chosen(address: Address, sources: Sources) -> list[Any]:
    """Controls for further studies to consider and for algorithms, as far as the study can be read."""
    settings, study = address.view.settings, address.view.study
    others = [name for name in sources.names if name != study]
    try:
        known = algorithms(address, sources)
    except FAULTS:  # the table of colours shows the reason
        known = ()
    given = (
        ("together with", others, settings.beside, "beside"),
        ("algorithms (none: all)", known, settings.only, "only"),
    )
    controls: list[Any] = []
    for label, options, chosen, name in given:
        every = list(dict.fromkeys((*options, *chosen)))
        controls.append(labelled(label, dcc.Dropdown(every, list(chosen), id=_setting(name), multi=True)))
        controls[-1].className = "control wide"
    return controls


def _identity(address: Address, sources: Sources) -> Any:
    chosen = address.view.settings.identity
    try:
        known = attributes(sources.get(address.view.study, "Reading").runs)
    except FAULTS as fault:
        return message(fault)
    options = list(dict.fromkeys((*known, *chosen)))
    note = "Runs that agree in all of these belong to one algorithm, on pages with statistics of runs."
    boxes = dcc.Checklist(options, list(chosen), id=_setting("identity"), inline=True, className="boxes")
    return html.Div([html.P(note, className="note"), boxes], role="group", **{"aria-label": "identity"})


def _colors(address: Address, sources: Sources) -> Any:
    settings = address.view.settings
    try:
        names = algorithms(address, sources)
    except FAULTS as fault:
        return message(fault)
    with drawn_as(settings.colors):
        drawn = looks(names)
    head = html.Thead(html.Tr([html.Th(text, scope="col") for text in ("", "algorithm", "colour", "marker")]))
    body = html.Tbody([html.Tr(_look_cells(name, look)) for name, look in drawn.items()])
    return html.Table([head, body], id="looks")


def _look_cells(name: str, look: Look) -> list[Any]:
    color = {"type": "color", "name": name}
    marker = {"type": "marker", "name": name}
    swatch = html.Span("■", style={"color": look.color, "fontSize": "1.3rem"}, **{"aria-hidden": "true"})
    typed = dcc.Input(value=look.color, id=color, type="text", debounce=True)
    chosen = dcc.Dropdown(list(MARKERS), MARKER_NAMES[look.marker], id=marker, clearable=False, className="select")
    controls = [labelled(f"colour of {name}", typed), labelled(f"marker of {name}", chosen)]
    for each in controls:
        each.children[0].className = "unseen"
    return [html.Td(each, className="text") for each in (swatch, name, *controls)]


def _function_names(address: Address, sources: Sources) -> Any:
    """A table of the study's functions with their display names."""
    try:
        cells = sources.get(address.view.study, "Assessment", **address.view.settings.every_run).subject.cells
    except FAULTS as fault:
        return message(fault)
    known = dict.fromkeys(f"{cell.suite} {cell.label}".strip() for cell in cells)
    head = html.Thead(html.Tr([html.Th(text, scope="col") for text in ("function", "shown as (empty: unchanged)")]))
    rows: list[Any] = []
    for name in known:
        value = address.view.settings.function_names.get(name, "")
        typed = labelled(f"name of {name}", dcc.Input(value=value, id=_function(name), type="text", debounce=True))
        typed.children[0].className = "unseen"
        rows.append(html.Tr([html.Td(each, className="text") for each in (name, typed)]))
    return html.Table([head, html.Tbody(rows)], id="function-names")


def _function(name: str) -> dict[str, str]:
    return {"type": "function", "name": name}


def algorithms(address: Address, sources: Sources) -> Sequence[str]:
    """The algorithms of the study under the names that pages use, whether or not they are considered."""
    return sources.get(address.view.study, "Assessment", **address.view.settings.every_run).subject.algorithms


def answer_settings(app: Dash, sources: Sources) -> None:
    """Change the address when a control of the page changes, or a file is loaded."""

    def address_of(path: str, search: str) -> Address | None:
        return Address.of("/", search or "", sources.names) if path.strip("/") == "settings" else None

    @app.callback(
        Output("address", "href", allow_duplicate=True),
        Output("settings-said", "children"),
        Input({"type": "setting", "name": ALL}, "value"),
        Input({"type": "color", "name": ALL}, "value"),
        Input({"type": "marker", "name": ALL}, "value"),
        Input({"type": "function", "name": ALL}, "value"),
        State({"type": "setting", "name": ALL}, "id"),
        State({"type": "color", "name": ALL}, "id"),
        State({"type": "function", "name": ALL}, "id"),
        State("address", "pathname"),
        State("address", "search"),
        prevent_initial_call=True,
    )
    def change(
        values: Any, colors: Any, markers: Any, shown: Any, ids: Any, names: Any, functions: Any, path: str, search: str
    ) -> Any:
        try:
            address = address_of(path, search)
            if address is None:
                return no_update, no_update
            given = {each["name"]: value for each, value in zip(ids, values, strict=True)}
            drawn = {each["name"]: (*look,) for each, *look in zip(names, colors, markers, strict=True)}
            named = {each["name"]: (name or "").strip() for each, name in zip(functions, shown, strict=True)}
            news = _changed(address.view.settings, given, drawn, named)
        except FAULTS as fault:
            return no_update, message(fault)
        return _moved(address, news), []

    @app.callback(
        Output("address", "href", allow_duplicate=True),
        Output("settings-said", "children", allow_duplicate=True),
        Input("settings-file", "contents"),
        State("address", "pathname"),
        State("address", "search"),
        prevent_initial_call=True,
    )
    def load(content: str | None, path: str, search: str) -> Any:
        try:
            address = address_of(path, search)
            if address is None or content is None:
                return no_update, no_update
            text = base64.b64decode(content.partition(",")[2], validate=True).decode("utf-8-sig")
            news = Settings.read(text, address.view.settings)
        except (binascii.Error, UnicodeDecodeError):
            return no_update, message("the file is not text in UTF-8; settings are JSON, colours are CSV")
        except FAULTS as fault:
            return no_update, message(fault)
        return _moved(address, news), html.P("Loaded.", role="status")


def _moved(address: Address, settings: Settings) -> Any:
    if settings == address.view.settings:
        return no_update
    return replace(address, view=replace(address.view, settings=settings)).of_settings


def _changed(
    settings: Settings,
    given: Mapping[str, Any],
    drawn: Mapping[str, tuple[str, str]],
    named: Mapping[str, str],
) -> Settings:
    """The settings of the controls; colours and names of other studies' algorithms and functions are kept."""
    query = {**settings.query, **{name: _text(name, value) for name, value in given.items()}}
    usual = {name: (look.color, MARKER_NAMES[look.marker]) for name, look in looks(tuple(drawn)).items()}
    colors: dict[str, Any] = {name: [each.color, MARKER_NAMES[each.marker]] for name, each in settings.colors.items()}
    colors |= {name: list(look) for name, look in drawn.items() if look != usual[name] or name in colors}
    own = {name: look for name, look in colors.items() if tuple(look) != usual.get(name)}
    names = {where: name for where, name in {**settings.function_names, **named}.items() if name}
    mapped = {"colors": own, "function_names": names}
    return Settings.at({**query, **{name: json.dumps(each) if each else "" for name, each in mapped.items()}})


def _text(name: str, value: Any) -> str:
    """The value of a control as a parameter of an address; empty for the default."""
    if not value:
        return ""
    if name in LISTED:
        return json.dumps(value, ensure_ascii=False)
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
