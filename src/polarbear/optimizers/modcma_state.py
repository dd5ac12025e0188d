"""The state of a modular CMA-ES, moved to one with other modules, or built from another optimizer's warm start.

Between equal configurations everything is moved, and the run continues bit for bit. Otherwise the new configuration
takes over the mean, the step size, the covariance matrix in the form in which its own adaptation stores it, the
evolution paths and counters, and the state of each module that both configurations have in common.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from polarbear.records import FloatArray

_WHOLE = ("stats", "criteria", "repelling")
"""Parts that do not depend on modules; the criteria of a generation are those of the last one."""
_OF_MODULES = {
    "sampler": {"sampler"},
    "restart_strategy": {"restart_strategy"},
    "bounds": {"bound_correction"},
    "mutation": {
        "step_size_adaptation",
        "sequential_selection",
        "threshold_convergence",
        "sample_sigma",
        "cs",
        "damps",
    },
}
"""Parts that are moved if all of these fields are equal."""
_SIZES = ("lamb", "mu", "weights", "pop", "old_pop")
"""Attributes that depend on the number of points per generation, which restarts change."""
_STEP_SIZE = ("sigma", "s", "a_tpa", "b_tpa", "rank_tpa", "success_ratio")
_PATHS = ("m", "m_old", "pc", "ps", "dm", "dd", "dz", "hs", "G", "sigma_g")
_MATRICES = ("C", "B", "d", "A", "inv_root_C", "M", "M_inv", "c", "A_inv")
"""Attributes of `modcma`'s step-size and matrix adaptations."""


def transplant(old: Any, new: Any, equal: set[str], covariance: FloatArray, *, resized: bool) -> None:
    """Move the state of a run from one object with `modcma`'s parameters to another.

    Args:
        old: The object to move it from.
        new: The object to move it to.
        equal: The fields of `ModularCMAES` that have equal values in both configurations.
        covariance: (d, d) C, used if the two matrix adaptations are of different kinds.
        resized: Whether the new configuration has a different number of points or parents.
    """
    shared = [part for part, fields in _OF_MODULES.items() if fields <= equal]
    _copy([*_WHOLE, *shared, *(() if resized else _SIZES)], old, new)
    if resized:  # some step size adaptations compare a generation with the previous one
        for population in (new.pop, new.old_pop):
            population.f = np.full(np.shape(population.f), np.median(old.pop.f))
    _copy(_STEP_SIZE, old.mutation, new.mutation)
    _copy(_PATHS, old.adaptation, new.adaptation)
    kinds = {_form(each.adaptation) for each in (old, new)}
    if len(kinds) == 1:
        _copy(_MATRICES, old.adaptation, new.adaptation)
    else:
        set_covariance(new.adaptation, covariance)


def set_covariance(adaptation: Any, covariance: FloatArray) -> None:
    """Set C (d, d) in the form that an adaptation stores: the diagonal if separable, nothing if it has no matrix."""
    eigenvalues, vectors = (np.asarray(part, dtype=np.float64) for part in np.linalg.eigh(covariance))
    roots = np.sqrt(eigenvalues)
    root, inverse = (vectors * roots) @ vectors.T, (vectors / roots) @ vectors.T
    diagonal = covariance.diagonal()
    forms: dict[str, dict[str, Any]] = {
        "eigen": {"C": covariance, "B": vectors, "d": roots, "A": vectors * roots, "inv_root_C": inverse},
        "matrix": {"M": root, "M_inv": inverse},
        "separable": {"c": diagonal, "d": np.sqrt(diagonal)},
        "self-adaptation": {"C": covariance, "A": np.linalg.cholesky(covariance)},
        "natural gradient": {"A": root, "A_inv": inverse},
        "cholesky": {"A": np.linalg.cholesky(covariance)},
        "none": {},
    }
    for name, value in forms[_form(adaptation)].items():
        setattr(adaptation, name, np.array(value))


def _form(adaptation: Any) -> str:
    """The form in which an adaptation stores its matrix, recognized by its attributes."""
    signs = {
        "inv_root_C": "eigen",
        "M": "matrix",
        "c": "separable",
        "C": "self-adaptation",
        "A_inv": "natural gradient",
        "A": "cholesky",
    }
    return next((form for sign, form in signs.items() if hasattr(adaptation, sign)), "none")


def _copy(names: Iterable[str], old: Any, new: Any) -> None:
    for name in names:
        if hasattr(old, name) and hasattr(new, name):
            value: Any = getattr(old, name)
            setattr(new, name, np.array(value) if type(value) is np.ndarray else value)


def seed_modcma(seed: int) -> None:
    """Make `modcma`'s random state, of which a process has only one, depend on the seed alone.

    Normal variates are generated in pairs, and an unused second one survives `set_seed`. Of two series drawn after
    equal seeds, the first is shifted by one against the second if it began with such a leftover. In that case the
    second series leaves a new leftover, which is drawn.
    """
    from modcma import c_maes

    series: list[list[float]] = []
    for _ in range(2):
        c_maes.utils.set_seed(0)
        series.append([c_maes.utils.random_normal() for _ in range(3)])
    if series[0][1] == series[1][0]:
        c_maes.utils.random_normal()
    c_maes.utils.set_seed(seed)
