"""The independent Dirichlet model (section 3.2.1 of Wurth et al. 2026)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.likelihood.newton import mode
from polarbear.inference.likelihood.timepoint_likelihood import Choices
from polarbear.inference.path_sampling.hyperpriors import draw_hyperparameters
from polarbear.inference.posterior import Posterior
from polarbear.inference.sampling.diagnostics import (
    FEWEST_OF_CHAINS,
    GIBBS,
    GOOD_K_HAT,
    IMPORTANCE_SAMPLING,
    LARGEST_K_HAT,
    Diagnostics,
    Sampled,
)
from polarbear.inference.sampling.gibbs import gibbs
from polarbear.inference.sampling.proposal import Proposal, log_gamma, proposal
from polarbear.inference.sampling.psis import importance
from polarbear.inference.sampling.settings import EXACT_GIBBS, NLIS, NUTS, PATHFINDER, Sampling, Seed
from polarbear.inference.sampling.threads import side_by_side
from polarbear.rankings import ChoiceCounts
from polarbear.records import FloatArray
from polarbear.validation import real, settings

_NEARLY_ALL = 0.9
"""Effective sample size, as a share of the number of draws, from which a k-hat below 0.7 is accepted."""
_MIN_PROPOSALS = 400
_STARTS = 100
"""Number of starting points of Markov chains."""


@settings
class IndependentDirichlet:
    """θ(t) ~ Dirichlet(α, …, α), independently at each timepoint.

    Its posterior is not joint over time: draws at different timepoints are unrelated.

    At each timepoint the draws come from importance sampling around the posterior mode (see
    `inference.sampling.proposal`). They are accepted if Pareto k-hat is below 0.5 and the effective sample size is at
    least half the number of draws, or if k-hat is below 0.7 and the effective sample size at least 90 %. Otherwise four
    times as many proposals with heavier tails are tried, and accepted if k-hat is below 0.7 and the effective sample
    size at least a quarter of the number of draws. If that fails too, Gibbs sampling is used.

    Attributes:
        alpha: Concentration α > 0. At 1 the prior is uniform on the simplex; below 1 few algorithms share the wins; far
            above 1 all algorithms are alike.

    Raises:
        ValueError: If `alpha` is not positive and finite.
    """

    name: ClassVar[str] = "independent-dirichlet"
    joint: ClassVar[bool] = False
    pooled: ClassVar[bool] = False
    methods: ClassVar[tuple[str, ...]] = (NLIS, EXACT_GIBBS, NUTS, PATHFINDER)

    alpha: Annotated[float, real(gt=0)] = 1.0

    @property
    def adjusted(self) -> bool:
        """False: timepoints do not inform each other."""
        return False

    def describe(self) -> dict[str, Any]:
        """The model as plain values."""
        return {"model": self.name, "alpha": self.alpha}

    def draw_prior(
        self, *, times: FloatArray, algorithms: int, sampling: Sampling, held: Mapping[str, float]
    ) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Draw from the prior; see `polarbear.inference.prior`."""
        none = draw_hyperparameters((), held, sampling.draws, sampling.rng)
        return dirichlet(np.full(sampling.draws, self.alpha), times.size, algorithms, sampling.rng), none

    def fit(self, counts: ChoiceCounts, *, times: FloatArray, names: tuple[str, ...], sampling: Sampling) -> Posterior:
        """The posterior given the rankings in `counts`; see `polarbear.inference.fit`.

        Each timepoint has its own random generator and is computed separately, so its draws change only when its
        counts do.
        """
        draws, exact, cache = sampling.draws, sampling.method == EXACT_GIBBS, sampling.cache
        theta = np.empty((counts.timepoints, counts.algorithms, draws))

        def at_time(t: int, seed: Seed) -> Sampled:
            key = cache.key(counts.at(t), counts.ties.at(t), self.alpha, draws, exact, seed)
            known: Sampled = cache.known(key) or sample(
                Choices.at(counts, t, self.alpha), draws=draws, rng=seed.generator(), exact=exact
            )
            theta[t] = known.theta
            sampled = replace(known, theta=theta[t])
            cache.keep(key, sampled)
            return sampled

        cache.begin()
        sampled = side_by_side(at_time, range(counts.timepoints), sampling.seeds(counts.timepoints))
        method = tuple(each.method for each in sampled)
        ess, k_hat, r_hat = np.array([(each.ess, each.k_hat, each.r_hat) for each in sampled]).reshape(-1, 3).T
        return Posterior(
            draws=theta.transpose(2, 0, 1),
            times=times,
            names=names,
            joint=self.joint,
            diagnostics=Diagnostics(method, ess, k_hat, r_hat),
            model=self,
        )


