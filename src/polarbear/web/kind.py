"""Kinds of views: functions whose annotations declare what a view is made from and what can be chosen."""

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
"""Maximum number of results of one kind that are cached for an assessment."""
EVERY = "all"
"""Choice of all dimensions."""
MOST_LISTED = 12
"""Maximum number of choices listed in a message."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The contents of a view.

    Attributes:
        data: Numbers of the figure; a table if there is no figure.
        figure: Figure, if there is one.
        text: Text shown with the figure or table.
        opens: Column of the table with names of studies that can be opened.
    """

    data: Data
    figure: Figure | None = None
    text: str = ""
    opens: str = ""

    def _repr_html_(self) -> str:
        """Represent the view in a notebook by its text, figure and table."""
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
    """A parameter with a list of allowed texts, which depend on what is loaded; the first is the default."""

    label: str
    choices: Callable[[Any], Sequence[str]]

    def convert(self, text: str | None, source: Any) -> str:
        """Return the text if it is among the choices, by default the first.

        Raises:
            ValueError: If it is not, or there are no choices.
        """
        known = list(self.choices(source))
        if not known:
            raise ValueError(f"there is no {self.label} to choose from in these data")
        if text is None:
            return known[0]
        if text not in known:
            more = "" if len(known) <= MOST_LISTED else f" and {len(known) - MOST_LISTED} more"
            raise ValueError(f"{self.label} is {text!r}; it must be one of {', '.join(known[:MOST_LISTED])}{more}")
        return text


@dataclass(frozen=True, slots=True)
class Number:
    """A parameter that is a number from `low` to `high`, optionally with a slider."""

    label: str
    low: float
    high: float
    default: float
    whole: bool = False
    slider: bool = False

    def convert(self, text: str | None, source: Any) -> float:  # noqa: ARG002
        """Return the number that the text represents.

        Raises:
            ValueError: If it is not a number, or out of range.
        """
        try:
            value = self.default if text is None else float(text)
        except ValueError:
            value = float("nan")
        if not self.low <= value <= self.high or (self.whole and value != int(value)):
            kind = "whole number" if self.whole else "number"
            raise ValueError(f"{self.label} is {text!r}; it must be a {kind} from {self.low:g} to {self.high:g}")
        return int(value) if self.whole else value


@dataclass(frozen=True, slots=True)
class Text:
    """A free-text parameter, interpreted by its view."""

    label: str
    default: str

    def convert(self, text: str | None, source: Any) -> str:  # noqa: ARG002
        """Return the text, or the default."""
        return self.default if text is None else text


NONE = "none"


@dataclass(frozen=True, slots=True)
class Opened:
    """A parameter that refers by name to something else that is open, or to nothing, or to several of these.

    Attributes:
        label: Label of the control.
        needs: What is loaded for it; see `Kind`.
        several: Whether any number of names is allowed: one name, or names as JSON, such as ``["A", "B"]``.
    """

    label: str
    needs: str
    several: bool = False

    def names(self, text: str | None) -> tuple[str, ...]:
        """The names in a parameter of an address.

        Raises:
            ValueError: If the text looks like a list but is not a list of names.
        """
        if text in (None, "", NONE):
            return ()
        return names_in(text, self.label) if self.several and text.startswith("[") else (text,)

    def convert(self, text: str | None, sources: Any) -> Any:
        """Return what is open under the name, or None; if several are allowed, a tuple.

        Raises:
            ValueError: If nothing is open under a name, or it cannot be read.
        """
        opened = tuple(sources.get(name, self.needs) for name in self.names(text))
        return opened if self.several else next(iter(opened), None)


@dataclass(frozen=True, slots=True)
class Setting:
    """A parameter that is a setting common to all views; `name` is its name in `Settings`."""

    name: str


Control = Choice | Number | Text | Opened


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of view.

    Attributes:
        name: Name in addresses.
        page: Page that the view is on.
        title: Title of the view.
        make: Function that makes the view from the source and the parameters.
        needs: What the view is made from: "Assessment", "Reading" or "Result"; parameters also from a "Reference".
        controls: Controls of its parameters, by name.
        settings: Parameters that are settings, and the names of these.
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
        """The first line of the function's docstring."""
        return (inspect.getdoc(self.make) or "").split("\n")[0]


class Page(NamedTuple):
    """The title and purpose of a page."""

    title: str
    purpose: str


PAGES = {
    "overview": Page("Overview", "What is loaded, and what could not be read."),
    "fixed-target": Page("Fixed target", "How long algorithms take to reach targets."),
    "fixed-budget": Page("Fixed budget", "How good algorithms are after a budget."),
    "comparisons": Page("Comparisons", "How algorithms compare: tests, ratings, rankings, contributions."),
    "coco": Page("COCO", "Runtimes over functions, groups and dimensions."),
    "eaf": Page("EAF", "Which values are attained within which budgets."),
    "race": Page("Race", "What a race has found, also while it runs."),
    "select": Page("Select", "What to deploy."),
    "diagnostics": Page("Diagnostics", "Whether the posterior can be trusted."),
    "knowledge": Page("Knowledge", "What many studies found: questions to a knowledge base."),
}


SCALES = ("x", "y")
"""Names, in addresses, of the scales of a figure's axes."""
LOOKS = {"theme": ("dark",), "sort": None, "find": None}
"""Names, in addresses, of how a page is displayed, and their allowed values; None for any text."""
_TAKEN = ("study", *SCALES, *LOOKS, *NAMES)
"""Names in addresses that parameters of views must not have."""

