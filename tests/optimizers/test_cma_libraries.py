"""The CMA-ES of the packages `cma` and `cmaes`: the points they evaluate themselves, in the box, for ever."""
# ruff: noqa: NPY002 - the packages draw from NumPy's old generators

import dataclasses
import json
import pickle

import numpy as np
import pytest

from polarbear.experiment import execute
from polarbear.optimizers import describe, from_description
from polarbear.optimizers.adapters.cma import OPTIONS, RESERVED, PyCMA
from polarbear.optimizers.adapters.cmaes import CMAES
from polarbear.problems import Traits
from polarbear.records import Reason
from tests.optimizers.seen import LOWER, STRANGE, UPPER, Watcher, chance_of_pycma, rugged, task

cma = pytest.importorskip("cma", reason="cma is not installed (extra cma)")
cmaes = pytest.importorskip("cmaes", reason="cmaes is not installed (extra cmaes)")


ALL = [
    PyCMA(),
    PyCMA(restart_strategy="BIPOP"),
    PyCMA(restart_strategy="RESTART", step_size_adaptation="TPA"),
    PyCMA(step_size_adaptation="NONE", population_size=9),
    PyCMA(noise_handling=True, noise_evaluations=5),
    PyCMA(options={"CMA_diagonal": True}),
    CMAES(),
    CMAES(restart_strategy="BIPOP"),
    CMAES(learning_rate_adaptation=True),
    CMAES(separable=True, restart_strategy="RESTART"),
]
every = pytest.mark.parametrize("optimizer", ALL, ids=lambda optimizer: optimizer.name)


def scaled(function):
    return lambda x: function((x - LOWER) / (UPPER - LOWER))


# -- the points of the packages ------------------------------------------------------------------------------------


def pycma_directly(function, seed, evaluations, lower, upper, *, restarts=0, bipop=False, **given):
    """`cma.fmin2` alone, with its own restarts; its uniform numbers and starts from the generator we use."""
    rng, problem = np.random.default_rng(seed), Watcher(function, evaluations, lower, upper)
    options = {"bounds": [list(lower), list(upper)], "CMA_stds": upper - lower, "seed": np.nan, "verbose": -10}
    settings = {"restarts": restarts, "bipop": bipop, "noise_handler": given.pop("noise_handler", None)}
    with chance_of_pycma(rng) as normal:
        cma.fmin2(
            problem, lambda: rng.uniform(lower, upper), 0.2, options | given | {"randn": normal.randn}, **settings
        )
    return np.array(problem.points)


