"""GP-BBOB against a plain implementation of the paper's equations over `ioh`, and against the priors of its table 3."""

import math
import pickle
import tomllib

import ioh
import numpy as np
import pytest
from scipy import stats

from polarbear import problems
from polarbear.problems import GPBBOB, GPBBOBProblem
from polarbear.problems.functions.gp_bbob import RandomField
from polarbear.problems.suite.priors import Prior
from polarbear.records import Instance

LN_11_05 = stats.lognorm(0.5, scale=math.exp(1.1))


def truncated(distribution, low, high):
    """The quantile function of what is left of a distribution between two numbers."""
    below, above = distribution.cdf(low), distribution.cdf(high)
    return lambda u: distribution.ppf(below + u * (above - below))


def field(random_field, x, i):
    """Equation 40 or 43 by random Fourier features, term by term."""
    total = 0.0
    for j in range(len(random_field.phases)):
        angle = sum(x[v] * random_field.frequencies[v, j] for v in range(len(x))) + random_field.phases[j]
        total += random_field.coefficients[j, i] * math.cos(angle)
    return total


def value_of_the_equations(spec, mixture, x):
    """Equations 39 to 45 for one point, one of the 24 components after the other, in plain Python over `ioh`."""
    z = [field(mixture.logits, x, i) for i in range(24)]
    u = stats.norm.cdf(field(mixture.depth, x, 0))
    k = math.floor(truncated(LN_11_05, 2, 24)(u))
    chosen = sorted(range(24), key=lambda i: z[i])[24 - k :]
    total = sum(math.exp(z[i] / spec.temperature) for i in chosen)
    value = spec.offset
    for i in range(24):
        base = ioh.get_problem(i + 1, spec.instances[i], spec.dimension, ioh.ProblemClass.SBOX)
        weight = math.exp(z[i] / spec.temperature) / total if i in chosen else 0.0
        value += weight * base(x)
    return value


@pytest.mark.parametrize(("dimension", "instances"), [(2, 8), (3, 4), (10, 4), (40, 1), (70, 1)])
def test_values_are_those_of_the_equations(dimension, instances):
    rng = np.random.default_rng(dimension)
    for index in range(instances):
        spec = GPBBOB(dimension=dimension, seed=4, offset="100 * Cauchy(0, 1)")[index]
        problem = spec.build()
        points = rng.uniform(-5, 5, size=(4, dimension))
        expected = [value_of_the_equations(spec, problem.raw, x) for x in points]
        assert problem(points) == pytest.approx(expected, rel=1e-9)
        assert [problem(x) for x in points] == pytest.approx(expected, rel=1e-9)


def test_weights_are_the_softmax_of_the_greatest_logits():
    rng = np.random.default_rng(1)
    seen = set()
    for index in range(20):
        spec = GPBBOB(dimension=3, seed=2, sparsity="DU{1, ..., 24}", sparsity_amplitude=2)[index]
        mixture = spec.mixture()
        points = rng.uniform(-5, 5, size=(50, 3))
        weights, sparsity, logits = mixture.weights(points), mixture.sparsity(points), mixture.logits(points)
        seen |= set(sparsity.tolist())
        np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=0, atol=1e-14)
        assert ((weights > 0).sum(axis=1) == sparsity).all()
        for w, z in zip(weights, logits, strict=True):
            least, others = z[w > 0].min(), z[w == 0]
            assert least > others.max(initial=-np.inf)
            np.testing.assert_allclose(w[w > 0], np.exp((z[w > 0] - least) / spec.temperature) * w[z == least])
    assert {1, 24} < seen


@pytest.mark.parametrize("dimension", [2, 70])
def test_only_active_components_are_evaluated(dimension, monkeypatch):
    mixture = GPBBOB(dimension=dimension)[0].mixture()
    points = np.random.default_rng(3).uniform(-5, 5, size=(200, dimension))
    calls: list[tuple[int, int]] = []

    def counted(i, evaluate):
        def count(x):
            calls.append((i, len(np.atleast_2d(x))))
            return evaluate(x)

        return count

    expected = mixture.batch(points)
    weights = mixture.weights(points)
    for kind in ("_batches", "_points"):
        monkeypatch.setattr(mixture, kind, [counted(i, f) for i, f in enumerate(getattr(mixture, kind))])
    np.testing.assert_array_equal(mixture.batch(points), expected)
    assert calls == [(i, count) for i, count in enumerate((weights > 0).sum(axis=0).tolist()) if count]
    calls.clear()
    for x, w in zip(points, weights, strict=True):
        mixture(x)
        assert sorted(calls) == [(i, 1) for i in np.flatnonzero(w).tolist()]
        calls.clear()


