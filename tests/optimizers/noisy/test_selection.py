"""Selection stages: what they request, what they make of it, and what they cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.stats import chi2

import polarbear as pb
from polarbear.optimizers.noisy import (
    CMAES,
    RBPEM,
    PopulationSizeAdaptation,
    ProbeAndSwitch,
    Ranks,
    ReevaluationAdaptation,
    ResidualBootstrap,
)
from polarbear.optimizers.noisy.residual_bootstrap import cross_fitted, non_negative_line, thinned
from polarbear.optimizers.noisy.selection import Generation
from polarbear.optimizers.noisy.strategy import Parameters, Search

SPACE = pb.optimizers.Space(np.full(6, -5.0), np.full(6, 5.0))


def _generation(count: int = 10, dimension: int = 6, seed: int = 0) -> Generation:
    rng = np.random.default_rng(seed)
    search = Search.start(np.full(dimension, 0.5), 0.2, diagonal=False)
    steps = rng.standard_normal((count, dimension))
    return Generation(
        parameters=Parameters(dimension, count),
        search=search,
        points=search.points(steps),
        steps=steps,
        values=np.empty((count, 0)),
    )


def _run(optimizer: CMAES, generations: int, noise: float, seed: int = 0) -> tuple[Any, list[int]]:
    """The last state of a run on a noisy sphere, and the evaluations of each generation."""
    rng = np.random.default_rng([seed, 1])
    state = optimizer.init(SPACE, np.random.default_rng(seed))
    costs: list[int] = []
    while state.generations < generations:
        before, spent = state.generations, 0
        while state.generations == before and spent < 1000:
            points, state = optimizer.ask(state)
            values = np.square(points).sum(axis=1)
            state = optimizer.tell(state, points, values + noise * rng.standard_normal(len(points)))
            spent += len(points)
        costs.append(spent)
    return state, costs


def test_observations_are_kept_by_candidate() -> None:
    generation = _generation(3)
    generation.observe(np.array([0, 0, 1, 1, 2, 2]), np.array([1.0, 2, 3, 4, 5, 6]))
    assert generation.values.tolist() == [[1, 2], [3, 4], [5, 6]]
    generation.observe(np.array([1, 1]), np.array([7.0, 8]))
    assert generation.values[1].tolist() == [3, 4, 7, 8]
    assert np.isnan(generation.values[[0, 2], 2:]).all()


@pytest.mark.parametrize(("by", "expected"), [("mean", [2, 1, 0]), ("median", [0, 1, 2])])
def test_resampling_ranks_by_the_aggregate(by: Any, expected: list[int]) -> None:
    generation = _generation(3)
    selection = Ranks(evaluations=3, by=by)
    requested = selection.request(None, generation, np.random.default_rng(0))
    assert sorted(requested.tolist()) == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    generation.observe(requested, np.array([0.0, 0, 99, 10, 10, 10, 11, 11, 2]))  # means 33, 10, 8; medians 0, 10, 11
    weights = selection.weigh(None, generation, np.random.default_rng(0))
    assert weights[0].tolist() == generation.parameters.rank_weights[0][expected].tolist()


@pytest.mark.parametrize(("cap", "dearest"), [(0, 9), (1, 10), (3, 12)])
def test_a_generation_costs_at_most_the_cap_more(cap: int, dearest: int) -> None:
    """Equations 16 and 37: λ ≤ C ≤ λ + K_max, so that ⌊B / (λ + K_max)⌋ ≤ T ≤ ⌊B / λ⌋."""
    state, costs = _run(RBPEM(selection=ResidualBootstrap(cap=cap)), 30, noise=1.0)
    assert state.parameters.population == 9
    assert max(costs) == dearest
    assert sum(costs) // dearest <= len(costs) <= sum(costs) // 9


@pytest.mark.parametrize("own", [False, True])
def test_the_boundary_begins_at_the_rank_before_the_last_selected(own: bool) -> None:
    """With λ = 15 and μ = 7 the ranks 6, 7, 8 of appendix B, step 1."""
    generation = _generation(15)
    selection = ResidualBootstrap(cap=3, target="boundary", own=own)
    values = np.random.default_rng(0).permutation(15) + 1.0  # those of rank 1, 2, 3, ...
    generation.observe(np.arange(15), values)
    again = selection.request(selection.begin(), generation, np.random.default_rng(1))
    assert sorted(values[again]) == [6, 7, 8]


def test_without_noise_expected_weights_are_those_of_the_ranks() -> None:
    """With no re-evaluation that differs, the pool has no spread, and neither have the bootstrap values."""
    generation = _generation(10)
    selection = ResidualBootstrap(center="observed", cap=3)
    memory = selection.begin()
    memory.pool, memory.scale = np.zeros((20, 2)), (0.0, 0.0)
    generation.observe(np.arange(10), np.arange(10.0)[::-1])
    weights = selection.weigh(memory, generation, np.random.default_rng(0))
    assert weights == pytest.approx(generation.parameters.rank_weights[:, ::-1], abs=1e-12)


def test_with_nothing_but_noise_all_weights_are_alike() -> None:
    """Equal centres and exchangeable residuals: each weight is 1 / λ in the mean, within 5 standard errors."""
    generation = _generation(10)
    selection = ResidualBootstrap(center="observed", cap=0, replicates=20_000)
    memory = selection.begin()
    memory.pool, memory.scale = np.random.default_rng(1).standard_normal((400, 2)), (1.0, 0.0)
    generation.observe(np.arange(10), np.zeros(10))
    weights = selection.weigh(memory, generation, np.random.default_rng(2))
    assert weights[0] == pytest.approx(np.full(10, 0.1), abs=0.006)
    assert weights.sum(axis=1) == pytest.approx(generation.parameters.rank_weights.sum(axis=1), abs=1e-12)


def test_the_step_size_survives_pure_noise_only_with_the_mass_of_the_weights() -> None:
    """Expected weights under pure noise are alike, and shorten the path unless their own mass is taken."""

    def step_size(mass: Any) -> float:
        optimizer = RBPEM(mass=mass, bounds="ignore", restart_strategy="STOP")
        return _run(optimizer, 120, noise=1e9)[0].search.step_size

    assert step_size("ranks") < 0.05 < step_size("weights")


def test_cross_fitting_predicts_a_plane_and_uses_no_own_value() -> None:
    rng = np.random.default_rng(4)
    steps = rng.standard_normal((40, 3))
    plane = 2 + steps @ np.array([1.0, -2.0, 0.5])
    assert cross_fitted(steps @ steps.T, plane, 1e-9, np.random.default_rng(0)) == pytest.approx(plane, abs=1e-6)
    moved = plane.copy()
    moved[7] += 100.0
    before, after = (cross_fitted(steps @ steps.T, labels, 1.0, np.random.default_rng(0)) for labels in (plane, moved))
    assert after[7] == before[7]
    assert not np.array_equal(after, before)


def test_cross_fitting_is_ridge_regression_on_the_other_half() -> None:
    """Against the normal equations in the variables, with a column of ones that has no penalty."""
    rng, count = np.random.default_rng(5), 15
    steps, labels = rng.standard_normal((count, 4)), rng.normal(1e3, 1, count)
    order = np.random.default_rng(7).permutation(count)
    expected, columns = np.empty(count), np.column_stack([steps, np.ones(count)])
    for train, test in ((order[:7], order[7:]), (order[7:], order[:7])):
        x = columns[train]
        coefficients = np.linalg.solve(x.T @ x + np.diag([0.3, 0.3, 0.3, 0.3, 0.0]), x.T @ labels[train])
        expected[test] = columns[test] @ coefficients
    found = cross_fitted(steps @ steps.T, labels, 0.3, np.random.default_rng(7))
    assert found == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize(("level", "slope"), [(0.5, 2.0), (5.0, -3.0), (-1.0, 4.0), (0.0, 0.0)])
def test_the_line_of_the_scale_is_that_of_least_squares_above_zero(level: float, slope: float, size: float) -> None:
    rng = np.random.default_rng(6)
    x = rng.uniform(1, 2, 40)
    y = np.abs(level + slope * x + 0.1 * rng.standard_normal(40))
    expected, _ = nnls(np.column_stack([np.ones(40), x]), y)
    found = non_negative_line(np.column_stack([y, x]) * size)
    assert found == pytest.approx((expected[0] * size, expected[1]), rel=1e-9, abs=0.0)


def test_a_generation_with_an_infinite_value_is_centred_at_what_was_observed() -> None:
    generation, selection = _generation(10), ResidualBootstrap(cap=0)
    memory = selection.begin()
    memory.pool, memory.scale = np.random.default_rng(1).standard_normal((40, 2)), (0.1, 0.0)
    values = np.arange(10.0)
    values[3] = np.inf
    generation.observe(np.arange(10), values)
    weights = selection.weigh(memory, generation, np.random.default_rng(2))
    assert memory.center is not None
    assert memory.center.tolist() == values.tolist()
    assert weights[0].argmax() == 0
    assert weights[0][3] == weights[0].min()


@pytest.mark.filterwarnings("error")
def test_residuals_are_what_finite_values_are_above_the_median_of_their_candidate() -> None:
    """Three candidates are evaluated again: values 1, 5 and 2, 2; one that is infinite leaves no residual."""
    generation, selection = _generation(10), ResidualBootstrap(center="observed", target="boundary", cap=3, bound=2.0)
    memory = selection.begin()
    generation.observe(np.arange(10), np.array([1.0, 2, np.inf, 3, 4, 5, 6, 7, 8, 9]))
    generation.observe(np.array([0, 1, 2]), np.array([5.0, 2.0, np.inf]))
    memory.scale, memory.residuals = (1.0, 0.0), np.array([(1.0, x) for x in range(64)])
    weights = selection.weigh(memory, generation, np.random.default_rng(0))
    assert weights.sum(axis=1) == pytest.approx(generation.parameters.rank_weights.sum(axis=1))
    assert memory.pool[:, 1].tolist() == [3, 3, 2, 2]
    assert memory.pool[:, 0] * sum(memory.scale) == pytest.approx([-2, 2, 0, 0], rel=0.2)
    assert memory.residuals[-4:].tolist() == [[2, 3], [2, 3], [0, 2], [0, 2]]
    assert memory.residuals[:-4].tolist() == [[1, x] for x in range(4, 64)]


def test_the_pool_is_winsorized_and_of_bounded_size() -> None:
    selection = ResidualBootstrap(cap=3, bound=1.5, pool_size=40)
    state, _ = _run(CMAES(selection=selection), 60, noise=2.0)
    assert len(state.memory.pool) == 40
    assert np.abs(state.memory.pool[:, 0]).max() == 1.5
    readers = CMAES(selection=selection).diagnostics(state)
    assert readers["pool_size"](state) == 40
    assert 0 < readers["clip_rate"](state) < 1


@pytest.mark.parametrize(("noise", "switched"), [(0.0, False), (1e6, True)])
@pytest.mark.parametrize("reuse", [True, False])
def test_the_probe_switches_where_ranks_disagree(noise: float, switched: bool, reuse: bool) -> None:
    optimizer = CMAES(selection=ProbeAndSwitch(reuse=reuse))
    state, costs = _run(optimizer, 3, noise)
    readers = optimizer.diagnostics(state)
    assert bool(readers["switched"](state)) == switched
    assert (readers["probe"](state) >= 0.12) == switched
    assert (readers["pool_size"](state) >= 0) == switched, "NaN of the stage that has no pool"
    own = 0 if reuse else 9 + switched  # the first generation, with one evaluation more if ranks disagree
    assert costs[0] == 18 + own
    if not noise:
        assert readers["probe"](state) == 0


@pytest.mark.parametrize(
    "optimizer",
    [
        CMAES(),
        RBPEM.paper(),
        RBPEM.published(),
        CMAES(selection=ProbeAndSwitch()),
        CMAES(selection=PopulationSizeAdaptation()),
        CMAES(selection=ReevaluationAdaptation(), diagonal=True),
    ],
    ids=str,
)
def test_runs_resume_where_they_were(optimizer: CMAES) -> None:
    def go(*, restore: bool) -> np.ndarray:
        state = optimizer.init(SPACE, np.random.default_rng(3))
        noise = np.random.default_rng(4)
        for step in range(60):
            points, state = optimizer.ask(state)
            values = np.square(points).sum(axis=1) * np.exp(noise.normal(size=len(points)))
            state = optimizer.tell(state, points, values)
            if restore and step == 31:
                state = optimizer.restore(optimizer.save(state))
        return optimizer.recommendation(state)

    assert go(restore=True).tolist() == go(restore=False).tolist()


def test_a_probe_of_the_variance_at_the_mean_misses_noise_that_grows_from_there() -> None:
    """Appendix F.6: noise proportional to the distance from the start, which the disagreement of ranks tells."""

    def switched(by: str) -> float:
        optimizer = CMAES(selection=ProbeAndSwitch(by=by), start="center", restart_strategy="STOP")
        rng = np.random.default_rng(4)
        with pb.optimizers.AskTell(optimizer, [-5] * 20, [5] * 20, np.random.default_rng(3)) as stepped:
            points = stepped.ask()
            distance = np.sqrt(np.square(points).mean(axis=1))
            assert len(points) == 2 * 12
            stepped.tell(points[:, 0] + 5 * distance * rng.standard_normal(len(points)))
            stepped.tell(np.zeros(len(stepped.ask())))
            return stepped.parameters["switched"]

    assert switched("ranks") == 1
    assert switched("variance at the mean") == 0


@pytest.mark.statistical(rate=1e-4)
@pytest.mark.parametrize(("rows", "size"), [(30, 26), (12, 5)])
def test_what_is_dropped_from_a_full_pool_is_drawn_evenly(rows: int, size: int) -> None:
    rng, pool = np.random.default_rng(11), np.arange(2.0 * rows).reshape(rows, 2)
    kept = [thinned(pool, size, rng)[:, 0] / 2 for _ in range(2000)]
    assert all(len(each) == size and (np.diff(each) > 0).all() for each in kept)
    dropped = 2000 - np.bincount(np.concatenate(kept).astype(int), minlength=rows)
    expected = 2000 * (rows - size) / rows
    spread = ((dropped - expected) ** 2).sum() / expected / (1 - (rows - size) / rows)  # draws without replacement
    assert chi2.sf(spread * (rows - 1) / rows, rows - 1) > 1e-4
    assert thinned(pool, rows, rng) is pool
