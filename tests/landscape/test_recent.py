"""Features of the last evaluations of a run."""

import numpy as np
import pytest

from polarbear.landscape import recent_features, recent_names

SETS = ("ela_meta", "ela_distr")


def run(size=200, d=3, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.uniform(-5, 5, (size, d)) * np.linspace(1, 0.2, size)[:, np.newaxis]
    return points, (points**2).sum(axis=1)


def test_they_are_those_that_are_named_and_tell_what_they_say():
    points, values = run()
    found = recent_features(points, values, [-5] * 3, [5] * 3, last=(50, 120), sets=SETS)
    assert tuple(found) == recent_names((50, 120), SETS)
    assert found["dimension"] == 3
    assert found["evaluations"] == pytest.approx(np.log10(200 / 3))
    assert found["stagnation"] == pytest.approx((199 - values.argmin()) / 200)
    assert 10 ** found["pop_div@50"] == pytest.approx((points[-50:] / 10).std(axis=0).mean())
    assert 10 ** found["fit_div@120"] == pytest.approx(values[-120:].std() / values.std())
    assert found["gain@120"] == pytest.approx((values[:80].min() - values.min()) / values[-120:].std())
    assert found["ela_meta.quad_simple.adj_r2@50"] == pytest.approx(1.0)


def test_shift_and_scale_of_values_and_box_change_nothing():
    points, values = run()
    found = recent_features(points, values, [-5] * 3, [5] * 3, sets=SETS)
    moved = recent_features(points * 4 + 1, values * 1e6 - 3e5, [-19] * 3, [21] * 3, sets=SETS)
    assert list(moved.values()) == pytest.approx(list(found.values()), rel=1e-6, abs=1e-6)


def test_of_a_short_run_all_points_count():
    points, values = run(size=40)
    found = recent_features(points, values, [-5] * 3, [5] * 3, last=(50, 250), sets=SETS)
    assert found["pop_div@50"] == found["pop_div@250"]
    assert found["gain@250"] == pytest.approx((values[0] - values.min()) / values.std())


def test_what_has_no_value_is_nan_and_never_infinite():
    points, values = run(size=60)
    values[5:] = np.inf
    stuck = recent_features(np.ones((60, 3)), np.ones(60), [-5] * 3, [5] * 3, last=(50,), sets=SETS)
    failing = recent_features(points, values, [-5] * 3, [5] * 3, last=(50,), sets=SETS)
    for found in (stuck, failing):
        assert not np.isinf(list(found.values())).any()
        assert np.isnan(found["ela_meta.lin_simple.adj_r2@50"])
    assert stuck["gain@50"] == 0
    with pytest.raises(ValueError, match="points have shape"):
        recent_features(points, values[:5], [-5] * 3, [5] * 3)