@pytest.mark.parametrize(("dimension", "accuracy"), [(2, 1e-12), (20, 1e-12), (64, 1e-12), (65, 1e-8), (150, 1e-8)])
def test_a_batch_gives_what_its_points_give_in_any_order(dimension, accuracy):
    rng = np.random.default_rng(dimension)
    problem = GPBBOB(dimension=dimension, seed=6, offset=0)[1].build()
    points = rng.uniform(-5, 5, size=(300 if dimension > 64 else 1500, dimension))
    values = problem(points)
    single = np.array([problem(x) for x in points])
    assert (np.abs(values - single) / np.maximum(np.abs(single), 1)).max() < accuracy
    order = rng.permutation(len(points))
    assert (np.abs(problem(points[order]) - values[order]) / np.maximum(np.abs(single), 1)[order]).max() < accuracy
    assert problem(points[:0]).shape == (0,)


def test_outside_the_box_the_value_is_infinite():
    for dimension in (2, 70):
        problem = GPBBOB(dimension=dimension)[2].build()
        assert problem.optimum is None
        edge = np.zeros(dimension)
        edge[-1] = 5.0
        beyond = edge.copy()
        beyond[-1] = np.nextafter(5.0, 6.0)
        far = np.full(dimension, -np.inf)
        values = problem(np.array([edge, beyond, -edge, -beyond, far]))
        assert np.isfinite(values).tolist() == [True, False, True, False, False]
        assert (values[[1, 3, 4]] == np.inf).all()
        assert [problem(x) for x in (beyond, -beyond, far)] == [np.inf] * 3
        assert math.isfinite(problem(edge))


def test_bad_points_are_named():
    problem = GPBBOB(dimension=3)[0].build()
    assert math.isnan(problem.raw(np.zeros(2)))
    assert math.isnan(problem.raw(np.array([0.0, np.nan, 9.0])))
    with pytest.raises(ValueError, match=r"x\[1\] is NaN"):
        problem(np.array([0.0, np.nan, 0.0]))
    with pytest.raises(ValueError, match="shape"):
        problem(np.zeros(4))


def test_it_is_continuous_where_the_active_components_stay():
    """At almost every point; f7 is made of steps, but 1e-10 crosses none of them here."""
    rng = np.random.default_rng(0)
    for index in range(10):
        mixture = GPBBOB(dimension=2, seed=5, offset=0)[index].mixture()
        points = rng.uniform(-4.9, 4.9, size=(300, 2))
        nearby = points + 1e-10 * rng.normal(size=(300, 2))
        same = ((mixture.weights(points) > 0) == (mixture.weights(nearby) > 0)).all(axis=1)
        assert same.mean() > 0.99
        here, there = mixture.batch(points), mixture.batch(nearby)
        assert (np.abs(here - there) / (1 + np.abs(here)))[same].max() < 1e-4


def test_it_jumps_where_they_change():
    mixture = GPBBOB(dimension=2, seed=5, offset=0)[0].mixture()
    low, high = np.array([-5.0, -5.0]), np.array([5.0, 5.0])

    def active(x):
        return frozenset(np.flatnonzero(mixture.weights(x[np.newaxis])[0]).tolist())

    assert active(low) != active(high)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if active(middle) == active(low) else (low, middle)
    assert np.abs(high - low).max() < 1e-14
    assert active(low) != active(high)
    assert abs(mixture(low) - mixture(high)) > 1e-3


@pytest.mark.statistical
def test_fields_have_the_kernels_covariance():
    """Five covariances, each within 4.5 of its standard errors: all hold with probability 1 − 4e-5."""
    points = np.array([[0.0, 0, 0], [0.5, 0, 0], [1.0, -1.0, 0.5], [3.0, 3.0, -3.0]])
    lengthscale, amplitude, draws = 1.3, 1.7, 4000
    z = np.array(
        [
            RandomField(rng, 3, 2, features=48, lengthscale=lengthscale, amplitude=amplitude)(points)
            for rng in np.random.default_rng(0).spawn(draws)
        ]
    )
    for x, values in zip(points, z[:, :, 0].T, strict=True):
        products = values * z[:, 0, 0]
        kernel = amplitude**2 * math.exp(-((x - points[0]) ** 2).sum() / (2 * lengthscale**2))
        assert abs(products.mean() - kernel) < 4.5 * products.std() / math.sqrt(draws)
    between = z[:, 0, 0] * z[:, 0, 1]
    assert abs(between.mean()) < 4.5 * between.std() / math.sqrt(draws)


