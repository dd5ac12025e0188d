"""Random states of libraries that draw from global generators."""

from __future__ import annotations

import random
from typing import Any

import numpy as np


def seed_from(rng: np.random.Generator) -> int:
    """A seed for a library with its own random state, from 1 to 2³¹ - 1."""
    return int(rng.integers(1, 2**31))


class OwnGenerators:
    """A context manager within which NumPy's and Python's global generators belong to one optimizer.

    On entry they continue where the optimizer left them; on exit their previous states are restored. Entering the
    context again within itself has no effect. It can be pickled.

    Args:
        seed: Their initial seed, from 0 to 2³² - 1; None leaves them unseeded.
    """

    def __init__(self, seed: int | None = None) -> None:
        self._seed, self._depth = seed, 0
        self._own: Any = None
        self._others: Any = None

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        self._others = _global_states()
        if self._own is not None:
            _set_global_states(*self._own)
        elif self._seed is not None:
            np.random.seed(self._seed)  # noqa: NPY002 - what the libraries draw from
            random.seed(self._seed)

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._own = _global_states()
            _set_global_states(*self._others)

    def reseed(self, seed: int) -> None:
        """Continue from a new seed."""
        if self._depth:
            np.random.seed(seed)  # noqa: NPY002 - what the libraries draw from
            random.seed(seed)
        else:
            self._seed, self._own = seed, None

    def __getstate__(self) -> dict[str, Any]:
        own = _global_states() if self._depth else self._own
        return {"_seed": self._seed, "_depth": 0, "_own": own, "_others": None}


def _global_states() -> tuple[Any, Any]:
    return np.random.get_state(), random.getstate()  # noqa: NPY002 - what the libraries draw from


def _set_global_states(numpy: Any, python: Any) -> None:
    np.random.set_state(numpy)  # noqa: NPY002 - the same
    random.setstate(python)
