"""The noisy functions against `cocoex`, number by number and by distribution, and against the first code of 2009."""

import math
import pickle

import numpy as np
import pytest
from scipy import stats

from polarbear import problems
from polarbear.experiment import Limits, Task, execute
from polarbear.problems.functions.coco_random import location, rotation
from polarbear.problems.functions.noise import BLOCK, NoiseStream
from polarbear.problems.suite.bbob_noisy import Ellipsoid
from polarbear.records import RunKey

FUNCTIONS = range(101, 131)
SHIFT = 1.01e-8
DRAWN = {}


def theirs(function, instance, dimension):
    """A problem of COCO's suite; making it sets COCO's noise to its beginning."""
    cocoex = pytest.importorskip("cocoex")
    select = f"dimensions: {dimension} function_indices: {function - 100}"
    return cocoex.Suite("bbob-noisy", f"instances: {instance}", select).get_problem(0)


class Replay:
    """Draws what COCO draws: the k-th number of a kind is the first one from the seed 30 + k."""

    def __init__(self):
        self.used = {"unif": 0, "gauss": 0}

    def _next(self, kind, size):
        code = pytest.importorskip("cma.bbobbenchmarks")
        known, begin = DRAWN.setdefault(kind, []), self.used[kind]
        end = self.used[kind] = begin + math.prod(np.atleast_1d(size))
        known += [getattr(code, kind)(1, 31 + k)[0] for k in range(len(known), end)]
        return np.array(known[begin:end]).reshape(size)

    def random(self, size):
        return self._next("unif", size)

    def standard_normal(self, size):
        return self._next("gauss", size)


def some_points(dimension, count=6):
    """In the box, and in and around it."""
    rng = np.random.default_rng(dimension)
    return np.concatenate([rng.uniform(-b, b, (count, dimension)) for b in (5, 9)])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_is_told_is_what_cocoex_tells_when_given_its_random_numbers(function):
    """All of it at once: function without noise, noise model, its parameters, the penalty, and the best value.

    Both sides round the value without noise at the scale of the best value before the noise multiplies it; and they
    take Griewank-Rosenbrock's cosines of large numbers, to some 1e-13 of its value.
    """
    for instance, dimension in ((1, 2), (7, 5), (2, 20), (15, 40)):
        expected = theirs(function, instance, dimension)
        built = problems.BBOBNoisyProblem(function, instance, dimension).build()
        points = some_points(dimension)
        told, judged = built.trial(Replay()).batch(points)
        cocos = np.array([expected(point) for point in points])
        penalties = 100 * (np.maximum(np.abs(points) - 5, 0) ** 2).sum(axis=1)
        rounding = 4 * np.spacing(np.abs(built.optimum)) / (judged - penalties - built.optimum)
        allowed = 1e-13 * np.abs(cocos) + (1e-12 + rounding) * np.abs(cocos - built.optimum)
        assert (np.abs(told - cocos) <= allowed).all()


def test_values_without_noise_are_those_that_the_observer_of_cocoex_logs(tmp_path, monkeypatch):
    """In its third column, to ten digits; outside the box it leaves the penalty out."""
    cocoex = pytest.importorskip("cocoex")
    monkeypatch.chdir(tmp_path)
    inside, outside = np.random.default_rng(0).uniform(-5, 5, 5), np.array([5.5, 0, 0, -7, 1])
    for function in FUNCTIONS:
        problem = problems.BBOBNoisyProblem(function, 1, 5).build()
        for point, penalty in ((inside, 0.0), (outside, 100 * (0.25 + 4))):
            select = f"dimensions: 5 function_indices: {function - 100}"
            observer = cocoex.Observer("bbob-noisy", "outer_folder: logged")
            observed = cocoex.Suite("bbob-noisy", "instances: 1", select).get_problem(0, observer)
            observed(point)
            observed.free()
            logged = sorted(tmp_path.glob(f"logged/**/bbobexp_f{function}_DIM5.dat"))[-1].read_text().splitlines()[1]
            assert float(logged.split()[2]) == pytest.approx(problem(point) - problem.optimum - penalty, rel=2e-9)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_values_without_noise_and_told_near_the_optimum_are_those_of_the_code_of_2009(function):
    """pycma carries it. `_evalfull` gives a noisy value and the one without noise, penalty included."""
    code = pytest.importorskip("cma.bbobbenchmarks")
    for instance, dimension in ((1, 2), (3, 5), (4, 40)):
        first = getattr(code, f"F{function}")(iinstance=instance)
        problem = problems.BBOBNoisyProblem(function, instance, dimension).build()
        points = some_points(dimension)
        with np.errstate(all="ignore"):
            without_noise = np.array([first._evalfull(point.copy())[1] for point in points])
            at_optimum = first._evalfull(first.xopt.copy())
        np.testing.assert_allclose(problem(points), without_noise, rtol=1e-9)
        assert problem.optimum == pytest.approx(first.fopt, abs=1e-12)
        assert problem.batch(points).tolist() == pytest.approx([problem(point) for point in points], rel=1e-14)
        assert at_optimum[0] == at_optimum[1]  # told without noise
        told, judged = problem.trial(np.random.default_rng(0))(first.xopt)
        assert told == judged == problem(first.xopt) == pytest.approx(problem.optimum, abs=1e-8)


