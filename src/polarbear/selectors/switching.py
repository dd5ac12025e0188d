"""Switching the optimizer in mid-run: outcomes of branches, and a policy that stays if it is unsure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.inference import ConditionalRatings, fit_conditional
from polarbear.rankings import Rankings
from polarbear.rankings.rankings import best_so_far
from polarbear.records import STAY, Branch, FloatArray, IntArray, Run, RunKey
from polarbear.selectors.cases import PRECISIONS, Cases
from polarbear.selectors.selector import Selector, within

_DRAWS = 500
_AT_ONCE = 64


@dataclass(frozen=True, slots=True, eq=False)
class SwitchPoints:
    """P points at which runs of one optimizer were branched, and outcomes of k repeats of n ways to continue.

    Attributes:
        first: The optimizer.
        ways: The n ways to continue: ``"stay"`` first, then the optimizers that may take over.
        horizons: (T,) numbers of evaluations after a point.
        values: (P, k, T, n) best value of the run by then, to be minimized; minus the optimum if `precise`.
        precise: Whether all optima are known.
        features: Names of the m features.
        known: (P, m) values of the features; NaN where unknown.
        at: (P,) number of evaluations at the point.
        functions: (P,) function of each point; points of the same function are not independent.
        instances: (P,) instance of each point.
    """

    first: str
    ways: tuple[str, ...]
    horizons: FloatArray
    values: FloatArray
    precise: bool
    features: tuple[str, ...]
    known: FloatArray
    at: IntArray
    functions: tuple[str, ...]
    instances: tuple[str, ...]

    @property
    def groups(self) -> NDArray[np.intp]:
        """(P,) indices of the functions, from 0."""
        return np.unique(np.array(self.functions), return_inverse=True)[1].reshape(-1)

    def among(self, some: NDArray[np.bool_]) -> SwitchPoints:
        """The points selected by the mask (P,)."""
        functions, instances = (tuple(np.array(each)[some].tolist()) for each in (self.functions, self.instances))
        return replace(
            self,
            values=self.values[some],
            known=self.known[some],
            at=self.at[some],
            functions=functions,
            instances=instances,
        )

    def rankings(self) -> Rankings:
        """The ranking of the ways within each horizon, one per point and repeat: a race over branches."""
        points, repeats = self.values.shape[:2]
        return Rankings.of(
            self.values.reshape(points * repeats, *self.values.shape[2:]),
            times=self.horizons,
            instances=np.repeat(np.array(self.instances), repeats).tolist(),
            algorithms=self.ways,
            groups=np.repeat(self.groups, repeats),
        )

    def wins(self) -> FloatArray:
        """(P, T, n) share of repeats in which a way beats staying; ties count half."""
        stay = self.values[..., :1]
        return ((self.values < stay) + 0.5 * (self.values == stay)).mean(axis=1)

    def benefits(self) -> FloatArray:
        """(P, k, T, n) benefit of a way over staying, from -1 to 1.

        r = (1 - min(a_s, a_r) / max(a_s, a_r)) (2 · 1[a_s < a_r] - 1) (eq. 5.1 of Vermetten 2025), where a_s and a_r
        are the precisions with and without the switch; r is 0 where they are equal, even if both are 0 or infinite.

        Raises:
            ValueError: If an optimum is unknown, since ratios of values would depend on the zero of their scale.
        """
        if not self.precise:
            raise ValueError("an optimum is unknown; benefits are ratios of precisions and need it, wins do not")
        values = np.maximum(self.values, 0.0)
        stay = np.broadcast_to(values[..., :1], values.shape)
        lesser, greater = np.minimum(values, stay), np.maximum(values, stay)
        ratio = np.divide(lesser, greater, out=np.ones_like(values), where=values != stay)
        return (1 - ratio) * np.where(values < stay, 1.0, -1.0)

    def noise(self) -> FloatArray:
        """(P, T, n) variance of benefits among the repeats: a lower bound on the error of predicting a single one.

        Raises:
            ValueError: If there is only one repeat, or as in `benefits`.
        """
        self.need_repeats("the noise of benefits")
        return self.benefits().var(axis=1, ddof=1)

    def need_repeats(self, what: str) -> None:
        """Raise a ValueError that names `what` if there is only one repeat, since it takes several."""
        if self.values.shape[1] < 2:
            raise ValueError(f"each branch was run once; {what} needs at least two repeats")

    def cases(self, horizon: float, loss: Literal["precision", "benefit"] = "precision") -> Cases:
        """The points as cases of a per-run selection of the way to continue (Vermetten 2025, section 5.3).

        The loss is averaged over the repeats. With "precision" it is log10 of the precision within the horizon, at
        least 1e-8; the regret is then the number of orders of magnitude by which a choice falls short, and the thesis'
        ratio is 10 to the power of minus the regret. With "benefit" it is minus the benefit (eq. 5.1), so that "stay"
        has loss 0.

        Args:
            horizon: Number of evaluations after a point.
            loss: Loss to use.

        Raises:
            ValueError: If there is no such horizon, or an optimum is unknown.
        """
        if horizon not in self.horizons:
            raise ValueError(f"horizon is {horizon}; it must be one of {', '.join(f'{h:g}' for h in self.horizons)}")
        if not self.precise:
            raise ValueError("an optimum is unknown; losses are precisions and need it")
        at = self.horizons.tolist().index(horizon)
        if loss == "benefit":
            losses = -self.benefits()[:, :, at]
        else:
            losses = np.log10(np.maximum(self.values[:, :, at], PRECISIONS.low))
        return Cases(self.ways, losses.mean(axis=1), self.features, self.known, self.functions, self.instances)

    @property
    def unvaried(self) -> bool:
        """Whether the repeats of staying are identical: the optimizer is deterministic, or cannot be reseeded."""
        return self.values.shape[1] > 1 and bool((np.ptp(self.values[..., 0], axis=1) == 0).all())


def switch_points(
    branches: Iterable[Run],
    horizons: Sequence[float],
    features: Mapping[tuple[RunKey, int], Mapping[str, float]] | None = None,
) -> dict[str, SwitchPoints]:
    """Collect the outcomes of branches, by the optimizer that they leave; those without a complete point are left out.

    Args:
        branches: Runs of `polarbear.study.branch`. A point at which one is missing or has failed is left out.
        horizons: Increasing numbers of evaluations after a point.
        features: Features known at each point, by the key of the recorded run and the number of evaluations, such as
            those of `polarbear.landscape.recent_features`; default none.

    Raises:
        ValueError: If a run is not a branch, features of a point are missing, or horizons are not increasing positive
            numbers.
    """
    times = np.asarray(horizons, dtype=np.float64)
    if times.ndim != 1 or not times.size or not (np.diff(times, prepend=0.0) > 0).all():
        raise ValueError(f"horizons are {horizons!r}; they must be increasing numbers of evaluations above 0")
    of_run = sorted(((Branch.of(run.key), run) for run in branches), key=lambda each: _place(each[0]))
    by_first = groupby(of_run, key=lambda each: each[0].run.algorithm)
    found = {first: _points_of(first, list(group), times, features) for first, group in by_first}
    return {first: points for first, points in found.items() if points.at.size}


def _place(branch: Branch) -> tuple[Any, ...]:
    return branch.run.algorithm, branch.run, branch.at


def _points_of(
    first: str,
    branches: list[tuple[Branch, Run]],
    times: FloatArray,
    features: Mapping[tuple[RunKey, int], Mapping[str, float]] | None,
) -> SwitchPoints:
    ways = (STAY, *sorted({branch.into for branch, _ in branches} - {STAY}))
    repeats = 1 + max(branch.repeat for branch, _ in branches)
    rows, places = list[FloatArray](), list[tuple[Branch, Run]]()
    for _, group in groupby(branches, key=lambda each: _place(each[0])):
        one = list(group)
        values = np.full((repeats, times.size, len(ways)), np.nan)
        for branch, run in one:
            if run.outcome.ok:
                best = best_so_far(run, branch.at + times, "evaluations")
                values[branch.repeat, :, ways.index(branch.into)] = best - (run.optimum or 0.0)
        if not np.isnan(values).any():
            rows.append(values)
            places.append(one[0])
    wanted = [(branch.run, branch.at) for branch, _ in places]
    if features is not None and (missing := [place for place in wanted if place not in features]):
        raise ValueError(f"there are no features of {missing[0][0]} after {missing[0][1]} evaluations")
    table = [dict[str, float]() if features is None else features[place] for place in wanted]
    names = tuple(table[0]) if table else ()
    return SwitchPoints(
        first,
        ways,
        times,
        np.array(rows).reshape(len(rows), repeats, times.size, len(ways)),
        all(run.optimum is not None for _, run in branches),
        names,
        np.array([[each[name] for name in names] for each in table], dtype=np.float64).reshape(len(table), len(names)),
        np.array([branch.at for branch, _ in places], dtype=np.int64),
        tuple(run.problem.function for _, run in places),
        tuple(branch.run.instance for branch, _ in places),
    )


@dataclass(frozen=True, slots=True, eq=False)
class SwitchPolicy:
    """Decides whether a run of one optimizer should switch to another: only if a gain is almost certain.

    Attributes:
        first: The optimizer.
        ratings: Ratings of the ways to continue, within each horizon, conditional on features of the run.
        confidence: Required probability that another way has a higher rating than staying.
        cases: (P, c) φ of the points of the training.
        groups: (P,) indices of their functions.
    """

    first: str
    ratings: ConditionalRatings
    confidence: float
    cases: FloatArray
    groups: NDArray[np.intp]

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways to continue, ``"stay"`` first."""
        return self.ratings.names

    def chances(self, values: ArrayLike) -> FloatArray:
        """(p, T, n) probability that each way beats staying within each horizon; 0.5 for staying itself.

        Args:
            values: (p, m) features, NaN where unknown.
        """
        draws, covariates = self.ratings.draws, self.ratings.covariates
        phi = covariates.phi(within(covariates, self.cases, np.asarray(values, dtype=np.float64)))
        if not len(phi):
            return np.empty((0, *draws.shape[1:3]))
        found = list[FloatArray]()
        for start in range(0, len(phi), _AT_ONCE):
            ratings = draws @ phi[start : start + _AT_ONCE].T  # (D, T, n, p)
            ahead = ratings - ratings[:, :, :1]
            found.append(np.moveaxis((1 / (1 + np.exp(-ahead))).mean(axis=0), -1, 0))
        return np.concatenate(found)

    def selector(self, horizon: float) -> Selector:
        """The policy within one horizon: a `Selector` that stays unless another way is better with high probability.

        Its `choose` takes features of runs, and `polarbear.selectors.save` writes it to a plain file.

        Raises:
            ValueError: If the policy has no such horizon.
        """
        times = self.ratings.times.tolist()
        if horizon not in times:
            raise ValueError(f"horizon is {horizon}; it must be one of {', '.join(f'{time:g}' for time in times)}")
        trained_on = {"first": self.first, "horizon": float(horizon), "points": len(self.cases)}
        return Selector(
            "ratings",
            self.ways,
            STAY,
            self.confidence,
            self.ratings.covariates,
            self.cases,
            self.groups,
            {"draws": self.ratings.draws[:, times.index(horizon)]},
            trained_on,
        )