@pytest.mark.statistical
def test_fields_are_normal_at_each_point():
    """A Kolmogorov–Smirnov test at 0.001."""
    x = np.array([1.0, -2.0])
    drawn = [
        RandomField(rng, 2, 1, features=128, lengthscale=2.0, amplitude=0.6)(x)[0]
        for rng in np.random.default_rng(1).spawn(2000)
    ]
    assert stats.kstest(drawn, stats.norm(0, 0.6).cdf).pvalue > 0.001


def test_fields_are_stationary_and_turn_with_the_lengthscale():
    """The same features at twice the length-scale are the same field at twice the distance."""
    one, two = (
        RandomField(np.random.default_rng(8), 4, 3, features=20, lengthscale=ell, amplitude=1.0) for ell in (1.5, 3.0)
    )
    points = np.random.default_rng(9).uniform(-5, 5, size=(30, 4))
    np.testing.assert_allclose(one(points), two(2 * points), rtol=0, atol=1e-12)
    np.testing.assert_allclose([one(x) for x in points], one(points), rtol=0, atol=1e-12)


@pytest.mark.statistical
def test_sparsity_has_its_marginal_distribution():
    """A chi-square test at 0.001: k(x) at amplitude 1 is the whole part of the truncated log-normal."""
    draws = 1000
    stream = [
        GPBBOBProblem(dimension=2, instances=[1] * 24, seed=seed, sparsity_features=64, features=1).mixture()
        for seed in range(draws)
    ]
    k = np.array([mixture.sparsity(np.array([[2.0, -1.0]]))[0] for mixture in stream])
    edges = np.array([*range(2, 9), 24])
    inside = LN_11_05.cdf(24) - LN_11_05.cdf(2)
    expected = np.diff(LN_11_05.cdf(edges)) / inside * draws
    observed = np.histogram(k, bins=[*range(2, 9), 25])[0]
    assert observed.sum() == draws
    assert expected.min() > 5
    assert stats.chisquare(observed, expected).pvalue > 0.001


@pytest.mark.parametrize("k", [1, 5, 24])
def test_sparsity_may_be_a_number(k):
    spec = GPBBOB(dimension=2, sparsity=k)[0]
    assert (spec.mixture().sparsity(np.random.default_rng(0).uniform(-5, 5, (100, 2))) == k).all()


TABLE_3 = {
    "offset": stats.cauchy(0, 1000),
    "temperature": stats.lognorm(0.5, scale=math.exp(-0.5)),
    "lengthscale": stats.lognorm(1.0, scale=math.exp(2.0)),
    "amplitude": stats.lognorm(0.7),
    "sparsity_lengthscale": stats.lognorm(1.0),
    "sparsity_amplitude": stats.lognorm(0.7),
}


@pytest.fixture(scope="module")
def drawn():
    stream = GPBBOB(seed=11)
    return [stream[i] for i in range(2000)]


@pytest.mark.statistical
def test_parameters_are_drawn_from_table_3(drawn):
    """Ten tests at 0.001: 99 % of seeds pass all."""
    for name, distribution in TABLE_3.items():
        assert stats.kstest([getattr(spec, name) for spec in drawn], distribution.cdf).pvalue > 0.001, name
    for name, low, high in (("features", 32, 128), ("sparsity_features", 16, 64)):
        counts = np.bincount([getattr(spec, name) for spec in drawn], minlength=high + 1)
        assert counts[:low].sum() == 0
        assert len(counts) == high + 1
        assert stats.chisquare(counts[low:]).pvalue > 0.001, name
    instances = np.array([spec.instances for spec in drawn]).ravel()
    assert (instances.min(), instances.max()) == (1, 999)
    assert stats.chisquare(np.bincount(instances, minlength=1000)[1:]).pvalue > 0.001


@pytest.mark.statistical
def test_dimensions_are_truncated_not_clipped(drawn):
    """Kolmogorov's statistic at the whole numbers, at 0.001 or less; and nothing heaps up at the ends."""
    dimensions = np.array([spec.dimension for spec in drawn])
    a, b = (2 - 240) / 30, (320 - 240) / 30
    edges = np.arange(2, 321)
    share = (dimensions[:, np.newaxis] < edges).mean(axis=0)
    assert np.abs(share - stats.truncnorm(a, b, 240, 30).cdf(edges)).max() * math.sqrt(len(dimensions)) < 1.95
    assert dimensions.max() < 320
    narrow = GPBBOB(dimension="Trunc(N(10, 30); [2, 12])")
    counts = np.bincount([narrow[i].dimension for i in range(1000)], minlength=13)
    cdf = stats.truncnorm(-8 / 30, 2 / 30, 10, 30).cdf(np.arange(2, 13))
    assert counts[12] == 0
    assert stats.chisquare(counts[2:12], np.diff(cdf) * 1000).pvalue > 0.001


