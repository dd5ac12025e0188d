"""The statistics: against other code, against published critical values, and what holds by their definition."""

import numpy as np
import pytest
from scipy import stats

from polarbear import bias
from polarbear.bias.across import across_statistics, largest_nearest_distance, linear_deviations, mutual_information
from polarbear.bias.null import null_distribution
from polarbear.bias.uniformity import STATISTICS, Ordered, read_cressie, royston_weights, uniformity_statistics
from tests.bias.tables import LOWER, NAMES, TWO_SIDED, published

SIZES = (30, 50, 100, 600)


def statistics(sample):
    return dict(zip(STATISTICS, uniformity_statistics(np.atleast_2d(sample))[:, 0], strict=True))


def _as_tabulated(ordered):
    """What the published tables hold in place of two of the statistics: λ = 1, and a maximum begun at U_1."""
    lower = np.maximum(ordered.deviations.max(axis=1), ordered.u[:, 0])
    return {"RC": read_cressie(ordered, 1.0), "Kuiper": lower - ordered.deviations.min(axis=1)}


def compare_with_the_published_tables(n, count):
    """Of 30 quantities at 2 levels, how many standard errors of both simulations apart they are, at most."""
    names, rows, replaced = list(STATISTICS), [], []
    for seed in range(max(1, count * n // 400_000)):
        samples = np.random.default_rng([seed, n]).random((min(count, 400_000 // n), n))
        rows.append(uniformity_statistics(samples))
        replaced.append(_as_tabulated(Ordered(samples)))
    found = np.concatenate(rows, axis=1)
    apart = {}
    for table, alpha in ((table, alpha) for table in ("Crit_vals", "Crit_vals_pwr") for alpha in (0.01, 0.05)):
        for quantity, critical in published(table, n, alpha).items():
            if quantity in replaced[0]:
                values = np.concatenate([block[quantity] for block in replaced])
            else:
                values = found[names.index(NAMES.get(quantity, quantity))]
            level = alpha / 2 if quantity in TWO_SIDED else alpha
            share = np.mean(values < critical if quantity in LOWER else values > critical)
            apart[quantity, alpha] = (share - level) / np.sqrt(level * (1 - level) * (1 / len(values) + 1e-5))
    assert len(apart) == 60
    return apart


@pytest.mark.statistical(rate=0.01)
@pytest.mark.parametrize(("n", "count"), [(30, 20_000), (50, 12_000), (100, 8_000), (600, 2_000)])
def test_published_critical_values_are_exceeded_as_often_as_they_say(n, count):
    """60 comparisons, many of which go together, at 4 standard errors: below 0.004 by chance."""
    apart = compare_with_the_published_tables(n, count)
    assert max(map(abs, apart.values())) < 4, apart


@pytest.mark.slow
@pytest.mark.statistical(rate=0.01)
@pytest.mark.parametrize("n", SIZES)
def test_published_critical_values_are_exceeded_as_often_as_they_say_in_100_000_samples(n):
    apart = compare_with_the_published_tables(n, 100_000)
    assert max(map(abs, apart.values())) < 4, apart


ACROSS_SAMPLES = 1_000
"""So many samples the published tables across dimensions come from by the scatter of their two tails."""


def compare_across(n, count, information):
    rng, rows = np.random.default_rng([n, 3]), []
    for index in range(count):
        points = rng.random((n, 30))
        median = np.median(mutual_information(points)) if index < information else np.nan
        deviations, flat = linear_deviations(points), Ordered(points.reshape(1, -1))
        values = median, largest_nearest_distance(points), np.max(deviations), np.median(deviations), flat.moments[1][0]
        rows.append(values)
    by_name = dict(zip(("mi", "mmpd", "max_ddlud", "med_ddlud", "kurtosis"), np.array(rows).T, strict=True))
    apart = {}
    for alpha in (0.01, 0.05):
        table = published("Crit_vals_across", n, alpha)
        assert table.pop("mi_low") == 0.0  # an estimate of mutual information is never below
        assert len(table) == 8
        for quantity, critical in table.items():
            stem, _, end = quantity.rpartition("_") if quantity.endswith(("_low", "_high")) else (quantity, "", "")
            values = by_name[stem][np.isfinite(by_name[stem])]
            level = alpha if stem == "mi" or not end else alpha / 2
            share = np.mean(values < critical if end == "low" else values > critical)
            apart[quantity, alpha] = (share - level) / np.sqrt(
                level * (1 - level) * (1 / len(values) + 1 / ACROSS_SAMPLES)
            )
    return apart


@pytest.mark.statistical(rate=0.01)
@pytest.mark.parametrize(("n", "count", "information"), [(30, 1_000, 100), (50, 500, 50)])
def test_published_critical_values_across_dimensions_are_exceeded_as_often_as_they_say(n, count, information):
    apart = compare_across(n, count, information)
    assert max(map(abs, apart.values())) < 4, apart


@pytest.mark.slow
@pytest.mark.statistical(rate=0.01)
@pytest.mark.parametrize(
    ("n", "count", "information"), [(30, 4_000, 1_000), (50, 2_000, 500), (100, 1_000, 300), (600, 200, 20)]
)
def test_published_critical_values_across_dimensions_in_more_samples(n, count, information):
    apart = compare_across(n, count, information)
    assert max(map(abs, apart.values())) < 4, apart


@pytest.mark.parametrize("n", [10, 33, 100])
def test_statistics_of_scipy(n):
    u = np.random.default_rng(n).beta(0.7, 1.2, n)
    found, scores = statistics(u), stats.norm.ppf(u)
    assert found["KS"] == pytest.approx(stats.ks_1samp(u, stats.uniform.cdf).statistic, rel=1e-12)
    assert found["CvM"] == pytest.approx(stats.cramervonmises(u, "uniform").statistic, rel=1e-12)
    assert found["Shapiro"] == pytest.approx(stats.shapiro(scores).statistic, rel=1e-9)
    assert found["JB"] == pytest.approx(stats.jarque_bera(scores).statistic, rel=1e-9)
    assert found["Kurt"] == pytest.approx(stats.kurtosis(scores), rel=1e-9)
    known = {"loc": 0, "scale": 1}
    options = {"known_params": known, "n_mc_samples": 1, "rng": np.random.default_rng(0)}
    for name, sample in (("AD", u), ("tAD", abs(2 * u - 1))):
        theirs = stats.goodness_of_fit(stats.uniform, sample, statistic="ad", **options).statistic
        assert found[name] == pytest.approx(theirs, rel=1e-9)
    grid = np.linspace(0, 1, n)
    assert found["Wasserstein"] == pytest.approx(n * stats.wasserstein_distance(u, grid), rel=1e-9)
    ends = np.sort([0, *u, 1])
    for order in (1, 2, 3):
        spacings = ends[order:] - ends[:-order]
        theirs = stats.kstest(spacings, stats.beta(order, n + 1 - order).cdf).statistic
        assert found[f"{order}-spacing"] == pytest.approx(theirs, rel=1e-9)


def test_weights_of_shapiro_and_wilk_are_those_of_an_orthogonal_contrast():
    for n in (10, 37, 600):
        weights = royston_weights(n)
        assert weights @ weights == pytest.approx(1, rel=1e-12)
        np.testing.assert_allclose(weights, -weights[::-1], rtol=1e-12)


def test_identities_between_statistics():
    ordered = Ordered(np.random.default_rng(1).random((50, 40)))
    found = dict(zip(STATISTICS, uniformity_statistics(ordered.u), strict=True))
    np.testing.assert_allclose(read_cressie(ordered, 1.0), 40 * (41 * found["Greenwood"] - 1), rtol=1e-9)
    np.testing.assert_allclose(found["Cressie2"] / 1600, 2 * found["QM"] - _ends(ordered), rtol=1e-9)
    np.testing.assert_allclose(found["range"], found["max"] - found["min"], rtol=1e-12)
    even = statistics((np.arange(1, 41)) / 41)
    nothing = ["Durbin", "Kuiper", "HG1", "HG2", "Moran"]
    np.testing.assert_allclose([even[name] for name in nothing], 0, atol=1e-12)


def _ends(ordered):
    """Σ (D_i + D_(i+1))² = 2 (Σ D_i² + Σ D_i D_(i+1)) - D_1² - D_(n+1)²."""
    return ordered.spacings[:, 0] ** 2 + ordered.spacings[:, -1] ** 2


def test_the_smooth_test_takes_as_many_polynomials_as_the_criterion_says():
    """Of a sample with a strong mean and one with waves, against Legendre polynomials of scipy, one by one."""
    from scipy.special import eval_legendre

    for u in (np.random.default_rng(2).random(60) ** 2, (np.arange(60) % 6 + 0.5) / 6, (np.arange(60) + 0.5) / 60):
        means = [np.mean(np.sqrt(2 * j + 1) * eval_legendre(j, 2 * u - 1)) for j in range(1, 11)]
        sums = 60 * np.cumsum(np.square(means))
        each = 2 if max(map(abs, means)) * 60**0.5 > (2.4 * np.log(60)) ** 0.5 else np.log(60)
        best = max(range(10), key=lambda j: sums[j] - each * (j + 1))
        assert statistics(u)["NS"] == pytest.approx(sums[best], rel=1e-9)


def test_a_mirrored_sample_gives_the_same_but_for_its_ends():
    u = np.random.default_rng(5).random(60)
    found, mirrored = statistics(u), statistics(1 - u)
    for name in STATISTICS:
        if name in ("min", "max"):
            assert found[name] == pytest.approx(1 - mirrored[{"min": "max", "max": "min"}[name]], rel=1e-12)
        elif name != "Marhuenda":  # whose categories end at values
            assert found[name] == pytest.approx(mirrored[name], rel=1e-7), name


def test_order_does_not_matter_and_samples_do_not_disturb_each_other():
    samples = np.random.default_rng(6).random((4, 30))
    together = uniformity_statistics(samples)
    for column, sample in enumerate(samples):
        alone = uniformity_statistics(np.random.default_rng(1).permutation(sample)[np.newaxis])
        np.testing.assert_allclose(alone[:, 0], together[:, column], rtol=1e-9)


@pytest.mark.parametrize("sample", [np.zeros(20), np.ones(20), np.full(20, 0.3), np.arange(20) % 2.0], ids=str)
def test_repeated_values_and_values_on_the_bounds_speak_against_uniformity(sample):
    values = uniformity_statistics(sample[np.newaxis])
    assert not np.isnan(values).any()
    p_values = dict(zip(STATISTICS, null_distribution(20, 1_000).p_values_of(values)[:, 0], strict=True))
    for name in ("Moran", "Cressie1", "Vasicek", "Pardo", "MPD-min", "Greenwood"):
        assert p_values[name] < 0.01, name


def test_mutual_information_and_nearest_distances_against_other_code():
    pytest.importorskip("sklearn")
    from scipy.spatial import KDTree
    from sklearn.feature_selection import mutual_info_regression

    points = np.random.default_rng(8).random((70, 3))
    points[:, 1] += 2 * points[:, 0]
    pairs = ((0, 1), (0, 2), (1, 2))
    theirs = [mutual_info_regression(points[:, [i]], points[:, j], random_state=0)[0] for i, j in pairs]
    np.testing.assert_allclose(mutual_information(points), theirs, atol=1e-9)
    assert largest_nearest_distance(points) == pytest.approx(
        KDTree(points).query(points, k=2)[0][:, 1].max(), rel=1e-12
    )


def test_tests_across_dimensions_see_what_single_variables_do_not_show():
    u = np.random.default_rng(9).random((60, 1))
    diagonal = np.hstack([u, u, (u + 0.5) % 1])
    p_values = bias.across_dimensions(diagonal, samples=99)
    assert max(p_values["MI"], p_values["MMPD"]) < 0.03
    assert p_values["MDDLUD"] > 0.01
    assert across_statistics(u)[0] == 0.0
