"""Nested Laplace importance sampling: joint draws of paths and hyperparameters.

1. Given the hyperparameters φ, Newton's method finds the most probable path, and Laplace's method the evidence.
2. The posterior of φ follows on an adaptive grid, and a density through it
   (see `inference.path_sampling.hyperparameter_grid`).
3. Values of φ are drawn from that density. At each, paths are drawn from a Gaussian around the mode, whose centre is
   first moved to where the gradient vanishes on average over the Gaussian.
4. Each draw is weighted by the exact joint density of rankings, path and φ over the density it was drawn from. The
   weights are Pareto-smoothed, and the draws resampled.

If the weights vary too much, the draws are carried from the Gaussians to the posterior by annealing
(`inference.path_sampling.annealing`). If that is not enough, or on request, Markov chains are used
(`inference.path_sampling.hmc`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from polarbear.inference.batches import IN_CACHE, batches
from polarbear.inference.likelihood.path_likelihood import Likelihood, ratings
from polarbear.inference.path_sampling.annealing import anneal
from polarbear.inference.path_sampling.hmc import chain_draws
from polarbear.inference.path_sampling.hyperparameter_grid import Frame, explore, locate
from polarbear.inference.path_sampling.hyperparameter_posterior import HyperparameterPosterior, PathPrior
from polarbear.inference.path_sampling.laplace import LaplaceApproximation, LogRatio, Node, find_near_modes
from polarbear.inference.sampling.chain_order import ChainOrder, choose_evenly
from polarbear.inference.sampling.diagnostics import (
    ANNEALING,
    FEWEST_OF_CHAINS,
    GOOD_K_HAT,
    HAMILTONIAN,
    LARGEST_K_HAT,
    NESTED_LAPLACE,
    Diagnostics,
)
from polarbear.inference.sampling.psis import resample, smooth
from polarbear.inference.sampling.settings import HMC, Sampling
from polarbear.rankings import ChoiceCounts
from polarbear.records import FloatArray

_MIN_NODES, _MAX_NODES = 64, 256
_PATHS_EACH = 32
"""Number of paths drawn at each node (value of the hyperparameters), within the bounds on the number of nodes."""
_MIN_PROPOSALS = 512
_NEARLY_EQUAL = 1.5
"""Weights all below this multiple of their mean are practically equal, without a tail whose shape could matter."""
_LARGEST_SPREAD = 1e4
"""Log-weights with a larger spread are not annealed: a step bridges tens, so it would take as long as Markov chains."""
_PAIRS = 4
"""Number of antithetic pairs of paths at each node from which the mean's distance from the mode is estimated."""
_NUMBERS_TOGETHER = 2 * IN_CACHE
"""Number of values in paths that are weighted, or annealed, together."""


@dataclass(frozen=True, slots=True, eq=False)
class PathDraws:
    """Equally weighted draws.

    Attributes:
        theta: (T, n, D) ratings.
        hyperparameters: (p, D) hyperparameters.
        diagnostics: The diagnostics, the same at all timepoints.
        chains: The chain and step of each draw, or None.
    """

    theta: FloatArray
    hyperparameters: FloatArray
    diagnostics: Diagnostics
    chains: ChainOrder | None = None


def path_draws(counts: ChoiceCounts, model: PathPrior, sampling: Sampling) -> PathDraws:
    """Sample the joint posterior of ratings and hyperparameters.

    The Gaussians' draws are accepted if k-hat is below 0.5 and the effective sample size is at least a quarter of the
    number of draws, or if k-hat is below 0.7 and the effective sample size at least half. Otherwise they are annealed,
    and accepted if k-hat is then below 0.7 and the effective sample size at least a quarter. Markov chains are used if
    that fails too, if the spread of the log-weights is too large for annealing, or if all rankings agree, which leaves
    a tail that k-hat does not see; on request they may be longer.

    Args:
        counts: The rankings, of at least two algorithms, at one timepoint or more.
        model: The prior.
        sampling: The number D of draws, and the method: with "hmc", Markov chains are used right away.

    Raises:
        numpy.linalg.LinAlgError: If floating-point precision does not suffice anywhere near the posterior's mode.
    """
    likelihood = Likelihood(counts)
    draws = None if sampling.method == HMC else _by_importance(likelihood, model, sampling)
    return _by_chains(likelihood, model, sampling) if draws is None else draws


