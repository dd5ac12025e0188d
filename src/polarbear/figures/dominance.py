"""Each algorithm's probability of being dominated, round by round."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from polarbear.figures import captions
from polarbear.figures.figure import Figure
from polarbear.figures.marks import Band, Line, Mark, Markers, Points
from polarbear.figures.panels import Axis, Entry, Key, Panel
from polarbear.figures.scales import stretch
from polarbear.figures.style import INK, MICRO, MUTED, RULE, SMALL, SURFACE, WIDE, Look, looks, shown
from polarbear.quantities import plural
from polarbear.racing import Round
from polarbear.racing.rounds import taking_part

DASHES = (5.0, 3.0)
_BLACK = "#000000"
_SHARE_TICKS = (0, 0.2, 0.4, 0.6, 0.8, 1)
_SHARES = Axis(
    label="resolved pairs", low=0, high=1, ticks=_SHARE_TICKS, texts=tuple(f"{share:.0%}" for share in _SHARE_TICKS)
)


def dominance_over_rounds(
    rounds: Sequence[Round],
    *,
    alpha: float,
    joint: bool = False,
    names: Sequence[str] | None = None,
    order: Sequence[str] | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """Each algorithm's probability of being dominated by its strongest rival (Wurth et al. 2026, figure 3).

    Marks: a coloured line gives, after every round (dot), the probability that the algorithm is dominated by its
    strongest rival. A cross is its elimination or withdrawal; a diamond is the first round after which all its
    relations are resolved while it is still a candidate. The line of an algorithm that returned has a gap. The vertical
    axis is linear up to 0.9 and logarithmic in 1 - p above. The dashed line is the decision threshold α. The black
    steps, on the right axis, are the share of all pairs of algorithms that are resolved at every timepoint. Each tick
    on the horizontal axis is a round.

    Args:
        rounds: Rounds of the race, at least one of them with runs; withdrawals before the first run are not drawn.
        alpha: Decision threshold.
        joint: Whether elimination requires dominance at all timepoints jointly, for the caption.
        names: All algorithms; default those in the rounds, in order of appearance.
        order: Algorithm names in the order in which colours are assigned; default `names`. Others are grey and have no
            label.
        width: Width in inches.
        height: Height in inches; default chosen to fit the contents.

    Raises:
        ValueError: If there is no round with runs.
    """
    drawn = [round_ for round_ in rounds if round_.instances]
    if not drawn:
        raise ValueError("there is no round to draw; the race has not completed one")
    names = tuple(names or dict.fromkeys(name for round_ in drawn for name in round_.dominance))
    top, look_of, wide = _top(alpha), looks(order or names, names), width > 5
    x, y = _round_axis(drawn, wide=wide), _probability_axis(top, wide=wide)
    threshold = Line(name="alpha", x=np.array(x.ends), y=np.full(2, min(alpha, top)), width=0.8, dash=DASHES, layer=1)
    marks = (*_traces(drawn, names, look_of, top), threshold, *_marks(drawn, names, look_of, top))
    behind = Panel(x=x, y=_SHARES, marks=tuple(_resolved(rounds, x.ends[0])))
    out = "out" if any(round_.withdrawn for round_ in drawn) else "eliminated"
    count = plural(rounds, "round")
    return Figure(
        title="Elimination, round by round",
        alt=f"Line chart of each algorithm's probability of being dominated over {count}.",
        caption=captions.dominance_over_rounds(
            alpha=alpha,
            joint=joint,
            withdrawn=any(round_.withdrawn for round_ in rounds),
            unnamed=sum(not look_of[name].named for name in names),
        ),
        width=width,
        height=height or max(0.5 * width, 2.7),
        panels=(Panel(x=x, y=y, marks=marks, key=_mark_key(alpha, wide=wide, cross=out), behind=behind),),
        looks=look_of,
        key=_name_key([name for name in names if look_of[name].named], look_of, width),
    )


def _top(alpha: float) -> float:
    """The upper end of the axis: a decade beyond α, at least 0.9999; larger probabilities are drawn there."""
    digits = 4 if alpha >= 1 else max(4, int(np.ceil(-np.log10(1 - alpha) - 1e-9)) + 1)
    return 1 - 10.0**-digits


def _traces(rounds: Sequence[Round], names: Sequence[str], look_of: Mapping[str, Look], top: float) -> Iterator[Line]:
    """A line from the first to the last round in which an algorithm took part, with a gap where it was out."""
    for index, name in enumerate(names):
        rated = [number for number, round_ in enumerate(rounds) if name in round_.dominance]
        if not rated:
            continue
        own = rounds[rated[0] : rated[-1] + 1]
        y = [min(round_.dominance[name].probability, top) if name in round_.dominance else np.nan for round_ in own]
        dots = (k for k, round_ in enumerate(own) if name in round_.dominance and name not in _leaving(round_))
        yield Line(
            name=f"dominated-{index}",
            x=np.array([round_.instances for round_ in own], dtype=np.float64),
            y=np.array(y),
            algorithm=name,
            width=1.5 if look_of[name].named else 0.8,
            markers=Markers(look_of[name].marker or ".", size=4, at=tuple(dots), edge=1),
            clip=False,
            layer=3 if look_of[name].named else 2,
        )


def _marks(rounds: Sequence[Round], names: Sequence[str], look_of: Mapping[str, Look], top: float) -> Iterator[Points]:
    """Crosses for eliminations and withdrawals, diamonds where algorithms are first settled; side by side if they meet.

    Marks of grey algorithms are small and are not shifted. The last candidate has no rival in the round that withdraws
    it, so its cross stands where its line ends.
    """
    heights: dict[str, float] = {}  # of algorithms still racing
    exits: Counter[str] = Counter()
    settled: set[str] = set()
    marks: defaultdict[int, dict[str, tuple[str, float]]] = defaultdict(dict)  # by number of instances and mark name
    for round_ in rounds:
        heights |= {name: min(rival.probability, top) for name, rival in round_.dominance.items()}
        for name in round_.settled:
            if name not in settled and name in round_.dominance:
                settled.add(name)
                marks[round_.instances][f"settled-{names.index(name)}"] = name, heights[name]
        for name in _leaving(round_):
            if name in heights:
                exits[name] += 1
                again = f"-{exits[name]}" if exits[name] > 1 else ""
                marks[round_.instances][f"out-{names.index(name)}{again}"] = name, heights.pop(name)
    for instances, here in marks.items():
        shifts = _dodge({mark: height for mark, (name, height) in here.items() if look_of[name].named})
        for mark, (name, height) in here.items():
            symbol, size = ("X", 9.0) if mark.startswith("out") else ("D", 6.5)
            yield Points(
                name=mark,
                x=np.array([float(instances)]),
                y=np.array([height]),
                algorithm=name,
                symbol=symbol,
                size=size if look_of[name].named else size - 3,
                edge=0.8 if look_of[name].named else 0.4,
                rim=SURFACE,
                shift=shifts.get(mark, 0.0),
                clip=False,
                layer=6,
            )


def _leaving(round_: Round) -> tuple[str, ...]:
    return (*round_.eliminated, *round_.withdrawn)


def _dodge(heights: dict[str, float]) -> dict[str, float]:
    """Horizontal shift of each mark, in points, so that none hides another."""
    groups: list[list[str]] = []
    last = -np.inf
    for mark in sorted(heights, key=heights.__getitem__):
        height = float(stretch(np.array(heights[mark])))
        if height - last > 0.09:
            groups.append([])
        groups[-1].append(mark)
        last = height
    return {mark: 9.0 * (k - (len(group) - 1) / 2) for group in groups for k, mark in enumerate(group)}


def _resolved(rounds: Sequence[Round], start: float) -> Iterator[Mark]:
    """The share of resolved pairs, from round to round."""
    x = np.array([start, *(max(round_.instances, start) for round_ in rounds)])
    pairs = [n * (n - 1) / 2 for n in taking_part(rounds)]
    y = np.array([0.0, *(round_.resolved_pairs / count for round_, count in zip(rounds, pairs, strict=True))])
    yield Line(name="resolved", x=x, y=y, color=_BLACK, width=1.1, steps=True, clip=False, layer=1)
    yield Band(x=x, low=0, high=y, color=RULE, opacity=0.4, steps=True, layer=0)


def _probability_axis(top: float, *, wide: bool) -> Axis:
    nines = [1 - 10.0**-k for k in range(1, 12) if 1 - 10.0**-k < top * (1 - 1e-12)]
    ticks = (0, 0.2, 0.4, 0.6, 0.8, *nines, top)
    return Axis(
        label="P(dominated by strongest rival)" if wide else "P(dominated)",
        low=0,
        high=top,
        scale="nines",
        ticks=ticks,
        texts=(*(f"{tick:.12g}" for tick in ticks[:-1]), f"≥ {top:.12g}"),
        minor=tuple(0.91 + 0.01 * k for k in range(8)) if top > 0.99 else (),
    )


def _round_axis(rounds: Sequence[Round], *, wide: bool) -> Axis:
    """Number of instances, with a longer tick per round; on a log axis, the last round and some others have labels."""
    first, last = rounds[0].instances, rounds[-1].instances
    log = last > 12 * first
    ticks = [float(last)]
    for round_ in reversed(rounds):
        if ticks[-1] / round_.instances >= (1.35 if wide else 2):
            ticks.append(round_.instances)
    return Axis(
        label="problem instances so far",
        low=first / 1.5 if log else 0.0,
        high=last * (1.06 if log else 1.03),
        scale="log" if log else "linear",
        ticks=(*ticks,) if log else None,
        rug=tuple(float(round_.instances) for round_ in rounds),
        counts=True,
        whole=True,
        most=6,
    )


def _name_key(names: Sequence[str], look_of: Mapping[str, Look], width: float) -> Key:
    size = SMALL if width > 5 else MICRO
    entries = tuple(
        Entry(text=shown(name, 18), algorithm=name, width=2.2, symbol=look_of[name].marker) for name in names
    )
    longest = max(len(entry.text) for entry in entries)
    columns = min(len(names), max(2, int(width * 72 / (size * (0.6 * longest + 3.2)))))
    return Key(entries=entries, columns=columns, size=size)


def _mark_key(alpha: float, *, wide: bool, cross: str) -> Key:
    entries = (
        Entry(text=cross, color=MUTED, symbol="X", size=8),
        Entry(text="settled", color=MUTED, symbol="D", size=6),
        Entry(text=f"α = {alpha:g}", color=INK, width=0.8, dash=DASHES),
        Entry(text="resolved pairs (right)", color=_BLACK, width=1.1),
    )
    return Key(entries=entries, columns=4 if wide else 2, size=SMALL if wide else MICRO)
