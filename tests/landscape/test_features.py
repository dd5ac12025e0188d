"""Features of samples: published values, closed forms, invariance, and designs that are too small."""

import itertools

import numpy as np
import pytest
from scipy.stats import gaussian_kde, kurtosis, multivariate_normal, skew
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold

import polarbear as pb
from polarbear.landscape import SETS, Design, changed_by, feature_names, features
from polarbear.landscape.sampled import cells
from polarbear.landscape.sampled.information_content import EPSILONS
from polarbear.landscape.sampled.nearest_better import nearest_better
from polarbear.landscape.sampled.y_distribution import density
from tests.landscape.published import published, sample

CLASSICAL = ("ela_meta", "ela_distr", "ela_level", "disp", "ic", "nbc", "pca")
F5 = 4
TOLERANCE = {"rtol": 1e-9, "atol": 1e-9}


def start(size):
    """Where the published tours start."""
    return int(np.random.RandomState(100).choice(size, size=1)[0])


@pytest.mark.parametrize("dimension", [2, 5, 10])
def test_classical_features_are_the_published_ones(dimension):
    points, values = sample(dimension)
    found = features(Design(points, -5, 5, start=start(len(points))), values, CLASSICAL)
    reference = published("classical_ela.csv", dimension)
    assert len(found) == 55
    assert not found.reasons
    for name, column in found.items():
        if name == "ela_distr.number_of_peaks":  # the other program adds heights and widths of peaks: see below
            continue
        compared = np.ones(24, dtype=bool)
        if name == "ela_meta.quad_simple.cond":  # of a linear function: the ratio of two rounding errors
            compared[F5] = False
        np.testing.assert_allclose(column[compared], reference[name][compared], **TOLERANCE, err_msg=name)


def test_peaks_are_those_of_a_density_that_is_the_published_one():
    """Counted as the other program counts, on its grid and by height plus width, all numbers of peaks are the same."""
    for dimension in (2, 5, 10):
        _, values = sample(dimension)
        reference = published("classical_ela.csv", dimension)["ela_distr.number_of_peaks"]
        for row, expected in zip(values, reference, strict=True):
            kernel = gaussian_kde(row)
            positions = np.linspace(row.min() - 3 * kernel.factor, row.max() + 3 * kernel.factor, 512)
            heights = kernel(positions)
            ours = density(row, positions)
            np.testing.assert_allclose(ours, heights, rtol=1e-9, atol=1e-12 * heights.max())
            inside = range(1, 510)
            valleys = [i for i in inside if ours[i] < ours[i - 1] and ours[i] < ours[i + 1]]
            parts = [(a, b - 1) for a, b in itertools.pairwise([0, *valleys, 512])]
            assert sum(ours[a:b].mean() + positions[b] - positions[a] > 0.1 for a, b in parts) == expected