@pytest.mark.parametrize(
    ("text", "scale", "distribution"),
    [
        ("N(-3, 2)", 1, stats.norm(-3, 2)),
        ("LN(1.1, 0.5)", 1, LN_11_05),
        ("Cauchy(1, 2)", 1, stats.cauchy(1, 2)),
        ("U(-1, 3)", 1, stats.uniform(-1, 4)),
        ("U(0, 2)", 2.5, stats.uniform(0, 5)),
        ("Cauchy(0, 1)", 1000, stats.cauchy(0, 1000)),
    ],
)
def test_priors_are_those_of_scipy(text, scale, distribution):
    prior = Prior.parse(f"{scale} * {text}", "x")
    u = np.linspace(0.001, 0.999, 41)
    np.testing.assert_allclose([prior.quantile(v) for v in u], distribution.ppf(u), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose([prior.below(q) for q in distribution.ppf(u)], u, rtol=1e-10)
    low, high = distribution.ppf([0.3, 0.8])
    cut = Prior.parse(f"{scale} * Trunc({text}; [{float(low / scale)}, {float(high / scale)}])", "x")
    np.testing.assert_allclose([cut.quantile(v) for v in u], truncated(distribution, low, high)(u), rtol=1e-9)
    assert cut.support == pytest.approx((low, high))
    assert (cut.below(low - 1), cut.below(high + 1)) == (0, 1)


def test_whole_numbers_are_equally_likely_up_to_both_ends():
    prior = Prior.parse("DU{32, ..., 128}", "x")
    u = np.linspace(0.0003, 0.9997, 1000)
    assert [prior.quantile(v) for v in u] == stats.randint(32, 129).ppf(u).tolist()
    for x in (31, 32, 32.5, 33, 128, 129):
        assert prior.below(x) == pytest.approx(stats.randint(32, 129).cdf(math.ceil(x) - 1))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("Trunc( N(240,30) ; [2,320] )", "Trunc(N(240, 30); [2, 320])"),
        ("DU{32..128}", None),
        ("DU{32, ..., 128}", "DU{32, ..., 128}"),
        ("DU{32, 128}", "DU{32, ..., 128}"),
        ("1e3*Cauchy(0,1.0)", "1000 * Cauchy(0, 1)"),
        ("LN(-.5, 0.5)", "LN(-0.5, 0.5)"),
    ],
)
def test_priors_are_written_in_one_way(text, canonical):
    if canonical is None:
        with pytest.raises(ValueError, match="are written like"):
            Prior.parse(text, "x")
        return
    assert str(Prior.parse(text, "x")) == canonical
    assert Prior.parse(canonical, "x") == Prior.parse(text, "x")


def test_the_stream_is_the_same_in_any_order_and_whatever_else_is_drawn():
    stream = GPBBOB(seed=7, dimension="DU{2, ..., 40}")
    backwards = {i: stream[i] for i in reversed(range(30))}
    assert [GPBBOB(seed=7, dimension="DU{2, ..., 40}")[i] for i in range(30)] == [backwards[i] for i in range(30)]
    assert len({spec.name for spec in backwards.values()}) == 30
    for i, spec in backwards.items():
        assert GPBBOB(dimension=spec.dimension, seed=7)[i] == spec, "the same name must mean the same problem"
    usual, other = GPBBOB(dimension=5)[3], GPBBOB(dimension=5, temperature=0.1)[3]
    assert (usual.temperature, usual.name) != (other.temperature, other.name)
    assert (usual.instances, usual.seed, usual.amplitude) == (other.instances, other.seed, other.amplitude)
    assert GPBBOB(seed=1)[0] != GPBBOB(seed=2)[0]


def test_names_tell_stream_and_dimension():
    spec = GPBBOB(dimension=240)[17]
    assert spec.name == "gp-bbob-d240-s0-17"
    assert Instance.parse(spec.name) == Instance("", "gp-bbob", 240, "s0-17")
    others = [GPBBOB(dimension=240, amplitude=1), GPBBOB(dimension=240, instances="1-5"), GPBBOB(240, sparsity=3)]
    named = [stream[17].name for stream in others]
    assert len({spec.name, *named}) == 4
    assert all(Instance.parse(name).dimension == 240 for name in named)
    own = GPBBOBProblem(dimension=2, instances=[1] * 24)
    assert own.name == GPBBOBProblem(dimension=2, instances=(1,) * 24, offset=0).name
    assert own.name != GPBBOBProblem(dimension=2, instances=[1] * 24, seed=1).name


