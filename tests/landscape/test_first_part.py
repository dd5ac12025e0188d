"""Features of the first part of a run: time series in closed form, the others as by the functions for them."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from polarbear.landscape import (
    POSITIVE,
    SERIES,
    diversity,
    recent_features,
    run_diversity,
    run_features,
    series_features,
    tsfresh_features,
)
from polarbear.records import Outcome, Parameters, Reason, Run, RunKey, Samples, Trajectory

SETS = ("ela_distr",)
BOX = np.array([-5.0, -5.0, -5.0]), np.array([5.0, 15.0, 5.0])
LOCATION = ("mean", "last", "q10", "q50", "q90")


def test_of_a_straight_line():
    found = series_features([1, 3, 5, 7, 9])
    assert tuple(found) == SERIES
    assert found == pytest.approx({
        "mean": 5, "sd": 8**0.5, "last": 9, "slope": 8, "autocorrelation": 16 / 40, "change": 2, "reversals": 0,
        "q10": 1.8, "q50": 5, "q90": 8.2,
    })  # fmt: skip


def test_of_a_zigzag():
    found = series_features([1, -1, 1, -1, 1, -1])
    assert found == pytest.approx({
        "mean": 0, "sd": 1, "last": -1, "slope": -6 / 7, "autocorrelation": -5 / 6, "change": 2, "reversals": 1,
        "q10": -1, "q50": 0, "q90": 1,
    })  # fmt: skip


def test_only_the_slope_takes_notice_of_times():
    times = np.array([0.0, 1.0, 10.0, 11.0])
    even, uneven = series_features(3 * times), series_features(3 * times, times)
    assert uneven["slope"] == pytest.approx(33)
    assert even["slope"] == pytest.approx(3 * 63 / 5)
    assert {name for name in SERIES if even[name] != uneven[name]} == {"slope"}


def test_autocorrelation_is_that_of_the_process():
    rng, y = np.random.default_rng(1), np.zeros(4000)
    for i in range(1, y.size):
        y[i] = 0.6 * y[i - 1] + rng.normal()
    assert series_features(y)["autocorrelation"] == pytest.approx(0.6, abs=0.05)


def test_of_logarithms_a_factor_moves_the_location_alone():
    y = np.random.default_rng(2).lognormal(size=30)
    found, larger = series_features(y, log=True), series_features(1000 * y, log=True)
    assert found["mean"] == pytest.approx(np.log10(y).mean())
    assert larger == pytest.approx({name: found[name] + 3 * (name in LOCATION) for name in SERIES})


def test_what_is_not_known_is_left_out_and_what_has_no_value_is_nan():
    assert series_features([1, np.nan, 3, np.inf, 5, 7, 9])["sd"] == pytest.approx(8**0.5)
    assert series_features([-1, 10, 0, 100, 1000], log=True)["mean"] == pytest.approx(2)
    for short in ([], [1, 2], [1, np.nan, 2]):
        assert np.isnan(list(series_features(short).values())).all()
    constant = series_features([0.1] * 7)
    assert (constant["sd"], constant["slope"], constant["reversals"]) == pytest.approx((0, 0, 0), abs=1e-12)
    assert np.isnan(constant["autocorrelation"])
    with pytest.raises(ValueError, match="times are not strictly increasing"):
        series_features([1, 2], [1, 1])
    with pytest.raises(ValueError, match="both must be \\(m,\\)"):
        series_features([1, 2], [1])


def made(size=120, scale=1.0, shift=0.0):
    """A run that closes in on 0, whose step size falls by a factor of 10 from one row to the next."""
    rng = np.random.default_rng(3)
    points = rng.uniform(*BOX, (size, 3)) * np.linspace(1, 0.2, size)[:, np.newaxis]
    values = scale * (points**2).sum(axis=1) + shift
    at = np.arange(1, size + 1)
    better = np.minimum.accumulate(values) == values
    rows = at[7::8]
    parameters = Parameters(rows, {"step_size": 10.0 ** -np.arange(rows.size), "angle": np.sin(rows)})
    trajectory = Trajectory(at[better], at[better] * 1e-3, values[better], Outcome(Reason.BUDGET, size, 1.0))
    return Run(RunKey("f1", "A", 0), trajectory, parameters=parameters, samples=Samples(at, points, values))


def test_points_and_diversity_are_those_of_the_functions_for_them():
    run = made()
    found = run_features(run, *BOX, until=80, size=8, sets=SETS)
    recent = recent_features(run.samples.points[:80], run.samples.values[:80], *BOX, last=(80,), sets=SETS)
    for name in ("stagnation", "pop_div@80", "gain@80", "ela_distr.skewness@80"):
        assert found[name.partition("@")[0]] == recent[name]
    in_widths = replace(run.samples, points=(run.samples.points - BOX[0]) / (BOX[1] - BOX[0]))
    spread = run_diversity(replace(run, samples=in_widths), 8)
    assert found["pop_div:last"] == pytest.approx(np.log10(spread.pop_div[9]))
    whole = float(diversity(run.samples.values[:80, np.newaxis]))
    assert found["fit_div:mean"] == pytest.approx(np.log10(spread.fit_div[:10] / whole).mean())


def test_parameters_are_followed_until_then_those_that_are_positive_by_their_logarithm():
    found = run_features(made(), *BOX, until=80, size=8, sets=SETS)
    assert "step_size" in POSITIVE
    assert (found["step_size:last"], found["step_size:slope"], found["step_size:change"]) == pytest.approx((-9, -9, 1))
    assert found["angle:q50"] == pytest.approx(np.median(np.sin(np.arange(8, 81, 8))))
    chosen = run_features(made(), *BOX, until=80, size=8, sets=SETS, parameters=["step_size"], positive=())
    assert chosen["step_size:last"] == pytest.approx(1e-9)
    assert not any(name.startswith("angle") for name in chosen)
    with pytest.raises(ValueError, match=r"no logged parameter 'stepsize'; .* did you mean 'step_size'"):
        run_features(made(), *BOX, sets=SETS, parameters=["stepsize"])


def test_what_comes_later_and_shift_and_scale_of_values_change_nothing():
    found = run_features(made(), *BOX, until=80, size=8, sets=SETS)
    whole = made()
    first = replace(
        whole,
        samples=Samples(
            *(each[:80] for each in (whole.samples.evaluations, whole.samples.points, whole.samples.values))
        ),
        parameters=Parameters(
            whole.parameters.evaluations[:10], {name: row[:10] for name, row in whole.parameters.values.items()}
        ),
    )
    assert run_features(first, *BOX, until=80, size=8, sets=SETS) == pytest.approx(found, nan_ok=True)
    other = run_features(made(scale=1e4, shift=-3e3), *BOX, until=80, size=8, sets=SETS)
    assert other == pytest.approx(found, rel=1e-7, abs=1e-7, nan_ok=True)


def test_without_all_points_it_says_so():
    run = made()
    every_second = Samples(*(each[1::2] for each in (run.samples.evaluations, run.samples.points, run.samples.values)))
    for kept in (None, every_second):
        with pytest.raises(ValueError, match="not all of its first 80 points"):
            run_features(replace(run, samples=kept), *BOX, until=80)
    with pytest.raises(ValueError, match="not all of its first 500 points"):
        run_features(run, *BOX, until=500)


class TestTsfresh:
    """What it computes is its own; a few are known in closed form."""

    @pytest.mark.skipif(find_spec("tsfresh") is not None, reason="tsfresh is installed")
    def test_where_it_is_missing_the_extra_is_named(self):
        for call in (lambda: tsfresh_features([1, 2, 3]), lambda: run_features(made(), *BOX, library="tsfresh")):
            with pytest.raises(ImportError, match=r"needs tsfresh; .*pip install 'polarbear-race\[tsfresh\]'"):
                call()

    def test_another_library_is_named(self):
        with pytest.raises(ValueError, match="library is 'tsfrsh'; choose one of polarbear, tsfresh"):
            run_features(made(), *BOX, library="tsfrsh")

    def test_of_a_line_with_what_is_not_known_left_out(self):
        pytest.importorskip("tsfresh")
        found = tsfresh_features([1, 3, np.nan, 5, np.inf, 7, 9])
        expected = {
            "abs_energy": 165, "length": 5, "mean": 5, "standard_deviation": 8**0.5, "mean_abs_change": 2,
            'linear_trend__attr_"slope"': 2, "autocorrelation__lag_1": 16 / 4 / 8,
        }  # fmt: skip
        assert {name: found[name] for name in expected} == pytest.approx(expected)
        assert not np.isinf(list(found.values())).any()

    def test_names_are_the_same_for_every_series(self):
        pytest.importorskip("tsfresh")
        rng = np.random.default_rng(1)
        names = [tuple(tsfresh_features(y)) for y in (rng.normal(size=19), np.ones(40), [1, 2, 4], [1.0], [])]
        assert len(set(names)) == 1
        assert len(names[0]) > 700
        assert np.isnan(list(tsfresh_features([1.0]).values())).all()

    def test_of_a_run_it_replaces_those_of_series_alone(self):
        pytest.importorskip("tsfresh")
        own, other = (run_features(made(), *BOX, sets=SETS, library=each) for each in ("polarbear", "tsfresh"))
        shared = {name for name in own if ":" not in name}
        assert {name: other[name] for name in shared} == pytest.approx(
            {name: own[name] for name in shared}, nan_ok=True
        )
        assert other["step_size:mean"] == pytest.approx(own["step_size:mean"])
        assert other["step_size:quantile__q_0.9"] == pytest.approx(own["step_size:q90"])
