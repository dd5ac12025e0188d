"""Prediction off the grid against the textbook's Gaussian conditionals, and against fits that had all times at once.

Covariances are written down here a second time, as matrices. All seeds are fixed; each statistical bound states its
standard errors.
"""

import numpy as np
import pytest
from scipy import stats
from scipy.interpolate import BSpline as ScipySplines
from scipy.linalg import solve_triangular

from polarbear.inference import (
    BSpline,
    GaussianProcess,
    HierarchicalDirichlet,
    HilbertSpaceGaussianProcess,
    IndependentDirichlet,
    RandomWalk,
    SparseGaussianProcess,
    fit,
    from_description,
    prior,
)
from polarbear.rankings import choice_counts

FITTED = np.array([0.0, 0.15, 0.3, 0.6, 0.8, 1.0])
BETWEEN = np.array([0.05, 0.22, 0.41, 0.47, 0.93])
BEYOND = np.array([-0.4, -0.1, 0.22, 0.5, 1.3])
ELL = 0.2
KERNELS = ["matern-3/2", "matern-5/2", "squared-exponential"]


def kernel(name, s, t, ell=ELL):
    r = np.abs(np.subtract.outer(s, t)) / ell
    return {
        "matern-3/2": (1 + 3**0.5 * r) * np.exp(-(3**0.5) * r),
        "matern-5/2": (1 + 5**0.5 * r + 5 / 3 * r**2) * np.exp(-(5**0.5) * r),
        "squared-exponential": np.exp(-0.5 * r**2),
    }[name]


def two_sided_walk(times):
    """N(0, 0.25) at time 0, and independent Brownian motions from there both ways."""
    same_side = np.sign(times)[:, None] == np.sign(times)
    return 0.25 + same_side * np.minimum.outer(np.abs(times), np.abs(times))


def hilbert_space(times, functions=40, extension=3.0):
    order = np.arange(1, functions + 1)
    root = np.pi * order / extension
    values = np.sin(root * (times[:, None] - 0.5 + extension / 2)) / np.sqrt(extension / 2)
    rate = 3**0.5 / ELL
    return values * (4 * rate**3 / (rate**2 + root**2) ** 2) @ values.T


def splines(times, degree=2, count=9):
    inner = np.quantile(FITTED, np.linspace(0, 1, count - degree + 1)[1:-1])
    knots = np.concatenate([np.zeros(degree + 1), inner, np.ones(degree + 1)])
    design = ScipySplines.design_matrix(times, knots, degree).toarray()
    return design @ design.T


def sparse(times, inducing=4):
    points = np.quantile(FITTED, np.linspace(0, 1, inducing))
    across = kernel("matern-3/2", times, points)
    return across @ np.linalg.solve(kernel("matern-3/2", points, points) + 1e-6 * np.eye(inducing), across.T)


CASES = {
    "random walk": (RandomWalk(initial_sd=0.5), two_sided_walk, BEYOND),
    "b-spline": (BSpline(2, 9), splines, BETWEEN[[0, 2, 4]]),
    "hilbert space": (HilbertSpaceGaussianProcess(functions=40, extension=3.0), hilbert_space, BEYOND),
    "sparse": (SparseGaussianProcess(inducing=4), sparse, BETWEEN),
    **{name: (GaussianProcess(name), lambda t, name=name: kernel(name, t, t), BEYOND) for name in KERNELS},
}


def held(model):
    return {"sigma": 1.0, "ell": ELL} if hasattr(model, "ell_shape") else {"sigma": 1.0}


def paths(posterior):
    """(D, T, 2) two independent paths of three algorithms, each with the covariance of the prior."""
    first, second = posterior.log_ratio(0, 1), posterior.log_ratio(0, 2) + posterior.log_ratio(1, 2)
    return np.stack([first / 2**0.5, second / 6**0.5], axis=2)


def conditional(covariance):
    """Textbook: the mean is linear in what is known, and the covariance does not depend on it."""
    known = FITTED.size
    weights = np.linalg.lstsq(covariance[:known, :known], covariance[:known, known:], rcond=1e-9)[0].T
    return weights, covariance[known:, known:] - weights @ covariance[:known, known:]


def unexplained(posterior, elsewhere, weights):
    """(2 D, S) what is left of the paths elsewhere after their conditional mean, and (2 D, T) the known paths."""
    known, found = (paths(one).transpose(2, 0, 1).reshape(-1, one.times.size) for one in (posterior, elsewhere))
    return found - known @ weights.T, known