def train_policy(
    points: SwitchPoints,
    *,
    features: Sequence[str] | None = None,
    confidence: float = 0.95,
    squares: bool = True,
    seed: int = 0,
) -> SwitchPolicy:
    """Learn when to switch, from rankings of all ways to continue.

    Args:
        points: Outcomes of branches, with features.
        features: Features to use; default all. The fit takes time and memory quadratic in their number.
        confidence: Required probability that another way is better than staying.
        squares: Whether to include the squares of features.
        seed: Seed of all draws.

    Raises:
        ValueError: If the confidence is not a probability, there is no such feature, or as in
            `polarbear.inference.fit_conditional`.
    """
    if not 0 <= confidence <= 1:
        raise ValueError(f"confidence is {confidence!r}; it must be a probability, from 0 to 1")
    chosen = points.features if features is None else tuple(features)
    if missing := [name for name in chosen if name not in points.features]:
        raise ValueError(f"the points have no feature {missing[0]!r}")
    seen = points.known[:, [points.features.index(name) for name in chosen]]
    repeated = np.repeat(seen, points.values.shape[1], axis=0)
    ratings = fit_conditional(
        points.rankings(),
        dict(zip(chosen, repeated.T, strict=True)),
        squares=squares,
        draws=_DRAWS,
        rng=np.random.default_rng(seed),
    )
    return SwitchPolicy(points.first, ratings, confidence, ratings.covariates.phi(seen), points.groups)