def places(problem):
    """A point near the optimum, one far away and one outside the box."""
    spec = problem.spec
    optimum = problems.BBOBProblem(spec.base, spec.instance, spec.dimension).build().raw.optimum.x
    near = np.array(optimum) + (0.1 if spec.base == 7 else 0.01)  # the step ellipsoid has a plateau
    assert 1e-8 < problem(near) - problem.optimum < 30
    rng = np.random.default_rng(1)
    return near, rng.uniform(-5, 5, problem.dimension), np.where(np.arange(problem.dimension) % 2, 5.5, -3.0)


def disturbed(values, usual):
    """Which values have an outlier in them."""
    return np.abs(values - usual) > 1e-9 * max(1.0, abs(usual))


@pytest.mark.statistical
@pytest.mark.parametrize("function", FUNCTIONS)
def test_noise_has_the_distribution_of_cocoex(function):
    """Two-sample Kolmogorov-Smirnov tests; for Cauchy noise of the outliers, with Fisher's test of how many there are.

    At level 1e-5 each, the 120 tests together would reject 1 in 800 seeds. Samples are of 1,000, since COCO's own
    uniform numbers are visibly not uniform from about 10,000 on: it takes one number from each of consecutive seeds.
    """
    count, level = 1000, 1e-5
    problem = problems.BBOBNoisyProblem(function, 1, 5).build()
    expected = theirs(function, 1, 5)
    for place, point in enumerate(places(problem)):
        rng = np.random.default_rng([function, place])
        ours = problem.trial(rng).batch(np.tile(point, (count, 1)))[0]
        cocos = np.array([expected(point) for _ in range(count)])
        if (function - 101) % 3 == 2:
            noise = problem.model
            usual = problem(point) + 1000 * noise.alpha + SHIFT
            outliers, cocos_outliers = (sample[disturbed(sample, usual)] for sample in (ours, cocos))
            counts = [[len(found), count - len(found)] for found in (outliers, cocos_outliers)]
            assert stats.fisher_exact(counts).pvalue > level
            assert len(outliers) == pytest.approx(
                count * noise.probability, abs=5 * math.sqrt(count * noise.probability)
            )
            ours, cocos = outliers, cocos_outliers
        assert stats.ks_2samp(ours, cocos).pvalue > level


def test_the_tests_of_distribution_tell_moderate_from_severe_noise():
    for moderate, severe in ((101, 107), (102, 108), (103, 109)):
        one, other = (
            problems.BBOBNoisyProblem(f, 1, 5).build().trial(np.random.default_rng(f)) for f in (moderate, severe)
        )
        points = np.zeros((1000, 5))
        assert stats.ks_2samp(one.batch(points)[0], other.batch(points)[0]).pvalue < 1e-10


