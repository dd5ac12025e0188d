import numpy as np
import pytest
from scipy import stats

from polarbear.assess.aocc import aocc, attained_share, attainment_ecdf
from polarbear.assess.attainment import eaf_grid
from polarbear.assess.bootstrap import bootstrap_band
from polarbear.assess.step_functions import Bounds, values_at
from tests.assess.curves import random_trajectory

COCO = Bounds(1e-8, 100, log=True)
TIMES = np.arange(1, 101, 9)


def runs():
    return [random_trajectory(np.random.default_rng(seed)) for seed in range(15)]


@pytest.mark.parametrize("simultaneous", [False, True])
def test_the_estimates_are_the_statistics(simultaneous):
    paths, rng = runs(), np.random.default_rng(0)
    values = values_at(paths, TIMES)
    targets = COCO.spaced(6)
    options = {"rng": rng, "resamples": 200, "simultaneous": simultaneous}
    surface = bootstrap_band(values[:, :, None] <= targets, **options)
    np.testing.assert_allclose(surface.estimate, eaf_grid(values, targets), atol=1e-14)
    curve = bootstrap_band(values_at(attained_share(paths, values=COCO), TIMES), **options)
    np.testing.assert_allclose(curve.estimate, attainment_ecdf(paths, values=COCO)(TIMES), atol=1e-14)
    area = bootstrap_band(aocc(paths, times=Bounds(1, 100), values=COCO), **options)
    assert area.lower < area.estimate < area.upper
    for band in (surface, curve, area):
        assert (band.lower <= band.estimate).all()
        assert (band.estimate <= band.upper).all()


@pytest.mark.parametrize("statistic", [np.mean, np.median])
def test_a_single_interval_is_that_of_scipy(statistic):
    sample = np.random.default_rng(1).gamma(2, size=30)
    band = bootstrap_band(sample, statistic, rng=np.random.default_rng(2), confidence=0.9, resamples=999)
    theirs = stats.bootstrap(
        (sample,), statistic, n_resamples=999, confidence_level=0.9, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    np.testing.assert_allclose([band.lower, band.upper], [theirs.low, theirs.high], rtol=1e-12)


def test_whole_runs_are_resampled():
    sample = np.random.default_rng(3).normal(size=20)
    columns = np.column_stack((sample, 3 * sample, 10 - sample))
    band = bootstrap_band(columns, rng=np.random.default_rng(4))
    np.testing.assert_allclose(band.lower[1], 3 * band.lower[0], rtol=1e-10)
    np.testing.assert_allclose(band.upper[2], 10 - band.lower[0], rtol=1e-10)


def test_batches_change_nothing(monkeypatch):
    sample = np.random.default_rng(3).normal(size=(9, 4))
    once = bootstrap_band(sample, rng=np.random.default_rng(4), resamples=100)
    monkeypatch.setattr("polarbear.assess.bootstrap._BATCH_BYTES", 7 * sample.nbytes)
    again = bootstrap_band(sample, rng=np.random.default_rng(4), resamples=100)
    np.testing.assert_array_equal(once.lower, again.lower)


@pytest.mark.parametrize("simultaneous", [False, True])
def test_coverage_of_the_distribution_function(simultaneous):
    """40 uniform runs: bands of 95 % cover the truth at a point, or everywhere, about as often as they say.

    400 repetitions have a standard error of 0.011. The interval allows three of them on either side, and the one or two
    percent that the percentile bootstrap of 40 shares is known to be short by.
    """
    rng = np.random.default_rng(5)
    grid = np.linspace(0.1, 0.9, 9)
    covered = []
    for _ in range(400):
        attained = rng.random((40, 1)) <= grid
        band = bootstrap_band(attained, rng=rng, resamples=300, simultaneous=simultaneous)
        inside = (band.lower - 1e-12 <= grid) & (grid <= band.upper + 1e-12)
        covered.append(inside.all() if simultaneous else inside.mean())
    assert 0.90 < np.mean(covered) < 0.985


def test_unknown_places_stay_unknown_and_leave_the_others_alone():
    sample = np.random.default_rng(6).normal(size=(9, 3))
    known = bootstrap_band(sample[:, :2], rng=np.random.default_rng(7), simultaneous=True)
    sample[4, 2] = np.nan
    band = bootstrap_band(sample, rng=np.random.default_rng(7), simultaneous=True)
    np.testing.assert_array_equal(band.lower, [*known.lower, np.nan])
    nowhere = bootstrap_band(np.full((3, 2), np.nan), rng=np.random.default_rng(7), simultaneous=True)
    assert np.isnan(nowhere.estimate).all()


@pytest.mark.parametrize(
    ("samples", "confidence", "message"),
    [
        (np.ones((1, 3)), 0.95, "at least two runs"),
        (1.0, 0.95, "at least two runs"),
        ([1.0, np.inf], 0.95, "infinite"),
        ([1.0, 2.0], 95, "confidence is 95"),
    ],
)
def test_errors_name_the_mend(samples, confidence, message):
    with pytest.raises(ValueError, match=message):
        bootstrap_band(samples, rng=np.random.default_rng(0), confidence=confidence)