def _by_importance(likelihood: Likelihood, model: PathPrior, sampling: Sampling) -> PathDraws | None:
    """Weighted draws of the Gaussians, annealed if necessary, and resampled; None if they are not good enough."""
    nodes = _nodes(likelihood, HyperparameterPosterior(likelihood, model), sampling)
    each = -(-max(sampling.draws, _MIN_PROPOSALS) // len(nodes))
    timepoints, contrasts = likelihood.shape
    theta = np.empty((timepoints, contrasts + 1, each * len(nodes)))
    weighted = _draw_paths(likelihood, nodes, sampling, theta, annealed=False)
    few, many = sampling.draws / 4, sampling.draws / 2
    if not (weighted.good(GOOD_K_HAT, few) or weighted.good(LARGEST_K_HAT, many)):
        if weighted.spread > _LARGEST_SPREAD or likelihood.unanimous:
            return None
        weighted = _draw_paths(likelihood, nodes, sampling, theta, annealed=True)
        if not weighted.good(LARGEST_K_HAT, few):
            return None
    chosen = resample(weighted.weights, sampling.draws, sampling.rng)
    for at_time in theta:  # in place: a copy of all would double the memory
        at_time[:, : chosen.size] = at_time[:, chosen]
    return PathDraws(
        theta=theta[:, :, : chosen.size],
        hyperparameters=np.exp(np.stack([node.hyperparameters for node in nodes], axis=1))[:, chosen // each],
        diagnostics=Diagnostics.shared(
            timepoints, weighted.method, min(weighted.ess, float(sampling.draws)), k_hat=weighted.k_hat
        ),
    )


def _by_chains(likelihood: Likelihood, model: PathPrior, sampling: Sampling) -> PathDraws:
    """Draws taken evenly from Markov chains."""
    posterior, draws = HyperparameterPosterior(likelihood, model.steady()), sampling.draws
    enough, patient = min(float(FEWEST_OF_CHAINS), draws), sampling.method == HMC
    recorded = chain_draws(likelihood, posterior, enough, sampling.rng, patient=patient)
    length, count = recorded.diverging.shape
    chain, step = choose_evenly(count, length, draws, sampling.rng)
    return PathDraws(
        theta=recorded.theta[:, :, step, chain],
        hyperparameters=np.exp(recorded.points[:, step, chain]),
        diagnostics=Diagnostics.shared(
            len(recorded.theta),
            HAMILTONIAN,
            min(recorded.ess, float(draws)),
            r_hat=recorded.r_hat,
            divergences=recorded.divergences,
        ),
        chains=ChainOrder(chain, step, recorded.diverging[step, chain]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Weighted:
    """Weights (S,) of draws.

    Attributes:
        weights: (S,) weights, which sum to 1.
        spread: Half the distance from the 16 % to the 84 % quantile of their logarithms before smoothing.
        k_hat: Pareto k-hat.
        method: The method that made the draws.
    """

    weights: FloatArray
    spread: float
    k_hat: float
    method: str

    @property
    def ess(self) -> float:
        return 1.0 / float(self.weights @ self.weights)

    def good(self, k_hat: float, ess: float) -> bool:
        return self.k_hat < k_hat and self.ess >= ess


def _nodes(likelihood: Likelihood, posterior: HyperparameterPosterior, sampling: Sampling) -> list[Node]:
    """Values of the hyperparameters drawn from their approximate posterior, each with a Gaussian for the path."""
    marginal = explore(posterior, locate(posterior, Frame.around(*posterior.start)))
    number = min(max(sampling.draws // _PATHS_EACH, _MIN_NODES), _MAX_NODES)
    sample = marginal.draw(number, sampling.rng)
    starts = np.tensordot(sample.blend, posterior.paths(marginal.frame.outside(marginal.grid)), axes=1)
    fields = {k: field for k, point in enumerate(sample.points) if (field := posterior.field(point)) is not None}
    near = find_near_modes(likelihood, list(fields.values()), starts[list(fields)])
    modes = {k: mode for k, mode in zip(fields, near, strict=True) if mode is not None}
    if not modes:
        raise np.linalg.LinAlgError("the posterior cannot be computed at any value of the hyperparameters")
    computable = list(modes)
    log_ratio = posterior.log_prior(sample.points[computable]) - sample.log_density[computable]
    centres = _shifted_to_the_mean(likelihood, list(modes.values()), sample.within[computable], sampling)
    return [Node.at(*node) for node in zip(sample.points[computable], centres, log_ratio.tolist(), strict=True)]


def _shifted_to_the_mean(
    likelihood: Likelihood, centres: Sequence[LaplaceApproximation], within: FloatArray, sampling: Sampling
) -> list[LaplaceApproximation]:
    """The centres, moved from the mode towards the mean.

    The gradient averaged over the Gaussian vanishes at the mean of the best Gaussian. Its estimates, one per centre,
    are smoothed by a plane over the hyperparameters, `within` (K, p).
    """
    plane = np.concatenate([np.ones((len(within), 1)), within], axis=1)
    forces = [
        _mean_gradient(likelihood, centre, seed.generator())
        for centre, seed in zip(centres, sampling.seeds(len(centres)), strict=True)
    ]
    fitted = np.tensordot(plane @ np.linalg.pinv(plane), forces, axes=1)
    return [_pushed(centre, force) for centre, force in zip(centres, fitted, strict=True)]


def _mean_gradient(likelihood: Likelihood, centre: LaplaceApproximation, rng: np.random.Generator) -> FloatArray:
    """(T, q) gradient of the log-density, averaged over antithetic pairs of paths around the centre."""
    moves = centre.conditioned.spread(rng.standard_normal((centre.conditioned.noises, _PAIRS)))
    paths = centre.path[:, :, np.newaxis] + np.concatenate([moves, -moves], axis=2)
    return likelihood.slope(paths)[1].mean(axis=2) - centre.pull


def _pushed(centre: LaplaceApproximation, force: FloatArray) -> LaplaceApproximation:
    """The centre displaced by a force."""
    move = centre.conditioned.response(force)
    pull = centre.pull + force - (centre.curvature @ move[:, :, np.newaxis])[:, :, 0]
    return replace(centre, path=centre.path + move, pull=pull)


def _draw_paths(
    likelihood: Likelihood, nodes: Sequence[Node], sampling: Sampling, theta: FloatArray, *, annealed: bool
) -> _Weighted:
    """Draw equally many paths at each node, and write their ratings to `theta` (T, n, S)."""
    each = theta.shape[2] // len(nodes)
    generators = [seed.generator() for seed in sampling.seeds(len(nodes))]
    log_weights = np.empty(theta.shape[2])
    for part in batches(len(nodes), each * theta[:, 1:, 0].size, _NUMBERS_TOGETHER):
        target, columns = LogRatio(likelihood, nodes[part]), slice(part.start * each, part.stop * each)
        noises = [
            rng.standard_normal((each, node.centre.conditioned.noises)).T
            for node, rng in zip(nodes[part], generators[part], strict=True)
        ]
        if annealed:
            noises, log_weights[columns] = anneal(target, noises, generators[int(part.start)])
        paths, ratio, _ = target.expand(noises)
        if not annealed:
            log_weights[columns] = likelihood.value(paths) + ratio
        theta[:, :, columns] = ratings(paths, likelihood.contrasts)
    weights, k_hat = smooth(log_weights)
    spread = float(np.subtract(*np.quantile(log_weights, [0.84, 0.16]))) / 2
    if weights.max() * weights.size < _NEARLY_EQUAL:
        k_hat = -np.inf
    return _Weighted(weights, spread, k_hat, ANNEALING if annealed else NESTED_LAPLACE)
