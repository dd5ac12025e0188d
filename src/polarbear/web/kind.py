"""Kinds of views: a function each, whose annotations say what it is made from and what can be chosen."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from html import escape
from typing import Annotated, Any, Concatenate, NamedTuple, ParamSpec, TypeVar, get_args, get_type_hints

import numpy as np

from polarbear.analyzer.assessment.charts import Exhibit
from polarbear.assess.report import Assessment, Cell
from polarbear.assess.report.data import Data, shown
from polarbear.descriptions import did_you_mean, html_table, shortened
from polarbear.figures import Figure
from polarbear.figures.style import chosen_looks, drawn_as, looks
from polarbear.plugins import load_plugin, plugin_names, plugin_packages
from polarbear.records import FloatArray
from polarbear.results import Result
from polarbear.web.settings import NAMES, names_in

_P = ParamSpec("_P")
_S = TypeVar("_S")
_T = TypeVar("_T")
_KEPT = 200
"""Results of one kind that are kept of one assessment."""
EVERY = "all"
"""Of a dimension: all of them."""
MOST_LISTED = 12
"""Choices that a message names."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a view shows.

    Attributes:
        data: Its numbers; a table, if there is no figure.
        figure: The figure, if there is one.
        text: What it says, in words.
        opens: The column of its table that names studies, which can be opened.
    """

    data: Data
    figure: Figure | None = None
    text: str = ""
    opens: str = ""

    def _repr_html_(self) -> str:
        """It in a notebook: what it says, its figure and its table."""
        _, tag, drawn = self.figure.svg().partition("<svg") if self.figure else ("", "", "")
        table = html_table(self.data.columns, ([shown(cell) for cell in row] for row in self.data.rows))
        said = f"<p>{escape(self.text)}</p>" if self.text else ""
        return f"{said}{tag}{drawn}{table}"

    @classmethod
    def of(cls, exhibit: Exhibit) -> Shown:
        """A figure with the numbers that it shows."""
        return cls(exhibit.data, exhibit.figure)


@dataclass(frozen=True, slots=True)
class Choice:
    """A parameter that is one of several texts, which depend on what is loaded; the first is its default."""

    label: str
    choices: Callable[[Any], Sequence[str]]

    def convert(self, text: str | None, source: Any) -> str:
        """The text if it is among the choices, by default the first.

        Raises:
            ValueError: If it is not, or there is nothing to choose.
        """
        known = list(self.choices(source))
        if not known:
            raise ValueError(f"there is no {self.label} to choose from in these data")
        if text is None:
            return known[0]
        if text not in known:
            more = "" if len(known) <= MOST_LISTED else f" and {len(known) - MOST_LISTED} more"
            raise ValueError(f"{self.label} is {text!r}; it is one of {', '.join(known[:MOST_LISTED])}{more}")
        return text


@dataclass(frozen=True, slots=True)
class Number:
    """A parameter that is a number from `low` to `high`; with a slider if it is said so."""

    label: str
    low: float
    high: float
    default: float
    whole: bool = False
    slider: bool = False

    def convert(self, text: str | None, source: Any) -> float:  # noqa: ARG002
        """The number that the text is.

        Raises:
            ValueError: If it is none, or out of range.
        """
        try:
            value = self.default if text is None else float(text)
        except ValueError:
            value = float("nan")
        if not self.low <= value <= self.high or (self.whole and value != int(value)):
            kind = "whole number" if self.whole else "number"
            raise ValueError(f"{self.label} is {text!r}; it is a {kind} from {self.low:g} to {self.high:g}")
        return int(value) if self.whole else value


@dataclass(frozen=True, slots=True)
class Text:
    """A parameter in words, which its view understands."""

    label: str
    default: str

    def convert(self, text: str | None, source: Any) -> str:  # noqa: ARG002
        """The text, or its default."""
        return self.default if text is None else text


NONE = "none"


@dataclass(frozen=True, slots=True)
class Opened:
    """A parameter that is something else that is open, by the name that it goes by, or nothing; or several of these.

    Attributes:
        label: What it is for.
        needs: What is made of it; see `Kind`.
        several: Whether it is any number of them: one name, or names as JSON, such as ``["A", "B"]``.
    """

    label: str
    needs: str
    several: bool = False

    def names(self, text: str | None) -> tuple[str, ...]:
        """The names in a parameter of an address.

        Raises:
            ValueError: If what looks like a list is none of names.
        """
        if text in (None, "", NONE):
            return ()
        return names_in(text, self.label) if self.several and text.startswith("[") else (text,)

    def convert(self, text: str | None, sources: Any) -> Any:
        """What is open under the name, or None; if several, a tuple of all.

        Raises:
            ValueError: If there is none of a name, or it cannot be read.
        """
        opened = tuple(sources.get(name, self.needs) for name in self.names(text))
        return opened if self.several else next(iter(opened), None)


@dataclass(frozen=True, slots=True)
class Setting:
    """A parameter that is a setting, the same for all views: its name among those of `Settings`."""

    name: str


Control = Choice | Number | Text | Opened


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of view.

    Attributes:
        name: In its address.
        page: The page that it stands on.
        title: What it shows.
        make: Shows it, from what is loaded and the parameters.
        needs: What it is made from: "Assessment", "Reading" or "Result"; parameters also from a "Reference".
        controls: Its parameters.
        settings: Its parameters that are settings, by name.
    """

    name: str
    page: str
    title: str
    make: Callable[..., Shown]
    needs: str
    controls: Mapping[str, Control]
    settings: Mapping[str, str]

    @property
    def summary(self) -> str:
        """What its function says of itself."""
        return (inspect.getdoc(self.make) or "").split("\n")[0]