@pytest.mark.statistical
def test_noise_models_have_the_quantiles_of_their_definitions():
    """Closed forms; Kolmogorov-Smirnov at 1e-4 each: 1 in 3,000 seeds would fail."""
    rng, f, count = np.random.default_rng(3), 2.5, 20_000
    values = np.full(count, f)

    def drawn(model):
        return NoiseStream(model, rng).observe_batch(values) - SHIFT

    log_normal = np.log(drawn(problems.GaussianNoise(0.7)) / f) / 0.7
    assert stats.kstest(log_normal, "norm").pvalue > 1e-4
    factor = (1e9 / f) ** 0.3  # without it: f U1 V, where V = factor ** U2 and log V is uniform
    logs = np.log(
        drawn(problems.UniformNoise(0.3, 0.5)) / f
    )  # the sum of -E/2 and of a uniform number up to log(factor)
    top = math.log(factor)

    def distribution(t):
        above = np.clip(t, 0, top)  # P(-E/2 + top U <= t), integrated over U: where top U <= t it holds for sure
        return (above + (np.exp(2 * t) / 2) * (np.exp(-2 * above) - math.exp(-2 * top))) / top

    assert stats.kstest(logs, distribution).pvalue > 1e-4
    outliers = drawn(problems.CauchyNoise(2.0, 1.0)) - f
    assert (outliers >= 0).all()
    assert stats.kstest(outliers / 2 - 1000, lambda t: np.where(t < -1000, 0.0, stats.cauchy.cdf(t))).pvalue > 1e-4


def test_values_below_1e8_are_told_as_they_are_and_others_never_below_it():
    """The definition; `cocoex` disturbs the first, too."""
    for model in (problems.GaussianNoise(1.0), problems.UniformNoise(0.69, 1.0), problems.CauchyNoise(1.0, 0.2)):
        low, high = np.array([-1e-13, 0.0, 9.99e-9]), np.full(2000, 1e-8)
        stream = NoiseStream(model, np.random.default_rng(0))
        np.testing.assert_array_equal(stream.observe_batch(low), low)
        assert [stream.observe(value) for value in low.tolist()] == low.tolist()
        assert (stream.observe_batch(high) >= SHIFT).all()
    problem = problems.BBOBNoisyProblem(103, 1, 5).build()
    optimum = problems.BBOBProblem(1, 1, 5).build().raw.optimum.x
    assert theirs(103, 1, 5)(optimum) == pytest.approx(problem.optimum + 10 + SHIFT, abs=1e-9)
    assert problem.trial(np.random.default_rng(0))(np.array(optimum))[0] == problem.optimum


@pytest.mark.parametrize("function", [101, 102, 103, 116])
def test_points_and_batches_are_told_the_same_noise_in_the_same_order(function):
    problem = problems.BBOBNoisyProblem(function, 3, 4).build()
    points = np.random.default_rng(0).uniform(-6, 6, (2 * BLOCK + 50, 4))
    one_by_one, batch, mixed = (problem.trial(np.random.default_rng(7)) for _ in range(3))
    told, judged = batch.batch(points)
    np.testing.assert_allclose([one_by_one(point) for point in points], np.transpose([told, judged]), rtol=1e-13)
    parts = [mixed.batch(points[:100])[0], [mixed(point)[0] for point in points[100:350]]]
    parts += [mixed.batch(points[350:350])[0], mixed.batch(points[350:])[0]]
    np.testing.assert_allclose(np.concatenate(parts), told, rtol=1e-13)
    np.testing.assert_array_equal(judged, problem(points))


def test_a_run_has_its_own_noise_whatever_else_happens():
    problem = problems.BBOBNoisyProblem(107, 1, 3).build()
    x = np.ones(3)
    key = RunKey(problem.name, "A", 0)
    alone = problem.trial(key.generator("noise"))
    expected = [alone(x)[0] for _ in range(600)]
    again, other = problem.trial(key.generator("noise")), problem.trial(RunKey(problem.name, "A", 1).generator("noise"))
    found = []
    for count in range(600):
        found.append(again(x)[0])
        other(x)
        if count % 100 == 0:
            problems.BBOBNoisyProblem(110, 2, 3).build().trial(np.random.default_rng(0))(x)
            theirs(107, 1, 3)(x)  # cocoex begins its noise anew
    assert found == expected
    assert len(set(expected)) == 600
    assert other(x)[0] not in expected
    assert len({problem(x) for _ in range(3)}) == 1


