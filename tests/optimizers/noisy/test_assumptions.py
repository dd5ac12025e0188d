"""The diagnostics of table 2 tell noise that fits from noise that does not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import polarbear as pb
from polarbear.experiment import Limits, Task, Watch, execute
from polarbear.optimizers.noisy import RBPEM, ResidualBootstrap
from polarbear.optimizers.noisy.assumptions import READERS, violated
from polarbear.optimizers.noisy.residual_bootstrap import Memory
from polarbear.records import Outcome, Parameters, Reason, Run, RunKey, Trajectory


def _memory(residuals: np.ndarray, sizes: np.ndarray) -> Memory:
    return Memory(pool=np.column_stack([residuals, sizes]), scale=(1.0, 0.0), clipped=(0, len(residuals)))


def test_nothing_is_known_at_first() -> None:
    unknown = ("clip_rate", "shape_distance", "drift", "scale_fit", "near_ties", "center_stability")
    assert all(math.isnan(READERS[name](Memory())) for name in unknown)
    assert violated(_logged(Memory())) == []


def _logged(memory: Memory) -> Run:
    """A run that logged what it assumes twice, and nothing to object to the first time."""
    values = {name: np.array([0.0, read(memory)]) for name, read in READERS.items()}
    end = Trajectory([1], [0.0], [1.0], Outcome(Reason.BUDGET, 20, 0.0))
    return Run(RunKey("sphere-d2", "RB-PEM", 0), end, parameters=Parameters([1, 20], values))


def test_standard_noise_violates_nothing() -> None:
    rng = np.random.default_rng(1)
    assert violated(_logged(_memory(rng.standard_normal(512), rng.uniform(size=512)))) == []


def test_nothing_is_known_of_runs_that_logged_nothing() -> None:
    assert violated(replace(_logged(Memory()), parameters=None)) == []


def test_a_run_under_heavy_tails_says_so() -> None:
    """Cauchy noise with a bound of one: far more than one residual in twenty is beyond it."""
    problem = pb.problems.BBOBNoisyProblem(103, 1, 5)
    optimizer = RBPEM(selection=ResidualBootstrap(bound=1.0, cap=3))
    task = Task(
        pb.RunKey(problem.name, "RB-PEM", 0), problem, optimizer, Limits(evaluations=1000), watch=Watch(per_decade=3)
    )
    assert violated(execute(task))[0].startswith("the tails of the noise are so heavy")


@pytest.mark.parametrize("name", ["shape_distance", "drift", "clip_rate", "near_ties", "center_stability"])
def test_what_is_violated_is_named(name: str) -> None:
    rng = np.random.default_rng(2)
    sizes = rng.uniform(size=512)
    memory = _memory(rng.standard_normal(512), sizes)
    match name:
        case "shape_distance":
            memory.pool[:, 0] = np.where(sizes > 0.5, 3.0, 0.3) * rng.standard_normal(512)
        case "drift":
            memory.pool[256:, 0] *= 4.0
        case "clip_rate":
            memory.clipped = (60, 512)
        case "near_ties":
            memory.center = np.linspace(0, 0.05, 15)
        case _:
            memory.refitted = np.array([2.6, -2.6]), np.array([1.0, -1.0])  # moved by 1.6 standard deviations
    messages = violated(_logged(memory))
    assert len(messages) == 1
    assert name in messages[0]


def test_the_scale_explains_what_it_was_fitted_to() -> None:
    memory = Memory(scale=(0.5, 2.0), residuals=np.array([(0.5 + 2 * x, x) for x in (0.0, 1.0, 2.5)]))
    assert READERS["scale_fit"](memory) == pytest.approx(1.0)
    memory.scale = (0.5 + 2 * 3.5 / 3, 0.0)  # the mean
    assert READERS["scale_fit"](memory) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.filterwarnings("error")
def test_ties_are_counted_among_finite_values() -> None:
    """One pair of three is closer than a tenth of the scale; with one finite value there is none."""
    memory = Memory(scale=(1.0, 0.0), center=np.array([np.inf, 0.0, 0.05, np.inf, 2.0]))
    assert READERS["near_ties"](memory) == pytest.approx(1 / 3)
    memory.center = np.array([np.inf, 0.0])
    assert math.isnan(READERS["near_ties"](memory))
