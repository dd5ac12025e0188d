"""Ratings over time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from polarbear.descriptions import listed
from polarbear.figures import captions
from polarbear.figures.figure import Figure
from polarbear.figures.line_chart import line_chart
from polarbear.figures.marks import Band, Bars, EndLabel, Line, Mark, Markers
from polarbear.figures.panels import Axis
from polarbear.figures.scales import choose, time_axis
from polarbear.figures.style import MUTED, WIDE, Look, Spacing, looks, shown
from polarbear.inference import Posterior
from polarbear.records import Axis as Unit
from polarbear.records import FloatArray


def rating_over_time(
    posterior: Posterior,
    *,
    eliminated: Collection[str] = (),
    withdrawn: Collection[str] = (),
    truth: FloatArray | None = None,
    algorithms: Sequence[str] | None = None,
    order: Sequence[str] | None = None,
    axis: Unit = "evaluations",
    spacing: Spacing | None = None,
    level: float = 0.95,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """The rating of every algorithm over the budget (Wurth et al. 2026, figures 2 and 9).

    Marks: a solid line is the posterior mean of an algorithm's rating, i.e. the probability that it has the best result
    of all at that budget; the band around it is the pointwise credible interval. Dashed pale lines without a band are
    eliminated algorithms. The dotted line is 1/n, the rating of n equal algorithms; if the true ratings are known, they
    are dotted instead. Names stand at the right ends of the lines, in bold unless eliminated. From the ninth algorithm
    on, colours repeat and markers along the line tell them apart.

    Args:
        posterior: (draws, T, n) ratings.
        eliminated: Names of eliminated algorithms, drawn pale and dashed.
        withdrawn: Names of withdrawn algorithms, drawn the same way.
        truth: (T, n) true ratings, of a synthetic race.
        algorithms: Names to show; default all in the posterior.
        order: Algorithm names in the order in which colours are assigned, the same for all figures of a report; default
            that of the posterior. Others are grey and have no label.
        axis: Unit of the timepoints.
        spacing: "log" or "linear" budget axis; default inferred from the spacing of the timepoints.
        level: Probability of the intervals.
        width: Width in inches.
        height: Height in inches; default chosen to fit the contents.

    Raises:
        ValueError: If a name is not in the posterior, or the shape of `truth` is not that of its ratings.
    """
    names = choose(algorithms, posterior.names)
    out, look_of = {*eliminated, *withdrawn}, looks(order or posterior.names, posterior.names)
    named = [name for name in names if look_of[name].named]
    x = time_axis(posterior.times, axis, spacing, narrow=width < 5)
    lines, top = rating_lines(posterior, names, look_of, x, out=out, truth=truth, level=level)
    return line_chart(
        x,
        rating_axis(top, "rating (probability of the best result)" if width > 5 else "rating"),
        (*lines, *end_names(x, posterior.mean()[-1], posterior.names, named, out)),
        look_of,
        lines=len(named),
        width=width,
        height=height,
        title="Ratings over the budget",
        alt=f"Line chart of the ratings of {listed(names)} over the budget, with credible bands.",
        caption=captions.rating_over_time(
            len(posterior.names),
            level=level,
            eliminated=bool(out),
            withdrawn=bool(withdrawn),
            truth=truth is not None,
            unnamed=len(names) - len(named),
        ),
    )


def rating_axis(top: float, label: str = "rating") -> Axis:
    """A rating axis from 0 to a little above `top`."""
    return Axis(label=label, low=0, high=min(1.0, top * 1.04))


def rating_lines(
    posterior: Posterior,
    names: Sequence[str],
    look_of: Mapping[str, Look],
    x: Axis,
    *,
    out: Collection[str],
    truth: FloatArray | None,
    level: float,
) -> tuple[list[Mark], float]:
    """Lines of means with bands, dotted lines for the truth or 1/n, and the largest rating that they reach.

    Raises:
        ValueError: If the shape of `truth` is not that of the posterior's ratings.
    """
    times, mean, (low, high) = posterior.times, posterior.mean(), posterior.interval(level)
    if truth is not None and truth.shape != mean.shape:
        raise ValueError(f"truth has shape {truth.shape}; the posterior's ratings have {mean.shape}")
    marks: list[Mark] = []
    top = 0.0
    for name in sorted(names, key=lambda name: name not in out):
        i = posterior.names.index(name)
        marks += _mean_and_interval(times, mean[:, i], low[:, i], high[:, i], name, look_of[name], i, out=name in out)
        banded = name not in out and look_of[name].named
        top = max(top, float((high if banded else mean)[:, i].max()))
        if truth is not None:
            marks.append(_truth(times, truth[:, i], name, i, out=name in out))
            top = max(top, float(truth[:, i].max()))
    if truth is None:
        even = np.full(2, 1 / len(posterior.names))
        marks.append(Line(name="even", x=np.array(x.ends), y=even, color=MUTED, width=0.7, dash=(1, 2), layer=1))
    return marks, top


def end_names(
    x: Axis, ends: FloatArray, names: Sequence[str], chosen: Sequence[str], out: Collection[str]
) -> Iterator[EndLabel]:
    """Names at the right ends (n,) of the lines, in bold unless the algorithm is out."""
    for name in chosen:
        height = float(ends[names.index(name)])
        yield EndLabel(x=x.ends[1], y=height, text=shown(name), algorithm=name, bold=name not in out)


def rating_line(times: FloatArray, ratings: FloatArray, name: str, look: Look, index: int, *, out: bool) -> Line:
    """The line of one algorithm; pale and dashed if it is out."""
    every = range(times.size // 16, times.size, max(1, times.size // 8))
    return Line(
        name=f"mean-{index}",
        x=times,
        y=ratings,
        algorithm=name,
        strength=0.6 if out else 1,
        width=1.0 if out else 1.8,
        dash=(4, 2) if out else (),
        markers=Markers(look.marker, at=tuple(every)) if look.marker else None,
        layer=3 if out else 4,
    )


def _mean_and_interval(
    times: FloatArray,
    mean: FloatArray,
    low: FloatArray,
    high: FloatArray,
    name: str,
    look: Look,
    index: int,
    *,
    out: bool,
) -> Iterator[Mark]:
    """The line with its band, or a point with a bar if there is only one timepoint."""
    if times.size == 1:
        mark, strength = f"mean-{index}", 0.6 if out else 1
        dot = Markers(look.marker or "o", size=6, edge=1)
        yield Line(name=mark, x=times, y=mean, algorithm=name, strength=strength, width=1.5, markers=dot)
        yield Bars(name=mark, x=times, low=low, high=high, algorithm=name, strength=strength, cap=2)
        return
    if not out and look.named:
        yield Band(name=f"band-{index}", x=times, low=low, high=high, algorithm=name)
    yield rating_line(times, mean, name, look, index, out=out)


def _truth(times: FloatArray, ratings: FloatArray, name: str, index: int, *, out: bool) -> Line:
    """A dotted line, or a cross if there is only one timepoint."""
    return Line(
        name=f"truth-{index}",
        x=times,
        y=ratings,
        algorithm=name,
        ink=True,
        strength=0.7 if out else 1,
        width=1.1,
        dash=(1, 1.4),
        markers=Markers("x", size=5, edge=1) if times.size == 1 else None,
        layer=5,
    )
