"""Nested Laplace importance sampling: joint draws of paths and hyperparameters.

1. Given the hyperparameters φ, Newton's method finds the most probable path, and Laplace's method the evidence.
2. The posterior of φ follows on an adaptive grid, and a density through it (see `polarbear.inference.marginal`).
3. Values of φ are drawn from that density. At each, paths are drawn from a Gaussian around the mode, whose centre is
   first moved to where the gradient vanishes on average over the Gaussian.
4. Each draw is weighted by the exact joint density of rankings, path and φ over the density it was drawn from. The
   weights are Pareto-smoothed, and the draws resampled.

Where the weights vary too much, the draws are carried from the Gaussians to the posterior by annealing
(`polarbear.inference.annealing`), and where that is not enough, Markov chains answer
(`polarbear.inference.hamiltonian`), as they do on request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise

import numpy as np

from polarbear.inference.chain_order import ChainOrder, evenly_chosen
from polarbear.inference.diagnostics import ANNEALING, FEWEST_OF_CHAINS, HAMILTONIAN, NESTED_LAPLACE
from polarbear.inference.hamiltonian import chain_draws
from polarbear.inference.importance import resampled
from polarbear.inference.likelihood import Likelihood
from polarbear.inference.marginal import Frame, explore, located
from polarbear.inference.pareto import smoothed
from polarbear.inference.path_share import Columns, PathShare, Places, Points, Pushes, Shifts
from polarbear.inference.sampling import HMC, Sampling
from polarbear.inference.surface import PathModel, Peak, Surface, peaks
from polarbear.inference.workers import Team
from polarbear.rankings import ChoiceCounts
from polarbear.records import FloatArray

_FEWEST_NODES, _MOST_NODES = 64, 256
_PATHS_EACH = 32
"""Paths drawn at each node, a value of the hyperparameters, as far as the bounds on the number of nodes allow."""
_FEWEST_PROPOSALS = 512
_GOOD_K_HAT = 0.5
_USABLE_K_HAT = 0.7
_NEARLY_EQUAL = 1.5
"""Weights below this multiple of their mean are as good as equal; there is no tail whose shape could matter."""
_MOST_SPREAD = 1e4
"""Log-weights that spread more are not annealed: its steps bridge tens, and it would take as long as Markov chains."""
_POINTS_EACH, _NODES_EACH, _TIMEPOINTS_EACH = 4, 8, 4
"""How many make a piece of the work: small enough to share, large enough for long arrays."""


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
        divergences: How many of their transitions diverged, else None.
        chains: Which step of which chain each draw is, else None.
    """

    theta: FloatArray
    hyperparameters: FloatArray
    method: str
    ess: float
    k_hat: float = float("nan")
    r_hat: float = float("nan")
    divergences: int | None = None
    chains: ChainOrder | None = None


def path_draws(counts: ChoiceCounts, model: PathModel, sampling: Sampling) -> PathDraws:
    """Sample the joint posterior of ratings and hyperparameters.

    The Gaussians' draws are accepted if k-hat is below 0.5 and they are worth a quarter of their number, or below 0.7
    and half of it. Otherwise they are annealed, and accepted if k-hat is then below 0.7 and they are worth a quarter.
    Where that fails too, or their log-weights spread beyond its reach, as after many rankings that all agree, Markov
    chains answer; where they were asked for, they may be longer.

    Args:
        counts: The rankings, of at least two algorithms, at one timepoint or more.
        model: The prior.
        sampling: How many draws D, and by what method: Markov chains answer at once if it is "hmc".

    Raises:
        numpy.linalg.LinAlgError: If floating-point numbers do not suffice anywhere near the posterior's mode.
    """
    if sampling.method != HMC:
        with sampling.workers.team(PathShare, counts, model) as team:
            if (found := _by_importance(team, model, sampling)) is not None:
                return found
    return _by_chains(counts, model, sampling)


