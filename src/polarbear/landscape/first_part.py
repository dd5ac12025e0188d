"""Features of the first part of a run: points, diversity, strategy parameters (Vermetten 2025, section 5.3)."""

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
"""Features of a time series; see `series_features`."""
POSITIVE = frozenset({
    "step_size", "largest_eigenvalue", "smallest_eigenvalue", "condition_number", "mean_distance", "ps_norm", "pc_norm",
})  # fmt: skip
"""Strategy parameters that are considered on a logarithmic scale."""
Library = Literal["polarbear", "tsfresh"]
"""Libraries of time-series features."""
_LEAST_SIZE = 3


def series_features(values: ArrayLike, times: ArrayLike | None = None, *, log: bool = False) -> dict[str, float]:
    """Compute features of a time series; NaN where undefined.

    They are the ``mean``, the standard deviation ``sd`` (n in the denominator), the ``last`` value, the ``slope`` as
    the rise of the least-squares line from the first time to the last, the ``autocorrelation`` at lag 1,
    Σ (y_i − ȳ)(y_{i+1} − ȳ) / Σ (y_i − ȳ)², the mean absolute ``change`` between consecutive values, ``reversals`` as
    the share of consecutive changes that have opposite signs, and the quantiles ``q10``, ``q50`` and ``q90``. Only the
    slope takes the times into account.

    Args:
        values: (m,) values in order; those that are not finite are left out. If fewer than three remain, all is NaN.
        times: (m,) strictly increasing; by default evenly spaced.
        log: Whether to take logarithms (base 10) of the values; those that are not positive are left out.

    Returns:
        The features, by the names in `SERIES`.

    Raises:
        ValueError: If shapes do not match, or times do not increase.
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
    """Compute all time-series features of tsfresh (Vermetten 2025, section 5.3); NaN where undefined.

    They have tsfresh's names, such as ``agg_autocorrelation__f_agg_"mean"__maxlag_40``. They depend on the times only
    through the order of the values.

    Args:
        values: As in `series_features`.
        times: As in `series_features`.
        log: As in `series_features`.

    Raises:
        ValueError: If shapes do not match, or times do not increase.
        ExtraMissing: If tsfresh is not installed.
    """
    y, _ = _known(values, times, log=log)
    tsfresh = optional("tsfresh", "tsfresh", "library='tsfresh'")
    pandas = optional("pandas", "tsfresh", "library='tsfresh'")
    enough = y.size >= _LEAST_SIZE
    table = pandas.DataFrame({"id": 0, "y": y if enough else np.arange(float(_LEAST_SIZE))})
    with np.errstate(all="ignore"):
        found = tsfresh.extract_features(table, column_id="id", n_jobs=0, disable_progressbar=True)
    row = found.to_numpy(dtype=np.float64)[0]
    names = (name.removeprefix("y__") for name in found.columns)
    return dict(zip(names, np.where(np.isfinite(row) & enough, row, np.nan).tolist(), strict=True))


_BY_LIBRARY: Mapping[str, Callable[..., dict[str, float]]] = {"polarbear": series_features, "tsfresh": tsfresh_features}


def _known(values: ArrayLike, times: ArrayLike | None, *, log: bool) -> tuple[FloatArray, FloatArray]:
    """The finite values of a series, or their logarithms, and their times; errors as in `series_features`."""
    y = np.asarray(values, dtype=np.float64)
    at = np.arange(y.size, dtype=np.float64) if times is None else np.asarray(times, dtype=np.float64)
    if y.ndim != 1 or at.shape != y.shape:
        raise ValueError(f"values have shape {y.shape} and times {at.shape}; both must be (m,)")
    if not (np.diff(at) > 0).all():
        raise ValueError("times are not strictly increasing; give one time for each value, in order")
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
    """Compute features of the first part of a run; unless a parameter does, none depends on shift or scale of values.

    They are, first, those of `recent_features` for a single window with all points of the part, without ``@`` and the
    number. Second, they are features of time series (`series_features`), such as ``step_size:slope``, of logged
    strategy parameters, row by row, and of ``pop_div`` and ``fit_div``, population by population: the logarithms of the
    diversity of points, in box widths, and of the diversity of values, as a share of that of the whole part.

    Args:
        run: Run of which all points of the first part were kept (``Watch(points="all", every=λ)``).
        lower: (d,) lower bounds of the box.
        upper: (d,) upper bounds of the box.
        until: Number of evaluations of the first part; default the whole run.
        size: Number of points of a population, for the diversity.
        parameters: Parameters to include; default all that were logged.
        positive: Parameters to take logarithms of.
        sets: Sets of landscape features.
        library: Library of time-series features: our ten, or the hundreds of "tsfresh" (`tsfresh_features`).

    Returns:
        The features by name; NaN where undefined.

    Raises:
        ExtraMissing: If tsfresh is requested and not installed.
        ValueError: If points or a parameter were not kept, the run is shorter, the library is unknown, or as in
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
                f"{run.key} has no logged parameter {name!r}; log what its optimizer exposes, for example with every "
                f"= 10 in the log of its plan, or choose another one:{did_you_mean(name, known)}"
            )
        series[name] = _first_rows(logged, name, count)
    for name, (values, at) in series.items():
        log = name in positive or name in {"pop_div", "fit_div"}
        features = _BY_LIBRARY[library](values, at, log=log)
        found |= {f"{name}:{feature}": value for feature, value in features.items()}
    return found


def _first_rows(logged: Parameters, name: str, until: int) -> tuple[FloatArray, IntArray]:
    """The values of a parameter, and the evaluations at which they were logged."""
    rows = logged.evaluations <= until
    return logged.values[name][rows], logged.evaluations[rows]


def _first_samples(run: Run, until: int | None) -> Samples:
    """All points of the first part."""
    samples = run.samples
    kept = 0 if samples is None else len(samples.points)
    count = run.outcome.evaluations if until is None else whole_number(until, "until", 2)
    if samples is None or kept < count or samples.evaluations[count - 1] != count:
        raise ValueError(
            f"{run.key} has {run.outcome.evaluations} evaluations, but not all of its first {count} points are "
            'recorded; record them with points = "all" in the log of its plan'
        )
    return Samples(samples.evaluations[:count], samples.points[:count], samples.values[:count])
