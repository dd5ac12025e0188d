"""The race itself: ask which runs are needed, tell their results (algorithm 1, Wurth et al. 2026, section 4.3)."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.descriptions import did_you_mean
from polarbear.inference import FitCache, InstanceBootstrap, Model, Posterior, as_model, fit, overconfidence
from polarbear.racing.forecast import OpenPair, batch_by_forecast, open_pairs_of
from polarbear.racing.relations import (
    Relations,
    eliminations,
    in_circles,
    last_unresolved,
    next_batch,
    relations,
    resolution,
    unresolved_pairs,
)
from polarbear.racing.result import RaceResult
from polarbear.racing.rounds import Request, Round, asked_after, silent, strongest_rivals
from polarbear.racing.settings import (
    Batches,
    CannotWithdraw,
    Compared,
    Elimination,
    JudgedBy,
    RaceSettings,
    Resolution,
    by_name,
)
from polarbear.racing.state import FEW, UNAVAILABLE, RaceState
from polarbear.rankings import Rankings
from polarbear.records import Axis, FloatArray, Instance, Reason, Run, RunKey

Indices = NDArray[np.intp]


class Race:
    """A race of anytime algorithms to their Pareto set over time.

    Ask for runs, execute them wherever you like, and tell the race their results; or let `polarbear.study.race` do all
    of that. Given the same runs and seed, a race makes the same decisions.

    Args:
        algorithms: Names, or objects with a ``name`` or ``__name__``, or a mapping from names to anything.
        times: (T,) strictly increasing positive timepoints, in evaluations or seconds.
        model: The temporal Plackett–Luce model, or its name; by default `InstanceBootstrap`.
        alpha: Decision threshold. For this and all further arguments see `RaceSettings`.

    Raises:
        TypeError: If `model` is not a model, or an algorithm has no name.
        ValueError: If a parameter is out of range, names repeat, or the model has no joint posterior for joint
            elimination by ratings.
    """

    def __init__(
        self,
        algorithms: Mapping[str, object] | Sequence[object],
        *,
        times: ArrayLike,
        model: Model | str | None = None,
        alpha: float = RaceSettings.alpha,
        epsilon: float = RaceSettings.epsilon,
        elimination: Elimination = RaceSettings.elimination,
        resolution: Resolution = RaceSettings.resolution,
        relations: Compared = RaceSettings.relations,
        axis: Axis = RaceSettings.axis,
        judged_by: JudgedBy = RaceSettings.judged_by,
        batches: Batches = RaceSettings.batches,
        batch: int = RaceSettings.batch,
        smallest_batch: int = RaceSettings.smallest_batch,
        largest_batch: int = RaceSettings.largest_batch,
        draws: int = RaceSettings.draws,
        precision: float | None = RaceSettings.precision,
        seed: int = RaceSettings.seed,
    ) -> None:
        self.algorithms: dict[str, object] = by_name(algorithms)
        if len(self.algorithms) < 2:
            raise ValueError(f"a race needs at least 2 algorithms, got {list(self.algorithms)}")
        self.model: Model = InstanceBootstrap() if model is None else as_model(model)
        self.settings = RaceSettings(
            alpha=alpha,
            epsilon=epsilon,
            elimination=elimination,
            resolution=resolution,
            relations=relations,
            axis=axis,
            judged_by=judged_by,
            batches=batches,
            batch=batch,
            smallest_batch=smallest_batch,
            largest_batch=largest_batch,
            draws=draws,
            precision=precision,
            seed=seed,
        )
        self.times = self.settings.timepoints(times)
        self.settings.check_model(self.model)
        self._state = RaceState.start(tuple(self.algorithms), self.times.size, self.settings.batch)
        self._runs: dict[tuple[str, int], Run] = {}
        self._values = np.full((0, self.times.size, len(self.algorithms)), np.nan)
        self._requests: dict[tuple[str, int], Request] | None = None
        self._unavailable = set[tuple[str, int]]()
        self._rounds: tuple[Round, ...] = ()
        self._posterior: Posterior | None = None
        self._cache = FitCache()

    @property
    def names(self) -> tuple[str, ...]:
        """The algorithms' names, in the order of all arrays."""
        return self._state.algorithms

    @property
    def state(self) -> RaceState:
        """The state of the race after its last complete round."""
        return self._state

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds completed so far."""
        return self._rounds

    @property
    def finished(self) -> bool:
        """Whether every pair of candidates is resolved at every timepoint."""
        return self._state.finished

    @property
    def pareto_set(self) -> tuple[str, ...]:
        """The candidate anytime Pareto set, valid at any moment."""
        return tuple(name for name, member in zip(self.names, self._state.candidates, strict=True) if member)

    @property
    def posterior(self) -> Posterior:
        """The posterior after the last complete round; the prior before the first.

        With more than 64 algorithms only the candidates are rated. Their rankings among themselves follow the same
        ratings whichever others take part.
        """
        if self._posterior is None:
            self._posterior = self._infer(self._rated())
        return self._posterior

    def seed_of(self, draw: int) -> int:
        """The seed of all runs on the instance with index `draw`: 53 bits, which any tool represents exactly."""
        return int(np.random.SeedSequence([self.settings.seed, draw]).generate_state(1, np.uint64)[0]) >> 11

    def ask(self, available: int | None = None) -> list[Request]:
        """The runs that the current round still waits for; empty when the race is over.

        Unresolved candidates run on new instances up to the last timepoint at which one of their pairs is open
        (τ_A, eq. 32). Algorithms that joined or returned first catch up on the instances drawn without them.

        Args:
            available: Number of instances; None if unlimited. When they run out, no run is requested.
        """
        if self._requests is None:
            requests = self._next_requests(available)
            if not requests:
                return []
            self._requests = {(request.key.algorithm, request.key.seed): request for request in requests}
        runs, unavailable = self._runs, self._unavailable
        return [each for key, each in self._requests.items() if key not in runs and key not in unavailable]

    def tell(self, runs: Iterable[Run], *, unavailable: Iterable[Request] = ()) -> Round | None:
        """Accept finished runs; after the round's last run, update the posterior and decide.

        Runs are identified by algorithm and seed; callers may choose the instance's name.

        Args:
            runs: The runs.
            unavailable: Requests that no run can answer, such as those for which nothing was recorded. Their instances
                are ranked without them, and they are not requested again.

        Returns:
            The round, if these runs completed it.

        Raises:
            ValueError: If a run was not requested, or was told before; the runs preceding it are accepted.
        """
        for run in runs:
            self._check_asked(run.key)
            self._runs[run.key.algorithm, run.key.seed] = run
        for request in unavailable:
            self._check_asked(request.key)
            self._unavailable.add((request.key.algorithm, request.key.seed))
        if self._requests is None or self.ask():
            return None
        return self._complete_round(self._requests)

    def _check_asked(self, key: RunKey) -> None:
        identity = (key.algorithm, key.seed)
        if identity in self._runs or identity in self._unavailable:
            raise ValueError(f"the run of {key} has already been told; tell each run once")
        if self._requests is None or identity not in self._requests:
            raise ValueError(f"the run of {key} was not asked for; tell only runs that ask() returns")

    def add(self, algorithm: object, name: str | None = None) -> str:
        """Let another algorithm join between two rounds, or before the first (section 4.3).

        It is unresolved against every candidate and first runs on the instances already drawn, where it is ranked
        with the recorded runs of the others. This adds no information about the others' order.

        Returns:
            The algorithm's name.

        Raises:
            ValueError: If the name is taken, or a round is under way.
        """
        if self._requests is not None:
            raise ValueError("a round is under way; tell its runs before adding an algorithm")
        ((name, algorithm),) = by_name({name: algorithm} if name else [algorithm]).items()
        if name in self.algorithms:
            raise ValueError(f"an algorithm named {name!r} is already in the race; give another name")
        self.algorithms[name] = algorithm
        self._admit(name)
        return name

    def withdraw(self, *names: str) -> Round | None:
        """Withdraw algorithms between two rounds, such as one that may not be deployed after all.

        Their runs still count in comparing the others. Algorithms that they had eliminated return, unresolved against
        every candidate, unless another candidate dominates them; they first run on the instances drawn since they left.

        Returns:
            A round without runs that records the withdrawal; None if all of them were withdrawn before.

        Raises:
            CannotWithdraw: If a name is unknown, or no algorithm would be left; then none is withdrawn.
            ValueError: If a round is under way.
        """
        if self._requests is not None:
            raise ValueError("a round is under way; tell its runs before withdrawing an algorithm")
        for name in names:
            if name not in self.names:
                raise CannotWithdraw(f"no algorithm of the race is named {name!r};{did_you_mean(name, self.names)}")
        leaving = [name for name in dict.fromkeys(names) if name not in self._state.withdrawn]
        if not leaving:
            return None
        before = after = self._state
        rated = self._rated({loser for loser, by in before.eliminated.items() if by in leaving})
        posterior = self.posterior if rated.size == len(self.posterior.names) else self._infer(rated)
        anytime = self._relations(posterior).anytime_of_all(rated, len(self.names))
        for name in leaving:
            after = after.without(name, anytime, self.settings.alpha)
            if not after.candidates.any():
                raise CannotWithdraw(f"{name} is the last candidate of the race; it cannot be withdrawn")
        self._state = replace(after, round=before.round + 1)
        return self._record(before, anytime, {}, 0.0)

    def restore(
        self, state: RaceState, rounds: Iterable[Round], runs: Iterable[Run], *, accept_missing: bool = False
    ) -> int:
        """Restore an earlier race from its last state, its rounds and its runs.

        Algorithms that were not in the earlier race join as if by `add`.

        Args:
            state: The earlier race's last state.
            rounds: The earlier race's rounds.
            runs: The earlier race's runs; those of an incomplete round are skipped, and `ask` requests them again.
            accept_missing: Whether to continue if runs of completed rounds are missing, and rank without them.

        Returns:
            Number of missing runs of completed rounds.

        Raises:
            ValueError: If algorithms are missing, the number of timepoints differs, or runs are missing.
        """
        missing = [name for name in state.algorithms if name not in self.algorithms]
        if missing or state.resolved.shape[0] != self.times.size:
            raise ValueError(
                f"the stored race has algorithms {list(state.algorithms)} and {state.resolved.shape[0]} timepoints, "
                f"this one {list(self.algorithms)} and {self.times.size}; resume with the same"
            )
        joining = [name for name in self.algorithms if name not in state.algorithms]
        self.algorithms = {name: self.algorithms[name] for name in (*state.algorithms, *joining)}
        self._state, self._rounds = state, tuple(rounds)
        self._requests, self._posterior, self._runs = None, None, {}
        self._unavailable.clear()
        self._values = np.full((state.instances, self.times.size, len(state.algorithms)), np.nan)
        cells = {
            (name, self.seed_of(draw)): draw
            for draw in range(state.instances)
            for index, name in enumerate(state.algorithms)
            if state.asked[draw, index] > 0
        }
        for run in runs:
            identity = (run.key.algorithm, run.key.seed)
            if identity in cells:
                self._runs[identity] = run
                self._enter(cells[identity], run)
        missing_runs = len(cells) - len(self._runs)
        if missing_runs and not accept_missing:
            raise ValueError(f"the completed rounds lack {missing_runs} of their {len(cells)} runs")
        for name in joining:
            self._admit(name)
        return missing_runs

    def killed(self) -> list[Request]:
        """Requests for the killed runs of completed rounds; `restore` accepts the repeated runs in their place.

        Decisions made without them stand; the posteriors of later rounds include them.
        """
        draws = {self.seed_of(draw): draw for draw in range(self._state.instances)}
        return [
            self._request(draws[seed], name, int(self._state.asked[draws[seed], self.names.index(name)]) - 1)
            for (name, seed), run in self._runs.items()
            if run.outcome.reason is Reason.KILLED and seed in draws
        ]

    def result(self) -> RaceResult:
        """The result of the race so far."""
        spent, problems = dict.fromkeys(self.names, 0), dict[int, Instance]()
        for run in self._runs.values():
            spent[run.key.algorithm] += run.outcome.evaluations
            problems.setdefault(run.key.seed, run.problem)
        to_the_end = self.times[-1] * np.count_nonzero(self._state.asked != UNAVAILABLE)
        return RaceResult(
            pareto_set=self.pareto_set,
            posterior=self.posterior,
            rounds=self._rounds,
            eliminated=dict(self._state.eliminated),
            withdrawn=self._state.withdrawn,
            undecided=self._open_pairs(self._state.resolved),
            finished=self.finished,
            settings=self.settings,
            values=self._values.copy(),
            evaluations_by_algorithm=spent,
            evaluations_to_the_end=float(to_the_end) if self.settings.axis == "evaluations" else float("nan"),
            problems=tuple(problems.get(self.seed_of(draw)) for draw in range(self._state.instances)),
        )

    def relations(self) -> Relations:
        """The relations of all pairs of algorithms that the current posterior rates."""
        return self._relations(self.posterior)

    def _relations(self, posterior: Posterior) -> Relations:
        settings = self.settings
        return relations(
            settings.compared(posterior),
            alpha=settings.alpha,
            epsilon=settings.epsilon,
            joint=settings.elimination == "joint",
        )

    def describe(self) -> dict[str, Any]:
        """Timepoints, model and settings as plain JSON-able values."""
        return {"times": self.times.tolist(), "model": self.model.describe(), **self.settings.describe()}

    def _admit(self, name: str) -> None:
        """Extend the state and values by an algorithm."""
        self._state = self._state.joined_by(name)
        self._values = np.pad(self._values, ((0, 0), (0, 0), (0, 1)), constant_values=np.nan)
        self._posterior = None

    def _next_requests(self, available: int | None) -> list[Request]:
        state, last = self._state, last_unresolved(self._state.resolved)
        if state.catching_up:
            return [
                self._request(draw, name, min(int(last[self.names.index(name)]), timepoint))
                for name, start in state.catching_up.items()
                for draw, timepoint in state.cached(start)[: state.batch]
            ]
        batch = state.batch if available is None else min(state.batch, available - state.instances)
        return [
            self._request(draw, name, int(last[index]))
            for draw in range(state.instances, state.instances + batch)
            for index, name in enumerate(self.names)
            if last[index] >= 0
        ]

    def _request(self, draw: int, algorithm: str, timepoint: int) -> Request:
        key = RunKey(f"instance-{draw}", algorithm, self.seed_of(draw))
        return Request(key, draw, float(self.times[timepoint]))

    def _enter(self, draw: int, run: Run) -> None:
        index = self.names.index(run.key.algorithm)
        asked = self._state.asked[draw, index]
        self._values[draw, :asked, index] = self.settings.values_of(run, self.times)[:asked]

    def _rated(self, also: Collection[str] = ()) -> Indices:
        """Indices of the algorithms to rate: all if there are few, else the candidates and those in `also`."""
        if len(self.names) <= FEW:
            return np.arange(len(self.names))
        return np.flatnonzero(self._state.candidates | np.array([name in also for name in self.names]))

    def _infer(self, rated: Indices) -> Posterior:
        rankings = Rankings.of(
            self._values[:, :, rated],
            times=self.times,
            algorithms=[self.names[index] for index in map(int, rated)],
            precision=self.settings.precision,
        )
        rng = np.random.default_rng(np.random.SeedSequence(self.settings.seed, spawn_key=(1,)))
        return fit(rankings, model=self.model, draws=self.settings.draws, rng=rng, cache=self._cache)

    def _complete_round(self, requests: dict[tuple[str, int], Request]) -> Round:
        before = self._state
        self._state = replace(before, asked=asked_after(before, requests, self.times, self._unavailable))
        more = self._state.instances - before.instances
        self._values = np.pad(self._values, ((0, more), (0, 0), (0, 0)), constant_values=np.nan)
        for identity in requests.keys() & self._runs.keys():
            self._enter(requests[identity].draw, self._runs[identity])
        began, rated = time.perf_counter(), self._rated()
        self._posterior = self._infer(rated)
        inference_seconds = time.perf_counter() - began
        current = self.relations()
        anytime = current.anytime_of_all(rated, len(self.names))
        self._state = self._decide(current, anytime, rated, requests)
        self._requests = None
        self._unavailable.clear()
        return self._record(before, anytime, requests, inference_seconds)

    def _decide(
        self, current: Relations, anytime: FloatArray, rated: Indices, requests: Mapping[tuple[str, int], Request]
    ) -> RaceState:
        """Algorithm 1, lines 9–18, and the next batch size."""
        settings, state, names = self.settings, self._state, self.names
        inside, resolved = (slice(None), *np.ix_(rated, rated)), state.resolved.copy()
        circular = in_circles(anytime, state.candidates, settings.alpha)[inside[1:]]
        use_crossing = settings.resolution == "crossing"
        resolved[inside] = resolution(resolved[inside], current, circular, use_crossing=use_crossing)
        eliminated = eliminations(anytime, state.candidates, settings.alpha)
        for loser in eliminated:
            resolved[:, loser, :] = resolved[:, :, loser] = True
        caught_up_to = {
            name: 1 + max(request.draw for request in requests.values() if request.key.algorithm == name)
            for name in state.catching_up
        }
        decided = replace(
            state,
            resolved=resolved,
            round=state.round + 1,
            eliminated=state.eliminated | {names[loser]: names[winner] for loser, winner in eliminated.items()},
            catching_up=caught_up_to,
        )
        made = [request for identity, request in requests.items() if identity not in self._unavailable]
        for name in silent(made, self._values, names):
            decided = decided.without(name, anytime, settings.alpha)
        limits = {"smallest": settings.smallest_batch, "largest": settings.largest_batch}
        if settings.batches == "forecast":
            batch = batch_by_forecast(self._open_pairs(decided.resolved), **limits)
        else:
            before, after = (int(unresolved_pairs(each.resolved).sum()) for each in (state, decided))
            batch = next_batch(state.batch, unresolved_before=before, unresolved_after=after, **limits)
        return replace(decided, batch=batch).still_catching_up()

    def _open_pairs(self, resolved: NDArray[np.bool_]) -> tuple[OpenPair, ...]:
        rated = np.flatnonzero(np.isin(self.names, self.posterior.names))
        return open_pairs_of(self.posterior, self.times, resolved[:, rated[:, np.newaxis], rated], self.settings)

    def _record(
        self,
        before: RaceState,
        anytime: FloatArray,
        requests: dict[tuple[str, int], Request],
        inference_seconds: float,
    ) -> Round:
        state, names = self._state, self.names
        settled = last_unresolved(state.resolved) < 0
        upper = np.triu_indices(len(names), k=1)
        outcomes = [run.outcome for run in self._runs.values()]
        posterior, excess = self.posterior, None
        if self.model.pooled and not posterior.honest and state.instances > 1:
            excess = overconfidence(posterior)
        completed = Round(
            number=state.round,
            batch=len({request.draw for request in requests.values()}),
            instances=state.instances,
            runs=len(self._runs),
            failures=sum(not outcome.ok for outcome in outcomes),
            evaluations=sum(outcome.evaluations for outcome in outcomes),
            seconds=sum(outcome.seconds for outcome in outcomes),
            horizon={request.key.algorithm: request.until for request in requests.values()},
            dominance=strongest_rivals(names, before.candidates, anytime),
            eliminated={loser: by for loser, by in state.eliminated.items() if before.eliminated.get(loser) != by},
            withdrawn=tuple(name for name in state.withdrawn if name not in before.withdrawn),
            candidates=self.pareto_set,
            settled=tuple(name for index, name in enumerate(names) if settled[index] and state.candidates[index]),
            resolved_pairs=upper[0].size - int(np.count_nonzero(unresolved_pairs(state.resolved))),
            resolved_share=float(np.mean(state.resolved[:, upper[0], upper[1]])),
            next_batch=state.batch,
            smallest_ess=float(np.min(posterior.diagnostics.ess)),
            largest_k_hat=posterior.diagnostics.largest_k_hat,
            inference_seconds=inference_seconds,
            overconfidence=excess,
        )
        self._rounds = (*self._rounds, completed)
        if len(self.names) > FEW:
            self._posterior = None  # it may rate algorithms that were just eliminated
        return completed