def _by_importance(team: Team[PathShare], model: PathModel, sampling: Sampling) -> PathDraws | None:
    """Weighted draws of the Gaussians, annealed if need be, made equal; None if they are not good enough."""
    surface = Surface(model, partial(_searched, team))
    nodes = _nodes(team, surface, sampling)
    each = -(-max(sampling.draws, _FEWEST_PROPOSALS) // len(nodes.points))
    timepoints, q = team.own.likelihood.shape
    theta = team.array((timepoints, q + 1, each * len(nodes.points)))
    found = _sampled(team, nodes, each, sampling, anneal=False)
    few, many = sampling.draws / 4, sampling.draws / 2
    if not (found.good(_GOOD_K_HAT, few) or found.good(_USABLE_K_HAT, many)):
        if found.spread > _MOST_SPREAD:
            return None
        found = _sampled(team, nodes, each, sampling, anneal=True)
        if not found.good(_USABLE_K_HAT, few):
            return None
    chosen = resampled(found.weights, sampling.draws, sampling.rng)
    slices = [slice(start, start + _TIMEPOINTS_EACH) for start in range(0, timepoints, _TIMEPOINTS_EACH)]
    team.map(PathShare.take, slices, chosen)
    return PathDraws(
        theta=team.kept(theta[:, :, : chosen.size]),
        hyperparameters=np.exp(nodes.points.T)[:, chosen // each],
        method=found.method,
        ess=min(found.ess, float(sampling.draws)),
        k_hat=found.k_hat,
    )


def _searched(team: Team[PathShare], points: FloatArray, starts: Sequence[FloatArray | None]) -> list[Peak | None]:
    """The peaks at points, an even number of pieces of them."""
    pieces = 2 * -(-len(points) // (2 * _POINTS_EACH))
    ends = [len(points) * k // pieces for k in range(pieces + 1)]
    parts = [slice(*some) for some in pairwise(ends) if some[0] < some[1]]
    found = team.map(PathShare.peaks, [Points(points[part], starts[part]) for part in parts])
    return [peak for some in found for peak in some]


def _by_chains(counts: ChoiceCounts, model: PathModel, sampling: Sampling) -> PathDraws:
    """Draws by Markov chains, each as often as any other but for one."""
    likelihood, steady, draws = Likelihood(counts), model.steady(), sampling.draws
    surface = Surface(steady, partial(peaks, likelihood, steady))
    enough, patient = min(float(FEWEST_OF_CHAINS), draws), sampling.method == HMC
    found = chain_draws(likelihood, surface, enough, sampling.rng, patient=patient)
    length, count = found.diverging.shape
    chain, step = evenly_chosen(count, length, draws, sampling.rng)
    return PathDraws(
        theta=found.theta[:, :, step, chain],
        hyperparameters=np.exp(found.points[step, chain].T),
        method=HAMILTONIAN,
        ess=min(found.ess, float(draws)),
        r_hat=found.r_hat,
        divergences=found.divergences,
        chains=ChainOrder(chain, step, found.diverging[step, chain]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Weighted:
    """Weights (S,) of draws.

    Attributes:
        weights: They sum to 1.
        spread: Half the distance from the 16 % to the 84 % quantile of their logarithms before smoothing.
        k_hat: Pareto k-hat.
        method: How the draws were found.
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


@dataclass(frozen=True, slots=True, eq=False)
class _Nodes:
    """Values of the hyperparameters, of which each process keeps the Gaussians of some.

    Attributes:
        points: (K, p) their logarithms.
        pieces: The slices of the nodes that the pieces hold; every other piece comes first, so that two processes write
            to different halves of the memory.
    """

    points: FloatArray
    pieces: list[slice]


def _nodes(team: Team[PathShare], surface: Surface, sampling: Sampling) -> _Nodes:
    """Values of the hyperparameters drawn from their approximate posterior, each with a Gaussian for the path."""
    marginal = explore(surface, located(surface, Frame.around(*surface.start)))
    number = min(max(sampling.draws // _PATHS_EACH, _FEWEST_NODES), _MOST_NODES)
    drawn = marginal.draw(number, sampling.rng)
    corners = surface.paths(marginal.frame.outside(marginal.grid))
    slices = [slice(start, start + _NODES_EACH) for start in range(0, number, _NODES_EACH)]
    places = [Places(piece, drawn.points[some], drawn.blend[some]) for piece, some in enumerate(slices)]
    begun = team.map(PathShare.begin, places, corners)
    found = [some.start + np.flatnonzero(here) for some, here in zip(slices, begun, strict=True)]
    halves = [*range(0, len(found), 2), *range(1, len(found), 2)]
    kept = np.concatenate([found[piece] for piece in halves])
    if not kept.size:
        raise np.linalg.LinAlgError("the posterior cannot be computed at any hyperparameters")
    ends = accumulate((found[piece].size for piece in halves), initial=0)
    pieces = dict(zip(halves, (slice(*some) for some in pairwise(ends)), strict=True))
    nodes = _Nodes(drawn.points[kept], [pieces[piece] for piece in range(len(found))])
    log_ratio = surface.log_prior(nodes.points) - drawn.log_density[kept]
    _shift_to_the_mean(team, nodes, drawn.within[kept], log_ratio, sampling)
    return nodes


def _shift_to_the_mean(
    team: Team[PathShare], nodes: _Nodes, within: FloatArray, log_ratio: FloatArray, sampling: Sampling
) -> None:
    """Move the centres from the mode towards the mean.

    The estimates of the forces at the nodes are smoothed by a plane over the hyperparameters.
    """
    plane = np.concatenate([np.ones((len(within), 1)), within], axis=1)
    solution, seeds = np.asarray(np.linalg.pinv(plane), dtype=np.float64), sampling.seeds(len(within))
    pushes = [Pushes(piece, seeds[some], solution[:, some]) for piece, some in enumerate(nodes.pieces)]
    fitted = np.sum(team.map(PathShare.force, pushes), axis=0)
    shifts = [Shifts(piece, plane[some], log_ratio[some]) for piece, some in enumerate(nodes.pieces)]
    team.map(PathShare.shift, shifts, fitted)


def _sampled(team: Team[PathShare], nodes: _Nodes, each: int, sampling: Sampling, *, anneal: bool) -> _Weighted:
    """Equally many draws at each node."""
    seeds = sampling.seeds(len(nodes.points))
    columns = [Columns(piece, seeds[some], some.start * each) for piece, some in enumerate(nodes.pieces)]
    log_weights = np.empty(len(nodes.points) * each)
    for some, found in zip(nodes.pieces, team.map(PathShare.draw, columns, each, anneal=anneal), strict=True):
        log_weights[some.start * each : some.stop * each] = found
    weights, k_hat = smoothed(log_weights)
    spread = float(np.subtract(*np.quantile(log_weights, [0.84, 0.16]))) / 2
    if weights.max() * weights.size < _NEARLY_EQUAL:
        k_hat = -np.inf
    return _Weighted(weights, spread, k_hat, ANNEALING if anneal else NESTED_LAPLACE)
