"""Shares of problems solved over the budget: runtime distributions, data and performance profiles."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types leave keyword arguments untyped)
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from polarbear.figures.scales import budget_limits, line_ends, mark_every, named, share_axis, tall
from polarbear.figures.style import MICRO, MUTED, SMALL, WIDE, Look, Spacing, blank, figure_of, looks, styled, time_axis
from polarbear.records import FloatArray

if TYPE_CHECKING:
    from polarbear.assess.distributions import RuntimeDistribution

GREY, SAND = "#C9CDD2", "#DDCFA8"
"""Colours of the lines in the background and of the reference."""


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """A share that grows with the budget in steps: from `at[i]` on it is `share[i]`, before the first it is 0.

    Attributes:
        at: (k,) runtimes, or runtime ratios, in increasing order; k may be 0, if nothing was solved.
        share: (k,) shares of all problems, from 0 to 1, never decreasing.
        spent: The budget at which a cross stands: the median of what the unsuccessful runs spent; None for no cross.
        solved: The share at which a dot stands at the right: of the problems solved at least once; None for no dot.

    Raises:
        ValueError: If lengths differ, or budgets or shares are out of order or out of range.
    """

    at: FloatArray
    share: FloatArray
    spent: float | None = None
    solved: float | None = None

    def __post_init__(self) -> None:
        """Check the steps."""
        at, share = np.asarray(self.at, dtype=np.float64), np.asarray(self.share, dtype=np.float64)
        if at.ndim != 1 or at.shape != share.shape:
            raise ValueError(f"a distribution needs one share per budget; got shapes {at.shape} and {share.shape}")
        if not np.isfinite(at).all() or (np.diff(at) < 0).any():
            raise ValueError(
                "budgets of a distribution have to be finite and never decrease; leave out what was missed"
            )
        if not ((share >= 0) & (share <= 1 + 1e-9)).all() or (np.diff(share) < 0).any():
            raise ValueError("shares of a distribution have to lie in 0 to 1 and never decrease")
        object.__setattr__(self, "at", at)
        object.__setattr__(self, "share", share)

    @property
    def middle(self) -> float:
        """Where half of what is reached at all is reached; inf if nothing is."""
        return float(np.append(self.at, np.inf)[np.searchsorted(self.share, self.share[-1:].sum() / 2)])

    @classmethod
    def of(cls, found: RuntimeDistribution) -> Distribution:
        """A runtime distribution as `polarbear.assess.runtime_distribution` finds it, with its cross and its dot."""
        spent = found.cross[0] if found.cross else None
        return cls(found.runtimes, found.proportions, spent=spent, solved=found.solved)

    def height(self, budget: float) -> float:
        """The share at a budget."""
        return float(np.append(0.0, self.share)[np.searchsorted(self.at, budget, side="right")])


@styled
def runtime_distributions(
    distributions: Mapping[str, Distribution],
    *,
    reference: tuple[str, Distribution] | None = None,
    background: Sequence[Distribution] = (),
    limits: tuple[float, float] | None = None,
    order: Sequence[str] | None = None,
    cost: str = "evaluations / dimension",
    share: str = "share of function-target pairs",
    spacing: Spacing = "log",
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """Empirical runtime distributions (Hansen et al. 2022, figures 3 and 4).

    Marks: a line is the share of all function-target pairs that an algorithm solved within the budget. A cross is
    the median budget of its unsuccessful runs; what a line gains to the right of it comes from longer runs or
    simulated restarts. A dot at the right is the share of pairs solved at least once, where a line with simulated
    restarts ends. The broad pale line is the reference; thin grey lines are further algorithms. Names stand at the
    lines' right ends.

    Args:
        distributions: By algorithm.
        reference: Name and distribution of a reference algorithm, such as the best of 2009.
        background: Distributions to draw thin, grey and without a name.
        limits: Smallest and largest budget shown; default those of all curves and crosses.
        order: All names in the order in which colours are dealt; default that of `distributions`.
        cost: What budgets are counted in, such as ``"evaluations"`` or ``"seconds"``.
        share: Label of the vertical axis.
        spacing: "log" or "linear" budget axis.
        width: Inches.
        height: Inches; default in proportion to the number of algorithms.

    Raises:
        ValueError: If there is no distribution, a name is not in `order`, or a budget does not fit a log axis.
    """
    figure, ax = _axes(distributions, reference, background, limits, spacing, width, height)
    time_axis(ax, np.array(ax.get_xlim()), cost, spacing, narrow=width < 5)
    share_axis(ax, share)
    look_of = looks(named(distributions, order, "distribution"))
    _draw_all(ax, distributions, reference, background, look_of)
    if any(curve.spent is not None for curve in distributions.values()):
        _mark_key(ax, distributions)
    _label(ax, distributions, reference, look_of)
    return figure


@styled
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

    Marks: a line is the share of problems on which an algorithm needed at most so many times the runtime of the
    best one. At the left end stands the share on which it is the best itself, at the right end, beside its name,
    the share that it solved at all.

    Args:
        distributions: By algorithm; of runtimes divided by the best algorithm's on the same problem.
        limits: Smallest and largest ratio shown; default 1 and the largest there is.
        order: All names in the order in which colours are dealt; default that of `distributions`.
        share: Label of the vertical axis.
        width: Inches.
        height: Inches; default in proportion to the number of algorithms.

    Raises:
        ValueError: As `runtime_distributions`.
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
    figure.axes[0].set_xlabel("runtime / runtime of the best algorithm")
    return figure


@styled
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

    Marks: a line is the share of problems that an algorithm solved within so many simplex gradients, each of as many
    evaluations as the problem's dimension plus one.

    Args:
        distributions: By algorithm; of runtimes divided by the dimension plus one.
        limits: Smallest and largest budget shown; default 0, on a log axis the smallest, and the largest there is.
        order: All names in the order in which colours are dealt; default that of `distributions`.
        share: Label of the vertical axis.
        spacing: "log" or "linear" budget axis.
        width: Inches.
        height: Inches; default in proportion to the number of algorithms.

    Raises:
        ValueError: As `runtime_distributions`.
    """
    return runtime_distributions(
        distributions,
        limits=limits,
        order=order,
        cost="evaluations / (dimension + 1)",
        share=share,
        spacing=spacing,
        width=width,
        height=height,
    )