class Page(NamedTuple):
    """A page: its title, and what it is for."""

    title: str
    purpose: str


PAGES = {
    "overview": Page("Overview", "What is loaded, and what of it could not be read."),
    "fixed-target": Page("Fixed target", "How long algorithms take to reach targets."),
    "fixed-budget": Page("Fixed budget", "How good algorithms are after a budget."),
    "comparisons": Page("Comparisons", "How algorithms compare: tests, ratings, rankings, contributions."),
    "coco": Page("COCO", "Runtimes over functions, groups and dimensions."),
    "eaf": Page("EAF", "Which values are attained within which budgets."),
    "race": Page("Race", "What a race has found, also while it runs."),
    "select": Page("Select", "What to deploy."),
    "diagnostics": Page("Diagnostics", "Whether the posterior may be believed."),
    "knowledge": Page("Knowledge", "What many studies found: questions to a knowledge base."),
}


SCALES = ("x", "y")
"""Names in addresses of the scales of a figure's axes."""
LOOKS = {"theme": ("dark",), "sort": None, "find": None}
"""How a page is looked at, by names in addresses, and what can be said of it; None for any text."""
_TAKEN = ("study", *SCALES, *LOOKS, *NAMES)
"""Names in addresses that no parameter of a view may have."""

KINDS: dict[str, Kind] = {}
"""The kinds of views that have been imported, by name."""


def kinds() -> Mapping[str, Kind]:
    """All kinds of views by name: those of polarbear, then those that other installed packages offer.

    Raises:
        ValueError: If what a package offers cannot be imported, or is not a view of the name that it is offered by.
    """
    for name in plugin_names("views"):
        offered = load_plugin("views", name)
        if name not in KINDS or KINDS[name].make is not offered:
            packages = plugin_packages("views", name)
            raise ValueError(
                f"{name!r}, which the package {packages} offers as a view, is {shortened(offered)}; offer a function "
                f"{name.replace('-', '_')!r} that polarbear.web.view decorates"
            )
    return KINDS


def view(page: str, title: str) -> Callable[[Callable[..., Shown]], Callable[..., Shown]]:
    """Make a kind of view of a function that shows it; its parameters are annotated with their controls.

    Args:
        page: One of the `PAGES`.
        title: What the view is called on it.

    Raises:
        ValueError: If there is no such page, or a view of the function's name already; or if a parameter has a name
            that means something else in addresses.
    """
    if page not in PAGES:
        raise ValueError(f"there is no page {page!r};{did_you_mean(page, tuple(PAGES))}")

    def register(make: Callable[..., Shown]) -> Callable[..., Shown]:
        first, *hints = (
            (name, hint) for name, hint in get_type_hints(make, include_extras=True).items() if name != "return"
        )
        name = make.__name__.replace("_", "-")
        if name in KINDS:
            raise ValueError(f"there are two views {name!r}, on pages {KINDS[name].page} and {page}; rename one")
        given = {parameter: get_args(hint)[1] for parameter, hint in hints}
        controls = {parameter: each for parameter, each in given.items() if not isinstance(each, Setting)}
        if taken := [parameter for parameter in controls if parameter in _TAKEN]:
            raise ValueError(f"{taken[0]!r}, a parameter of {name!r}, means something else in addresses; rename it")
        settings = {parameter: each.name for parameter, each in given.items() if isinstance(each, Setting)}
        KINDS[name] = Kind(name, page, title, _in_its_colors(make), first[1].__name__, controls, settings)
        return KINDS[name].make

    return register


def _in_its_colors(make: Callable[..., Shown]) -> Callable[..., Shown]:
    """Draw an algorithm alike in all views of a study, also in those that deal with some of the algorithms alone."""

    @wraps(make)
    def drawn(source: Any, /, *args: Any, **kwargs: Any) -> Shown:
        with drawn_as({**looks(_everyone(source)), **chosen_looks()}):
            return make(source, *args, **kwargs)

    return drawn


