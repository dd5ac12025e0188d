"""The diagnostics of table 2 tell noise that fits from noise that does not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polarbear.optimizers.noisy.assumptions import READERS, violated
from polarbear.optimizers.noisy.residual_bootstrap import Memory


def _memory(residuals: np.ndarray, sizes: np.ndarray) -> Memory:
    return Memory(pool=np.column_stack([residuals, sizes]), scale=(1.0, 0.0), clipped=(0, len(residuals)))


def test_nothing_is_known_at_first() -> None:
    unknown = ("clip_rate", "shape_distance", "drift", "scale_fit", "near_ties", "center_stability")
    assert all(math.isnan(READERS[name](Memory())) for name in unknown)
    assert violated(Memory()) == []


def test_standard_noise_violates_nothing() -> None:
    rng = np.random.default_rng(1)
    assert violated(_memory(rng.standard_normal(512), rng.uniform(size=512))) == []


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
            memory.stability = 1.6
    messages = violated(memory)
    assert len(messages) == 1
    assert name in messages[0]


def test_the_scale_explains_what_it_was_fitted_to() -> None:
    memory = Memory(scale=(0.5, 2.0), residuals=np.array([(0.5 + 2 * x, x) for x in (0.0, 1.0, 2.5)]))
    assert READERS["scale_fit"](memory) == pytest.approx(1.0)
    memory.scale = (0.5 + 2 * 3.5 / 3, 0.0)  # the mean
    assert READERS["scale_fit"](memory) == pytest.approx(0.0, abs=1e-12)
