"""Tables of expected runtimes as plain text, LaTeX and HTML."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from polarbear.assess.table import RuntimeTable, TableRow
from polarbear.assess.trials import function_label

_LATEX = str.maketrans(
    {sign: rf"\{sign}" for sign in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\^{}", "<": r"\textless{}", ">": r"\textgreater{}"}
    | {"[": "{[}"}  # after the end of a line it would begin an argument
)
_LATEX_SYMBOLS = str.maketrans({"ε": r"$\varepsilon$", "∞": r"$\infty$"})


def caption(table: RuntimeTable) -> str:
    """What the table shows, in words."""
    base = any(block.reference is not None for block in table.blocks)
    shown = "divided by the ERT of the reference algorithm in each first row" if base else "in evaluations"
    tests = "1 test" if table.tests == 1 else f"{table.tests} tests"
    where = f" in dimension {table.dimension}" if table.dimension else ""
    return (
        f"Expected runtimes (ERT) to reach the target {'value' if table.absolute else 'precision'} ε{where}, {shown}. "
        "In parentheses: half the difference between the 10 % and 90 % quantiles of simulated runtimes. "
        f"#succ: runs that reached {shown_target(table, table.final_target)}. After ∞ in the last column: the median "
        "number of evaluations. Star: significantly better than every other algorithm in a two-sided rank-sum test "
        "with p < 0.05, or at most 10^-k if a number k follows the star, after Bonferroni correction for "
        f"{tests}. "
    )


def as_text(table: RuntimeTable) -> str:
    """The table in aligned columns of plain text; best entries are in square brackets."""
    lines = [["ε", *_targets(table), "#succ"]]
    for heading, rows in _blocks(table, _text_cell):
        lines += [heading, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    body = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([*body, "", caption(table) + "In square brackets: best.", ""])


def as_latex(table: RuntimeTable) -> str:
    r"""The table as a LaTeX table with its caption; best entries are bold, evaluations in italics.

    It needs ``\usepackage{booktabs,longtable}``, and breaks across pages with its head repeated.
    """
    lines: list[str] = []
    for heading, rows in _blocks(table, _latex_cell):
        name, *reference = map(latex_text, heading)
        lines.append(_latex_line([rf"\textbf{{{name}}}", *reference]))
        lines += [_latex_line([latex_text(name), *cells]) for name, *cells in rows]
        lines.append(r"\midrule")
    columns = "l" * (len(table.targets) + 1) + "r"
    titles = [r"$\varepsilon$", *_targets(table), r"\#succ"]
    return _longtable(columns, titles, lines[:-1], latex_text(caption(table)) + "Bold: best.")


def latex_rows(alignment: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Rows of plain text as a LaTeX table, which needs ``\usepackage{booktabs,longtable}``.

    Args:
        alignment: A letter per column, such as ``"lrr"``.
        columns: Names of the columns.
        rows: Each with one cell per column.
    """
    lines = [_latex_line(map(latex_text, row)) for row in rows]
    return _longtable(alignment, [latex_text(name) for name in columns], lines)


def latex_text(text: str) -> str:
    """Plain text escaped for LaTeX."""
    return text.translate(_LATEX).translate(_LATEX_SYMBOLS)


def _longtable(alignment: str, titles: Sequence[str], lines: Sequence[str], title: str = "") -> str:
    head = [r"\toprule", _latex_line(titles), r"\midrule"]
    first = [rf"\caption{{{title}}} \\", *head, r"\endfirsthead"] if title else []
    body = [*first, *head, r"\endhead", *lines, r"\bottomrule"]
    needed = r"% \usepackage{booktabs,longtable}"
    return "\n".join([needed, rf"\begin{{longtable}}{{{alignment}}}", *body, r"\end{longtable}", ""])


def as_html(table: RuntimeTable) -> str:
    """The table as an HTML table element; best entries are bold, evaluations in italics."""
    head = "".join(f"<th>{cell}</th>" for cell in ["ε", *_targets(table), "#succ"])
    lines = [f"<caption>{html.escape(caption(table))}Bold: best.</caption>", f"<thead><tr>{head}</tr></thead>"]
    for (name, *reference), rows in _blocks(table, _html_cell):
        lines += ["<tbody>", _html_line(f"<b>{html.escape(name)}</b>", reference)]
        lines += [_html_line(html.escape(name), cells) for name, *cells in rows]
        lines.append("</tbody>")
    return "\n".join(["<table>", *lines, "</table>", ""])


