"""Eigenvalues and evolution paths, component by component, beside the matrices that the packages hold."""

import cma
import numpy as np
import pytest
from modcma import c_maes

from polarbear.experiment import Limits, Task, Watch, execute
from polarbear.optimizers import CMAES, AskTell, GrowingBudgets, ModularCMAES, PyCMA
from polarbear.optimizers.distributions import axes_of
from polarbear.problems import FunctionProblem
from polarbear.records import RunKey

D = 4
COMPONENTS = tuple(f"{name}_{i}" for name in ("eigenvalue", "ps", "pc") for i in range(1, D + 1))


def ellipsoid(x):
    return float(np.sum(10.0 ** np.linspace(0, 3, len(x)) * (x - 0.7) ** 2))


def watched(optimizer, parameters, function=ellipsoid, evaluations=400, dimension=D, **moments):
    problem = FunctionProblem(function, -5.0, 5.0, dimension=dimension)
    watch = Watch(parameters=parameters, **(moments or {"every": 1}))
    run = execute(
        Task(RunKey(problem.name, optimizer.name, 1), problem, optimizer, Limits(evaluations=evaluations), watch)
    )
    assert run.outcome.ok
    return run


@pytest.fixture
def made(monkeypatch):
    """The optimizers of the packages that a run makes."""
    kept = []

    class Spied(c_maes.ModularCMAES):
        def __init__(self, settings):
            super().__init__(settings)
            kept.append(self)

    init = cma.CMAEvolutionStrategy.__init__

    def spied(self, *args, **keywords):
        init(self, *args, **keywords)
        kept.append(self)

    monkeypatch.setattr(c_maes, "ModularCMAES", Spied)
    monkeypatch.setattr(cma.CMAEvolutionStrategy, "__init__", spied)
    return kept


def states_of(optimizer, made, read):
    """What is logged at each evaluation, and what `read` gives of the package's state meanwhile."""
    states = []

    def function(x):
        states.append(read(made[-1]))
        return ellipsoid(x)

    run = watched(optimizer, COMPONENTS, function)
    logged = np.column_stack([run.parameters.values[name] for name in COMPONENTS])
    assert np.ptp(logged[:, : 2 * D], axis=0).all()
    return logged, np.array(states)


@pytest.mark.parametrize("step_size", ["CSA", "MSR"])  # with another one than CSA modcma holds no decomposition
def test_those_of_modcma_are_its_covariance_matrix_s_and_paths(step_size, made):
    def read(own):
        adaptation = own.p.adaptation
        matrix = adaptation.A @ adaptation.A.T if step_size == "MSR" else adaptation.C
        return np.concatenate([np.linalg.eigvalsh(matrix)[::-1], adaptation.ps, adaptation.pc])

    logged, states = states_of(ModularCMAES(step_size_adaptation=step_size), made, read)
    np.testing.assert_allclose(logged[:, D:], states[:, D:], rtol=1e-12)
    np.testing.assert_allclose(logged[:, :D], states[:, :D], rtol=1e-9)


def test_those_of_pycma_are_its_covariance_matrix_s_and_paths(made):
    def read(own):
        root = np.array([own.sm.transform(axis) for axis in np.eye(D)])
        return np.concatenate([np.linalg.eigvalsh(root.T @ root)[::-1], own.adapt_sigma.ps, own.pc])

    np.testing.assert_allclose(*states_of(PyCMA(), made, read), rtol=1e-9)


def test_without_a_request_they_are_neither_logged_nor_computed(monkeypatch):
    from polarbear.optimizers import telemetry

    def never(self):
        raise AssertionError("computed")

    monkeypatch.setattr(telemetry.Component, "__call__", never)
    for optimizer in (ModularCMAES(), PyCMA(), CMAES()):
        run = watched(optimizer, None, evaluations=50)
        assert run.outcome.message == ""
        assert {"step_size", "largest_eigenvalue", "ps_norm", "pc_norm"} <= set(run.parameters.values)
        assert not set(COMPONENTS) & set(run.parameters.values)
    with AskTell(ModularCMAES(), [-5] * D, [5] * D, np.random.default_rng(1)) as search:
        search.ask()
        assert "ps_norm" in search.parameters
        assert "ps_1" not in search.parameters


def test_a_pattern_stands_for_all_that_fit_in_their_order():
    for dimension in (2, 5):
        run = watched(ModularCMAES(), ("ps_*", "step_size", "eigenvalue_*", "ps_norm"), dimension=dimension)
        numbers = range(1, dimension + 1)
        assert list(run.parameters.values) == [
            "ps_norm", *(f"ps_{i}" for i in numbers), "step_size", *(f"eigenvalue_{i}" for i in numbers),
        ]  # fmt: skip
        assert run.outcome.message == ""
        paths = np.column_stack([run.parameters.values[f"ps_{i}"] for i in numbers])
        np.testing.assert_allclose(np.linalg.norm(paths, axis=1), run.parameters.values["ps_norm"])
    grown = watched(GrowingBudgets(PyCMA(), argument="population_size", first=8), ("pc_*",))
    assert set(grown.parameters.values) == {"pc_norm", *(f"pc_{i}" for i in range(1, D + 1))}


def test_a_pattern_that_fits_nothing_is_reported():
    run = watched(ModularCMAES(), ("eigenvector_*", "step_size"), evaluations=20)
    assert list(run.parameters.values) == ["step_size"]
    assert run.outcome.message.startswith(
        "watch: the optimizer never exposed 'eigenvector_*'; choose from: condition_number"
    )
    assert "eigenvalue_1" not in run.outcome.message


def test_asking_changes_no_run():
    alone, asked = (watched(ModularCMAES.anytime(), names) for names in (("step_size",), COMPONENTS))
    np.testing.assert_array_equal(alone.trajectory.values, asked.trajectory.values)


def test_eigenvalues_follow_the_matrix_s_present_values():
    root = np.diag([3.0, 1.0])
    np.testing.assert_allclose(axes_of(root), [3, 1])
    root[1, 1] = 5.0
    np.testing.assert_allclose(axes_of(root), [5, 3])
    np.testing.assert_allclose(axes_of(np.asfortranarray(np.diag([2.0, 7.0]))), [7, 2])
    assert np.isnan(axes_of(np.full((2, 2), np.inf))).all()
