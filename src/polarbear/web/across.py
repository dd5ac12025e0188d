"""One number per algorithm and function or dimension, as one of several charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np

from polarbear import figures
from polarbear.figures import Figure
from polarbear.records import FloatArray
from polarbear.web.kind import one_of

Chart = Annotated[str, one_of("chart", "lines", "radar", "ranks")]


def charted(
    values: Mapping[str, FloatArray],
    columns: Sequence[str],
    chart: str,
    *,
    label: str,
    order: Sequence[str],
    column_label: str = "function",
) -> Figure:
    """The chart of that name; unknown and infinite numbers share the last rank."""
    from scipy.stats import rankdata

    if chart == "ranks":
        every = np.array(list(values.values()))
        ranks = rankdata(np.where(np.isnan(every), np.inf, every), axis=0)
        named = dict(zip(values, ranks, strict=True))
        return figures.rank_chart(named, columns, column_label=column_label, order=order)
    draw = figures.radar if chart == "radar" else figures.across_columns
    return draw(values, columns, label=label, column_label=column_label, order=order)
