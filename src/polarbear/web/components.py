"""Components of pages."""

# pyright: reportArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (Dash declares its components without types)
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast, get_args

from dash import dcc, html

from polarbear.assess.report.data import Data, shown
from polarbear.extras import ExtraMissing
from polarbear.figures import Figure
from polarbear.figures.panels import Scale
from polarbear.store import StudyError
from polarbear.web.address import Address
from polarbear.web.kind import NONE, PAGES, SCALES, Choice, Control, Number, Opened
from polarbear.web.pages import views_of
from polarbear.web.sources import Sources

FAULTS = (ValueError, OSError, StudyError, ExtraMissing)
"""Errors whose message is shown in place of what was requested."""
FORMATS = ("svg", "pdf", "png", "eps")


class TableFormat(NamedTuple):
    """A format of tables: its name and media type."""

    name: str
    media: str


TABLES = {
    "csv": TableFormat("CSV", "text/csv; charset=utf-8"),
    "json": TableFormat("JSON", "application/json"),
    "tex": TableFormat("LaTeX", "application/x-tex; charset=utf-8"),
    "md": TableFormat("Markdown", "text/markdown; charset=utf-8"),
}
"""Formats of tables by suffix."""
AS_USUAL = "as usual"
"""Choice of an axis's own scale."""
MOST_ROWS = 100
"""Maximum number of rows of a table on a page."""


def written(data: Data, ending: str, digits: int) -> str:
    """A table in one of the formats; in LaTeX and Markdown, which people read, numbers have this many digits."""
    if ending in ("tex", "md"):
        return (data.latex if ending == "tex" else data.markdown)(digits=digits)
    return data.csv() if ending == "csv" else data.json()


def message(text: object) -> Any:
    """A message about what is wrong, and what to do."""
    return html.Div(str(text), className="caution", role="alert", id="message")


def header(address: Address, sources: Sources, current: str = "") -> Any:
    """Links to the pages, and the choice of the study."""
    current = current or address.page
    links = [
        dcc.Link(page.title, href=address.on(name, views_of(name)[0].name), className=_current(name == current))
        for name, page in PAGES.items()
    ]
    studies = list(dict.fromkeys((*sources.names, address.view.study, *sources.beside(address.view.study))))
    settings = dcc.Link("Settings", href=address.of_settings, className=_current(current == "settings"))
    theme = dcc.Link("Light" if address.dark else "Dark", href=address.with_look(theme="" if address.dark else "dark"))
    return html.Header(
        [
            html.Div(["polarbear", html.Span(" analyzer")], className="brand"),
            html.Nav(links, **{"aria-label": "Pages"}),
            html.Div(
                [
                    labelled("study", _select("study", [name for name in studies if name], address.view.study)),
                    settings,
                    theme,
                ],
                className="right",
            ),
        ]
    )


def _current(yes: bool) -> str:
    return "current" if yes else ""


def labelled(label: str, control: Any) -> Any:
    """A control with its label; dropdowns only announce their value, so the label is that of a group around them."""
    if isinstance(control, dcc.Dropdown):
        named = {"role": "group", "aria-label": label}
        return html.Div([html.Span(label), control], className="control", **named)
    return html.Label([html.Span(label), control], className="control")


def _select(name: str, options: Iterable[str], value: str) -> Any:
    return dcc.Dropdown(
        list(options), value, id={"type": "control", "name": name}, clearable=False, className="select", maxHeight=320
    )


def _typed(name: str, value: object, *, number: bool = False) -> Any:
    kind = "number" if number else "text"
    given = {"step": "any"} if number else {}
    return dcc.Input(value=value, type=kind, debounce=True, id={"type": "control", "name": name}, **given)


def sidebar(address: Address, sources: Sources) -> Any:
    """The views of a page, and the parameters of the current one."""
    views = [
        html.Li(dcc.Link(k.title, href=address.on(k.page, k.name), className=_current(k.name == address.view.kind)))
        for k in views_of(address.page)
    ]
    return html.Aside(
        [
            html.P(PAGES[address.page].purpose, className="note"),
            html.Nav(html.Ul(views), **{"aria-label": "Views"}),
            html.Div(_controls(address, sources), className="controls"),
        ]
    )


def _controls(address: Address, sources: Sources) -> list[Any]:
    kind = address.view.of_kind
    try:
        source, given = address.view.source(sources), address.view.params
        return [_control(name, of, given.get(name), source, sources) for name, of in kind.controls.items()]
    except FAULTS:  # the message is shown in the main part of the page
        return []


def _control(name: str, control: Control, given: str | None, source: Any, sources: Sources) -> Any:
    if isinstance(control, Opened) and control.several:
        chosen = list(control.names(given))
        every = list(dict.fromkeys((*sources.names, *chosen)))
        drawn = dcc.Dropdown(every, chosen, id={"type": "control", "name": name}, multi=True, maxHeight=320)
    elif isinstance(control, Opened):
        drawn = _select(name, (NONE, *sources.names), given or NONE)
    elif isinstance(control, Choice):
        known = list(control.choices(source))
        drawn = _select(name, known, given if given is not None else next(iter(known), ""))
    elif isinstance(control, Number) and control.slider:
        value = control.convert(given, source)
        ends = {control.low: f"{control.low:g}", control.high: f"{control.high:g}"}
        drawn = dcc.Slider(
            control.low, control.high, value=value, marks=ends, id={"type": "control", "name": name}, className="slider"
        )
    else:
        value = control.default if given is None else given
        drawn = _typed(name, value, number=isinstance(control, Number))
    return labelled(control.label, drawn)