@pytest.mark.parametrize(
    ("optimizer", "given"),
    [
        (PyCMA(), {"restarts": 9}),
        (PyCMA(restart_strategy="BIPOP"), {"restarts": 9, "bipop": True}),
        (PyCMA(population_size=12, options={"tolfun": 1e-3}), {"restarts": 9, "popsize": 12, "tolfun": 1e-3}),
        (PyCMA(step_size_adaptation="TPA"), {"AdaptSigma": cma.sigma_adaptation.CMAAdaptSigmaTPA}),
        (PyCMA(options={"CMA_diagonal": True, "CMA_active": False}), {"CMA_diagonal": True, "CMA_active": False}),
        (PyCMA(options={"popsize_factor": 2, "CMA_mirrors": 0.3}), {"popsize_factor": 2, "CMA_mirrors": 0.3}),
        (PyCMA(noise_handling=True), {"noise_handler": cma.NoiseHandler}),
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_pycma_evaluates_the_points_of_fmin2(optimizer, given):
    """With our restarts in place of its own: the same points to the bit, over several restarts."""
    expected = pycma_directly(scaled(rugged), 3, 2_500, LOWER, UPPER, **given)
    if "restarts" in given:
        assert len(expected) == 2_500
    np.testing.assert_array_equal(Watcher(scaled(rugged), 2_500).run(optimizer, 3)[: len(expected)], expected)


def test_pycma_evaluates_the_points_of_the_strategy_with_a_seed():
    """In a cube, with NumPy's own seeding: the first run of `cma.CMAEvolutionStrategy`, up to rounding."""
    rng = np.random.default_rng(8)
    seed, _ = (int(rng.integers(2**32)) for _ in range(2))
    before = np.random.get_state()
    strategy = cma.CMAEvolutionStrategy(
        rng.uniform(np.full(4, -5.0), np.full(4, 5.0)), 2.0, {"bounds": [-5, 5], "seed": seed, "verbose": -10}
    )
    expected = []
    for _ in range(25):
        points = strategy.ask()
        expected += points
        strategy.tell(points, [rugged(x) for x in points])
    np.random.set_state(before)
    points = Watcher(rugged, len(expected), np.full(4, -5.0), np.full(4, 5.0)).run(PyCMA(), 8)
    np.testing.assert_allclose(points[:80], expected[:80], atol=1e-9)


@pytest.mark.parametrize(
    ("optimizer", "make"),
    [
        (CMAES(), lambda **given: cmaes.CMA(**given)),
        (CMAES(population_size=11), lambda **given: cmaes.CMA(**given, population_size=11)),
        (CMAES(learning_rate_adaptation=True), lambda **given: cmaes.CMA(**given, lr_adapt=True)),
        (CMAES(separable=True), lambda **given: cmaes.SepCMA(**given)),
        (CMAES(relative_sigma0=0.4, max_resampling=3),
         lambda **given: cmaes.CMA(**(given | {"sigma": 0.4, "n_max_resampling": 3}))),
    ],
    ids=lambda x: getattr(x, "name", ""),
)  # fmt: skip
def test_cmaes_evaluates_the_points_of_the_package(optimizer, make):
    rng = np.random.default_rng(6)
    seed, mean = int(rng.integers(2**32)), rng.uniform(size=3)
    strategy = make(mean=mean, sigma=0.2, bounds=np.tile([0.0, 1.0], (3, 1)), seed=seed)
    expected = []
    for _ in range(60):
        told = [(point, rugged(point)) for point in (strategy.ask() for _ in range(strategy.population_size))]
        expected += [point for point, _ in told]
        strategy.tell(told)
    unit = np.zeros(3), np.ones(3)
    np.testing.assert_array_equal(Watcher(rugged, len(expected), *unit).run(optimizer, 6), expected)


def test_cmaes_takes_whole_numbers_by_the_strategy_with_margin():
    """Two whole variables, one of which has ends between whole numbers, in the package's own coordinates."""
    lower, upper, whole = np.array([0.0, -1.5, -2.0]), np.array([1.0, 4.5, 8.0]), [False, True, True]
    rng = np.random.default_rng(2)
    seed, mean = int(rng.integers(2**32)), rng.uniform(size=3)
    bounds = np.array([[0, 1], [0.5 / 6, 5.5 / 6], [0, 1]])
    strategy = cmaes.CMAwM(mean, 0.2, bounds, np.array([0, 1 / 6, 1 / 10]), seed=seed)
    expected = []
    for _ in range(40):
        solutions = []
        for _ in range(strategy.population_size):
            encoded, told = strategy.ask()
            expected.append(lower + encoded * (upper - lower))
            solutions.append((told, rugged(encoded)))
        strategy.tell(solutions)

    def function(x):
        return rugged((x - lower) / (upper - lower))

    points = Watcher(function, len(expected), lower, upper, whole).run(CMAES(), 2)
    np.testing.assert_allclose(points, expected, atol=1e-9)
    assert (points[:, 1:] == np.rint(points[:, 1:])).all()
    assert set(points[:, 1]) <= set(range(-1, 5))
    assert len(set(points[:, 0])) > 50


def test_pycma_takes_whole_numbers():
    points = Watcher(lambda x: float((x - 2.6) @ (x - 2.6)), 900, [-5, -5], [5, 5], [True, False]).run(PyCMA())
    assert (points[:, 0] == np.rint(points[:, 0])).all()
    np.testing.assert_allclose(points[np.argmin([(x - 2.6) @ (x - 2.6) for x in points])], [3, 2.6], atol=1e-3)
    direct = pycma_directly(
        lambda x: float((x - 2.6) @ (x - 2.6)), 0, 900, np.full(2, -5.0), np.full(2, 5.0), integer_variables=[0]
    )
    assert len(direct) > 100
    np.testing.assert_array_equal(points[: len(direct)], direct)


def test_variants_without_whole_numbers_refuse_them():
    for optimizer in (CMAES(separable=True), CMAES(learning_rate_adaptation=True)):
        with pytest.raises(ValueError, match="integer variables"):
            optimizer(Watcher(rugged, 1, integers=[True, False, False]), np.random.default_rng())


# -- every run -----------------------------------------------------------------------------------------------------


@every
def test_it_stays_in_the_box_goes_on_and_is_reproducible(optimizer):
    def function(x):
        return rugged(x) - 30 * x[0]  # the optimum is at the border

    runs = [Watcher(scaled(function), 1_200).run(optimizer, seed) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])
    assert (runs[0] >= LOWER).all()
    assert (runs[0] <= UPPER).all()


@every
@pytest.mark.parametrize("function", STRANGE)
def test_it_survives_strange_values(optimizer, function):
    for dimension in (1, 3):
        run = execute(task(optimizer, STRANGE[function], dimension))
        assert (run.outcome.reason, run.outcome.evaluations) == (Reason.BUDGET, 500), run.outcome.traceback


@every
def test_an_error_of_the_objective_is_the_run_s_outcome(optimizer):
    def failing(x):
        raise ArithmeticError("no value here")

    run = execute(task(optimizer, failing))
    assert run.outcome.reason is Reason.FAILED
    assert "no value here" in run.outcome.message


@pytest.mark.parametrize("optimizer", [each for each in ALL if "NONE" not in each.name], ids=lambda each: each.name)
@pytest.mark.parametrize("dimension", [1, pytest.param(2, marks=pytest.mark.slow), 5])
def test_it_solves_the_sphere(optimizer, dimension):
    run = execute(task(optimizer, lambda x: float(x @ x), dimension, 2_500))
    assert run.trajectory.best < 1e-7


@pytest.mark.parametrize(
    "optimizer",
    [PyCMA(), PyCMA(options={"CMA_diagonal": True}), CMAES(separable=True), CMAES()],
    ids=lambda optimizer: optimizer.name,
)
def test_it_runs_in_a_thousand_variables(optimizer):
    evaluations = 5 if optimizer == CMAES() else 60
    run = execute(task(optimizer, lambda x: float(x @ x), 1000, evaluations))
    assert (run.outcome.reason, run.outcome.evaluations) == (Reason.BUDGET, evaluations), run.outcome.traceback


@every
def test_global_random_states_and_warnings_are_left_alone(optimizer):
    """The objective's own draws are those it would make alone, and NumPy warns of its errors as before."""
    np.random.seed(3)
    draws, seen = [], []

    def drawing(x):
        draws.append(np.random.normal())
        seen.append(np.geterr())
        return rugged(x)

    Watcher(drawing, 300).run(optimizer)
    np.random.seed(3)
    np.testing.assert_array_equal(draws, [np.random.normal() for _ in range(300)])
    assert all(each == np.geterr() for each in seen)


def test_it_writes_and_prints_nothing(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    for optimizer in ALL:
        Watcher(scaled(rugged), 600).run(optimizer)
    assert list(tmp_path.iterdir()) == []
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


@pytest.mark.parametrize("optimizer", [PyCMA(restart_strategy="STOP"), CMAES(restart_strategy="STOP")])
def test_stop_returns_when_converged(optimizer):
    problem = Watcher(rugged, 10**6)
    optimizer(problem, np.random.default_rng(1))
    assert 50 < len(problem.points) < 10_000


def test_noise_handling_evaluates_points_again_and_raises_the_step_size():
    def noisy_run(**given):
        rng = np.random.default_rng(0)
        problem = Watcher(lambda x: float(x @ x) + rng.normal(), 2_000, [-5, -5], [5, 5])
        points = problem.run(PyCMA(restart_strategy="STOP", **given) if not given else PyCMA(**given))
        return points, problem.getters["step_size"]()

    plain, step = noisy_run(options={"tolfun": 0, "tolfunhist": 0, "tolx": 0, "tolstagnation": 10**9})
    handled, handled_step = noisy_run(
        noise_handling=True,
        noise_evaluations=8,
        options={"tolfun": 0, "tolfunhist": 0, "tolx": 0, "tolstagnation": 10**9},
    )
    assert len(np.unique(plain, axis=0)) == len(plain)
    assert len(np.unique(handled, axis=0)) < 0.7 * len(handled)
    assert handled_step > 3 * step


# -- what is told --------------------------------------------------------------------------------------------------


def test_what_pycma_exposes_is_its_state(monkeypatch):
    made = []
    init = cma.CMAEvolutionStrategy.__init__

    def spied(self, *args, **keywords):
        init(self, *args, **keywords)
        made.append(self)

    monkeypatch.setattr(cma.CMAEvolutionStrategy, "__init__", spied)

    def function(x):
        own, shown = made[-1], {name: getter() for name, getter in problem.getters.items()}
        root = np.array([own.sm.transform(axis) for axis in np.eye(3)])  # points are drawn with this matrix
        eigenvalues = np.linalg.eigvalsh(root.T @ root)
        assert shown["step_size"] == own.sigma
        assert shown["population_size"] == own.popsize
        assert shown["generations"] == sum(strategy.countiter for strategy in made)
        assert shown["largest_eigenvalue"] == pytest.approx(eigenvalues[-1])
        assert shown["smallest_eigenvalue"] == pytest.approx(eigenvalues[0])
        assert shown["condition_number"] == pytest.approx(own.condition_number)
        assert shown["pc_norm"] == pytest.approx(np.linalg.norm(own.pc))
        assert shown["ps_norm"] == pytest.approx(np.linalg.norm(own.adapt_sigma.ps))
        np.testing.assert_allclose(problem.recommended(), np.clip(own.result.xfavorite, LOWER, UPPER))
        assert shown["mean_distance"] == pytest.approx(
            np.linalg.norm((own.result.xfavorite - (LOWER + UPPER) / 2) / (UPPER - LOWER))
        )
        return scaled(rugged)(x)

    problem = Watcher(function, 1_200)
    problem.run(PyCMA(), 3)
    assert len({strategy.popsize for strategy in made}) > 1


@pytest.mark.parametrize("optimizer", [CMAES(), CMAES(separable=True), CMAES(learning_rate_adaptation=True)])
def test_what_cmaes_exposes_is_its_state(optimizer, monkeypatch):
    made = []
    start = CMAES.start

    def spied(self, *args):
        made.append(start(self, *args))
        return made[-1]

    monkeypatch.setattr(CMAES, "start", spied)

    def function(x):
        own, shown = made[-1], {name: getter() for name, getter in problem.getters.items()}
        matrix = own._C if own._C.ndim == 2 else np.diag(own._C)
        eigenvalues = np.linalg.eigvalsh(matrix)
        assert shown["step_size"] == own._sigma
        assert shown["population_size"] == own.population_size
        assert shown["generations"] == sum(getattr(strategy, "_cma", strategy).generation for strategy in made)
        assert shown["largest_eigenvalue"] == pytest.approx(eigenvalues[-1])
        assert shown["smallest_eigenvalue"] == pytest.approx(eigenvalues[0])
        assert shown["condition_number"] == pytest.approx(eigenvalues[-1] / eigenvalues[0])
        assert shown["pc_norm"] == pytest.approx(np.linalg.norm(own._pc))
        assert shown["ps_norm"] == pytest.approx(np.linalg.norm(own._p_sigma))
        if optimizer.learning_rate_adaptation:
            assert shown["learning_rate_mean"] == own._eta_mean
            assert shown["learning_rate_covariance"] == own._eta_Sigma
        np.testing.assert_allclose(problem.recommended(), np.clip(LOWER + own.mean * (UPPER - LOWER), LOWER, UPPER))
        return scaled(rugged)(x)

    problem = Watcher(function, 1_200)
    problem.run(optimizer, 3)
    assert made


# -- arguments -----------------------------------------------------------------------------------------------------


def test_the_options_are_those_of_cma():
    own = set(cma.CMAOptions.defaults())
    assert set(OPTIONS) | set(RESERVED) == own
    assert not set(OPTIONS) & set(RESERVED)


@pytest.mark.parametrize(
    ("make", "error", "complaint"),
    [
        (lambda: PyCMA(sigma0=1), TypeError, "no argument 'sigma0'.*relative_sigma0"),
        (lambda: PyCMA(restart_strategy="IPOPP"), ValueError, "did you mean 'IPOP'.*BIPOP, IPOP, RESTART, STOP"),
        (lambda: PyCMA(options={"tolfn": 1}), ValueError, "cma has no option 'tolfn'; did you mean 'tolfun"),
        (lambda: PyCMA(options={"seed": 1}), ValueError, "option 'seed' of cma cannot be set"),
        (lambda: PyCMA(noise_evaluations=3), ValueError, "noise_handling is not True"),
        (lambda: PyCMA(population_size=2), ValueError, "population_size is 2"),
        (lambda: CMAES(lr_adapt=True), TypeError, "no argument 'lr_adapt'; choose from: learning_rate_adaptation"),
        (lambda: CMAES(separable=True, learning_rate_adaptation=True), ValueError, "one at a time"),
        (lambda: CMAES(population_size=3), ValueError, "population_size is 3; it must be from 4 to"),
        (lambda: CMAES(separable=1), TypeError, "true or false"),
    ],
)
def test_wrong_arguments_are_named(make, error, complaint):
    with pytest.raises(error, match=complaint):
        make()


def test_names_say_what_is_special():
    names = [optimizer.name for optimizer in ALL]
    assert len(set(names)) == len(names)
    assert names[:2] == ["pycma", "pycma-BIPOP"]
    assert PyCMA(options={"tolx": 0.1}, noise_handling=True).name == "pycma-noise_handling-tolx=0.1"
    assert CMAES(learning_rate_adaptation=True, population_size=9).name == (
        "cmaes-learning_rate_adaptation-population_size=9"
    )


@every
def test_they_come_back_from_their_descriptions(optimizer):
    description = json.loads(json.dumps(describe(optimizer)))
    assert from_description(description) == optimizer
    assert from_description({"optimizer": "cmaes-lra"}) == CMAES(learning_rate_adaptation=True)
    assert describe(CMAES(separable=True, margin=0.1)) == {"optimizer": "cmaes-separable", "margin": 0.1}
    assert describe(PyCMA(restart_strategy="BIPOP")) == {"optimizer": "pycma-bipop"}


@pytest.mark.parametrize("optimizer", [PyCMA(), CMAES()])
def test_several_objectives_are_refused(optimizer):
    problem = Watcher(rugged, 1)
    problem.traits = Traits(objectives=2)
    with pytest.raises(ValueError, match="minimizes one objective; the problem has 2"):
        optimizer(problem, np.random.default_rng())


@every
def test_they_are_frozen_values(optimizer):
    assert pickle.loads(pickle.dumps(optimizer)) == optimizer
    assert hash(optimizer) == hash(pickle.loads(pickle.dumps(optimizer)))
    fields = {field.name: getattr(optimizer, field.name) for field in dataclasses.fields(optimizer)}
    assert type(optimizer)(**json.loads(json.dumps(fields))) == optimizer
    with pytest.raises(AttributeError):
        optimizer.name = "x"
