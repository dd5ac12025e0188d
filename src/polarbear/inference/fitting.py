"""Fit models to rankings by any of their methods, and draw from their priors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from polarbear.descriptions import shortened
from polarbear.inference.model.adjustment import adjusted
from polarbear.inference.model.bspline import BSpline
from polarbear.inference.model.gaussian_process import GaussianProcess
from polarbear.inference.model.hierarchical import HierarchicalDirichlet
from polarbear.inference.model.hilbert_space import HilbertSpaceGaussianProcess
from polarbear.inference.model.independent import IndependentDirichlet
from polarbear.inference.model.instance_bootstrap import InstanceBootstrap
from polarbear.inference.model.random_walk import RandomWalk
from polarbear.inference.model.sparse_gaussian_process import SparseGaussianProcess
from polarbear.inference.model.temporal import TemporalModel
from polarbear.inference.posterior import Model, Posterior
from polarbear.inference.sampling.diagnostics import PRIOR_DRAWS, Diagnostics
from polarbear.inference.sampling.settings import NUTS, PATHFINDER, FitCache, Sampling
from polarbear.inference.sampling.threads import one_thread
from polarbear.inference.wins import Wins
from polarbear.plugins import load_plugin, plugin_names
from polarbear.rankings import ChoiceCounts, Rankings, count_choices
from polarbear.rankings.rankings import checked_names, checked_times
from polarbear.records import FloatArray


@runtime_checkable
class Generative(Protocol):
    """A model that can draw from its prior."""

    def draw_prior(
        self, *, times: FloatArray, algorithms: int, sampling: Sampling, held: Mapping[str, float]
    ) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Independent draws of the ratings (T, n, D), and of the hyperparameters (D,) by name.

        Args:
            times: (T,) strictly increasing timepoints.
            algorithms: Number n of algorithms.
            sampling: The number of draws D and the source of randomness.
            held: Values of hyperparameters that are fixed, by name.

        Raises:
            ValueError: If a fixed hyperparameter is unknown, or its value is not positive and finite.
        """
        ...


_OURS: dict[str, type[Model]] = {
    kind.name: kind
    for kind in (
        IndependentDirichlet,
        HierarchicalDirichlet,
        InstanceBootstrap,
        RandomWalk,
        BSpline,
        GaussianProcess,
        HilbertSpaceGaussianProcess,
        SparseGaussianProcess,
    )
}


def fit(
    counts: ChoiceCounts | Rankings,
    *,
    times: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    model: Model | str | None = None,
    draws: int = 4000,
    rng: np.random.Generator,
    method: str | None = None,
    cache: FitCache | None = None,
) -> Posterior:
    """Infer the ratings of n algorithms at T timepoints from rankings.

    Args:
        counts: The rankings, or their counts as returned by `polarbear.rankings.choice_counts`.
        times: (T,) timepoints; by default those of the rankings, or 0, 1, … for counts.
        names: The n algorithms' names; by default those of the rankings, or "algorithm 0", … for counts.
        model: The model, or its name. The default is `IndependentDirichlet()`, or `InstanceBootstrap()` if instances
            come in groups, which the former does not account for.
        draws: Number of posterior draws.
        rng: The source of all randomness. Equal counts and generators give equal draws, bit for bit.
        method: One of the model's `methods`; by default the first, "nlis". "hmc" and "gibbs" are polarbear's own Markov
            chains, which run until they are reliable or reach a limit. "nuts", the No-U-Turn sampler, is an independent
            check; "pathfinder" is for comparison and warns. These two need ``pip install 'polarbear-race[nuts]'``.
        cache: Pass the same cache to successive fits with equal generators, and models that treat each timepoint
            separately recompute only timepoints whose counts have changed. The draws do not depend on it.

    Returns:
        The posterior.

    Raises:
        ValueError: If the numbers of times or names do not match the counts, `draws` is below 1, or the model does not
            have `method`.
        TypeError: If `rng` is not a NumPy Generator.
        ImportError: If `method` needs a package that is not installed.
    """
    if isinstance(counts, Rankings):
        times, names = counts.times if times is None else times, counts.algorithms if names is None else names
        counts = count_choices(counts)
    if model is None:
        instances = counts.instances
        grouped = instances is not None and instances.units < instances.groups.size
        model = InstanceBootstrap() if grouped else IndependentDirichlet()
    model = as_model(model)
    if method is not None and method not in model.methods:
        raise ValueError(f"{model.name} has no method {method!r}; its methods are {', '.join(model.methods)}")
    method = model.methods[0] if method is None else method
    with one_thread():
        sampling = Sampling(draws, rng, method, FitCache() if cache is None else cache)
        posterior = _sampler(model, method)(
            counts,
            times=checked_times(times, counts.timepoints),
            names=checked_names(names, counts.algorithms),
            sampling=sampling,
        )
        if counts.instances is not None:
            posterior = replace(posterior, tally=Wins(counts.instances, draws, sampling.seeds(1)[0]))
        return adjusted(posterior, counts.known_instances) if model.adjusted else posterior


