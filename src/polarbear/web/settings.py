"""Settings, kept in the address: which runs are considered, how they are drawn and named, quantiles, digits."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

from polarbear.assess.report.data import DIGITS, Data
from polarbear.assess.report.tables import LEVELS
from polarbear.descriptions import checked_name, did_you_mean, shortened
from polarbear.figures import Figure
from polarbear.figures.layout import LEGENDS, Layout, fitted
from polarbear.figures.panels import Key
from polarbear.figures.render.plotly import LETTERS
from polarbear.figures.style import Look, color_of, drawn_as, looks
from polarbear.spreadsheets import rearmed
from polarbear.web.identity import ALGORITHM

MARKERS = {"none": "", "circle": "o", "triangle": "^", "square": "s", "inverted triangle": "v", "diamond": "D"}
"""Markers along lines, by their names in files."""
MOST_COLORS, MOST_QUANTILES, LARGEST = 500, 20, 1 << 20
"""Limits: algorithms with a colour of their own, quantiles in a table, characters of a file."""
_IDENTIFIER = re.compile(r"f[0-9]+")
MARKER_NAMES = {symbol: name for name, symbol in MARKERS.items()}


class Preset(NamedTuple):
    """Size of figures in files, in inches, and font size in the browser, in pixels."""

    width: float | None = None
    height: float | None = None
    letters: float = LETTERS


PRESETS = {
    "as drawn": Preset(),
    "one column": Preset(width=3.5),
    "two columns": Preset(width=7.2),
    "slides": Preset(width=5.0, height=2.8, letters=18),
}
"""Sizes by name; slides have small figures with large text, to be enlarged."""
_LEAST_HEIGHT = 2.4


def _colors(value: object) -> dict[str, Look]:
    """Colours and markers by algorithm, such as ``{"A": "#0072B2"}`` or ``{"A": ["#0072B2", "circle"]}``."""
    chosen: dict[str, object] = dict(cast(Any, value)) if isinstance(value, Mapping) else {}
    if not chosen or len(chosen) > MOST_COLORS:
        raise ValueError(
            f"colors is {shortened(cast(object, value))}; give a colour for each algorithm (up to {MOST_COLORS}), "
            'such as {"A": "#0072B2"}'
        )
    return {name: _look(name, given) for name, given in chosen.items()}


def _look(name: str, given: object) -> Look:
    parts: list[object] = [*cast(Iterable[object], given)] if isinstance(given, list | tuple) else [given]
    color, marker = (*map(str, parts), "none")[:2] if 0 < len(parts) < 3 else ("", "none")
    try:
        color_of(color)
    except ValueError:
        raise ValueError(
            f"the colour of {name} is {given!r}; it must be '#' and six hexadecimal digits, such as '#0072B2'"
        ) from None
    if marker not in MARKERS:
        raise ValueError(f"the marker of {name} is {marker!r}; it must be one of {', '.join(MARKERS)}")
    return Look(color, MARKERS[marker])


def _identity(value: object) -> tuple[str, ...]:
    """The attributes that define an algorithm, such as ``["algorithm", "instance"]``."""
    return _texts(value, "identity", 'attributes of runs, such as ["algorithm", "instance"]')


def _names(value: object) -> tuple[str, ...]:
    """Names of algorithms or of studies, such as ``["CMA-ES", "DE"]``."""
    return _texts(value, "the selection", 'names, such as ["CMA-ES", "DE"]')


def names_in(text: str, what: str) -> tuple[str, ...]:
    """Names in a JSON list, without duplicates.

    Raises:
        ValueError: If it is not such a list; the message says `what` it was expected to contain.
    """
    return _texts(_json(text), what, 'names, such as ["A", "B"]')


def _json(text: str) -> object:
    """The text parsed as JSON, or else the text itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _texts(value: object, what: str, wanted: str) -> tuple[str, ...]:
    given: list[object] = [*cast(Iterable[object], value)] if isinstance(value, list | tuple) else []
    if not given or not all(isinstance(each, str) for each in given):
        raise ValueError(f"{what} is {shortened(cast(object, value))}; give {wanted}")
    return tuple(dict.fromkeys(checked_name(each, what) for each in given))


def _quantiles(value: object) -> tuple[float, ...]:
    """Levels between 0 and 1, increasing."""
    given: list[object] = [*cast(Iterable[object], value)] if isinstance(value, list | tuple) else []
    levels = sorted({float(level) for level in given if isinstance(level, int | float) and 0 < level < 1})
    if not levels or len(levels) < len(given) or len(levels) > MOST_QUANTILES:
        raise ValueError(f"quantiles are {value!r}; give up to {MOST_QUANTILES} different levels between 0 and 1")
    return tuple(levels)


def _digits(value: object) -> int:
    if not isinstance(value, int) or not 1 <= value <= 17:
        raise ValueError(f"digits is {value!r}; it must be a whole number from 1 to 17")
    return value


def _preset(value: object) -> str:
    if value not in PRESETS:
        raise ValueError(f"preset is {value!r}; it must be one of {', '.join(PRESETS)}")
    return cast(str, value)


