"""Nested Laplace importance sampling: joint draws of paths and hyperparameters.

1. Given the hyperparameters φ, Newton's method finds the most probable path, and Laplace's method the evidence.
2. The posterior of φ follows on an adaptive grid, and a density through it (see `polarbear.inference.marginal`).
3. Values of φ are drawn from that density. At each, paths are drawn from a Gaussian around the mode, whose centre is
   first moved to where the gradient vanishes on average over the Gaussian.
4. Each draw is weighted by the exact joint density of rankings, path and φ over the density it was drawn from. The
   weights are Pareto-smoothed, and the draws resampled.

Where the weights vary too much, the draws are carried from the Gaussians to the posterior by annealing
(`polarbear.inference.annealing`), and where that is not enough, Markov chains answer
(`polarbear.inference.hamiltonian`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.annealing import annealed
from polarbear.inference.diagnostics import ANNEALING, HAMILTONIAN, NESTED_LAPLACE
from polarbear.inference.hamiltonian import chain_draws
from polarbear.inference.importance import resampled
from polarbear.inference.likelihood import Likelihood, ratings
from polarbear.inference.marginal import Frame, explore, located
from polarbear.inference.modes import Centre, near_modes
from polarbear.inference.nodes import Node
from polarbear.inference.pareto import smoothed
from polarbear.inference.sampling import HMC, Sampling
from polarbear.inference.surface import PathModel, Surface
from polarbear.inference.workers import ALONE, Workers
from polarbear.rankings import ChoiceCounts
from polarbear.records import FloatArray

_FEWEST_NODES, _MOST_NODES = 64, 256
_PATHS_EACH = 32
"""Paths drawn at each node, a value of the hyperparameters, as far as the bounds on the number of nodes allow."""
_FEWEST_PROPOSALS = 512
_PAIRS = 4
"""Antithetic pairs of paths at each node that tell how far the mean is from the mode."""
_GOOD_K_HAT = 0.5
_USABLE_K_HAT = 0.7
_NEARLY_EQUAL = 1.5
"""Weights below this multiple of their mean are as good as equal; there is no tail whose shape could matter."""
_ENOUGH = 400.0
"""Effective sample size that Markov chains aim at."""
_ENTRIES_AT_ONCE = 1 << 17
_TIMEPOINTS_AT_ONCE = 16
_LONG = 1 << 11
"""Paths of fewer entries are searched by one thread alone; the steps are too short to share."""


@dataclass(frozen=True, slots=True, eq=False)
class PathDraws:
    """Equally weighted draws.

    Attributes:
        theta: (T, n, D) ratings.
        hyperparameters: (p, D).
        method: How they were found.
        ess: How many independent draws they are worth.
        k_hat: Pareto k-hat of the weights; NaN if there are none.
        r_hat: Largest split R-hat if Markov chains answered, else NaN.
    """

    theta: FloatArray
    hyperparameters: FloatArray
    method: str
    ess: float
    k_hat: float = float("nan")
    r_hat: float = float("nan")


def path_draws(counts: ChoiceCounts, model: PathModel, sampling: Sampling) -> PathDraws:
    """Sample the joint posterior of ratings and hyperparameters.

    The Gaussians' draws are accepted if k-hat is below 0.5 and they are worth a quarter of their number. Otherwise they
    are annealed, and accepted if k-hat is then below 0.7. Where that fails too, Markov chains answer.

    Args:
        counts: The rankings, of at least two algorithms, at one timepoint or more.
        model: The prior.
        sampling: How many draws D, and by what method: Markov chains answer at once if it is "hmc".

    Raises:
        numpy.linalg.LinAlgError: If floating-point numbers do not suffice anywhere near the posterior's mode.
    """
    draws, rng = sampling.draws, sampling.rng
    likelihood = Likelihood(counts)
    if sampling.method == HMC:
        return _by_chains(likelihood, model, draws, rng)
    timepoints, q = likelihood.shape
    searching = sampling if timepoints * q >= _LONG else replace(sampling, workers=ALONE)
    nodes = _nodes(likelihood, Surface(likelihood, model, searching.workers), searching)
    found = _sampled(likelihood, nodes, sampling, anneal=False)
    if not found.good(_GOOD_K_HAT, draws):
        found = _sampled(likelihood, nodes, sampling, anneal=True)
    if not found.good(_USABLE_K_HAT, draws):
        return _by_chains(likelihood, model, draws, rng)
    chosen = resampled(found.weights, draws, rng)
    points = np.stack([node.hyperparameters for node in nodes], axis=1)
    return PathDraws(
        theta=_taken(found.theta, chosen, sampling.workers),
        hyperparameters=np.exp(points)[:, chosen // (found.weights.size // len(nodes))],
        method=found.method,
        ess=min(found.ess, float(draws)),
        k_hat=found.k_hat,
    )


def _by_chains(likelihood: Likelihood, model: PathModel, draws: int, rng: np.random.Generator) -> PathDraws:
    """Draws by Markov chains, each as often as any other but for one."""
    found = chain_draws(likelihood, Surface(likelihood, model.steady()), min(_ENOUGH, draws / 4), rng)
    size = found.points.shape[1]
    chosen = np.concatenate([rng.permutation(size) for _ in range(-(-draws // size))])[:draws]
    return PathDraws(
        theta=found.theta[:, :, chosen],
        hyperparameters=np.exp(found.points[:, chosen]),
        method=HAMILTONIAN,
        ess=min(found.ess, float(draws)),
        r_hat=found.r_hat,
    )


def _taken(theta: FloatArray, chosen: NDArray[np.intp], workers: Workers) -> FloatArray:
    """The chosen draws of (T, n, S), in the same memory as far as they fit."""
    if chosen.size > theta.shape[2]:
        return theta[:, :, chosen]

    def take(start: int) -> None:
        part = theta[start : start + _TIMEPOINTS_AT_ONCE]
        part[:, :, : chosen.size] = part[:, :, chosen]

    workers.map(take, range(0, len(theta), _TIMEPOINTS_AT_ONCE))
    return theta[:, :, : chosen.size]


@dataclass(frozen=True, slots=True, eq=False)
class _Weighted:
    """Ratings (T, n, S) with weights (S,)."""

    theta: FloatArray
    weights: FloatArray
    k_hat: float
    method: str

    @property
    def ess(self) -> float:
        return 1.0 / float(self.weights @ self.weights)

    def good(self, k_hat: float, draws: int) -> bool:
        return self.k_hat < k_hat and self.ess >= draws / 4


def _nodes(likelihood: Likelihood, surface: Surface, sampling: Sampling) -> list[Node]:
    """Values of the hyperparameters drawn from their approximate posterior, each with a Gaussian for the path."""
    marginal = explore(surface, located(surface, Frame.around(*surface.start)))
    number = min(max(sampling.draws // _PATHS_EACH, _FEWEST_NODES), _MOST_NODES)
    drawn = marginal.draw(number, sampling.rng)
    corners = np.stack([surface.path(point) for point in marginal.frame.outside(marginal.grid)])
    starts = np.tensordot(drawn.blend, corners, axes=1)
    able = [(k, field) for k, point in enumerate(drawn.points) if (field := surface.field(point)) is not None]
    near = near_modes(likelihood, [field for _, field in able], starts[[k for k, _ in able]], sampling.workers)
    found = [(k, centre) for (k, _), centre in zip(able, near, strict=True) if centre is not None]
    if not found:
        raise np.linalg.LinAlgError("the posterior cannot be computed at any hyperparameters")
    kept = [k for k, _ in found]
    centres = _at_the_mean(likelihood, [centre for _, centre in found], drawn.within[kept], sampling)
    points = drawn.points[kept]
    log_ratio = surface.log_prior(points) - drawn.log_density[kept]
    return [Node.at(*one) for one in zip(points, centres, log_ratio.tolist(), strict=True)]


def _at_the_mean(
    likelihood: Likelihood, centres: Sequence[Centre], points: FloatArray, sampling: Sampling
) -> list[Centre]:
    """The centres moved from the mode towards the mean.

    The gradient averaged over the Gaussian, which vanishes at the mean of the best Gaussian, is estimated at each
    centre, and the estimates are smoothed by a plane over the hyperparameters.
    """

    def estimated(one: tuple[Centre, np.random.Generator]) -> FloatArray:
        centre, rng = one
        moves = centre.conditioned.spread(rng.standard_normal((centre.conditioned.noises, _PAIRS)))
        paths = centre.path[:, :, np.newaxis] + np.concatenate([moves, -moves], axis=2)
        return likelihood.slope(paths)[1].mean(axis=2) - centre.pull

    generators = sampling.rng.spawn(len(centres))
    force = np.stack(sampling.workers.map(estimated, zip(centres, generators, strict=True)))
    plane = np.concatenate([np.ones((len(points), 1)), points], axis=1)
    fitted = np.linalg.lstsq(plane, force.reshape(len(centres), -1), rcond=None)[0]
    smooth = (plane @ np.asarray(fitted, dtype=np.float64)).reshape(force.shape)

    def shifted(one: tuple[Centre, FloatArray]) -> Centre:
        centre, push = one
        move = centre.conditioned.response(push)
        pull = centre.pull + push - (centre.curvature @ move[:, :, np.newaxis])[:, :, 0]
        return replace(centre, path=centre.path + move, pull=pull)

    return sampling.workers.map(shifted, zip(centres, smooth, strict=True))


def _sampled(likelihood: Likelihood, nodes: Sequence[Node], sampling: Sampling, *, anneal: bool) -> _Weighted:
    """Equally many draws at each node, at least as many as are asked for in all."""
    timepoints, q = likelihood.shape
    each = -(-max(sampling.draws, _FEWEST_PROPOSALS) // len(nodes))
    theta, log_weights = np.empty((timepoints, q + 1, each * len(nodes))), np.empty(each * len(nodes))
    generators = sampling.rng.spawn(len(nodes))

    def fill(some: slice) -> None:
        columns, here = slice(some.start * each, some.stop * each), nodes[some]
        noises = [
            rng.standard_normal((each, node.centre.conditioned.noises)).T
            for node, rng in zip(here, generators[some], strict=True)
        ]
        if anneal:
            noises, log_weights[columns] = annealed(likelihood, here, noises, generators[int(some.start)])
        moves = [node.centre.conditioned.spread(noise) for node, noise in zip(here, noises, strict=True)]
        paths = np.concatenate([node.path(move) for node, move in zip(here, moves, strict=True)], axis=2)
        if not anneal:
            ratio = [node.log_ratio(move) for node, move in zip(here, moves, strict=True)]
            log_weights[columns] = likelihood.value(paths) + np.concatenate(ratio)
        theta[:, :, columns] = ratings(paths, likelihood.contrasts)

    sampling.workers.map(fill, _chunks(len(nodes), each * timepoints * q))
    weights, k_hat = smoothed(log_weights)
    if weights.max() * weights.size < _NEARLY_EQUAL:
        k_hat = -np.inf
    return _Weighted(theta, weights, k_hat, ANNEALING if anneal else NESTED_LAPLACE)


def _chunks(nodes: int, entries: int) -> Iterator[slice]:
    """Slices of the nodes whose paths fit into memory together."""
    step = max(1, _ENTRIES_AT_ONCE // entries)
    return (slice(start, min(start + step, nodes)) for start in range(0, nodes, step))