def number(value: float, digits: int = 2) -> str:
    """A runtime or ratio as customarily printed: at least `digits` significant digits, no exponent below 1e5.

    Args:
        value: The number; inf is printed as ∞.
        digits: Number of significant digits, unless there are more before the decimal point.
    """
    if np.isinf(value):
        return "∞"
    if value >= 1e5:
        return _short_exponent(f"{value:.{digits - 1}e}")
    decimals = max(digits - len(f"{value:.0f}") + (value < 1), 0)
    return f"{value:.{decimals}f}" if value not in (0, 1) else f"{value:.0f}"


def shown_target(table: RuntimeTable, target: float) -> str:
    """A target of a table as text."""
    return f"{target:g}" if table.absolute else label(target)


def label(target: float) -> str:
    """A target precision such as 1e-8, or 6.3e-2, to two digits."""
    return _short_exponent(f"{target:.1e}".replace(".0e", "e")) if target else "0"


def _short_exponent(printed: str) -> str:
    mantissa, exponent = printed.split("e")
    return f"{mantissa}e{int(exponent)}"


def _targets(table: RuntimeTable) -> list[str]:
    return [shown_target(table, target) for target in table.targets]


def _blocks(table: RuntimeTable, write: Callable[[_Cell], str]) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Yield, for each function, a line with its name and the reference, and the lines of the algorithms."""
    for block in table.blocks:
        heading = [function_label(block.function), *[""] * (len(table.targets) + 1)]
        if block.reference is not None:
            successes = "" if block.reference_successes is None else "{}/{}".format(*block.reference_successes)
            heading[1:] = [*map(number, block.reference), successes]
        last = len(table.targets) - 1
        yield (
            heading,
            [
                [
                    row.algorithm,
                    *(write(_cell(row, column, last=column == last)) for column in range(last + 1)),
                    f"{row.successes}/{row.runs}",
                ]
                for row in block.rows
            ],
        )


@dataclass(frozen=True, slots=True)
class _Cell:
    """The pieces of text in one cell."""

    value: str
    dispersion: str
    star: str
    evaluations: str
    best: bool


def _cell(row: TableRow, column: int, *, last: bool) -> _Cell:
    missed = bool(np.isinf(row.erts[column]))
    mark = int(row.stars[column])
    return _Cell(
        value=number(row.shown[column]),
        dispersion="" if np.isnan(row.dispersion[column]) else f"({number(row.dispersion[column], 1)})",
        star=("*" if mark == 1 else f"*{mark}") if mark else "",
        evaluations=_short_exponent(f"{row.median_evaluations:.0e}") if missed and last else "",
        best=bool(row.best[column]),
    )


def _text_cell(cell: _Cell) -> str:
    value = f"[{cell.value}]" if cell.best else cell.value
    return f"{value}{cell.dispersion}{cell.star} {cell.evaluations}".rstrip()


def _latex_cell(cell: _Cell) -> str:
    value = r"$\infty$" if cell.value == "∞" else cell.value
    value = rf"\textbf{{{value}}}" if cell.best else value
    star = rf"$^{{\star {cell.star[1:]}}}$" if cell.star else ""
    evaluations = rf" \textit{{{cell.evaluations}}}" if cell.evaluations else ""
    return f"{value}{cell.dispersion}{star}{evaluations}"


def _html_cell(cell: _Cell) -> str:
    value = f"<b>{cell.value}</b>" if cell.best else cell.value
    star = f"<sup>★{cell.star[1:]}</sup>" if cell.star else ""
    evaluations = f" <i>{cell.evaluations}</i>" if cell.evaluations else ""
    return f"{value}{cell.dispersion}{star}{evaluations}"


def _latex_line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _html_line(name: str, cells: Sequence[str]) -> str:
    return f"<tr><th>{name}</th>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