@pytest.mark.statistical
@pytest.mark.parametrize("chunk", [1 << 18, 1 << 8])
@pytest.mark.parametrize("case", CASES)
def test_the_conditional_is_the_textbooks(case, chunk, monkeypatch):
    """Whitened residuals have covariance I, and none with what is known: within 5 standard errors of 20,000 numbers."""
    monkeypatch.setattr("polarbear.inference.model.temporal._NUMBERS_TOGETHER", chunk)
    model, covariance, new = CASES[case]
    rng = np.random.default_rng(1)
    before = prior(model, times=FITTED, algorithms=3, draws=10_000, rng=rng, hyperparameters=held(model))
    after = before.at(new, rng=rng)
    weights, rest = conditional(covariance(np.concatenate([FITTED, new])))
    left, known = unexplained(before, after, weights)
    if case == "sparse":
        np.testing.assert_allclose(left, 0.0, atol=2e-3)
        return
    white = solve_triangular(np.linalg.cholesky(rest), left.T, lower=True)
    np.testing.assert_allclose(white @ white.T / white.shape[1], np.eye(new.size), atol=5 * 2**0.5 / 141)
    np.testing.assert_allclose(white @ (known / known.std(axis=0)) / white.shape[1], 0.0, atol=5 / 141)
    assert stats.kstest(white.ravel(), "norm").pvalue > 1e-4


@pytest.mark.statistical
@pytest.mark.parametrize("model", [RandomWalk(), GaussianProcess(), GaussianProcess("matern-5/2")], ids=str)
def test_each_draw_goes_on_with_its_own_hyperparameters(model):
    """Each draw's residuals, whitened by its own conditional, are standard normal whatever σ and ℓ are."""
    rng = np.random.default_rng(2)
    before = prior(model, times=FITTED, algorithms=2, draws=1000, rng=rng)
    after = before.at(BEYOND, rng=rng)
    sigma, ell = (before.hyperparameters.get(name, np.ones(1000)) for name in ("sigma", "ell"))
    assert np.unique(sigma).size == 1000
    times = np.concatenate([FITTED, BEYOND])
    known, found = (one.log_ratio(0, 1) / 2**0.5 / sigma[:, None] for one in (before, after))
    white = np.empty_like(found)
    for d in range(1000):
        walk = isinstance(model, RandomWalk)
        covariance = two_sided_walk(times) if walk else kernel(model.kernel, times, times, ell[d])
        weights, rest = conditional(covariance)
        white[d] = np.linalg.solve(np.linalg.cholesky(rest + 1e-9 * np.eye(5)), found[d] - weights @ known[d])
    for column in white.T:
        assert stats.kstest(column, "norm").pvalue > 1e-4
        assert abs(stats.spearmanr(column**2, sigma).statistic) < 4.5 / 1000**0.5
    np.testing.assert_allclose(np.corrcoef(white.T), np.eye(5), atol=4.5 / 1000**0.5)


@pytest.mark.statistical
def test_brownian_bridge_and_walk():
    """Between s < u < v the variance is (u − s) (v − u) / (v − s); beyond the ends it is the distance."""
    model, rng = RandomWalk(), np.random.default_rng(3)
    before = prior(model, times=[0, 4, 10], algorithms=2, draws=40_000, rng=rng, hyperparameters={"sigma": 2.0})
    after = before.at([-1, 1, 7, 12], rng=rng)
    known, found = (one.log_ratio(0, 1) / 2**0.5 / 2.0 for one in (before, after))
    mean = np.stack([known[:, 0], known @ [0.75, 0.25, 0], known @ [0, 0.5, 0.5], known[:, 2]], axis=1)
    exact = np.array([0.1, 0.1 * 0.3 / 0.4, 0.3 * 0.3 / 0.6, 0.2])
    np.testing.assert_allclose((found - mean).var(axis=0) / exact, 1.0, atol=5 * 2**0.5 / 200)
    np.testing.assert_allclose(np.corrcoef((found - mean).T), np.eye(4), atol=5 / 200)


def drifting(timepoints, algorithms=4, instances=12):
    slope = np.linspace(0, 1, timepoints)[:, None] * np.linspace(-1, 1, algorithms)
    return -(slope + np.random.default_rng(0).gumbel(size=(instances, timepoints, algorithms)))


