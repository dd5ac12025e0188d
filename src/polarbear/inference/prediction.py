"""Ratings at times off the grid, given a posterior on it.

Rankings tell of a path only through the fitted timepoints. Given the path there and the hyperparameters, what it does
elsewhere follows from the prior alone and is Gaussian. So each draw is continued by itself, and what it becomes belongs
together with what it was. All that is needed is the prior at the fitted and the new times together, conditioned as on a
likelihood (`polarbear.inference.fields`) whose curvature is that of an observation all but without noise at the fitted
times, and zero at the new ones.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.fields import Field
from polarbear.inference.hyperparameters import by_value
from polarbear.inference.likelihood import helmert, ratings
from polarbear.inference.model import models
from polarbear.inference.posterior import Posterior, matched, nearest
from polarbear.inference.temporal import TemporalModel
from polarbear.inference.timescale import UnitAxis
from polarbear.records import FloatArray

_PRECISION = 1e8
"""Of the observation of a path at the fitted times, in units of σ⁻²."""
_ENTRIES_AT_ONCE = 1 << 18


def predicted(posterior: Posterior, times: FloatArray, rng: np.random.Generator) -> Posterior:
    """The posterior at other times; see `Posterior.at`.

    Args:
        posterior: The posterior of a fit.
        times: (S,) strictly increasing.
        rng: The source of randomness.
    """
    source = matched(times, posterior.times)
    new = source < 0
    theta = np.empty((times.size, len(posterior.names), len(posterior.draws)))
    theta[~new] = posterior.draws[:, source[~new]].transpose(1, 2, 0)
    if new.any():
        theta[new] = _continued(posterior, times[new], rng)
    draws, diagnostics = theta.transpose(2, 0, 1), posterior.diagnostics.at(nearest(times, posterior.times))
    return replace(posterior, draws=draws, times=times, diagnostics=diagnostics, excerpt=True, tally=None)


def _continued(posterior: Posterior, times: FloatArray, rng: np.random.Generator) -> FloatArray:
    """(S, n, D) ratings at times that are not fitted."""
    model, algorithms = _model(posterior, times), len(posterior.names)
    if algorithms == 1:
        return np.ones((times.size, 1, len(posterior.draws)))
    axis = UnitAxis.of(posterior.times, model.time_scale)
    places = axis.place(times)
    _check_reach(model, axis, times, places)
    every = np.concatenate([axis.place(posterior.times), places])
    order = np.argsort(every)
    fitted = order < posterior.times.size
    prior = model.extended(every[order], fitted)
    sigma, *others = [posterior.hyperparameters[hyperprior.name] for hyperprior in prior.hyperpriors]
    contrasts = helmert(algorithms)
    step = max(1, _ENTRIES_AT_ONCE // (every.size * algorithms))
    theta = np.empty((times.size, algorithms, sigma.size))
    for value, alike in by_value(np.stack([np.ones_like(sigma), *others])):
        field = prior.field(value)
        for some in np.split(alike, range(step, alike.size, step)):
            log_theta = np.log(np.maximum(posterior.draws[some], np.finfo(np.float64).tiny))
            known = (log_theta @ contrasts).transpose(1, 2, 0) / sigma[some]
            theta[:, :, some] = ratings(sigma[some] * _conditional(field, fitted, known, rng), contrasts)
    return theta


def _conditional(field: Field, fitted: NDArray[np.bool_], known: FloatArray, rng: np.random.Generator) -> FloatArray:
    """(S, q, D) paths at the new times given those at the fitted ones (T, q, D), which all have the same prior."""
    shape = known.shape[1:]
    conditioned = field.conditioned(np.where(fitted, _PRECISION, 0.0)[:, np.newaxis, np.newaxis])
    force = np.zeros((fitted.size, 1, shape[0] * shape[1]))
    force[fitted, 0] = _PRECISION * known.reshape(known.shape[0], -1)
    state = conditioned.gather(force)
    state += rng.standard_normal(state.shape)
    return conditioned.spread(state)[~fitted, 0].reshape(-1, *shape)


def _model(posterior: Posterior, times: FloatArray) -> TemporalModel:
    """The model that can predict.

    Raises:
        ValueError: If there is none.
    """
    model = posterior.model
    if isinstance(model, TemporalModel) and posterior.times.size > 1 and not posterior.excerpt:
        return model
    if posterior.excerpt:
        why = "this posterior was taken from another by `at`; ask that one"
    elif isinstance(model, TemporalModel):
        why = "fewer than two timepoints make no axis of time; fit at more"
    else:
        able = ", ".join(name for name, kind in models().items() if issubclass(kind, TemporalModel))
        says = "the model is not known" if model is None else f"{model.name} says nothing of it"
        why = f"{says}; the models that predict are {able}"
    raise ValueError(f"there is no timepoint {times[0]:g}, and it cannot be predicted: {why}")


def _check_reach(model: TemporalModel, axis: UnitAxis, times: FloatArray, places: FloatArray) -> None:
    low, high = model.reach
    outside = np.flatnonzero((places < low) | (places > high))
    if outside.size:
        raise ValueError(
            f"{model.name} says nothing of time {times[outside[0]]:g}; it predicts from {axis.time(low):g} to "
            f"{axis.time(high):g}"
        )