@pytest.mark.parametrize(("centers", "peaks"), [([0], 1), ([0, 50], 2), ([0, 500, 1000], 3)])
def test_number_of_peaks(centers, peaks):
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.normal(center, 1, 400 // len(centers)) for center in centers])
    found = features(rng.random((len(values), 2)), values, "ela_distr")
    assert found["ela_distr.number_of_peaks"] == peaks
    assert found["ela_distr.skewness"] == pytest.approx(skew(values) * (1 - 1 / len(values)) ** 1.5)
    assert found["ela_distr.kurtosis"] == pytest.approx((kurtosis(values) + 3) * (1 - 1 / len(values)) ** 2 - 3)


@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_cells_are_the_published_ones(dimension):
    points, values = sample(dimension)
    design = Design(points, -5, 5, blocks=3)
    found = features(design, values, ("cm_angle", "cm_grad"))
    reference = published("cm_ela.csv", dimension)
    for name, column in found.items():
        np.testing.assert_allclose(column, reference[name], **TOLERANCE, err_msg=name)


@pytest.mark.parametrize("dimension", [2, 3])
def test_linear_models_of_cells_are_the_published_ones(dimension):
    """The other program fits models of least norm also to cells of d points and fewer, which features leave out."""
    points, values = sample(dimension)
    design = Design(points, -5, 5, blocks=3)
    slopes = np.stack([cells.cell_slopes(design, values, members) for members in design.members], axis=1)
    reference = published("cm_ela.csv", dimension)
    noise = {"limo.cor", "limo.cor_norm", "limo.sd_ratio_reg", "limo.sd_ratio_norm"}
    for name, column in zip(SETS["limo"].names, cells.slope_statistics(slopes), strict=True):
        compared = np.arange(24) != (
            F5 if name in noise else -1
        )  # a linear function: the slopes vary by rounding alone
        np.testing.assert_allclose(column[compared], reference[name][compared], **TOLERANCE, err_msg=name)
    if dimension == 2:  # all cells have more than two points
        found = features(design, values, "limo")
        np.testing.assert_array_equal(found.array(), np.stack(cells.slope_statistics(slopes), axis=-1))


@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_convexity_is_the_published_one_on_the_published_lines(dimension):
    """flacco's lines of cells go on from the last block of a row to the first of the next; those of features do not."""
    points, values = sample(dimension)
    design = Design(points, -5, 5, blocks=3)
    lines = cells.cells_in_line(design)
    assert len(lines) == dimension * 3 ** (dimension - 1)
    coordinates = design.cell_centers[lines]
    np.testing.assert_allclose(np.diff(coordinates, axis=1).sum(axis=2), 10 / 3)
    np.testing.assert_allclose(np.diff(coordinates, axis=1).max(axis=2), 10 / 3)
    wrapped = _published_lines(dimension)
    assert {tuple(line) for line in lines} < {tuple(line) for line in wrapped}
    distances = np.linalg.norm(design.cell_centers[:, None] - points, axis=2)
    found = cells.bends(values[:, distances.argmin(axis=1)], wrapped)
    reference = published("cm_ela.csv", dimension)
    for name, column in zip(SETS["cm_conv"].names, found, strict=True):
        np.testing.assert_allclose(column, reference[name], **TOLERANCE, err_msg=name)


def _published_lines(dimension):
    lines = []
    for cell in range(3**dimension):
        blocks = [cell // 3**i % 3 for i in range(dimension)]
        if set(blocks) <= {0, 2}:
            continue
        for i in range(dimension):
            if blocks[i] < 2 and cell - 3**i >= 0 and cell + 3**i < 3**dimension:
                lines.append((cell - 3**i, cell, cell + 3**i))
    return np.array(lines)


@pytest.mark.parametrize("dimension", [2, 5, 10])
def test_fitness_distance_is_the_published_one(dimension):
    points, values = sample(dimension)
    reference = published("misc_ela.csv", dimension)
    for name, column in features(Design(points, -5, 5), values, "fitness_distance").items():
        np.testing.assert_allclose(column, reference[name], **TOLERANCE, err_msg=name)


def landscape(seed=0, n=300, d=3):
    rng = np.random.default_rng(seed)
    points = rng.uniform(-5, 5, (n, d))
    return points, (points**2 @ np.arange(1, d + 1) + 3 * np.sin(3 * points).sum(axis=1) + points[:, 0] * points[:, 1])


def test_one_row_of_values_gives_what_many_do():
    points, first = landscape()
    many = np.array([first, -first, np.abs(first)])
    together = features(Design(points, -5, 5), many)
    for i, row in enumerate(many):
        alone = features(Design(points, -5, 5), row)
        np.testing.assert_allclose(alone.array(), together.array()[i], rtol=1e-10)
    assert isinstance(alone["ic.h_max"], float)


@pytest.mark.parametrize("seed", range(3))
def test_what_shift_and_scale_change_is_as_stated(seed):
    points, values = landscape(seed)
    design = Design(points, -5, 5)
    base, shifted, scaled = (features(design, y) for y in (values, values + 517.0, 37.0 * values))
    for name in feature_names():
        changed = changed_by(name) or ""
        for word, other in (("shift", shifted), ("scale", scaled)):
            same = np.isclose(base[name], other[name], rtol=1e-6, atol=1e-9)
            if word not in changed:
                assert same, (name, word)
            elif not same:
                changed = changed.replace(word, "").strip()
        if seed == 0 and name not in {"pca.expl_var.cov_init"}:  # a step function of the scale
            assert changed in {"", "and"}, name


def test_min_max_takes_shift_and_scale_away():
    points, values = landscape()
    base = features(Design(points, -5, 5), values, normalize="min-max").array()
    other = features(Design(points, -5, 5), 8e3 * values - 1e4, normalize="min-max").array()
    np.testing.assert_allclose(base, other, rtol=1e-6, atol=1e-9)
    expected = (values - values.min()) / np.ptp(values)
    np.testing.assert_array_equal(base, features(Design(points, -5, 5), expected).array())


def test_the_order_of_the_points_does_not_matter():
    points, values = landscape()
    order = np.random.default_rng(5).permutation(len(points))
    sets = [name for name in SETS if name != "ela_level"]  # its folds are consecutive points
    first = features(Design(points, -5, 5, start=int(order[0])), values, sets).array()
    second = features(Design(points[order], -5, 5), values[order], sets).array()
    np.testing.assert_allclose(first, second, rtol=1e-8, atol=1e-9)


def test_models_that_fit_are_recognised():
    points, _ = landscape(n=200)
    linear = 3 + points @ [1.0, -2.0, 4.0]
    found = features(
        points, np.array([linear, linear + points[:, 0] * points[:, 1], (points**2) @ [1, 2, 8]]), "ela_meta"
    )
    np.testing.assert_allclose(found["ela_meta.lin_simple.adj_r2"][0], 1)
    np.testing.assert_allclose(found["ela_meta.lin_simple.intercept"][0], 3)
    np.testing.assert_allclose(found["ela_meta.lin_simple.coef.max_by_min"][0], 4)
    np.testing.assert_allclose(found["ela_meta.lin_w_interact.adj_r2"][1], 1)
    np.testing.assert_allclose(found["ela_meta.quad_simple.cond"][2], 8)
    assert found["ela_meta.quad_simple.adj_r2"][1] < 0.99


@pytest.mark.parametrize("size", [120, 333])
def test_levels_are_those_of_discriminant_analysis(size):
    """Written out by Gaussian densities: covariances divide by n - 1 and n - 2, not by n as scikit-learn's of today."""
    points, values = landscape(2, size)
    values = np.round(values)  # some are equal
    found = features(points, values, "ela_level")
    for share in (0.1, 0.25, 0.5):
        best = values < np.quantile(values, share)
        wrong = [
            [(chosen != best[test]).mean() for chosen in _discriminate(points[train], best[train], points[test])]
            for train, test in StratifiedKFold(10).split(points, best)
        ]
        for kind, rate in zip(("lda", "qda"), np.mean(wrong, axis=0), strict=True):
            assert found[f"ela_level.mmce_{kind}_{share * 100:.0f}"] == pytest.approx(rate, abs=1e-12)


def test_quadratic_discriminants_are_scikit_learns_but_for_the_divisor():
    """scikit-learn 1.9's covariances of classes divide by n; multiplied by n / (n - 1), they choose alike."""
    points, values = landscape(2, 333)
    values = np.round(values)
    found = features(points, values, "ela_level")
    for share in (0.1, 0.25, 0.5):
        best = values < np.quantile(values, share)
        wrong = []
        for train, test in StratifiedKFold(10).split(points, best):
            fitted = QuadraticDiscriminantAnalysis(store_covariance=True).fit(points[train], best[train])
            divisors = [
                np.diagonal(np.cov(points[train][best[train] == chosen].T) / covariance)
                for chosen, covariance in zip((False, True), fitted.covariance_, strict=True)
            ]
            fitted.scalings_ = [
                scaling * divisor.mean() for scaling, divisor in zip(fitted.scalings_, divisors, strict=True)
            ]
            wrong.append((fitted.predict(points[test]) != best[test]).mean())
        assert found[f"ela_level.mmce_qda_{share * 100:.0f}"] == pytest.approx(np.mean(wrong), abs=1e-12)


def _discriminate(points, best, others):
    classes = [points[~best], points[best]]
    own = [np.cov(chosen.T) for chosen in classes]
    pooled = sum((len(chosen) - 1) * matrix for chosen, matrix in zip(classes, own, strict=True)) / (len(points) - 2)
    for matrices in ([pooled, pooled], own):
        worst, good = (
            multivariate_normal(chosen.mean(axis=0), matrix).logpdf(others) + np.log(len(chosen))
            for chosen, matrix in zip(classes, matrices, strict=True)
        )
        yield good > worst


def test_information_content_is_that_of_its_definition():
    points, values = landscape(3, 80)
    design = Design(points)
    tour = [0]
    while len(tour) < len(points):  # the nearest point that is left
        distances = np.linalg.norm(points - points[tour[-1]], axis=1)
        distances[tour] = np.inf
        tour.append(int(distances.argmin()))
    np.testing.assert_array_equal(design.tour, tour)
    slopes = np.diff(values[tour]) / np.linalg.norm(np.diff(points[tour], axis=0), axis=1)
    entropy, partial = [], []
    for epsilon in EPSILONS:
        symbols = np.where(np.abs(slopes) < epsilon, 0, np.sign(slopes))
        pairs = [(a, b) for a, b in itertools.pairwise(symbols) if a != b]
        shares = [pairs.count(pair) / (len(symbols) - 1) for pair in set(pairs)]
        entropy.append(-sum(share * np.log(share) / np.log(6) for share in shares))
        left = symbols[symbols != 0]
        partial.append((np.diff(left) != 0).sum() / (len(symbols) - 1))
    found = features(design, values, "ic")
    assert found["ic.h_max"] == pytest.approx(max(entropy))
    assert found["ic.m0"] == pytest.approx(partial[0])
    assert found["ic.eps_s"] == pytest.approx(np.log10(EPSILONS[np.array(entropy) < 0.05].min()))
    assert found["ic.eps_ratio"] == pytest.approx(np.log10(EPSILONS[np.array(partial) > 0.5 * partial[0]].max()))


def test_nearest_better_points_are_the_nearest_that_are_better():
    points, values = landscape(4, 150)
    values = np.round(values, -1)
    found = nearest_better(Design(points), values)
    for i, j in enumerate(found):
        distances = np.linalg.norm(points - points[i], axis=1)
        better = np.flatnonzero(values < values[i])
        candidates = better if better.size else np.setdiff1d(np.flatnonzero(values == values[i]), [i])
        assert j == candidates[distances[candidates].argmin()]


def test_a_design_that_is_too_small_says_so_feature_by_feature():
    rng = np.random.default_rng(0)
    for n, d in itertools.product(range(2, 40), (1, 2, 5)):
        points = rng.random((n, d))
        found = features(points, rng.random((2, n)))
        assert set(found) == set(feature_names())
        without = {name for name in found if np.isnan(found[name]).any()}
        assert without == set(found.reasons)
        assert all(found.reasons.values())
    few = features(rng.random((20, 5)), rng.random(20))
    assert few.reasons["ela_meta.quad_w_interact.adj_r2"] == (
        "20 points are too few for a model of 56 terms; at least 57 are needed"
    )
    assert "10 folds need 10" in few.reasons["ela_level.mmce_lda_10"]
    assert "blocks=3" in few.reasons["cm_conv.convex.hard"]
    assert not np.isnan(few["ela_meta.lin_simple.adj_r2"])


def test_points_on_grids_and_twice_and_values_that_repeat_do_no_harm():
    grid = np.array(list(itertools.product(range(6), repeat=2)), dtype=float)
    for points in (grid, np.vstack([grid, grid]), np.column_stack([grid[:, 0], np.zeros(36)])):
        values = np.array([points.sum(axis=1), np.round(points[:, 0] / 4), np.zeros(len(points))])
        found = features(points, values)
        assert {name for name in found if np.isnan(found[name]).any()} == set(found.reasons)
        assert np.isnan(found.array()[2]).all()
        np.testing.assert_array_equal(found.array(), features(points, values).array())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0, 2.0]], [1.0]), r"X has shape \(1, 2\)"),
        (([[1.0], [np.nan]], [1.0, 2.0]), r"X\[1\]"),
        (([[1.0], [1.0]], [1.0, 2.0]), "all points of X are equal"),
        (([[1.0], [2.0]], [1.0, 2.0, 3.0]), r"y has shape \(3,\); X has 2 points"),
        (([[1.0], [2.0]], [1.0, np.inf]), r"y\[1\] is inf"),
        (([[1.0], [2.0]], [1.0, 2.0], "ela_metta"), "did you mean 'ela_meta'"),
        (([[1.0], [2.0]], [1.0, 2.0], ()), "sets is empty"),
    ],
)
def test_faults_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        features(*arguments)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"upper": 0.5}, "lies outside the box"),
        ({"lower": [0, 0, 0]}, "give a finite number, or 2"),
        ({"blocks": [2]}, "blocks has 1 numbers"),
        ({"blocks": 10_000}, "makes 100,000,000 cells"),
        ({"start": 20}, "start is 20"),
    ],
)
def test_faults_of_designs_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        Design(np.random.default_rng(0).random((20, 2)), **settings)


def test_names():
    points, values = landscape()
    found = pb.landscape.features(points, values, "disp")
    assert list(found) == list(SETS["disp"].names)
    with pytest.raises(KeyError, match=r"did you mean 'disp\.ratio_mean_25'"):
        found["disp.ratio_mean_2"]
    with pytest.raises(ValueError, match="there is no feature"):
        changed_by("disp.ratio")
