"""Features of the instances that decide a race, found by letting ratings depend on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.functions import function_of
from polarbear.inference import fit_conditional
from polarbear.inference.model.conditional import ConditionalRatings
from polarbear.racing import RaceResult
from polarbear.rankings import Rankings
from polarbear.records import FloatArray

if TYPE_CHECKING:
    import polars as pl

_KEYS = ("function", "instance", "design")
"""Columns of a table of features that are not features."""


def ratings_by_features(
    result: RaceResult, features: pl.DataFrame | Mapping[str, ArrayLike], *, squares: bool = False, draws: int = 1000
) -> ConditionalRatings:
    """Estimate how ratings of a race depend on features of its instances; see `polarbear.inference.fit_conditional`.

    Instances of the same function and dimension form a group, provided that the race knows them and there are at least
    two groups.

    Args:
        result: Result of the race, or recorded runs as one.
        features: Table with a column ``instance`` and one column per feature, such as
            `polarbear.landscape.InstanceFeatures.frame`; several rows of an instance are averaged. Or a mapping from
            features to (P,) values in the order of ``result.values``, NaN where unknown.
        squares: Whether to include the squares of features.
        draws: Number of posterior draws.

    Raises:
        ValueError: If no round is complete, the table lacks the column or an instance, or as in `fit_conditional`.
    """
    if not result.begun:
        raise ValueError("nothing is known yet: no round is complete")
    columns = features if isinstance(features, Mapping) else _columns(features, result)
    functions = [function_of(each) if each else "" for each in result.problems]
    known = all(functions) and len(set(functions)) > 1
    rankings = Rankings.of(
        result.rated_values,
        times=result.posterior.times,
        algorithms=result.posterior.names,
        precision=result.settings.precision,
        groups=np.unique(functions, return_inverse=True)[1] if known else None,
    )
    rng = np.random.default_rng(np.random.SeedSequence(result.settings.seed, spawn_key=(2,)))
    return fit_conditional(rankings, columns, squares=squares, draws=draws, rng=rng)


def _columns(table: pl.DataFrame, result: RaceResult) -> dict[str, FloatArray]:
    """For each feature, (P,) means over the rows of each instance."""
    import polars as pl

    if "instance" not in table.columns:
        raise ValueError(f"the table of features has no column 'instance'; it has {', '.join(table.columns)}")
    names = [name for name in table.columns if name not in _KEYS]
    if words := [name for name in names if not table[name].dtype.is_numeric() and table[name].dtype != pl.Null]:
        raise ValueError(f"column {words[0]!r} of the table of features is not numeric; leave it out")
    if not result.problems:
        raise ValueError(
            "the race does not know the names of its instances; give a mapping from features to values in their order"
        )
    means = table.group_by("instance").agg(pl.col(names).cast(pl.Float64).fill_nan(None).mean())
    rows = dict(zip(means["instance"].cast(pl.String).to_list(), means.select(names).rows(), strict=True))
    wanted = [each.name if each else "" for each in result.problems]
    if missing := [name for name in wanted if name not in rows]:
        whose = missing[0] or "an instance whose name no run recorded"
        raise ValueError(f"the table of features has no row for {whose}; add one")
    values = np.array([rows[name] for name in wanted], dtype=np.float64).reshape(len(wanted), len(names))
    return dict(zip(names, values.T, strict=True))