TEMPORAL = [
    RandomWalk(),
    BSpline(coefficients=6),
    *(GaussianProcess(name) for name in KERNELS),
    HilbertSpaceGaussianProcess(),
    SparseGaussianProcess(inducing=5),
]


@pytest.mark.statistical
@pytest.mark.parametrize("model", TEMPORAL, ids=lambda model: f"{model.name} {getattr(model, 'kernel', '')}".strip())
def test_predicted_or_fitted_without_rankings_is_the_same(model):
    """The same rankings, at 8 timepoints or at 15 of which 7 have none: means, sds and an event, 5 standard errors."""
    values, times = drifting(15), np.linspace(3, 31, 15)
    values[:, 1::2] = np.nan
    fewer = fit(choice_counts(values[:, ::2]), times=times[::2], model=model, rng=np.random.default_rng(0))
    more = fit(choice_counts(values), times=times, model=model, rng=np.random.default_rng(1))
    predicted = fewer.at(times[1::2], rng=np.random.default_rng(2))
    assert predicted.joint
    size = min(fewer.diagnostics.ess[0], more.diagnostics.ess[0])
    a, b = np.log(predicted.draws), np.log(more.draws[:, 1::2])
    assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) < 4.5 * np.sqrt(2 / size) * b.std(axis=0)).all()
    np.testing.assert_allclose(a.std(axis=0) / b.std(axis=0), 1.0, atol=5 / np.sqrt(size))
    whole = [np.concatenate([one, np.log(other)], axis=1) for one, other in ((a, fewer.draws), (b, more.draws[:, ::2]))]
    ahead = [(one[:, :, 3] > one[:, :, 0]).all(axis=1).mean() for one in whole]
    assert abs(ahead[0] - ahead[1]) < 4.5 * np.sqrt(0.5 / size)


@pytest.mark.parametrize("model", TEMPORAL, ids=lambda model: f"{model.name} {getattr(model, 'kernel', '')}".strip())
def test_the_limit_of_a_fitted_time_is_the_fitted_draw(model):
    posterior = fit(choice_counts(drifting(8)), model=model, draws=300, rng=np.random.default_rng(0))
    near = posterior.at([1e-7, 3 - 1e-7, 3 + 1e-7], rng=np.random.default_rng(1))
    gap = np.log(near.draws) - np.log(posterior.draws[:, [0, 3, 3]])
    assert np.abs(gap).max() < 0.01


class TestWhatIsKept:
    posterior = fit(
        choice_counts(drifting(6)),
        times=[1.0, 2.0, 4.0, 8.0, 16.0, 32.0],
        names=["a", "b", "c", "d"],
        model=GaussianProcess(time_scale="log"),
        draws=500,
        rng=np.random.default_rng(0),
    )

    def test_draws_at_fitted_times(self):
        some = self.posterior.at([2, 3, 4 * (1 + 1e-12), 32], rng=np.random.default_rng(0))
        np.testing.assert_array_equal(some.draws[:, [0, 2, 3]], self.posterior.draws[:, [1, 2, 5]])
        np.testing.assert_array_equal(some.times, [2, 3, 4 * (1 + 1e-12), 32])
        assert not np.isin(some.draws[:, 1], self.posterior.draws).any()

    def test_names_hyperparameters_model_and_diagnostics(self):
        some = self.posterior.at(3.0, rng=np.random.default_rng(0))
        assert some.draws.shape == (500, 1, 4)
        assert (some.names, some.model, some.joint) == (self.posterior.names, self.posterior.model, True)
        for name, values in self.posterior.hyperparameters.items():
            np.testing.assert_array_equal(some.hyperparameters[name], values)
        assert some.diagnostics.method == self.posterior.diagnostics.method[:1]
        assert some.diagnostics.ess == self.posterior.diagnostics.ess[:1]

    def test_equal_generators_give_equal_draws(self):
        one, same, other = (self.posterior.at([3.0, 50.0], rng=np.random.default_rng(seed)) for seed in (0, 0, 1))
        np.testing.assert_array_equal(one.draws, same.draws)
        assert np.isclose(one.draws, other.draws).mean() < 0.01

    def test_units_of_time_and_the_logarithmic_axis(self):
        parameters = self.posterior.model.describe() | {"time_scale": "linear"}
        linear = fit(
            choice_counts(drifting(6)),
            times=7 + 3 * np.log2(self.posterior.times),
            model=from_description(parameters),
            draws=500,
            rng=np.random.default_rng(0),
        )
        new = np.array([0.7, 3.0, 5.0, 40.0])
        one, other = (
            self.posterior.at(new, rng=np.random.default_rng(1)),
            linear.at(7 + 3 * np.log2(new), rng=np.random.default_rng(1)),
        )
        np.testing.assert_allclose(one.draws, other.draws, rtol=1e-4)

    def test_events_look_at_predicted_times(self):
        some = self.posterior.at([3.0, 6.0, 64.0], rng=np.random.default_rng(0))
        assert some.probability_dominates("d", "a") <= some.probability_better("d", "a").min()

    @pytest.mark.statistical
    def test_far_away_the_prior_speaks(self):
        """A hundred axes on, contrasts are N(0, σ²) and know nothing of the fit: 4.5 standard errors of 500 draws."""
        far = self.posterior.at(2.0**500, rng=np.random.default_rng(0))
        path = far.log_ratio("a", "b")[:, 0] / 2**0.5 / self.posterior.hyperparameters["sigma"]
        assert stats.kstest(path, "norm").pvalue > 1e-4
        assert abs(np.corrcoef(path, self.posterior.log_ratio("a", "b")[:, 5])[0, 1]) < 4.5 / 500**0.5