KINDS: dict[str, Kind] = {}
"""Kinds of views registered so far, by name."""


def kinds() -> Mapping[str, Kind]:
    """All kinds of views by name: those of polarbear, then those provided by other installed packages.

    Raises:
        ValueError: If a package's view cannot be imported, or is not a view of the name under which it is provided.
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
    """Register a function as a kind of view; its parameters are annotated with their controls.

    Args:
        page: One of the `PAGES`.
        title: Title of the view on that page.

    Raises:
        ValueError: If there is no such page, a view of the function's name already exists, or a parameter has a name
            that is reserved in addresses.
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
    """Draw an algorithm in the same colour in all views of a study, even in those of only some algorithms."""

    @wraps(make)
    def drawn(source: Any, /, *args: Any, **kwargs: Any) -> Shown:
        with drawn_as({**looks(_everyone(source)), **chosen_looks()}):
            return make(source, *args, **kwargs)

    return drawn


def _everyone(source: Any) -> Sequence[str]:
    """The algorithms of a study, in the order in which colours are assigned."""
    if isinstance(source, Assessment):
        return source.subject.algorithms
    return sorted(source.names) if isinstance(source, Result) else ()


def kept(compute: Callable[Concatenate[_S, _P], _T]) -> Callable[Concatenate[_S, _P], _T]:
    """Cache what is computed from an assessment or a result, for other views and controls, as long as it lives."""
    attribute = f"_kept_{compute.__module__}.{compute.__qualname__}"

    @wraps(compute)
    def look_up(source: _S, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        # stored on the source: they are freed with it, even if they refer to it
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
    """The assessment of one of the `problems`, which is all that views of one problem need."""
    return Assessment(replace(assessment.subject, cells=(cell_of(assessment, problem),)))


@kept
def within(assessment: Assessment, dimension: str) -> Assessment:
    """The assessment of one of the `dimensions`, or of all."""
    if dimension == EVERY:
        return assessment
    cells = assessment.subject.within(0 if dimension == "any" else int(dimension))
    return Assessment(replace(assessment.subject, cells=cells))


def cell_of(assessment: Assessment, problem: str) -> Cell:
    """The problem of that name, one of the `problems`."""
    return next(cell for cell in assessment.subject.cells if cell.name == problem)


def problems(assessment: Assessment) -> list[str]:
    """The names of all problems."""
    return [cell.name for cell in assessment.subject.cells]


def algorithms(assessment: Assessment) -> tuple[str, ...]:
    """The names of all algorithms."""
    return assessment.subject.algorithms


def dimensions(assessment: Assessment) -> list[str]:
    """All dimensions, as text; ``"any"`` if none is known."""
    return [str(dimension) if dimension else "any" for dimension in assessment.subject.dimensions]


def others(assessment: Assessment) -> tuple[str, ...]:
    """The algorithms, the first one last, so that the default comparison is between two different ones."""
    first, *more = assessment.subject.algorithms
    return (*more, first)


def one_of(label: str, *choices: str) -> Choice:
    """A parameter with the same choices whatever is loaded."""
    return Choice(label, lambda _: choices)


def check_ran(problem: str, ran: Collection[str], *chosen: str) -> None:
    """Reject algorithms that did not run on a problem, and comparisons of an algorithm with itself.

    Raises:
        ValueError: If a chosen algorithm is missing, or chosen twice.
    """
    if missing := [name for name in chosen if name not in ran]:
        raise ValueError(f"{missing[0]} did not run on {problem}; algorithms that did: {', '.join(ran)}")
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"{chosen[0]} is compared with itself; choose another algorithm")


def numbers_in(text: str, what: str) -> FloatArray | None:
    """Parse numbers separated by spaces or commas; None for an empty text.

    Raises:
        ValueError: If one of the words is not a finite number.
    """
    try:
        numbers = np.array([float(word) for word in text.replace(",", " ").split()])
    except ValueError:
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all():
        raise ValueError(f"{what} {text!r}: give numbers, such as '100 1 0.01'")
    return numbers if numbers.size else None


def number_in(text: str, what: str) -> float | None:
    """Parse a single number; None for an empty text.

    Raises:
        ValueError: If there are several numbers, or it is not finite.
    """
    numbers = numbers_in(text, what)
    if numbers is not None and numbers.size > 1:
        raise ValueError(f"{what} is {text!r}; give a single number")
    return None if numbers is None else float(numbers[0])


def budget_in(text: str, usual: float) -> float:
    """Parse a budget, which defaults to `usual`.

    Raises:
        ValueError: If it is not a number of evaluations.
    """
    budget = number_in(text, "budget")
    if budget is not None and budget < 1:
        raise ValueError(f"budget is {text!r}; give a number of evaluations, at least 1")
    return usual if budget is None else budget


Problem = Annotated[str, Choice("problem", problems)]
Algorithm = Annotated[str, Choice("algorithm", algorithms)]
Dimension = Annotated[str, Choice("dimension", dimensions)]
Other = Annotated[str, Choice("against", others)]
Quantiles = Annotated[tuple[float, ...], Setting("quantiles")]
Layout = Annotated[str, one_of("layout", "a row per run", "a column per run")]