def _everyone(source: Any) -> Sequence[str]:
    """The algorithms of a study, in the order in which colours are dealt."""
    if isinstance(source, Assessment):
        return source.subject.algorithms
    return sorted(source.names) if isinstance(source, Result) else ()


def kept(compute: Callable[Concatenate[_S, _P], _T]) -> Callable[Concatenate[_S, _P], _T]:
    """Keep what is computed of an assessment or a result, for other views and controls, as long as that is kept."""
    attribute = f"_kept_{compute.__module__}.{compute.__qualname__}"

    @wraps(compute)
    def look_up(source: _S, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        # results go with their source, though they may refer to it
        results: dict[Any, _T] = vars(source).setdefault(attribute, {})
        given = args, tuple(kwargs.items())
        if given not in results:
            if len(results) >= _KEPT:
                results.clear()
            results[given] = compute(source, *args, **kwargs)
        return results[given]

    return look_up


@kept
def alone(assessment: Assessment, problem: str) -> Assessment:
    """The assessment of one problem, which is among the `problems`: all that views of one problem need computed."""
    return Assessment(replace(assessment.subject, cells=(cell_of(assessment, problem),)))


@kept
def within(assessment: Assessment, dimension: str) -> Assessment:
    """The assessment of one dimension, which is among the `dimensions`, or of all."""
    if dimension == EVERY:
        return assessment
    cells = assessment.subject.within(0 if dimension == "any" else int(dimension))
    return Assessment(replace(assessment.subject, cells=cells))


def cell_of(assessment: Assessment, problem: str) -> Cell:
    """The problem of that name, which is among the `problems`."""
    return next(cell for cell in assessment.subject.cells if cell.name == problem)


def problems(assessment: Assessment) -> list[str]:
    """The names of all problems."""
    return [cell.name for cell in assessment.subject.cells]


def algorithms(assessment: Assessment) -> tuple[str, ...]:
    """The names of all algorithms."""
    return assessment.subject.algorithms


def dimensions(assessment: Assessment) -> list[str]:
    """All dimensions, as text; ``"any"`` where none is known."""
    return [str(dimension) if dimension else "any" for dimension in assessment.subject.dimensions]


def others(assessment: Assessment) -> tuple[str, ...]:
    """The algorithms, the first one last: by default two different ones are compared."""
    first, *more = assessment.subject.algorithms
    return (*more, first)


def one_of(label: str, *choices: str) -> Choice:
    """A parameter that is one of the same texts whatever is loaded."""
    return Choice(label, lambda _: choices)


def check_ran(problem: str, ran: Collection[str], *chosen: str) -> None:
    """Refuse algorithms that did not run on a problem, and one that is compared with itself.

    Raises:
        ValueError: If one of the chosen is missing, or chosen twice.
    """
    if missing := [name for name in chosen if name not in ran]:
        raise ValueError(f"{missing[0]} did not run on {problem}; there are {', '.join(ran)}")
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"{chosen[0]} is compared with itself; choose another algorithm")


def numbers_in(text: str, what: str) -> FloatArray | None:
    """Numbers that someone typed, apart by spaces or commas; None in an empty text.

    Raises:
        ValueError: If one of the words is no finite number.
    """
    try:
        numbers = np.array([float(word) for word in text.replace(",", " ").split()])
    except ValueError:
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all():
        raise ValueError(f"{what} {text!r}: give numbers, such as '100 1 0.01'")
    return numbers if numbers.size else None


def number_in(text: str, what: str) -> float | None:
    """The one number that someone typed; None in an empty text.

    Raises:
        ValueError: If it is several, or no finite number.
    """
    numbers = numbers_in(text, what)
    if numbers is not None and numbers.size > 1:
        raise ValueError(f"{what} {text!r} is several; give one")
    return None if numbers is None else float(numbers[0])


def budget_in(text: str, usual: float) -> float:
    """The budget that someone typed, or the usual one.

    Raises:
        ValueError: If it is no number of evaluations.
    """
    budget = number_in(text, "budget")
    if budget is not None and budget < 1:
        raise ValueError(f"budget is {text!r}; give a number of evaluations, from 1")
    return usual if budget is None else budget


Problem = Annotated[str, Choice("problem", problems)]
Algorithm = Annotated[str, Choice("algorithm", algorithms)]
Dimension = Annotated[str, Choice("dimension", dimensions)]
Other = Annotated[str, Choice("against", others)]
Quantiles = Annotated[tuple[float, ...], Setting("quantiles")]
Layout = Annotated[str, one_of("layout", "a row per run", "a column per run")]