def test_one_algorithm_alone():
    posterior = prior(RandomWalk(), times=[1, 2], algorithms=1, draws=5, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(posterior.at([1.5, 3.0], rng=np.random.default_rng(0)).draws, 1.0)


class TestRefusals:
    rng = np.random.default_rng(0)

    def drawn(self, model, times=(1.0, 2.0, 5.0)):
        return prior(model, times=times, algorithms=3, draws=10, rng=np.random.default_rng(0))

    @pytest.mark.parametrize("model", [IndependentDirichlet(), HierarchicalDirichlet()])
    def test_independent_timepoints_say_nothing_of_others(self, model):
        belief = self.drawn(model)
        with pytest.raises(
            ValueError,
            match=rf"no timepoint 3, and it cannot be predicted: {model.name} cannot predict at new times; "
            r"fit a model over time, such as pb\.inference\.RandomWalk\(\)",
        ):
            belief.at([1, 3], rng=self.rng)
        np.testing.assert_array_equal(belief.at([1, 5], rng=self.rng).draws, belief.draws[:, [0, 2]])
        assert not belief.at(1, rng=self.rng).joint

    @pytest.mark.parametrize(
        ("model", "time", "message"),
        [
            (BSpline(), 5.1, "b-spline cannot predict at time 5.1, only from 1 to 5"),
            (SparseGaussianProcess(time_scale="log"), 0.9, "cannot predict at time 0.9, only from 1 to 5"),
            (HilbertSpaceGaussianProcess(extension=2.0), 7.5, "cannot predict at time 7.5, only from -1 to 7"),
            (GaussianProcess(time_scale="log"), 0.0, "needs positive timepoints, but the first is 0"),
        ],
    )
    def test_times_out_of_reach(self, model, time, message):
        with pytest.raises(ValueError, match=message):
            self.drawn(model).at(time, rng=self.rng)

    def test_an_excerpt_knows_too_little(self):
        part = self.drawn(RandomWalk()).at([1.5, 2.0], rng=self.rng)
        np.testing.assert_array_equal(part.at(1.5, rng=self.rng).draws, part.draws[:, :1])
        with pytest.raises(
            ValueError, match=r"no timepoint 1\.7, .* made by `at` from another one; call `at` on that one"
        ):
            part.at(1.7, rng=self.rng)

    def test_one_timepoint_makes_no_axis(self):
        with pytest.raises(ValueError, match=r"no timepoint 2, .* prediction needs at least two fitted timepoints"):
            self.drawn(RandomWalk(), [1.0]).at(2.0, rng=self.rng)

    def test_an_unknown_model(self):
        belief = self.drawn(RandomWalk())
        object.__setattr__(belief, "model", None)
        with pytest.raises(ValueError, match="the model is unknown; fit a model over time"):
            belief.at(3.0, rng=self.rng)

    def test_times_must_be_given_and_increase(self):
        with pytest.raises(ValueError, match="strictly increasing"):
            self.drawn(RandomWalk()).at([3.0, 1.5], rng=self.rng)
        with pytest.raises(ValueError, match="times is empty"):
            self.drawn(RandomWalk()).at([], rng=self.rng)
