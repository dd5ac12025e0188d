"""The content of a race's report as data frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from polarbear.analyzer import datasets
from polarbear.analyzer.answer import PREFERENCES
from polarbear.assess.report.data import Data
from polarbear.descriptions import did_you_mean
from polarbear.racing import RaceResult

if TYPE_CHECKING:
    import polars as pl


def _observed(result: RaceResult) -> Data:
    """The best value found by each algorithm on each instance by each timepoint."""
    times, names = result.posterior.times, result.names
    return Data.of(
        "observed",
        ("instance", result.settings.axis, "algorithm", "value"),
        (
            (instance, times[t], names[i], result.values[instance, t, i])
            for instance, t, i in np.argwhere(~np.isnan(result.values)).tolist()
        ),
    )


_TABLES: dict[str, Callable[[RaceResult], Data]] = {
    "ratings": datasets.ratings,
    "values": lambda result: datasets.values(result, tuple(PREFERENCES)),
    "value-quantiles": lambda result: datasets.value_quantiles(result, tuple(PREFERENCES)),
    "relations": datasets.relations_of_pairs,
    "dominance": datasets.dominance,
    "rounds": datasets.rounds,
    "horizons": datasets.horizons,
    "reach": datasets.reach,
    "evaluations": datasets.spending,
    "diagnostics": datasets.diagnostics,
    "observed": _observed,
}

FRAMES = tuple(_TABLES)
"""The names of all data frames of a race."""


def frame_of(result: RaceResult, name: str) -> pl.DataFrame:
    """The named data frame; ValueError if there is none, or the race has not completed a round."""
    if name not in _TABLES:
        raise ValueError(f"there is no data frame {name!r};{did_you_mean(name, FRAMES)}")
    if not result.begun:
        raise ValueError(f"the data frame {name!r} is not available yet; the race has not completed a round")
    return _TABLES[name](result).frame()