def dirichlet(alpha: FloatArray, timepoints: int, algorithms: int, rng: np.random.Generator) -> FloatArray:
    """(T, n, D) independent draws from Dirichlet(α, …, α) for each of the concentrations (D,)."""
    log_gammas = log_gamma(alpha[:, np.newaxis], (alpha.size, timepoints * algorithms), rng)
    log_theta = log_gammas.T.reshape(timepoints, algorithms, alpha.size)
    theta = np.exp(log_theta - log_theta.max(axis=1, keepdims=True))
    theta /= theta.sum(axis=1, keepdims=True)
    return theta


def sample(choices: Choices, *, draws: int, rng: np.random.Generator, exact: bool = False) -> Sampled:
    """Draw the ratings at one timepoint.

    Under the Dirichlet prior, the sum of the ratings in a group and their shares of it are independent, and rankings
    within groups depend on the shares alone. So groups of algorithms that no ranking connects, such as an algorithm
    that was not run, are sampled separately and exactly.

    Args:
        choices: The choices, including the prior.
        draws: Number D of draws.
        rng: The source of randomness.
        exact: Whether to use Gibbs sampling without trying importance sampling.
    """
    groups = choices.groups()
    if len(groups) == 1:
        return _connected(choices, draws, rng, exact=exact)
    parts = [_connected(choices.of_algorithms(group), draws, rng, exact=exact) for group in groups]
    theta = np.empty((choices.wins.size, draws))
    sizes = np.array([[group.size] for group in groups])
    log_masses = log_gamma(choices.alpha * sizes, (len(groups), draws), rng)
    masses = np.exp(log_masses - log_masses.max(axis=0))
    masses /= masses.sum(axis=0)
    for group, part, mass in zip(groups, parts, masses, strict=True):
        theta[group] = part.theta * mass
    by_gibbs = [part for part in parts if part.method == GIBBS]
    return Sampled(
        theta,
        GIBBS if by_gibbs else IMPORTANCE_SAMPLING,
        ess=min(part.ess for part in parts),
        k_hat=float("nan") if by_gibbs else max(part.k_hat for part in parts),
        r_hat=max((part.r_hat for part in by_gibbs), default=float("nan")),
    )


def _connected(choices: Choices, draws: int, rng: np.random.Generator, *, exact: bool) -> Sampled:
    """Draw the ratings of algorithms that rankings connect."""
    n = choices.wins.size
    if n == 1:
        return Sampled(np.ones((1, draws)), IMPORTANCE_SAMPLING, float(draws), -np.inf)
    try:
        ordered, order, source = propose(choices)
    except np.linalg.LinAlgError:
        start = rng.dirichlet(np.ones(n), _STARTS)
    else:
        back = np.argsort(order)
        if not exact and (weighted := _by_importance(ordered, source, draws, rng)):
            return replace(weighted, theta=weighted.theta[back])
        start = np.exp(source.heavier_tailed().draw(_STARTS, rng)[0])[back].T
    return gibbs(choices, start=start, draws=draws, enough=min(draws, max(FEWEST_OF_CHAINS, draws / 4)), rng=rng)


def _by_importance(ordered: Choices, source: Proposal, draws: int, rng: np.random.Generator) -> Sampled | None:
    """Draws by importance sampling, or None if they are not good enough."""
    proposals = max(draws, _MIN_PROPOSALS)
    weighted = importance(ordered, source, draws=draws, proposals=proposals, rng=rng)
    enough = LARGEST_K_HAT if weighted.ess >= _NEARLY_ALL * draws else GOOD_K_HAT
    if weighted.k_hat < enough and weighted.ess >= draws / 2:
        return weighted
    weighted = importance(ordered, source.heavier_tailed(), draws=draws, proposals=4 * proposals, rng=rng)
    return weighted if weighted.k_hat < LARGEST_K_HAT and weighted.ess >= draws / 4 else None


def propose(choices: Choices) -> tuple[Choices, NDArray[np.intp], Proposal]:
    """The choices with algorithms sorted, best first; the order; and a proposal distribution for them."""
    centre, curvature = mode(choices)
    order = np.argsort(-centre, kind="stable")
    ordered = choices.of_algorithms(order)
    return ordered, order, proposal(ordered, centre[order], curvature[np.ix_(order, order)])