def prior(
    model: Model | str,
    *,
    times: ArrayLike,
    names: Sequence[str] | None = None,
    algorithms: int | None = None,
    draws: int = 4000,
    rng: np.random.Generator,
    hyperparameters: Mapping[str, float] | None = None,
) -> Posterior:
    """Draw from a model's prior: exact, independent draws.

    The hyperparameters are drawn from their priors, then the ratings given the hyperparameters. Temporal models
    factorize the prior of the paths once for each distinct value of the hyperparameters: a second or two for 4,000
    draws at 100 timepoints, hardly any time if they are fixed.

    Args:
        model: The model, or its name.
        times: (T,) timepoints.
        names: The n algorithms' names; alternatively give `algorithms`.
        algorithms: Number of algorithms, called "algorithm 0", … unless `names` are given.
        draws: Number of draws.
        rng: The source of all randomness.
        hyperparameters: Values of hyperparameters that are fixed instead of drawn, such as ``{"sigma": 1.0}``.

    Returns:
        The prior, as a posterior given no rankings.

    Raises:
        ValueError: If the times do not increase strictly, neither names nor the number of algorithms are given or they
            disagree, `draws` is below 1, or a hyperparameter is unknown or not positive; the valid ones are named.
        TypeError: If `rng` is not a NumPy Generator, or the model cannot draw from its prior.
        numpy.linalg.LinAlgError: If floating-point precision does not suffice for a value of the hyperparameters.
    """
    model = as_model(model)
    if not isinstance(model, Generative):
        raise TypeError(f"model {model.name!r} cannot draw from its prior; it has no method draw_prior")
    n = algorithms if algorithms is not None else len(names) if names is not None else 0
    if n < 1:
        raise ValueError("there are no algorithms; give their names, or their number as algorithms")
    sampling, count = Sampling(draws, rng), np.size(times)
    checked = checked_times(times, count)
    with one_thread():
        theta, values = model.draw_prior(times=checked, algorithms=n, sampling=sampling, held=hyperparameters or {})
    ess, k_hat, r_hat = (np.full(count, value) for value in (float(draws), -np.inf, np.nan))
    return Posterior(
        draws=theta.transpose(2, 0, 1),
        times=checked,
        names=checked_names(names, n),
        joint=model.joint,
        diagnostics=Diagnostics((PRIOR_DRAWS,) * count, ess, k_hat, r_hat),
        hyperparameters=values,
        model=model,
    )


def _sampler(model: Model, method: str) -> Callable[..., Posterior]:
    """The function that computes the posterior; external samplers run a NumPyro program of the model."""
    if method == NUTS:
        from polarbear.inference.reference.nuts import nuts

        return partial(nuts, model)
    if method == PATHFINDER:
        from polarbear.inference.reference.pathfinder import pathfinder

        return partial(pathfinder, model)
    return model.fit


def models() -> dict[str, type[Model]]:
    """All models by name, those of other installed packages included (see `polarbear.plugins`)."""
    return _OURS | {name: load_plugin("models", name) for name in plugin_names("models")}


def from_description(description: Mapping[str, Any]) -> Model:
    """Build a model from its description by `Model.describe`; missing parameters take their defaults.

    Raises:
        ValueError: If the model or a parameter is unknown, or a parameter is out of range; the valid ones are listed.
    """
    parameters = dict(description)
    name = parameters.pop("model", None)
    kind: Any = _OURS.get(name) or load_plugin("models", name)
    if kind is None:
        raise ValueError(f"there is no model {name!r}; the models are {', '.join((*_OURS, *plugin_names('models')))}")
    valid = [field.name for field in fields(kind)]
    for parameter in parameters:
        if parameter not in valid:
            raise ValueError(f"model {name!r} has no parameter {parameter!r}; its parameters are {', '.join(valid)}")
    return kind(**parameters)


def as_model(model: Model | str) -> Model:
    """Return a model unchanged, or the named one with default parameters.

    Raises:
        TypeError: If `model` is neither a model nor a name.
        ValueError: If there is no model of that name; the message lists them.
    """
    if isinstance(model, str):
        return from_description({"model": model})
    if isinstance(model, type) or not hasattr(model, "name"):
        given = model.__name__ if isinstance(model, type) else shortened(model)
        raise TypeError(f"model is {given}; give a model such as RandomWalk(), or a name: {', '.join(models())}")
    return model


def as_published(model: Model) -> Model:
    """The variant of a model whose draws follow the posterior of its likelihood, as scores and checks require.

    For a model over time it has `repeated` "as published"; for `InstanceBootstrap` it is the independent model.
    """
    if isinstance(model, TemporalModel):
        return replace(model, repeated="as published")
    return IndependentDirichlet(model.alpha) if isinstance(model, InstanceBootstrap) else model
