"""Virtual best solvers that switch: start with one algorithm, hand over to another once a target is reached.

The cost of a handover cannot be known from separate runs: the second algorithm is assumed to continue as if it had
reached the target by itself. The best of thousands of policies looks better than it is; so, by default, policies are
chosen on half of the runs and evaluated on the other half. Source: IOHprofiler thesis, section 5.1, definitions 5.2,
5.4 and 5.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.assess.arrays import floats
from polarbear.assess.comparisons.contributions import EXACT_LIMIT, shapley_values
from polarbear.assess.comparisons.samples import Result, plain
from polarbear.assess.runtimes import effort
from polarbear.records import FloatArray
from polarbear.validation import whole_number

_EQUAL = 1e-12
"""Relative difference below which expected runtimes are equal."""


@dataclass(frozen=True, slots=True)
class Policy(Result):
    """A policy: which algorithm runs until which target.

    Attributes:
        algorithms: Names of the algorithms in order; only one if it never switches.
        targets: Targets at which it switches from each algorithm to the next.
    """

    algorithms: tuple[str, ...]
    targets: tuple[float, ...] = ()

    def __str__(self) -> str:
        """The policy as text, such as ``"BFGS → CMA-ES at 1e-07"``."""
        *handed, last = self.algorithms
        steps = [f"{name} → " for name in handed]
        at = f" at {', '.join(f'{target:.3g}' for target in self.targets)}" if handed else ""
        return "".join(steps) + last + at


@dataclass(frozen=True, slots=True, eq=False)
class DynamicVirtualBest(Result):
    """The best policy with switches on one function.

    Attributes:
        names: The n algorithms' names.
        targets: (targets,) targets, easiest first; the last is the final one.
        erts: (n, targets) expected runtimes.
        static: The best policy without switches (definition 5.4).
        policy: The best policy (definition 5.5).
        static_ert: Expected runtime of `static` to the final target.
        ert: Expected runtime of `policy` to the final target.
        pairs: (n, n) smallest expected runtime of a policy with one switch from the row to the column, including a
            switch at the final target, which leaves nothing to the column.
        held_out: Speed-ups, on one half of the runs, of policies chosen on the other half, for each split in which a
            policy reached the final target on both; empty if not requested.
        promised: Speed-ups of the same policies on the half on which they were chosen.
        probability: Posterior probability that the policy is faster than the static one: the mean over held-out halves,
            with the policies chosen on the others, NaN if there are none; or, without held-out runs, from all runs.
    """

    names: tuple[str, ...]
    targets: FloatArray
    erts: FloatArray
    static: Policy
    policy: Policy
    static_ert: float
    ert: float
    pairs: FloatArray
    held_out: FloatArray
    promised: FloatArray
    probability: float

    @property
    def speed_up(self) -> float:
        """Expected runtime of the best single algorithm over that of the policy, on the runs that chose the policy."""
        return self.static_ert / self.ert

    @property
    def first(self) -> FloatArray:
        """(n,) I1: ERT of the best policy that begins with the algorithm, relative to the best of all; 1 is best."""
        return self.pairs.min(axis=1) / self.pairs.min()

    @property
    def second(self) -> FloatArray:
        """(n,) I2: ERT of the best policy that ends with the algorithm, relative to the best of all; 1 is best."""
        return self.pairs.min(axis=0) / self.pairs.min()

    @property
    def contributions(self) -> FloatArray:
        """(n,) Shapley values, see `switch_contributions`; NaN with more than 12 algorithms."""
        if len(self.names) > EXACT_LIMIT:
            return np.full(len(self.names), np.nan)
        return switch_contributions(self.erts)

    def as_dict(self) -> dict[str, Any]:
        """The result as plain values, including `first`, `second` and `contributions`."""
        derived = {name: plain(getattr(self, name)) for name in ("first", "second", "contributions")}
        return Result.as_dict(self) | derived


def dynamic_virtual_best(
    runtimes: Mapping[str, ArrayLike],
    evaluations: Mapping[str, ArrayLike],
    targets: ArrayLike,
    *,
    rng: np.random.Generator,
    switches: int = 1,
    held_out: bool = True,
    splits: int = 20,
    draws: int = 200,
) -> DynamicVirtualBest | None:
    """The best policy with at most `switches` switches on one function, and its value on other runs.

    Algorithms that never reach the final target are ignored (section 5.1.1). All runs count equally.

    Args:
        runtimes: (runs, targets) runtimes by algorithm, inf where a target was missed.
        evaluations: (runs,) total number of evaluations of each run, by algorithm.
        targets: (targets,) targets, easiest first; the last is the final one.
        rng: The source of randomness of splits and posterior draws.
        switches: Maximum number of switches.
        held_out: Whether to evaluate policies on runs that did not choose them.
        splits: Number of times the runs are split into halves.
        draws: Number of posterior draws of expected runtimes, per split.

    Returns:
        The virtual best solver, or None if no algorithm reaches the final target.

    Raises:
        ValueError: If the number of targets does not match the runtimes, or `switches` is below 0.
    """
    at, most = floats(targets), whole_number(switches, "switches", 0)
    hits = {name: floats(times) for name, times in runtimes.items()}
    if wrong := [name for name, times in hits.items() if times.shape[1:] != at.shape]:
        raise ValueError(
            f"runtimes of {wrong[0]} have shape {hits[wrong[0]].shape}; they must be (runs, {at.size}), for the targets"
        )
    able = {name: times for name, times in hits.items() if np.isfinite(times[:, -1]).any()}
    if not able:
        return None
    runs = _Runs.of(able, evaluations, at)
    static, policy = runs.best(0), runs.best(most)
    valued = [found for _ in range(splits if held_out else 0) if (found := _split(runs, most, draws, rng))]
    promised, kept, chances = np.array(valued).reshape(-1, 3).T
    if not held_out:
        chances = np.array([runs.probability((static, policy), draws, rng)])
    return DynamicVirtualBest(
        runs.names,
        at,
        runs.erts,
        static,
        policy,
        policy_ert(static, runs.erts, runs.names, at),
        policy_ert(policy, runs.erts, runs.names, at),
        _pairs(runs.erts),
        kept,
        promised,
        float(chances.mean()) if chances.size else float("nan"),
    )


def best_policy(erts: ArrayLike, names: Sequence[str], targets: ArrayLike, switches: int) -> Policy:
    """The policy with at most `switches` switches that has the smallest expected runtime, by dynamic programming.

    Among equals, the policy with the fewest switches, and with the first algorithm, is taken.

    Args:
        erts: (n, targets) expected runtimes, inf where a target was never reached.
        names: The n algorithms' names.
        targets: (targets,) targets, easiest first.
        switches: Maximum number of switches.

    Returns:
        The policy; the first algorithm alone if none reaches the last target.
    """
    table, at = floats(erts), floats(targets)
    size = at.size
    known = np.isfinite(table)
    done = np.where(known, table, 0.0)
    cost, steps = table, list[tuple[NDArray[np.int64], NDArray[np.int64]]]()
    for _ in range(switches):
        # definition 5.2: cost(i) + ERT_a(j) - ERT_a(i), least over the i before j
        ahead = np.where(known, cost.min(axis=0) - done, np.inf)
        least = np.minimum.accumulate(ahead, axis=1)
        where = np.maximum.accumulate(np.where(ahead <= least, np.arange(size), 0), axis=1)
        before = np.concatenate([np.full((len(table), 1), np.inf), least[:, :-1]], axis=1)
        since = np.concatenate([where[:, :1], where[:, :-1]], axis=1)
        switched = np.where(known, done + before, np.inf)
        better = switched < cost * (1 - _EQUAL)
        steps.append((np.where(better, cost.argmin(axis=0)[since], -1), since))
        cost = np.where(better, switched, cost)
    algorithm, index = int(cost[:, -1].argmin()), size - 1
    used, handed = [algorithm], list[float]()
    for whence, since in reversed(steps):
        if whence[algorithm, index] >= 0:
            algorithm, index = int(whence[algorithm, index]), int(since[algorithm, index])
            used.append(algorithm)
            handed.append(float(at[index]))
    return Policy(tuple(names[each] for each in reversed(used)), tuple(reversed(handed)))


def policy_ert(policy: Policy, erts: ArrayLike, names: Sequence[str], targets: ArrayLike) -> float:
    """The expected runtime of a policy to the last target (definition 5.2); inf if a part is never completed.

    Args:
        policy: The policy.
        erts: (n, targets) expected runtimes.
        names: The n algorithms' names.
        targets: (targets,) targets, which include those of the policy.
    """
    return float(policy_cost(policy, floats(erts), names, floats(targets)))


def policy_cost(policy: Policy, erts: FloatArray, names: Sequence[str], targets: FloatArray) -> FloatArray:
    """(…) expected runtime of a policy, from tables (…, n, targets) of expected runtimes."""
    ends = [*(int(np.flatnonzero(targets == target)[0]) for target in policy.targets), targets.size - 1]
    rows = [names.index(name) for name in policy.algorithms]
    cost = erts[..., rows[0], ends[0]]
    for row, begin, end in zip(rows[1:], ends, ends[1:], strict=False):
        done = erts[..., row, begin]
        known = np.isfinite(done)
        cost = cost + np.where(known, erts[..., row, end] - np.where(known, done, 0.0), np.inf)
    return cost


def switch_contributions(erts: ArrayLike) -> FloatArray:
    """(n,) Shapley values of algorithms in the virtual best solver with one switch, on one function.

    The worth of a coalition is the smallest expected runtime of all divided by its own: 1 for all algorithms together,
    0 if none of its members reaches the final target. The values sum to 1 (section 5.1.3 suggests them in place of I1
    and I2).

    Args:
        erts: (n, targets) expected runtimes, easiest target first.

    Raises:
        ValueError: If there are more than 12 algorithms, or none reaches the last target.
    """
    pairs = _pairs(floats(erts))
    if len(pairs) > EXACT_LIMIT:
        raise ValueError(
            f"there are {len(pairs)} algorithms; Shapley values are computed for at most {EXACT_LIMIT}: leave some out"
        )
    if not np.isfinite(pairs).any():
        raise ValueError("no algorithm reaches the last target; leave out targets that none reaches")
    masks = np.arange(1 << len(pairs))[:, None] >> np.arange(len(pairs)) & 1 == 1
    best = np.array([pairs[np.ix_(mask, mask)].min(initial=np.inf) for mask in masks])
    return shapley_values(pairs.min() / best)


def ert_draws(runtimes: ArrayLike, evaluations: ArrayLike, *, draws: int, rng: np.random.Generator) -> FloatArray:
    """Draw from a posterior of the expected runtime to each target: a Bayesian bootstrap with a prior on success.

    Every run has a weight Exp(1), the same for all targets. One unobserved success and one unobserved failure have
    weights Gamma(1/2), so that the probability of success is Beta(s + 1/2, f + 1/2), and take as long as the observed
    ones.

    Args:
        runtimes: (runs, targets) runtimes, inf where a target was missed.
        evaluations: (runs,) total number of evaluations of each run.
        draws: Number of draws.
        rng: The source of randomness.

    Returns:
        (draws, targets) expected runtimes, inf where no run reached the target.
    """
    times, whole = floats(runtimes), floats(evaluations)
    reached = np.isfinite(times)
    weights = rng.exponential(size=(draws, len(times)))
    extra, missing = rng.gamma(0.5, size=(2, draws, 1))
    succeeded, failed = weights @ reached, weights @ ~reached
    cost = effort(times, whole)
    mean_success = _ratio(weights @ np.where(reached, cost, 0.0), succeeded)
    mean_failure = np.where(failed > 0, _ratio(weights @ np.where(reached, 0.0, cost), failed), whole.mean())
    odds = (failed + missing) / (succeeded + extra)  # (1 - p) / p
    return mean_success + odds * mean_failure


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    return np.divide(above, below, out=np.full(above.shape, np.inf), where=below > 0)


def _pairs(table: FloatArray) -> FloatArray:
    """(n, n) smallest expected runtime with one switch from the row to the column, at any target."""
    known = np.isfinite(table)
    rest = np.where(known, table[:, -1:] - np.where(known, table, 0.0), np.inf)
    return np.min(table[:, None] + rest[None], axis=2)


@dataclass(frozen=True)
class _Runs:
    """Runtimes (runs, targets) and evaluations (runs,) of all algorithms, the rows of each, and the targets."""

    hits: FloatArray
    spent: FloatArray
    own: Mapping[str, slice]
    targets: FloatArray

    @classmethod
    def of(cls, hits: Mapping[str, FloatArray], spent: Mapping[str, ArrayLike], targets: FloatArray) -> _Runs:
        every = np.concatenate(list(hits.values())), np.concatenate([floats(spent[name]) for name in hits])
        return cls(*every, _slices({name: len(times) for name, times in hits.items()}), targets)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.own)

    @cached_property
    def erts(self) -> FloatArray:
        """(algorithms, targets) expected runtimes, computed for all at once."""
        efforts, successes = (
            np.add.reduceat(each, [rows.start for rows in self.own.values()], axis=0, dtype=np.float64)
            for each in (effort(self.hits, self.spent), np.isfinite(self.hits))
        )
        return _ratio(efforts, successes)

    def best(self, switches: int) -> Policy:
        return best_policy(self.erts, self.names, self.targets, switches)

    def halves(self, rng: np.random.Generator) -> tuple[_Runs, _Runs]:
        """A random split of every algorithm's runs into halves."""
        orders = {name: rows.start + rng.permutation(rows.stop - rows.start) for name, rows in self.own.items()}

        def half(begin: int) -> _Runs:
            chosen = {name: order[begin::2] for name, order in orders.items()}
            rows = np.concatenate(list(chosen.values()))
            own = _slices({name: len(each) for name, each in chosen.items()})
            return _Runs(self.hits[rows], self.spent[rows], own, self.targets)

        return half(1), half(0)

    def speed_up(self, policies: tuple[Policy, Policy]) -> float:
        """Speed-up of the second policy over the first; NaN if neither reaches the final target."""
        first, second = (policy_ert(each, self.erts, self.names, self.targets) for each in policies)
        return float("nan") if np.isinf([first, second]).all() else first / second

    def probability(self, policies: tuple[Policy, Policy], draws: int, rng: np.random.Generator) -> float:
        """Posterior probability that the second policy is faster than the first; ties count half."""
        names = list(dict.fromkeys(name for policy in policies for name in policy.algorithms))
        used = np.isin(self.targets, [self.targets[-1], *(target for policy in policies for target in policy.targets)])
        own = [(self.hits[rows][:, used], self.spent[rows]) for rows in (self.own[name] for name in names)]
        drawn = np.stack([ert_draws(*each, draws=draws, rng=rng) for each in own], axis=1)
        static, dynamic = [policy_cost(policy, drawn, names, self.targets[used]) for policy in policies]
        return (np.count_nonzero(dynamic < static) + np.count_nonzero(dynamic == static) / 2) / draws


def _slices(sizes: Mapping[str, int]) -> dict[str, slice]:
    """The rows of each algorithm."""
    ends = np.cumsum(list(sizes.values())).tolist()
    return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}


def _split(runs: _Runs, switches: int, draws: int, rng: np.random.Generator) -> tuple[float, float, float] | None:
    """Speed-up on the choosing half, on the other half, and its probability there; None if one is undefined."""
    if any(rows.stop - rows.start < 2 for rows in runs.own.values()):
        return None
    seen, unseen = runs.halves(rng)
    policies = seen.best(0), seen.best(switches)
    promised, kept = seen.speed_up(policies), unseen.speed_up(policies)
    return None if np.isnan([promised, kept]).any() else (promised, kept, unseen.probability(policies, draws, rng))
