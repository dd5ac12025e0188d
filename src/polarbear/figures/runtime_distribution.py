"""Shares of problems solved over the budget: runtime distributions, data and performance profiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.arrays import floats
from polarbear.descriptions import listed
from polarbear.figures import captions
from polarbear.figures.figure import Figure
from polarbear.figures.line_chart import line_chart, markers_of
from polarbear.figures.marks import EndLabel, Line, Mark, Points
from polarbear.figures.panels import Axis, Entry, Key
from polarbear.figures.scales import share_axis, time_axis
from polarbear.figures.style import MICRO, MUTED, SMALL, SURFACE, WIDE, Look, Spacing, looks_for, shown
from polarbear.records import FloatArray
from polarbear.validation import set_fields

if TYPE_CHECKING:
    from polarbear.assess.distributions import RuntimeDistribution

GREY, SAND = "#C9CDD2", "#DDCFA8"
"""Colours of the background lines and of the reference."""


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """A share that grows with the budget as a step function: `share[i]` from `at[i]` on, 0 before the first.

    Attributes:
        at: (k,) increasing runtimes, or runtime ratios; k is 0 if nothing was solved.
        share: (k,) shares of all problems, from 0 to 1, never decreasing.
        spent: Budget at which a cross is drawn: the median budget of the unsuccessful runs; None for no cross.
        solved: Share at which a dot is drawn at the right: that of problems solved at least once; None for no dot.

    Raises:
        ValueError: If lengths differ, or budgets or shares are out of order or out of range.
    """

    at: FloatArray
    share: FloatArray
    spent: float | None = None
    solved: float | None = None

    def __post_init__(self) -> None:
        at, share = floats(self.at), floats(self.share)
        if at.ndim != 1 or at.shape != share.shape:
            raise ValueError(f"a distribution needs one share per budget; got shapes {at.shape} and {share.shape}")
        if not np.isfinite(at).all() or (np.diff(at) < 0).any():
            raise ValueError("budgets of a distribution must be finite and never decrease; leave out missed targets")
        if not ((share >= 0) & (share <= 1 + 1e-9)).all() or (np.diff(share) < 0).any():
            raise ValueError("shares of a distribution must lie between 0 and 1 and never decrease")
        set_fields(self, at=at, share=share)

    @property
    def middle(self) -> float:
        """The budget at which half of the final share is reached; inf if that is 0."""
        return float(np.append(self.at, np.inf)[np.searchsorted(self.share, self.share[-1:].sum() / 2)])

    @classmethod
    def of(cls, distribution: RuntimeDistribution) -> Distribution:
        """The curve for a result of `polarbear.assess.runtime_distribution`, with its cross and its dot."""
        spent = distribution.cross[0] if distribution.cross else None
        return cls(distribution.runtimes, distribution.proportions, spent=spent, solved=distribution.solved)

    def height(self, budget: float) -> float:
        """The share at a budget."""
        return float(np.append(0.0, self.share)[np.searchsorted(self.at, budget, side="right")])


def runtime_distributions(
    distributions: Mapping[str, Distribution],
    *,
    reference: tuple[str, Distribution] | None = None,
    background: Sequence[Distribution] = (),
    limits: tuple[float, float] | None = None,
    order: Sequence[str] | None = None,
    cost: str = "evaluations / dimension",
    share: str = "share of function-target pairs",
    restarts: bool = False,
    spacing: Spacing = "log",
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """Empirical runtime distributions (Hansen et al. 2022, figures 3 and 4).

    Marks: a line is the share of all function-target pairs that an algorithm solved within the budget. A cross is the
    median budget of its unsuccessful runs; gains to its right come from longer runs or simulated restarts. A
    dot at the right is the share of pairs solved at least once, where a line with simulated restarts ends. The broad
    pale line is the reference; thin grey lines are further algorithms. Names stand at the right ends of the lines.

    Args:
        distributions: The distribution of each algorithm.
        reference: Name and distribution of a reference algorithm, such as the best of 2009.
        background: Distributions drawn as thin grey lines without a name.
        limits: Smallest and largest budget shown; default the range of all curves and crosses.
        order: All algorithm names in the order in which colours are assigned; default that of `distributions`.
        cost: Unit of the budgets, such as ``"evaluations"`` or ``"seconds"``.
        share: Label of the vertical axis.
        restarts: Whether the runtimes include simulated restarts, for the caption.
        spacing: "log" or "linear" budget axis.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.

    Raises:
        ValueError: If there is no distribution, a name is not in `order`, or a budget is not positive on a log axis.
    """
    looks = looks_for(distributions, order, "distribution")
    every = [*distributions.values(), *background, *([reference[1]] if reference else [])]
    x = time_axis(_limits(every, limits, spacing), cost, spacing, narrow=width < 5)
    crosses = any(curve.spent is not None for curve in distributions.values())
    dots = any(curve.solved is not None for curve in distributions.values())
    named = reference[0] if reference else None
    caption = captions.runtime_distributions(
        len(distributions), crosses=crosses, dots=dots, restarts=restarts, reference=named, background=len(background)
    )
    return line_chart(
        x,
        share_axis(share),
        _marks(distributions, reference, background, looks, x),
        looks,
        lines=len(distributions) + bool(reference),
        width=width,
        height=height,
        title="Runtime distributions",
        alt=f"Line chart of the {share} that {listed(distributions)} solved, over the budget.",
        caption=caption,
        key=_mark_key(width, dots=dots) if crosses else None,
    )


def performance_profiles(
    distributions: Mapping[str, Distribution],
    *,
    limits: tuple[float, float] | None = None,
    order: Sequence[str] | None = None,
    share: str = "share of problems",
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """Performance profiles (Dolan and Moré 2002).

    Marks: a line is the share of problems that an algorithm solved within at most so many times the runtime of the best
    one. At its left end is the share on which the algorithm is the best itself; at its right end, beside the name, the
    share that it solved at all.

    Args:
        distributions: For each algorithm, the distribution of its runtime divided by the best algorithm's on the same
            problem.
        limits: Smallest and largest ratio shown; default 1 and the largest ratio.
        order: All algorithm names in the order in which colours are assigned; default that of `distributions`.
        share: Label of the vertical axis.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.

    Raises:
        ValueError: As in `runtime_distributions`.
    """
    largest = [float(curve.at[-1]) for curve in distributions.values() if curve.at.size]
    figure = runtime_distributions(
        distributions,
        limits=limits or (1.0, max([2.0, *largest])),
        order=order,
        share=share,
        width=width,
        height=height,
    )
    (panel,) = figure.panels
    return replace(
        figure,
        title="Performance profiles",
        caption=captions.performance_profiles(len(distributions)),
        panels=(replace(panel, x=replace(panel.x, label="runtime / runtime of the best algorithm")),),
    )


def data_profiles(
    distributions: Mapping[str, Distribution],
    *,
    limits: tuple[float, float] | None = None,
    order: Sequence[str] | None = None,
    share: str = "share of problems",
    spacing: Spacing = "linear",
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """Data profiles (Moré and Wild 2009).

    Marks: a line is the share of problems that an algorithm solved within so many simplex gradients, each of which
    costs the problem's dimension plus one evaluations.

    Args:
        distributions: For each algorithm, the distribution of its runtime divided by the dimension plus one.
        limits: Smallest and largest budget shown; default 0, or on a log axis the smallest, and the largest budget.
        order: All algorithm names in the order in which colours are assigned; default that of `distributions`.
        share: Label of the vertical axis.
        spacing: "log" or "linear" budget axis.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.

    Raises:
        ValueError: As in `runtime_distributions`.
    """
    figure = runtime_distributions(
        distributions,
        limits=limits,
        order=order,
        cost="evaluations / (dimension + 1)",
        share=share,
        spacing=spacing,
        width=width,
        height=height,
    )
    return replace(figure, title="Data profiles", caption=captions.data_profiles(len(distributions)))


def slowest_first(distributions: Mapping[str, Distribution]) -> list[str]:
    """Names from the slowest to the fastest: the order, from bottom to top, of labels of lines that end level."""
    return sorted(distributions, key=lambda name: distributions[name].middle, reverse=True)


def _limits(every: Sequence[Distribution], limits: tuple[float, float] | None, spacing: Spacing) -> FloatArray:
    """(2,) limits of the horizontal axis: by default the range of all curves and crosses."""
    at: list[ArrayLike] = [limits or ()]
    if not limits:
        spent = [curve.spent for curve in every if curve.spent is not None]
        at = [*(curve.at for curve in every), [each for each in spent if each > 0] if spacing == "log" else [0, *spent]]
    numbers = np.concatenate(at, dtype=np.float64)
    numbers = numbers[np.isfinite(numbers)]
    if not numbers.size:
        raise ValueError("no budget is given from which the axis could take its limits; give `limits`")
    first, last = numbers.min(), numbers.max()
    if first == last:
        first, last = (first / 2, last * 2) if spacing == "log" else (first - 0.5, last + 0.5)
    return np.array([first, last])


def _marks(
    distributions: Mapping[str, Distribution],
    reference: tuple[str, Distribution] | None,
    background: Sequence[Distribution],
    looks: Mapping[str, Look],
    x: Axis,
) -> Iterator[Mark]:
    _, right = x.ends
    for index, curve in enumerate(background):
        yield replace(_steps(curve, x), name=f"background-{index}", color=GREY, width=0.6, layer=1.2)
    if reference:
        yield replace(_steps(reference[1], x), name="reference", color=SAND, width=4.5, layer=1.4)
    for index, (name, curve) in enumerate(distributions.items()):
        markers = markers_of(looks[name], index)
        yield replace(_steps(curve, x), name=f"share-{index}", algorithm=name, markers=markers, layer=3)
        yield from _cross_and_dot(curve, x, name, index)
    for name in slowest_first(distributions):
        yield EndLabel(x=right, y=distributions[name].height(right), text=shown(name), algorithm=name)
    if reference:
        yield EndLabel(x=right, y=reference[1].height(right), text=shown(reference[0]), color=SAND)


def _steps(curve: Distribution, x: Axis) -> Line:
    """The curve as a step function from edge to edge of the axis."""
    left, right = x.ends
    at, share = curve.at, curve.share
    if not at.size or at[0] > left:
        at, share = np.insert(at, 0, left), np.insert(share, 0, 0.0)
    return Line(x=np.append(at, max(right, at[-1])), y=np.append(share, share[-1]), steps=True)


def _cross_and_dot(curve: Distribution, x: Axis, name: str, index: int) -> Iterator[Points]:
    left, right = x.ends
    mark = Points(x=np.array([right]), y=np.empty(0), algorithm=name, edge=0.7, rim=SURFACE, clip=False)
    if curve.spent is not None and left <= curve.spent <= right:
        at, height = np.array([curve.spent]), np.array([curve.height(curve.spent)])
        yield replace(mark, name=f"cross-{index}", x=at, y=height, symbol="X", size=7.5, layer=6)
    if curve.solved is not None:
        yield replace(mark, name=f"dot-{index}", y=np.array([curve.solved]), layer=5)


def _mark_key(width: float, *, dots: bool) -> Key:
    cross = Entry(text="median budget of unsuccessful runs", color=MUTED, symbol="X", size=7.5)
    dot = Entry(text="solved at least once", color=MUTED, symbol="o")
    wide = width > 5
    return Key(entries=(cross, dot) if dots else (cross,), columns=2 if wide else 1, size=SMALL if wide else MICRO)