def _paper(value: object) -> tuple[str, ...]:
    """Background colours of figures and of their panels, such as ``["#FFFFFF", "#F2F2F2"]``, or one for both."""
    given: list[object] = [*cast(Iterable[object], value)] if isinstance(value, list | tuple) else [value]
    if not 1 <= len(given) <= 2 or not all(isinstance(each, str) for each in given):
        raise ValueError(f"paper is {value!r}; give one colour, or two: for figures and for their panels")
    colors = tuple(cast(list[str], given))
    return _laid_out(paper=(colors[0], colors[-1])).paper


def _line_width(value: object) -> float:
    return _laid_out(line_width=_numbers("line_width", [value], 1)[0]).line_width


def _legend(value: object) -> str:
    return _laid_out(legend=value).legend


def _margins(value: object) -> tuple[float, ...]:
    given: list[object] = [*cast(Iterable[object], value)] if isinstance(value, list | tuple) else [value, value]
    return _laid_out(margins=_numbers("margins", given, 2)).margins


def _laid_out(**given: Any) -> Layout:
    return Layout(**given)


def _numbers(what: str, given: Sequence[object], count: int) -> tuple[float, ...]:
    if len(given) != count or not all(isinstance(each, int | float) and not isinstance(each, bool) for each in given):
        wanted = "a number" if count == 1 else f"{count} numbers"
        raise ValueError(f"{what} is {shortened(list(given) if count > 1 else given[0])}; give {wanted}")
    return tuple(float(cast(float, each)) for each in given)


def _function_names(value: object) -> dict[str, str]:
    """Names of functions by suite and function, such as ``{"bbob f1": "sphere"}``."""
    chosen: dict[str, object] = dict(cast(Any, value)) if isinstance(value, Mapping) else {}
    if not chosen or len(chosen) > MOST_COLORS or not all(isinstance(each, str) for each in chosen.values()):
        raise ValueError(
            f"function_names is {shortened(cast(object, value))}; give a name for each function (up to {MOST_COLORS}), "
            'such as {"bbob f1": "sphere"}'
        )
    names = {where: checked_name(name, f"the name of {where}") for where, name in cast(dict[str, str], chosen).items()}
    for where, name in names.items():
        if _IDENTIFIER.fullmatch(name):
            raise ValueError(f"the name of {where} is {name!r}, which is reserved for function numbers; choose another")
        if same := [each for each, other in names.items() if other == name and each != where]:
            raise ValueError(f"{where} and {same[0]} have the same name {name!r}; choose different ones")
    return names


_READ: dict[str, Callable[[object], Any]] = {
    "colors": _colors,
    "beside": _names,
    "identity": _identity,
    "only": _names,
    "quantiles": _quantiles,
    "digits": _digits,
    "preset": _preset,
    "paper": _paper,
    "line_width": _line_width,
    "legend": _legend,
    "margins": _margins,
    "function_names": _function_names,
}
LISTED = ("beside", "only")
"""Settings that are lists of names, which may contain commas; JSON in addresses, as colours are."""
_MAPPED = ("colors", "function_names")
_WORDS, _NUMBERS = ("identity", "paper"), ("quantiles", "margins")
"""Settings that are words, or numbers, separated by commas."""
LAID_OUT = ("preset", "paper", "line_width", "legend", "margins")
"""Settings of the layout of figures."""
NAMES = tuple(_READ)
"""Names of the settings in addresses and files."""


