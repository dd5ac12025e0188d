"""Draws of a model's prior: what is believed about the ratings before any ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from polarbear.inference.posterior import Model, Posterior
from polarbear.inference.sampling.diagnostics import PRIOR_DRAWS, Diagnostics
from polarbear.inference.sampling.settings import Sampling
from polarbear.inference.sampling.single_thread import one_thread
from polarbear.rankings.rankings import checked_names, checked_times
from polarbear.records import FloatArray


@runtime_checkable
class Generative(Protocol):
    """A model whose prior can be drawn from."""

    def draw_prior(
        self, *, times: FloatArray, algorithms: int, sampling: Sampling, held: Mapping[str, float]
    ) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Independent draws of the ratings (T, n, D), and of the hyperparameters (D,) by name.

        Args:
            times: (T,) strictly increasing.
            algorithms: Their number n.
            sampling: How many draws D, and the source of randomness.
            held: Hyperparameters that are not drawn, and their values.

        Raises:
            ValueError: If a hyperparameter to be held is unknown, or its value is not positive and finite.
        """
        ...


def prior(
    model: Model,
    *,
    times: ArrayLike,
    names: Sequence[str] | None = None,
    algorithms: int | None = None,
    draws: int = 4000,
    rng: np.random.Generator,
    hyperparameters: Mapping[str, float] | None = None,
) -> Posterior:
    """What a model believes before any ranking: exact, independent draws.

    The hyperparameters are drawn from their priors, and the ratings given these. Temporal models factorize the prior of
    the paths once for each distinct value of the hyperparameters: a second or two for 4,000 draws at 100 timepoints, or
    no time at all if they are held.

    Args:
        model: The model.
        times: (T,) the timepoints.
        names: The n algorithms' names; or give `algorithms`.
        algorithms: Their number; named "algorithm 0", … unless `names` are given.
        draws: How many draws.
        rng: The source of all randomness.
        hyperparameters: Those to be held at a value instead of being drawn, such as ``{"sigma": 1.0}``.

    Returns:
        The prior, as a posterior after nothing.

    Raises:
        ValueError: If the times do not increase strictly, neither names nor the number of algorithms are given or they
            do not fit, `draws` is below 1, or a hyperparameter is unknown or not positive; the valid ones are named.
        TypeError: If `rng` is no numpy Generator, or the model cannot draw from its prior.
        numpy.linalg.LinAlgError: If floating-point numbers do not suffice for a value of the hyperparameters.
    """
    if not isinstance(model, Generative):
        raise TypeError(f"model {model.name!r} cannot draw from its prior; it has no method draw_prior")
    at = np.asarray(times, dtype=np.float64)
    n = algorithms if algorithms is not None else len(names) if names is not None else 0
    if n < 1:
        raise ValueError("there are no algorithms; give names, or algorithms as their number")
    sampling = Sampling(draws, rng)
    checked = checked_times(at, at.size)
    with one_thread():
        theta, drawn = model.draw_prior(times=checked, algorithms=n, sampling=sampling, held=hyperparameters or {})
    flat = np.full(at.size, -np.inf)
    return Posterior(
        draws=theta.transpose(2, 0, 1),
        times=checked,
        names=checked_names(names, n),
        joint=model.joint,
        diagnostics=Diagnostics((PRIOR_DRAWS,) * at.size, np.full(at.size, float(draws)), flat, flat + np.nan),
        hyperparameters=drawn,
        model=model,
    )
