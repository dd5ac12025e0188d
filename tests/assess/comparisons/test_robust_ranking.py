"""Robust ranking: the package `robustranking` on the same resamples, enumerated cases, and what ranks must satisfy."""

import json

import numpy as np
import pytest

from polarbear.assess.comparisons import robust_ranking

RNG = np.random.default_rng(11)
VALUES = np.array([0.0, 0.1, 0.6, 1.5, 1.55])[:, None, None] + RNG.normal(size=(5, 30, 4)) * [1, 0.5, 2, 0.1]
TIMES = [1, 10, 100, 1000]


def test_the_package_gives_the_same_on_the_same_resamples():
    """`Generator.choice` with replacement draws what `integers` draws, so that both see the same bootstrap samples."""
    package = pytest.importorskip("robustranking", reason="robustranking is not installed")
    ours = robust_ranking(VALUES, times=TIMES, names="abcde", resamples=4000, rng=np.random.default_rng(42))
    for t in range(4):
        benchmark = package.Benchmark()
        for a, name in enumerate("abcde"):
            for i in range(30):
                benchmark.add_run(name, f"i{i}", "value", float(VALUES[a, i, t]))
        comparison = package.comparison.BootstrapComparison(
            benchmark, alpha=0.05, minimise=True, bootstrap_runs=4000, rng=42
        ).compute()
        ranking = comparison.get_ranking()
        assert ours.groups[t].tolist() == [ranking.loc[name, "group"] for name in "abcde"]
        assert ours.best_probabilities[t] == pytest.approx([ranking.loc[name, "ranked 1st"] for name in "abcde"])
        assert ours.lower[t] == pytest.approx([ranking.loc[name, "ci_lb"] for name in "abcde"], abs=0.01)
        assert ours.upper[t] == pytest.approx([ranking.loc[name, "ci_ub"] for name in "abcde"], abs=0.01)
        for a in range(5):
            for b in range(5):
                expected = comparison.statistical_test("abcde"[a], "abcde"[b])
                assert ours.worse[t, a, b] == pytest.approx(expected)


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_ranks_are_shared_out_completely(statistic):
    values = np.round(VALUES[:, :6], 0)  # many ties
    found = robust_ranking(values, times=TIMES, statistic=statistic, resamples=500, rng=np.random.default_rng(0))
    assert found.rank_probabilities.sum(axis=1) == pytest.approx(np.ones((4, 5)))
    assert found.rank_probabilities.sum(axis=2) == pytest.approx(np.ones((4, 5)))
    assert (found.lower <= found.upper).all()
    assert (found.worse + found.worse.transpose(0, 2, 1) >= 1 - 1e-12).all()


@pytest.mark.statistical
def test_all_bootstrap_samples_of_two_instances():
    """A - B is 1 and -2 on two instances; of the 4 samples only (1, 1) makes A worse. Bound: 4.5 standard errors."""
    values = np.array([[1.0, 0.0], [0.0, 2.0]])[:, :, None]
    found = robust_ranking(values, times=[1], resamples=20_000, rng=np.random.default_rng(1))
    assert found.best_probabilities[0, 0] == pytest.approx(0.75, abs=4.5 * np.sqrt(0.75 * 0.25 / 20_000))
    assert found.worse[0, 0, 1] == pytest.approx(1 - found.best_probabilities[0, 0])
    assert found.observed[0].tolist() == [0.5, 1.0]


def test_equal_algorithms_share_every_rank():
    values = np.stack([VALUES[0], VALUES[0], VALUES[0] + 1])
    found = robust_ranking(values, times=TIMES, resamples=300, rng=np.random.default_rng(2))
    assert found.rank_probabilities[0] == pytest.approx(np.array([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]]))
    assert found.groups.tolist() == [[1, 1, 2]] * 4


def test_timepoints_share_their_resamples():
    whole = robust_ranking(VALUES, times=TIMES, resamples=200, rng=np.random.default_rng(3))
    for t in range(4):
        alone = robust_ranking(VALUES[:, :, [t]], times=[TIMES[t]], resamples=200, rng=np.random.default_rng(3))
        np.testing.assert_array_equal(alone.rank_probabilities[0], whole.rank_probabilities[t])
        np.testing.assert_array_equal(alone.groups[0], whole.groups[t])


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_permuting_algorithms_permutes_the_result(statistic):
    order = [3, 0, 4, 1, 2]
    options = {"times": TIMES, "statistic": statistic, "resamples": 300}
    first = robust_ranking(VALUES, rng=np.random.default_rng(4), **options)
    second = robust_ranking(VALUES[order], rng=np.random.default_rng(4), **options)
    np.testing.assert_array_equal(second.rank_probabilities, first.rank_probabilities[:, order])
    np.testing.assert_array_equal(second.groups, first.groups[:, order])


@pytest.mark.statistical
def test_failures():
    values = np.zeros((3, 10, 1))
    values[1, :2], values[2] = np.inf, np.inf
    means = robust_ranking(values, times=[1], resamples=2000, rng=np.random.default_rng(5))
    # a mean is finite only if both failures are missed by all 10 picks; bound: 4.5 standard errors
    assert 1 - means.worse[0, 1, 2] == pytest.approx(0.8**10, abs=4.5 * np.sqrt(0.1 / 2000))
    assert means.observed[0].tolist() == [0, np.inf, np.inf]
    medians = robust_ranking(values, times=[1], statistic="median", resamples=2000, rng=np.random.default_rng(5))
    assert medians.observed[0].tolist() == [0, 0, np.inf]
    assert medians.groups[0].tolist() == [1, 1, 2]
    assert json.loads(json.dumps(means.as_dict(), allow_nan=False))["observed"] == [[0, "inf", "inf"]]
    assert means.rows()[1]["mean"] == np.inf


@pytest.mark.slow
def test_equal_algorithms_are_seldom_parted():
    """Two equal algorithms: one of the two one-sided tests at 0.05 rejects in about 10 % of 400 data sets.

    Percentile bootstrap tests are somewhat bold; the bound is the 0.9999 quantile of Binomial(400, 0.13).
    """
    rng = np.random.default_rng(6)
    parted = sum(
        robust_ranking(rng.normal(size=(2, 40, 1)), times=[1], resamples=1000, rng=rng).groups.max() > 1
        for _ in range(400)
    )
    assert 15 <= parted <= 76


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": VALUES[0]}, r"values have shape \(30, 4\)"),
        ({"times": [1, 2]}, r"times \(2,\)"),
        ({"values": np.where(np.arange(4) == 2, np.nan, VALUES)}, r"values\[0, 0, 2\] is nan"),
        ({"statistic": "mode"}, "statistic is 'mode'"),
        ({"alpha": 0}, "alpha is 0"),
        ({"resamples": 0}, "resamples is 0"),
        ({"names": ["a"]}, "a different name for each of 5 algorithms"),
    ],
)
def test_wrong_input_is_named(change, message):
    options = {"values": VALUES, "times": TIMES, "rng": np.random.default_rng(0)} | change
    with pytest.raises(ValueError, match=message):
        robust_ranking(options.pop("values"), **options)