@dataclass(frozen=True)
class Settings:
    """Settings common to all views; they are part of addresses, so that every visitor has their own.

    Attributes:
        colors: Looks of algorithms that have one of their own.
        beside: Names of other open studies whose runs are considered as well.
        identity: Attributes of runs that define an algorithm; see `polarbear.web.identity`.
        only: Algorithms to consider; all if empty.
        quantiles: Levels in tables of quantiles.
        digits: Significant digits of numbers on pages, in LaTeX and in Markdown.
        preset: Size of figures: one of the `PRESETS`.
        paper: As in `Layout`.
        line_width: As in `Layout`.
        legend: As in `Layout`.
        margins: As in `Layout`.
        function_names: Names of functions in figures, by suite and function, such as "bbob f1".
    """

    colors: Mapping[str, Look] = field(default_factory=dict[str, Look])
    beside: tuple[str, ...] = ()
    identity: tuple[str, ...] = (ALGORITHM,)
    only: tuple[str, ...] = ()
    quantiles: tuple[float, ...] = LEVELS
    digits: int = DIGITS
    preset: str = next(iter(PRESETS))
    paper: tuple[str, str] = Layout().paper
    line_width: float = Layout().line_width
    legend: str = LEGENDS[0]
    margins: tuple[float, float] = Layout().margins
    function_names: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, values: Mapping[str, object]) -> Settings:
        """The settings with these values, in the form that files have.

        Raises:
            ValueError: If a setting is unknown or out of range.
        """
        if unknown := [name for name in values if name not in _READ]:
            raise ValueError(f"there is no setting {unknown[0]!r};{did_you_mean(unknown[0], NAMES)}")
        return cls(**{name: _READ[name](value) for name, value in values.items()})

    @classmethod
    def at(cls, query: Mapping[str, str]) -> Settings:
        """The settings in the parameters of an address; errors as in `of`."""
        return cls.of({name: _plain(name, text) for name, text in query.items() if text})

    @classmethod
    def read(cls, content: str, others: Settings | None = None) -> Settings:
        """The settings in a file: JSON as written by `json`, or CSV with colours, which leaves `others` unchanged.

        Raises:
            ValueError: If it is neither, or an entry is invalid.
        """
        if len(content) > LARGEST:
            raise ValueError(f"the file has {len(content):,} characters; settings have at most {LARGEST:,}")
        if not content.lstrip().startswith("{"):
            return replace(others or cls(), colors=dict(_lines(content)))
        try:
            values = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the file is not JSON ({error})") from error
        return cls.of(values)

    @property
    def values(self) -> dict[str, Any]:
        """The settings that differ from their defaults, as plain values."""
        usual = Settings()
        changed = {name: getattr(self, name) for name in NAMES if getattr(self, name) != getattr(usual, name)}
        if "colors" in changed:
            changed["colors"] = {name: [each.color, MARKER_NAMES[each.marker]] for name, each in self.colors.items()}
        return {name: [*cast(Any, value)] if isinstance(value, tuple) else value for name, value in changed.items()}

    @property
    def runs(self) -> dict[str, tuple[str, ...]]:
        """The runs to consider, as arguments of `polarbear.web.Sources.get`."""
        return {"beside": self.beside, "identity": self.identity, "only": self.only}

    @property
    def every_run(self) -> dict[str, tuple[str, ...]]:
        """The same for all algorithms, which is the basis for assigning colours."""
        return {**self.runs, "only": ()}

    @property
    def query(self) -> dict[str, str]:
        """The settings that differ from their defaults, as parameters of an address."""
        return {name: _text(name, value) for name, value in self.values.items()}

    def colors_of(self, names: Sequence[str]) -> Data:
        """The looks of these algorithms, and of all others with a look of their own, as a table."""
        with drawn_as(self.colors):
            drawn = {**looks(names), **self.colors}
        rows = ([name, look.color, MARKER_NAMES[look.marker]] for name, look in drawn.items())
        return Data.of("colors", ("algorithm", "color", "marker"), rows)

    def json(self) -> str:
        """The settings as a JSON file."""
        return json.dumps(self.values, indent=2, ensure_ascii=False) + "\n"

    @property
    def size(self) -> Preset:
        """The size of figures."""
        return PRESETS[self.preset]

    @property
    def layout(self) -> Layout:
        """The layout of figures."""
        return Layout(paper=self.paper, line_width=self.line_width, legend=self.legend, margins=self.margins)

    def laid_out(self, figure: Figure) -> Figure:
        """The figure with the size and layout that are set; figures with many rows of panels stay high enough for them.

        Raises:
            ValueError: If the margins leave no room for its panels.
        """
        return self.layout.of(self._sized(figure))

    def _sized(self, figure: Figure) -> Figure:
        width, height, _ = self.size
        if width is None:
            return figure
        rows = -(-len(figure.panels) // figure.columns)
        high = height or max(figure.height * width / figure.width, min(figure.height, _LEAST_HEIGHT))
        return replace(
            figure,
            width=width,
            height=max(high, figure.height / 2) if rows > 1 else high,
            key=_fitted(figure.key, width),
            panels=tuple(replace(each, key=_fitted(each.key, width / figure.columns)) for each in figure.panels),
        )


def _fitted(key: Key | None, width: float) -> Key | None:
    return key and fitted(key, width)


def _lines(content: str) -> Iterator[tuple[str, Look]]:
    """Algorithms and their looks in lines of CSV."""
    for number, row in enumerate(csv.reader(io.StringIO(content, newline="")), 1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or (number == 1 and cells[1:2] in (["color"], ["colour"])):
            continue
        if not 2 <= len(cells) <= 3:
            raise ValueError(f"line {number} has {len(cells)} cells; give an algorithm, its colour and its marker")
        try:
            yield rearmed(cells[0]), _look(cells[0], [cell for cell in cells[1:] if cell])
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error


def _plain(name: str, text: str) -> object:
    """A parameter of an address in the form that files have; invalid values stay text, which is then rejected."""
    if name in ("preset", "legend"):
        return text
    if name in (*_WORDS, *_NUMBERS):
        words = [word.strip() for word in text.split(",") if word.strip()]
        return words if name in _WORDS else [_number(word) for word in words]
    if name in ("digits", "line_width"):
        return _number(text)
    return _json(text)


def _number(text: str) -> object:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _text(name: str, value: Any) -> str:
    if name in (*_MAPPED, *LISTED):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return ",".join(map(str, cast(list[object], value))) if isinstance(value, list) else str(value)
