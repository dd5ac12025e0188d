"""Adaptive configurations: one configuration until a target, then another, chosen from runs of single configurations.

Source: IOHprofiler thesis, section 5.2 (Vermetten 2025). A configuration's average hitting time AHT of a target is the
mean of its runtimes if all runs reach the target. The cost of a handover cannot be known from runs of single
configurations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.arrays import floats
from polarbear.assess.comparisons.samples import Result, rows_of
from polarbear.assess.comparisons.shrinkage import SharedDurations, shared_durations
from polarbear.assess.comparisons.switching import Policy, ert_draws, policy_cost
from polarbear.records import FloatArray
from polarbear.validation import whole_number

MOST_USES = 3
"""Maximum number of selected pairs with the same first, and with the same second, configuration (section 5.2.2)."""


@dataclass(frozen=True, slots=True, eq=False)
class AdaptiveConfigurations(Result):
    """The most promising adaptive configurations, judged by runs of single ones; made by `adaptive_configurations`.

    Attributes:
        names: The n configurations' names.
        targets: (targets,) targets, easiest first; the last is φmin, the hardest that all runs of some configuration
            reach.
        ahts: (n, targets) average hitting times, inf where a run missed.
        static: The configuration with the smallest AHT of φmin.
        policies: The adaptive configurations, the best first.
        predicted: (policies,) theoretical hitting times of φmin.
        naive: (draws, policies) relative reductions of the expected runtime compared with `static`, with the
            uncertainty of the runs but without correction for selection.
        safe: The configuration whose expected runtime has the smallest posterior median.
        gains: (draws, policies) relative reductions of the expected runtime compared with `safe`, under the posterior
            that shrinks lucky configurations towards the others.
    """

    names: tuple[str, ...]
    targets: FloatArray
    ahts: FloatArray
    static: str
    policies: tuple[Policy, ...]
    predicted: FloatArray
    naive: FloatArray
    safe: str
    gains: FloatArray

    @property
    def promised(self) -> FloatArray:
        """(policies,) relative reduction of the theoretical hitting time below the smallest AHT, as in the thesis."""
        return 1 - self.predicted / self.ahts[self.names.index(self.static), -1]

    @property
    def expected(self) -> FloatArray:
        """(policies,) posterior medians of the gains."""
        return np.median(self.gains, axis=0)

    @property
    def probability(self) -> FloatArray:
        """(policies,) posterior probabilities of a gain if handovers cost nothing."""
        return np.mean(self.gains > 0, axis=0)

    def intervals(self, level: float = 0.9) -> FloatArray:
        """(policies, 2) equal-tailed intervals of the gains."""
        return np.quantile(self.gains, [(1 - level) / 2, (1 + level) / 2], axis=0).T

    def after_handovers(self, ratios: ArrayLike, *, rng: np.random.Generator) -> AdaptiveConfigurations:
        """The same, with gains that account for the costs of handovers observed elsewhere.

        Args:
            ratios: (m,) factors by which adaptive configurations took longer than expected, such as on other functions;
                gains assume that one of them, drawn at random, applies here.
            rng: The source of randomness.

        Raises:
            ValueError: If there are no ratios, or one is not above 0.
        """
        factors = floats(ratios)
        if factors.ndim != 1 or not factors.size or not (factors > 0).all():
            raise ValueError(f"ratios are {factors!r}; give a list of one or more numbers above 0")
        return replace(self, gains=1 - (1 - self.gains) * rng.choice(factors, self.gains.shape))

    def rows(self) -> list[dict[str, Any]]:
        """A row of plain values for each adaptive configuration, with 90 % intervals, the best first."""
        low, high = self.intervals().T
        return rows_of(
            first=[policy.algorithms[0] for policy in self.policies],
            second=[policy.algorithms[1] for policy in self.policies],
            target=[policy.targets[0] for policy in self.policies],
            predicted=self.predicted,
            promised=self.promised,
            expected=self.expected,
            low=low,
            high=high,
            probability=self.probability,
        )


def adaptive_configurations(
    runtimes: Mapping[str, ArrayLike],
    evaluations: Mapping[str, ArrayLike],
    targets: ArrayLike,
    *,
    count: int = 50,
    baselines: Collection[str] = (),
    settings: ArrayLike | None = None,
    instances: Mapping[str, ArrayLike] | None = None,
    draws: int = 1000,
    rng: np.random.Generator,
) -> AdaptiveConfigurations | None:
    """The most promising adaptive configurations on one function, and their expected gains.

    Args:
        runtimes: (runs, targets) runtimes by configuration, inf where a target was missed.
        evaluations: (runs,) total number of evaluations of each run by configuration, which measure the cost of
            failures.
        targets: (targets,) targets, easiest first.
        count: Maximum number of configurations to select.
        baselines: Names of configurations that do not switch, such as those with restarts; φmin is that of the others.
        settings: (n, k) settings of each configuration, as for `shared_durations`, such as returned by
            ``Space.encode``.
        instances: (runs,) instance of each run by configuration, to estimate gains on these instances; None if runs are
            exchangeable.
        draws: Number of draws from the posteriors.
        rng: The source of randomness.

    Returns:
        The selected configurations, or None if none can be made because no configuration reaches a second target with
        all of its runs.

    Raises:
        ValueError: If the number of targets does not match the runtimes, or there is only one run of each
            configuration.
    """
    at, names = floats(targets), tuple(runtimes)
    hits = {name: floats(times) for name, times in runtimes.items()}
    if wrong := [name for name, times in hits.items() if times.shape[1:] != at.shape]:
        raise ValueError(
            f"runtimes of {wrong[0]} have shape {hits[wrong[0]].shape}; they must be (runs, {at.size}), for the targets"
        )
    every = average_hitting_times(hits)
    paired = np.where([[name in baselines] for name in names], np.inf, every)
    until = 1 + int(np.flatnonzero(np.isfinite(paired).any(axis=0)).max(initial=-1))
    hits, ahts, at = {name: times[:, :until] for name, times in hits.items()}, every[:, :until], at[:until]
    policies = select_adaptive(paired[:, :until], names, at, count=count)
    if not policies:
        return None
    predicted = np.array([float(policy_cost(each, ahts, names, at)) for each in policies])
    static = names[int(ahts[:, -1].argmin())]
    spent = {name: floats(evaluations[name]) for name in names}
    posterior = _Posterior(hits, spent, at, settings, instances, draws, rng)
    safe, gains = posterior.gains(policies)
    naive = _naive(hits, spent, at, static, policies, draws, rng)
    return AdaptiveConfigurations(names, at, ahts, static, policies, predicted, naive, safe, gains)


def average_hitting_times(runtimes: Mapping[str, ArrayLike]) -> FloatArray:
    """(n, targets) mean runtime of each configuration to each target, inf where a run missed it.

    Args:
        runtimes: (runs, targets) runtimes by configuration, inf where a target was missed.
    """
    return np.array([floats(times).mean(axis=0) for times in runtimes.values()])


def select_adaptive(
    ahts: ArrayLike, names: Sequence[str], targets: ArrayLike, *, count: int = 50, most: int = MOST_USES
) -> tuple[Policy, ...]:
    """The adaptive configurations with the smallest theoretical hitting times TH, the best first (section 5.2.2).

    TH(C1, C2, φ) = AHT(C1, φ) + AHT(C2, φmin) - AHT(C2, φ), with the best φ before φmin for each pair. (In the text
    the criterion of C2 is printed as AHT(f, c, φmin) - AHT(f, c, φmin), which is 0.) A configuration is not paired with
    itself. With ``count=1`` this is the single adaptive configuration of section 5.2.1.

    Args:
        ahts: (n, targets) average hitting times, inf where a run missed the target.
        names: The n configurations' names.
        targets: (targets,) targets, easiest first; the last is φmin.
        count: Maximum number of pairs to select.
        most: Maximum number of pairs with the same first, and with the same second, configuration.
    """
    table, at = floats(ahts), floats(targets)
    limit, times = whole_number(most, "most", 1), whole_number(count, "count", 1)
    least, where = np.full((len(table), len(table)), np.inf), np.zeros((len(table), len(table)), dtype=np.intp)
    for index in range(at.size - 1):
        done = table[:, index]
        rest = np.where(np.isfinite(done), table[:, -1] - np.where(np.isfinite(done), done, 0.0), np.inf)
        cost = done[:, np.newaxis] + rest
        where[cost < least] = index
        least = np.minimum(least, cost)
    np.fill_diagonal(least, np.inf)
    chosen, first, second = list[Policy](), Counter[int](), Counter[int]()
    for pair in np.argsort(least, axis=None, kind="stable").tolist():
        one, other = divmod(pair, len(table))
        if len(chosen) == times or np.isinf(least[one, other]):
            break
        if first[one] < limit and second[other] < limit:
            first[one], second[other] = first[one] + 1, second[other] + 1
            chosen.append(Policy((str(names[one]), str(names[other])), (float(at[where[one, other]]),)))
    return tuple(chosen)


def second_stage(
    ahts: ArrayLike, names: Sequence[str], targets: ArrayLike, *, count: int = 50, most: int = MOST_USES
) -> tuple[str, ...]:
    """The configurations to run again before adaptive ones are reselected (section 5.2.2).

    These are the `count` configurations with the best AHT of the last target (if too few reach it, of the one before,
    and so on), and the members of the `count` best adaptive ones. Arguments are those of `select_adaptive`.
    """
    table = floats(ahts)
    order = np.lexsort((*table.T,))  # the last target first
    able = [int(row) for row in order if np.isfinite(table[row]).any()]
    static = [names[row] for row in able[: whole_number(count, "count", 1)]]
    adaptive = select_adaptive(table, names, targets, count=count, most=most)
    return tuple(dict.fromkeys([*static, *(name for policy in adaptive for name in policy.algorithms)]))


def _naive(
    hits: Mapping[str, FloatArray],
    spent: Mapping[str, FloatArray],
    targets: FloatArray,
    static: str,
    policies: Sequence[Policy],
    draws: int,
    rng: np.random.Generator,
) -> FloatArray:
    """(draws, policies) gains, each configuration judged by its own runs."""
    names = list(dict.fromkeys([static, *(name for policy in policies for name in policy.algorithms)]))
    drawn = np.stack([ert_draws(hits[name], spent[name], draws=draws, rng=rng) for name in names], axis=1)
    costs = np.stack([policy_cost(each, drawn, names, targets) for each in policies], axis=1)
    return 1 - costs / drawn[:, :1, -1]


@dataclass(frozen=True)
class _Posterior:
    """The runs, and draws from their joint posterior."""

    hits: Mapping[str, FloatArray]
    spent: Mapping[str, FloatArray]
    targets: FloatArray
    settings: ArrayLike | None
    instances: Mapping[str, ArrayLike] | None
    draws: int
    rng: np.random.Generator

    def gains(self, policies: Sequence[Policy]) -> tuple[str, FloatArray]:
        """The safe configuration, and (draws, policies) gains relative to it."""
        names, last = list(self.hits), self.targets.size - 1
        alone = self._between(-1, last)
        safe = int(np.median(self._expected(alone.means, alone.success), axis=0).argmin())
        parts = dict[int, Any]()
        found = np.empty((self.draws, len(policies)))
        for column, policy in enumerate(policies):
            at = int(np.flatnonzero(self.targets == policy.targets[0])[0])
            before, after = parts.setdefault(at, None) or (self._between(-1, at), self._between(at, last))
            parts[at] = before, after
            first, second = (names.index(name) for name in policy.algorithms)
            adaptive, static = (
                self._expected(
                    before.means[:, one] + after.means[:, other], before.success[:, one] * after.success[:, other]
                )
                for one, other in ((first, second), (safe, safe))
            )
            found[:, column] = 1 - adaptive / static
        return names[safe], found

    def _between(self, begin: int, end: int) -> SharedDurations:
        """Durations of all configurations from one target to another; `begin` -1 is the start."""
        tables = list(self.hits.values())
        labels = None if self.instances is None else [self.instances[name] for name in self.hits]
        return shared_durations(
            [np.zeros(len(each)) if begin < 0 else each[:, begin] for each in tables],
            [each[:, end] for each in tables],
            settings=self.settings,
            instances=labels,
            draws=self.draws,
            rng=self.rng,
        )

    def _expected(self, means: FloatArray, success: FloatArray) -> FloatArray:
        """Expected runtimes: those of a success and of the failures before it."""
        return means + (1 - success) / success * self._failure

    @property
    def _failure(self) -> float:
        """Evaluations of a failure: the mean over runs that missed φmin, or the maximum of all if there are none."""
        failed = [self.spent[name][~np.isfinite(times[:, -1])] for name, times in self.hits.items()]
        all_failed = np.concatenate(failed)
        return float(all_failed.mean() if all_failed.size else max(each.max() for each in self.spent.values()))