def slowest_first(distributions: Mapping[str, Distribution]) -> list[str]:
    """Names in the order in which labels of lines that end at one height shall stand from bottom to top."""
    return sorted(distributions, key=lambda name: distributions[name].middle, reverse=True)


def _axes(
    distributions: Mapping[str, Distribution],
    reference: tuple[str, Distribution] | None,
    background: Sequence[Distribution],
    limits: tuple[float, float] | None,
    spacing: Spacing,
    width: float,
    height: float | None,
) -> tuple[Figure, Axes]:
    """A figure whose horizontal axis has its limits."""
    every = [*distributions.values(), *background, *([reference[1]] if reference else [])]
    shown: list[ArrayLike] = [limits] if limits else [curve.at for curve in every]
    if not limits:
        spent = [curve.spent for curve in every if curve.spent is not None]
        shown.append([each for each in spent if each > 0] if spacing == "log" else spent)
        if spacing == "linear":
            shown.append([0.0])
    figure = blank(width, height or tall(width, len(distributions) + bool(reference)))
    ax = figure.add_subplot()
    first, last = budget_limits(shown, spacing)
    if first == last:
        first, last = (first / 2, last * 2) if spacing == "log" else (first - 0.5, last + 0.5)
    ax.set_xlim(first, last)
    return figure, ax


def _draw_all(
    ax: Axes,
    distributions: Mapping[str, Distribution],
    reference: tuple[str, Distribution] | None,
    background: Sequence[Distribution],
    look_of: dict[str, Look],
) -> None:
    for index, curve in enumerate(background):
        _steps(ax, curve, color=GREY, linewidth=0.6, zorder=1.2, gid=f"background-{index}")
    if reference:
        _steps(ax, reference[1], color=SAND, linewidth=4.5, zorder=1.4, gid="reference")
    for index, (name, curve) in enumerate(distributions.items()):
        look = look_of[name]
        _steps(ax, curve, color=look.color, linewidth=1.6, zorder=3, gid=f"share-{index}", **mark_every(look, index))
        _cross_and_dot(ax, curve, look, index)


def _steps(ax: Axes, curve: Distribution, **line: Any) -> None:
    at, share = curve.at, curve.share
    left, right = ax.get_xlim()
    if not at.size or at[0] > left:
        at, share = np.insert(at, 0, left), np.insert(share, 0, 0.0)
    x, y = np.append(at, max(right, at[-1])), np.append(share, share[-1])
    ax.plot(x, y, drawstyle="steps-post", **line)


def _cross_and_dot(ax: Axes, curve: Distribution, look: Look, index: int) -> None:
    mark: dict[str, Any] = {
        "color": look.color,
        "linestyle": "",
        "clip_on": False,
        "markeredgecolor": "white",
        "markeredgewidth": 0.7,
    }
    left, right = ax.get_xlim()
    if curve.spent is not None and left <= curve.spent <= right:
        ax.plot(curve.spent, curve.height(curve.spent), "X", markersize=7.5, zorder=6, gid=f"cross-{index}", **mark)
    if curve.solved is not None:
        ax.plot(right, curve.solved, "o", markersize=5, zorder=5, gid=f"dot-{index}", **mark)


def _mark_key(ax: Axes, distributions: Mapping[str, Distribution]) -> None:
    """What crosses and dots are, above the axes."""
    mark: dict[str, Any] = {"color": MUTED, "linestyle": "", "markeredgecolor": "white"}
    handles = [Line2D([], [], marker="X", markersize=7.5, label="median budget of unsuccessful runs", **mark)]
    if any(curve.solved is not None for curve in distributions.values()):
        handles.append(Line2D([], [], marker="o", markersize=5, label="solved at least once", **mark))
    wide = figure_of(ax).get_figwidth() > 5
    ax.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=2 if wide else 1,
        handlelength=1,
        columnspacing=1.4,
        handletextpad=0.4,
        fontsize=SMALL if wide else MICRO,
        borderaxespad=0.4,
        borderpad=0,
    )


def _label(
    ax: Axes,
    distributions: Mapping[str, Distribution],
    reference: tuple[str, Distribution] | None,
    look_of: dict[str, Look],
) -> None:
    right = ax.get_xlim()[1]
    ends = [(right, distributions[name].height(right), name, look_of[name]) for name in slowest_first(distributions)]
    if reference:
        ends.append((right, reference[1].height(right), reference[0], Look(SAND, "")))
    line_ends(ax, ends)