def test_problems_travel_as_small_values():
    spec = GPBBOB(dimension=3, seed=2)[4]
    assert hash(spec) == hash(GPBBOB(dimension=3, seed=2)[4])
    assert len(pickle.dumps(GPBBOB()[0])) < 2000
    problem = spec.build()
    points = np.random.default_rng(0).uniform(-5, 5, size=(20, 3))
    again = pickle.loads(pickle.dumps(problem))
    np.testing.assert_array_equal(again(points), problem(points))
    assert again.name == problem.name
    assert (problem(points) != GPBBOB(dimension=3, seed=2)[5].build()(points)).all()


def test_streams_and_problems_are_described_in_full():
    stream = GPBBOB(dimension=9, seed=3, instances="1-20", temperature=0.5, lengthscale="LN(1, 0.2)")
    assert problems.from_description(problems.describe(stream)) == stream
    listed = problems.FiniteInstances((stream[0], stream[1]))
    assert problems.from_description(problems.describe(listed)) == listed
    written = tomllib.loads('suite = "gp-bbob"\ndimension = "Trunc(N(40, 5); [20, 60])"\noffset = 0')
    assert problems.from_description(written) == GPBBOB("Trunc(N(40, 5); [20, 60])", offset=0)
    assert problems.suite_parameters("gp-bbob")["offset"] == "1000 * Cauchy(0, 1)"


@pytest.mark.parametrize(
    ("keywords", "error", "complaint"),
    [
        ({"dimension": 1}, ValueError, "dimension is 1; it must be 2 or more"),
        ({"dimension": 2.5}, ValueError, "whole number"),
        ({"dimension": "N(240, 30)"}, ValueError, "truncate it as in"),
        ({"dimension": "240"}, ValueError, "are written like"),
        ({"dimension": None}, TypeError, "give a number, or a distribution"),
        ({"temperature": 0}, ValueError, "above 0"),
        ({"temperature": "LN(0, -1)"}, ValueError, "second number must be positive"),
        ({"amplitude": "N(1, 1)"}, ValueError, "amplitude is 'N\\(1, 1\\)', which allows -inf"),
        ({"offset": math.inf}, ValueError, "must be finite"),
        ({"offset": "-2 * N(0, 1)"}, ValueError, "factor must be positive"),
        ({"features": "DU{5, ..., 3}"}, ValueError, "below the second"),
        ({"features": "DU{0.5, ..., 3}"}, ValueError, "whole numbers"),
        ({"features": "Trunc(DU{1, ..., 3}; [1, 2])"}, ValueError, "smaller range"),
        ({"lengthscale": "Trunc(N(0, 1); [40, 50])"}, ValueError, "almost no probability"),
        ({"sparsity": "LN(1.1, 0.5)"}, ValueError, "0 to inf active components; it must allow only 1 to 24"),
        ({"sparsity": 25}, ValueError, "it must allow only 1 to 24"),
        ({"instances": "0-3"}, ValueError, "instances is 0"),
        ({"seed": -1}, ValueError, "seed is -1"),
    ],
)
def test_the_stream_refuses(keywords, error, complaint):
    with pytest.raises(error, match=complaint):
        GPBBOB(**keywords)


@pytest.mark.parametrize(
    ("keywords", "error", "complaint"),
    [
        ({"instances": [1] * 23}, ValueError, "has length 23; it must have one number for each of the 24 functions"),
        ({"instances": [0] * 24}, ValueError, "instance of function 1 is 0"),
        ({"dimension": 1}, ValueError, "dimension is 1"),
        ({"temperature": 0.0}, ValueError, "it must be above 0"),
        ({"amplitude": -1.0}, ValueError, "0 or more"),
        ({"offset": math.nan}, ValueError, "finite"),
        ({"lengthscale": "long"}, TypeError, "must be a number"),
        ({"seed": 1.5}, TypeError, "whole number"),
    ],
)
def test_a_problem_refuses(keywords, error, complaint):
    with pytest.raises(error, match=complaint):
        GPBBOBProblem(**({"dimension": 2, "instances": [1] * 24} | keywords))


def test_numbers_of_numpy_are_numbers():
    assert GPBBOB(dimension=np.int64(5), offset=np.float32(0.5)) == GPBBOB(5, offset=0.5)
    own = GPBBOBProblem(dimension=np.int64(2), instances=np.ones(24, dtype=int), temperature=np.float32(0.5))
    assert own == GPBBOBProblem(dimension=2, instances=[1] * 24, temperature=0.5)


def test_there_is_no_negative_index():
    with pytest.raises(IndexError, match="counted from 0"):
        GPBBOB()[-1]