def test_runs_are_told_noise_and_recorded_without():
    spec, told, points = problems.BBOBNoisyProblem(109, 1, 3), [], []

    def search(objective, rng):
        while True:
            points.append(rng.uniform(-5, 5, 3))
            told.append(objective(points[-1]))

    tasks = [Task(RunKey(spec.name, "A", 0), spec, search, Limits(evaluations=40)) for _ in range(2)]
    first, second = map(execute, tasks)
    values = spec.build()(np.array(points[:40]))
    improvements = np.flatnonzero(values < np.minimum.accumulate(np.append(np.inf, values))[:-1])
    assert first.trajectory.values.tolist() == values[improvements].tolist()
    assert second.trajectory.values.tolist() == values[improvements].tolist()
    before_the_stop, again = np.split(np.array(told), 2)
    np.testing.assert_array_equal(before_the_stop, again)
    assert len(again) == 39
    assert np.median(again - values[:39]) == pytest.approx(1000)


@pytest.mark.statistical
def test_noise_of_different_runs_is_independent():
    """Rank correlation between 2,000 numbers of neighbouring runs; 1 in 1,000 seeds would fail."""
    problem, points = problems.BBOBNoisyProblem(107, 1, 3).build(), np.ones((2000, 3))
    told = [problem.trial(RunKey(problem.name, "A", s).generator("noise")).batch(points)[0] for s in (0, 1)]
    assert stats.spearmanr(*told).pvalue > 1e-3
    assert stats.spearmanr(told[0][1:], told[0][:-1]).pvalue > 1e-3


def test_infinite_and_wrong_points_are_answered_as_elsewhere():
    for function in (101, 113, 116, 122, 125):
        problem = problems.BBOBNoisyProblem(function, 1, 3).build()
        trial = problem.trial(np.random.default_rng(0))
        assert problem(np.array([np.inf, 0, 0])) == np.inf
        assert problem(np.array([[np.inf, 0, 0], [6, 0, 0]]))[0] == np.inf
        assert trial(np.array([0, -np.inf, 0])) == (np.inf, np.inf)
        assert np.isnan(trial(np.array([0, np.nan, 0]))).all()
        with pytest.raises(ValueError, match="NaN"):
            problem(np.array([0, np.nan, 0]))
        with pytest.raises(ValueError, match=r"shape \(2,\)"):
            problem(np.zeros(2))


def test_the_ellipsoid_is_that_of_bbob_but_for_its_conditioning():
    for instance, dimension in ((1, 2), (5, 7), (200_000, 40)):
        bbob = problems.BBOBProblem(10, instance, dimension).build()
        seed = 10 + 10_000 * instance
        np.testing.assert_allclose(location(dimension, seed), bbob.raw.optimum.x, rtol=1e-15)
        ellipsoid = Ellipsoid(location(dimension, seed), rotation(dimension, seed + 1_000_000), 1e6)
        points = some_points(dimension)
        np.testing.assert_allclose(ellipsoid.batch(points) + bbob.optimum, bbob(points), rtol=1e-12)


def test_names_traits_descriptions_and_pickles():
    spec = problems.BBOBNoisyProblem(101, 1, 5)
    assert spec.name == "bbob-noisy-f101-i1-d5"
    problem = pickle.loads(pickle.dumps(spec.build()))
    assert problems.traits_of(problem).noisy
    assert problem(np.zeros(5)) == spec.build()(np.zeros(5))
    np.testing.assert_array_equal(problem.upper, np.full(5, 5.0))
    suite = problems.from_description({"suite": "bbob-noisy", "functions": "101-103", "dimensions": [2, 5]})
    assert problems.from_description(problems.describe(suite)) == suite
    assert list(problems.from_description(problems.describe([spec]))) == [spec]
    names = [listed.name for listed in problems.BBOBNoisy((101, 102), (2, 5), (1, 2)).grid()]
    assert names[:3] == ["bbob-noisy-f101-i1-d2", "bbob-noisy-f101-i2-d2", "bbob-noisy-f102-i1-d2"]
    assert len(names) == 8
    assert {suite[i].function for i in range(50)} == {101, 102, 103}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((100, 1, 5), "function is 100; it must be from 101 to 130"),
        ((101, 0, 5), "instance is 0"),
        ((101, 1, 1), "dimension is 1; it must be 2 or more"),
    ],
)
def test_what_there_is_not_is_refused(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        problems.BBOBNoisyProblem(*arguments)