def main(address: Address, sources: Sources) -> Any:
    """The contents of a view with its data, files and code, or an error message."""
    view = address.view
    kind = view.of_kind
    heading = [html.H1(kind.title), html.P(kind.summary, className="note")]
    try:
        made = view.show(sources)
        code = view.code(sources, made)
        body = [
            *([html.Pre(made.text, className="answer", id="answer")] if made.text else []),
            *(_figure(made.figure, address) if made.figure else []),
            *(_table(made.data, address, made.opens, folded=made.figure is not None)),
            _code(code),
        ]
    except FAULTS as fault:
        body = [message(fault)]
    return html.Main([*heading, *body], id="main")


def _figure(figure: Figure, address: Address) -> list[Any]:
    switches = [
        labelled(
            f"{which} axis", _select(which, (AS_USUAL, *get_args(Scale)), address.view.scales.get(which, AS_USUAL))
        )
        for which in SCALES
        if figure.is_switchable(which)
    ]
    graph = dcc.Graph(
        figure=address.drawn(figure),
        config={"displaylogo": False, "responsive": True, "modeBarButtonsToRemove": ["toImage", "select2d", "lasso2d"]},
        id="figure",
        className="graph",
    )
    caption = html.Figcaption([html.B(f"{figure.title}. "), figure.caption])
    files = [html.A(ending.upper(), href=address.file(ending), download=True) for ending in FORMATS]
    return [
        html.Div(switches, className="controls across"),
        html.Figure([html.Div(graph, role="img", **{"aria-label": figure.alt}), caption], id="exhibit"),
        html.P(["Figure: ", *files], className="downloads"),
    ]


def _table(data: Data, address: Address, opens: str, *, folded: bool) -> list[Any]:
    rows, digits = _chosen(data, address), address.view.settings.digits
    head = html.Thead(html.Tr([_head(name, address) for name in data.columns]))
    drawn = [[_cell(cell, digits) for cell in row] for row in rows[:MOST_ROWS]]
    if opens:
        at = data.columns.index(opens)
        for cells, row in zip(drawn, rows, strict=False):
            cells[at] = html.Td(dcc.Link(str(row[at]), href=address.opening(str(row[at]))), className="text")
    body = html.Tbody([html.Tr(cells) for cells in drawn])
    more = f"The first {MOST_ROWS} of {len(rows):,} rows; the files have all of them." if len(rows) > MOST_ROWS else ""
    table = [
        labelled("show rows containing", _typed("find", address.look.get("find", ""))),
        html.Div(html.Table([head, body], id="table"), className="scroll", tabIndex="0"),
        html.P(more, className="note"),
    ]
    files = [html.A(form.name, href=address.file(ending), download=True) for ending, form in TABLES.items()]
    content = [html.Details([html.Summary("Data as a table"), *table], id="data")] if folded else table
    return [*content, html.P(["Data: ", *files], className="downloads")]


def _head(name: str, address: Address) -> Any:
    """The heading of a column, which sorts by the column."""
    by = address.look.get("sort", "")
    arrow, order = {name: (" ↑", "ascending"), f"-{name}": (" ↓", "descending")}.get(by, ("", "none"))
    link = dcc.Link(name.replace("_", " ") + arrow, href=address.with_look(sort=f"-{name}" if by == name else name))
    return html.Th(link, scope="col", **{"aria-sort": order})


def _chosen(data: Data, address: Address) -> Sequence[tuple[Any, ...]]:
    """The rows that contain the search text, sorted: numbers before text, unknown values last."""
    rows = data.rows
    if words := address.look.get("find", "").lower():
        rows = [row for row in rows if any(words in str(cell).lower() for cell in row)]
    by = address.look.get("sort", "")
    if by.removeprefix("-") in data.columns:
        at = data.columns.index(by.removeprefix("-"))
        known = [row for row in rows if row[at] is not None]
        known.sort(key=lambda row: _order(row[at]), reverse=by.startswith("-"))
        return [*known, *(row for row in rows if row[at] is None)]
    return rows


def _order(cell: Any) -> tuple[bool, float, str]:
    number = isinstance(cell, int | float) or cell in ("inf", "-inf")
    return not number, float(cell) if number else 0.0, "" if number else cast(str, cell)


def _cell(cell: Any, digits: int) -> Any:
    if isinstance(cell, str) and cell.startswith("/") and cell[1:].partition("/")[0] in PAGES:
        return html.Td(dcc.Link("open", href=cell), className="text")
    return html.Td(shown(cell, digits), className="text" if isinstance(cell, str) and cell != "inf" else "")


def _code(code: str) -> Any:
    return html.Details(
        [
            html.Summary("Python code for this"),
            dcc.Clipboard(target_id="code", title="copy", className="copy"),
            html.Pre(code, id="code"),
        ]
    )
