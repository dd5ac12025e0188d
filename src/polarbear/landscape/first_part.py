"""What is known of a run after its first part: points, diversity, strategy parameters (Vermetten 2025, section 5.3)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from polarbear.descriptions import did_you_mean
from polarbear.extras import optional
from polarbear.landscape.diversity import diversity, run_diversity
from polarbear.landscape.recent import RECENT_SETS, recent_features
from polarbear.records import FloatArray, IntArray, Parameters, Run, Samples
from polarbear.validation import whole_number

SERIES = ("mean", "sd", "last", "slope", "autocorrelation", "change", "reversals", "q10", "q50", "q90")
"""Features of a time series, see `series_features`."""
POSITIVE = frozenset({
    "step_size", "largest_eigenvalue", "smallest_eigenvalue", "condition_number", "mean_distance", "ps_norm", "pc_norm",
})  # fmt: skip
"""Strategy parameters that are looked at on a logarithmic scale."""
Library = Literal["polarbear", "tsfresh"]
"""Whose features of time series."""
_LEAST_SIZE = 3


def series_features(values: ArrayLike, times: ArrayLike | None = None, *, log: bool = False) -> dict[str, float]:
    """Features of a time series, NaN where one has no value.

    They are the ``mean``, the standard deviation ``sd`` (n in the denominator), the ``last`` value, the ``slope``, by
    how much the least-squares line rises from the first time to the last, the ``autocorrelation`` at lag 1,
    Σ (y_i − ȳ)(y_{i+1} − ȳ) / Σ (y_i − ȳ)², the mean absolute ``change`` from one value to the next, ``reversals``, the
    share of neighbouring changes that have opposite signs, and the quantiles ``q10``, ``q50`` and ``q90``. All but the
    slope take no notice of times.

    Args:
        values: (m,) in order; those that are not finite are left out. Of fewer than three that remain all is NaN.
        times: (m,) strictly increasing; by default evenly spaced.
        log: Whether the logarithm (base 10) of the values counts; those that are not positive are left out.

    Returns:
        As `SERIES` names them.

    Raises:
        ValueError: If shapes do not fit, or times do not increase.
    """
    y, at = _known(values, times, log=log)
    if y.size < _LEAST_SIZE:
        return dict.fromkeys(SERIES, np.nan)
    about, about_time, steps = y - y.mean(), at - at.mean(), np.diff(y)
    squares = float(about @ about)
    low, middle, high = np.quantile(y, (0.1, 0.5, 0.9)).tolist()
    return {
        "mean": float(y.mean()),
        "sd": float(y.std()),
        "last": float(y[-1]),
        "slope": float(about_time @ about / (about_time @ about_time) * (at[-1] - at[0])),
        "autocorrelation": float(about[:-1] @ about[1:]) / squares if np.ptp(y) > 0 else np.nan,
        "change": float(np.abs(steps).mean()),
        "reversals": float((steps[1:] * steps[:-1] < 0).mean()),
        "q10": low,
        "q50": middle,
        "q90": high,
    }


def tsfresh_features(values: ArrayLike, times: ArrayLike | None = None, *, log: bool = False) -> dict[str, float]:
    """All features of a time series that tsfresh computes (Vermetten 2025, section 5.3), NaN where one has no value.

    They are called as tsfresh calls them, such as ``agg_autocorrelation__f_agg_"mean"__maxlag_40``. None takes notice
    of times, but for the order.

    Args:
        values: As of `series_features`.
        times: Likewise.
        log: Likewise.

    Raises:
        ValueError: If shapes do not fit, or times do not increase.
        ExtraMissing: If tsfresh is not installed.
    """
    y, _ = _known(values, times, log=log)
    tsfresh = optional("tsfresh", "tsfresh", "a feature of tsfresh")
    pandas = optional("pandas", "tsfresh", "a feature of tsfresh")
    enough = y.size >= _LEAST_SIZE
    table = pandas.DataFrame({"id": 0, "y": y if enough else np.arange(float(_LEAST_SIZE))})
    with np.errstate(all="ignore"):
        found = tsfresh.extract_features(table, column_id="id", n_jobs=0, disable_progressbar=True)
    row = found.to_numpy(dtype=np.float64)[0]
    names = (name.removeprefix("y__") for name in found.columns)
    return dict(zip(names, np.where(np.isfinite(row) & enough, row, np.nan).tolist(), strict=True))


_BY_LIBRARY: Mapping[str, Callable[..., dict[str, float]]] = {"polarbear": series_features, "tsfresh": tsfresh_features}


def _known(values: ArrayLike, times: ArrayLike | None, *, log: bool) -> tuple[FloatArray, FloatArray]:
    """The values of a series that are finite, or their logarithms, and their times; errors as of `series_features`."""
    y = np.asarray(values, dtype=np.float64)
    at = np.arange(y.size, dtype=np.float64) if times is None else np.asarray(times, dtype=np.float64)
    if y.ndim != 1 or at.shape != y.shape:
        raise ValueError(f"values have shape {y.shape}, times {at.shape}; give (m,) of both")
    if not (np.diff(at) > 0).all():
        raise ValueError("times do not increase; give values in order, with one time for each")
    if log:
        y = np.log10(np.where(y > 0, y, np.nan))
    known = np.isfinite(y)
    return y[known], at[known]


def run_features(
    run: Run,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    until: int | None = None,
    size: int = 10,
    parameters: Sequence[str] | None = None,
    positive: Collection[str] = POSITIVE,
    sets: Sequence[str] = RECENT_SETS,
    library: Library = "polarbear",
) -> dict[str, float]:
    """Features of the first part of a run. None depends on shift or scale of the values, if no parameter does.

    They are those of `recent_features` with all points of the part in one window, without ``@`` and the number; and
    features of time series (`series_features`), such as ``step_size:slope``: of ``pop_div`` and ``fit_div``, the
    logarithms of the diversity of points, in box widths, and of values, as a share of that of the whole part,
    population by population; and of strategy parameters that were logged, row by row.

    Args:
        run: A run whose points were all kept, up to there at least (``Watch(points="all", every=λ)``).
        lower: (d,) lower bounds of the box.
        upper: (d,) upper bounds.
        until: Evaluations of the first part; default the whole run.
        size: Points of a population, by which diversity is followed.
        parameters: Which parameters count; default all that were logged.
        positive: Those of which the logarithm counts.
        sets: Sets of features of landscapes.
        library: Whose features of time series: our ten, or the hundreds of "tsfresh" (`tsfresh_features`).

    Returns:
        The features by name, NaN where one has no value.

    Raises:
        ExtraMissing: If tsfresh is asked for and not installed.
        ValueError: If points or a parameter were not kept, the run is shorter, the library is unknown, or as
            `recent_features`.
    """
    if library not in _BY_LIBRARY:
        raise ValueError(f"library is {library!r}; choose one of {', '.join(get_args(Library))}")
    first = _first_samples(run, until)
    low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    count = len(first.values)
    window = recent_features(first.points, first.values, low, high, last=(count,), sets=sets)
    found = {name.removesuffix(f"@{count}"): value for name, value in window.items() if not name.startswith("fit_div@")}
    in_widths = replace(first, points=(first.points - low) / (high - low))
    spread = run_diversity(replace(run, samples=in_widths), size)
    finite = first.values[np.isfinite(first.values)]
    whole = float(diversity(finite[:, np.newaxis])) if finite.size else 0.0
    fit_div = spread.fit_div / whole if whole > 0 else np.full_like(spread.fit_div, np.nan)
    series: dict[str, tuple[FloatArray, IntArray]] = {
        "pop_div": (spread.pop_div, spread.evaluations),
        "fit_div": (fit_div, spread.evaluations),
    }
    logged = run.parameters
    known = () if logged is None else tuple(logged.values)
    for name in known if parameters is None else parameters:
        if logged is None or name not in known:
            raise ValueError(
                f"{run.key} has no parameter {name!r} logged;{did_you_mean(name, known)} "
                "log what its optimizer exposes by the log of its plan, such as every = 10"
            )
        series[name] = _first_rows(logged, name, count)
    for name, (values, at) in series.items():
        log = name in positive or name in {"pop_div", "fit_div"}
        features = _BY_LIBRARY[library](values, at, log=log)
        found |= {f"{name}:{feature}": value for feature, value in features.items()}
    return found


def _first_rows(logged: Parameters, name: str, until: int) -> tuple[FloatArray, IntArray]:
    """The values of a parameter, and at which evaluations."""
    rows = logged.evaluations <= until
    return logged.values[name][rows], logged.evaluations[rows]


def _first_samples(run: Run, until: int | None) -> Samples:
    """The points of the first part, all of them."""
    samples = run.samples
    kept = 0 if samples is None else len(samples.points)
    count = run.outcome.evaluations if until is None else whole_number(until, "until", 2)
    if samples is None or kept < count or samples.evaluations[count - 1] != count:
        raise ValueError(
            f"not all of the first {count} points of {run.key} are there, of {run.outcome.evaluations} evaluations; "
            'keep them by points = "all" in the log of its plan'
        )
    return Samples(samples.evaluations[:count], samples.points[:count], samples.values[:count])
