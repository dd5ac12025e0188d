"""What a model of ratings over time is, and how one is fitted."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from polarbear.inference.blas import one_thread
from polarbear.inference.posterior import Posterior, checked_names, checked_times
from polarbear.inference.recall import Recall
from polarbear.inference.sampling import NUTS, PATHFINDER, Sampling
from polarbear.inference.wins import Wins
from polarbear.rankings import ChoiceCounts
from polarbear.records import FloatArray

_MODELS = {
    "independent-dirichlet": "dirichlet:IndependentDirichlet",
    "hierarchical-dirichlet": "hierarchical:HierarchicalDirichlet",
    "instance-bootstrap": "instance_bootstrap:InstanceBootstrap",
    "random-walk": "random_walk:RandomWalk",
    "b-spline": "bspline:BSpline",
    "gaussian-process": "gaussian_process:GaussianProcess",
    "hilbert-space-gaussian-process": "hilbert_space:HilbertSpaceGaussianProcess",
    "sparse-gaussian-process": "sparse_gaussian_process:SparseGaussianProcess",
}

_BY_LIBRARIES = {NUTS: "nuts:nuts", PATHFINDER: "pathfinder:pathfinder"}
"""Methods that are no model's own: each samples a NumPyro program of any model here."""


class Model(Protocol):
    """A prior of the ratings over time, and the way to its posterior.

    Attributes:
        name: The model's name in studies, such as ``"independent-dirichlet"``.
        joint: Whether its posterior is joint over time.
        pooled: Whether timepoints learn from each other's rankings. Such a model takes what the same runs repeat at
            several timepoints for new evidence.
        methods: The names of the ways to compute it, the default first.
    """

    name: ClassVar[str]
    joint: ClassVar[bool]
    pooled: ClassVar[bool]
    methods: ClassVar[tuple[str, ...]]

    @property
    def adjusted(self) -> bool:
        """Whether `polarbear.inference.fit` widens its posterior; see `polarbear.inference.adjustment`."""
        ...

    def fit(self, counts: ChoiceCounts, *, times: FloatArray, names: tuple[str, ...], sampling: Sampling) -> Posterior:
        """The posterior after the rankings in `counts`; as `polarbear.inference.fit`, all arguments checked.

        Methods "nuts" and "pathfinder" do not arrive here: `polarbear.inference.fit` sees to them.
        """
        ...

    def describe(self) -> dict[str, Any]:
        """The model as plain values: its name under "model", and every parameter."""
        ...


def fit(
    counts: ChoiceCounts,
    *,
    times: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    model: Model | None = None,
    draws: int = 4000,
    rng: np.random.Generator,
    method: str | None = None,
    recall: Recall | None = None,
) -> Posterior:
    """Infer the ratings of n algorithms at T timepoints from rankings.

    Args:
        counts: The rankings, as `polarbear.rankings.choice_counts` gives them.
        times: (T,) the timepoints; default 0, 1, ….
        names: The n algorithms' names; default "algorithm 0", ….
        model: The prior; default `IndependentDirichlet()`.
        draws: How many posterior draws.
        rng: The source of all randomness. Equal counts and generators give equal draws, bit by bit.
        method: One of the model's `methods`; default the first of them, "nlis". Of the others, "hmc" and "gibbs" are
            Markov chains of our own, which go on until they are reliable or a limit is met; "nuts" is the No-U-Turn
            sampler, for anyone who doubts, and "pathfinder" is there for comparison and warns; these two need
            ``pip install 'polarbear[nuts]'``.
        recall: Give the same to fits that follow each other, with equal generators, and timepoints at which nothing
            has changed are not computed anew, if the model treats each by itself. The draws do not depend on it.

    Returns:
        The posterior.

    Raises:
        ValueError: If the numbers of times or names do not fit the counts, `draws` is below 1, or the
            model cannot be computed by `method`.
        TypeError: If `rng` is no numpy Generator.
        ImportError: If `method` needs a package that is not installed.
    """
    chosen = from_description({"model": "independent-dirichlet"}) if model is None else model
    if method is not None and method not in chosen.methods:
        raise ValueError(f"{chosen.name} cannot be computed by method {method!r}; it has {', '.join(chosen.methods)}")
    way = chosen.methods[0] if method is None else method
    sampler = partial(_named(_BY_LIBRARIES[way]), chosen) if way in _BY_LIBRARIES else chosen.fit
    with one_thread():
        sampling = Sampling(draws, rng, way, Recall() if recall is None else recall)
        posterior = sampler(
            counts,
            times=checked_times(times, counts.timepoints),
            names=checked_names(names, counts.algorithms),
            sampling=sampling,
        )
        if counts.instances is not None:
            posterior = replace(posterior, tally=Wins(counts.instances, draws, sampling.seeds(1)[0]))
        return _named("adjustment:adjusted")(posterior, counts) if chosen.adjusted else posterior


def models() -> dict[str, type[Model]]:
    """All models by name."""
    return {name: _named(place) for name, place in _MODELS.items()}


def _named(place: str) -> Any:
    """What is at "module:name" in this package."""
    module, name = place.split(":")
    return getattr(importlib.import_module(f"polarbear.inference.{module}"), name)


def from_description(description: Mapping[str, Any]) -> Model:
    """The model that `Model.describe` described; parameters left out take their defaults.

    Raises:
        ValueError: If the model or a parameter is unknown, or a parameter is out of range; the valid ones are listed.
    """
    parameters = dict(description)
    name = parameters.pop("model", None)
    if name not in _MODELS:
        raise ValueError(f"there is no model {name!r}; there are {', '.join(_MODELS)}")
    kind = _named(_MODELS[name])
    valid = [field.name for field in fields(kind)]
    for parameter in parameters:
        if parameter not in valid:
            raise ValueError(f"model {name!r} has no parameter {parameter!r}; it has {', '.join(valid)}")
    return kind(**parameters)
