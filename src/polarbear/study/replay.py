"""Races on recorded runs: what a race would have found and saved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from decimal import ROUND_DOWN, Context
from pathlib import Path
from typing import Any

import numpy as np

from polarbear import store
from polarbear.descriptions import FieldError, errors_at
from polarbear.racing import Race, RaceResult, Request
from polarbear.records import Axis, FloatArray, Outcome, Reason, Run, Trajectory, log_times
from polarbear.select import BudgetRange, parse_budget

RECORDED = "recorded"
"""Key in a study's specification for instances and algorithms of which there are only recorded runs."""
_TIMEPOINTS = 50
_FIRST = 10.0
_SHORTEST = 1e-3
"""The first default timepoint in seconds as a share of the last; earlier ones show the jitter of clocks."""
_NAMED = 5
"""Number of algorithms with unknown values that are named."""
_DIGITS = Context(prec=2, rounding=ROUND_DOWN)
"""Rounding of times, as runs exceed their budget in seconds by their last evaluation."""


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """A race on recorded runs.

    Attributes:
        result: What the race found.
        everything: What a single round on all recorded runs finds, with the same settings.
        blocks: Number of instances (with their repetitions) on which two or more algorithms have a run.
        whole: Number of those on which every algorithm has a run; the others give partial rankings.
        passed_over: Number of instances on which a single algorithm has a run, which took no part.
        recorded: Evaluations (or seconds) of all runs of the blocks up to the last timepoint.
        spent: Evaluations (or seconds) that the race would have requested.
        unknown: For each algorithm, the share of its values at the timepoints that is unknown: those beyond the end of
            a run that was cut short, or that is not known to have solved its problem.
    """

    result: RaceResult
    everything: RaceResult
    blocks: int
    whole: int
    passed_over: int
    recorded: float
    spent: float
    unknown: Mapping[str, float]

    @property
    def saved(self) -> float:
        """The share of the recorded effort that the race would have saved."""
        return 1.0 - self.spent / self.recorded if self.recorded else 0.0

    @property
    def agrees(self) -> bool:
        """Whether the race found the Pareto set of all runs together."""
        return self.result.pareto_set == self.everything.pareto_set

    def as_dict(self) -> dict[str, Any]:
        """The replay as plain values for JSON."""
        return {
            "blocks": self.blocks,
            "whole": self.whole,
            "passed_over": self.passed_over,
            "blocks_used": len(self.result.values),
            "recorded": self.recorded,
            "spent": self.spent,
            "saved": self.saved,
            "unknown": dict(self.unknown),
            "pareto_set": list(self.result.pareto_set),
            "pareto_set_of_all_runs": list(self.everything.pareto_set),
        }

    def __str__(self) -> str:
        members, of_all = ", ".join(self.result.pareto_set), ", ".join(self.everything.pareto_set)
        agreement = "the same as with all recorded runs" if self.agrees else f"with all recorded runs: {of_all}"
        partial = f", {self.blocks - self.whole:,} of them lacking some algorithms" if self.whole < self.blocks else ""
        passed = f"; not used: {self.passed_over:,} with runs of only one algorithm" if self.passed_over else ""
        axis = self.result.settings.axis
        return (
            f"{axis} spent: {_effort(self.spent, axis)} of {_effort(self.recorded, axis)} recorded "
            f"({self.saved:.0%} saved), {len(self.result.values):,} of {self.blocks:,} instances{partial}{passed}\n"
            f"anytime Pareto set: {members} ({agreement}){self._unknown_in_words()}"
        )

    def _unknown_in_words(self) -> str:
        """A line on the share of values that is unknown; empty if none is."""
        some = sorted(((share, name) for name, share in self.unknown.items() if share > 0), reverse=True)
        if not some:
            return ""
        named = ", ".join(f"{name} {share:.1%}" for share, name in some[:_NAMED])
        more = f" and {len(some) - _NAMED} more" if len(some) > _NAMED else ""
        return (
            f"\nunknown values at the timepoints: {named}{more}. They lie beyond the end of their runs; if these "
            "ended because they had solved their problem, give the value that counts as solved: "
            "--final-target VALUE (final_target=…)"
        )


def replay(
    race: Race, runs: Sequence[Run], *, final_target: float | None = None, into: str | Path | None = None
) -> Replay:
    """Race on recorded runs: each request is answered by the recorded run, cut where the race would have cut it.

    Instances come in an order drawn from the race's seed; where an algorithm has no run, the others are ranked without
    it. A run recorded for a shorter time than requested is unknown beyond its end, unless it ended by itself.

    Args:
        race: A new race whose algorithms are named as in the runs; see `recorded_race`.
        runs: The recorded runs; those of other algorithms are ignored.
        final_target: The value at which a run has solved its problem: from then on it is known, and ties with all
            others that have. It is a precision if the run's optimum is known, else a value. Default: the runs' own
            targets.
        into: A new study that keeps the race, its rounds, and the runs as it used them.

    Raises:
        ValueError: If the final target is not finite, there are two runs with the same key, or instances do not link
            all algorithms: some have none in common with the others, not even through third ones.
        FileExistsError: If there is something at `into`.
    """
    blocks, passed_over = _blocks(runs, race.names, final_target)
    order: list[int] = np.random.default_rng([race.settings.seed, 1]).permutation(len(blocks)).tolist()
    last = float(race.times[-1])
    everything = _everything(race, blocks)
    with nullcontext() if into is None else store.create(into, _spec(race, runs, final_target)) as study:
        while requests := race.ask(len(blocks)):
            answers = _tell(race, requests, [blocks[order[request.draw]] for request in requests])
            if study is not None:
                study.extend(answers)
                study.append_round({"round": race.rounds[-1].as_dict(), "state": race.state.as_dict()})
    result = race.result()
    return Replay(
        result=result,
        everything=everything,
        blocks=len(blocks),
        whole=sum(len(block) == len(race.names) for block in blocks),
        passed_over=passed_over,
        recorded=sum(_length(run, last, race.settings.axis) for block in blocks for run in block.values()),
        spent=result.evaluations if race.settings.axis == "evaluations" else race.rounds[-1].seconds,
        unknown={name: _unknown(name, blocks, race) for name in race.names},
    )


def _spec(race: Race, runs: Sequence[Run], final_target: float | None) -> dict[str, Any]:
    """The specification of the study of a race on recorded runs; nothing can be run from it."""
    problems = {(run.problem.suite, run.problem.function, run.problem.dimension) for run in runs}
    return {
        "race": race.describe(),
        "instances": {RECORDED: [list(problem) for problem in sorted(problems)], "final_target": final_target},
        "algorithms": {name: {RECORDED: name} for name in race.names},
        "limits": {"target_precision": None, "timeout": None},
    }


def recorded_result(race: Race, runs: Sequence[Run], *, final_target: float | None = None) -> RaceResult:
    """The result of a single round on all recorded runs; arguments and errors are those of `replay`."""
    return _everything(race, _blocks(runs, race.names, final_target)[0])


def recorded_race(
    runs: Sequence[Run],
    *,
    times: FloatArray | None = None,
    budget: str | float | None = None,
    spec: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Race:
    """A race of the algorithms of recorded runs.

    Args:
        runs: The recorded runs.
        times: (T,) timepoints; default 50, evenly spaced on a log scale, up to the budget that half of the runs of
            every algorithm reached, unless they ended by themselves before. Evaluations begin at 10. Seconds begin once
            half of the runs of every algorithm have found a value, but not below a thousandth of the last timepoint,
            which is rounded down to two digits.
        budget: The end, or the beginning and end, of the default timepoints: ``300``, ``"100*d"``, ``"10*d..100*d"``,
            where d is the runs' number of variables.
        spec: The specification of the study that contains the runs. Without an `axis` in the settings, the race is over
            seconds if the study's plan or race was and the runs have seconds, and otherwise over evaluations.
        **settings: Arguments of `polarbear.Race`.

    Raises:
        ValueError: If there are fewer than two algorithms, no timepoints are given and runs are too short for the
            default, or the budget is invalid.
    """
    names = sorted({run.key.algorithm for run in runs})
    axis: Axis = settings.setdefault("axis", _recorded_axis(spec or {}, runs))
    if times is None and budget is not None:
        times = _times_to(budget, axis, {run.problem.dimension for run in runs} - {0})
    elif times is None and names:
        times = _usual_times([[run for run in runs if run.key.algorithm == name] for name in names], axis)
    return Race(names, times=() if times is None else times, **settings)


def _times_to(budget: str | float, axis: Axis, dimensions: Collection[int]) -> FloatArray:
    """Timepoints up to a budget, or from one budget to another."""
    with errors_at("budget"):
        said = parse_budget(str(budget), next(iter(dimensions)) if len(dimensions) == 1 else None)
    if isinstance(said, BudgetRange):
        return log_times(said.low, said.high, _TIMEPOINTS, axis)
    if isinstance(said, float):
        return log_times(min(_FIRST, said / 2) if axis == "evaluations" else said * _SHORTEST, said, _TIMEPOINTS, axis)
    raise FieldError(
        ("budget",), f"budget is {budget!r}; give one up to which to compare runs, or a range such as 10*d..100*d"
    )


def _usual_times(groups: Sequence[Sequence[Run]], axis: Axis) -> FloatArray:
    """Default timepoints for the runs of each algorithm."""
    known = [[_known_until(run, axis) for run in group] for group in groups]
    longest = max(_length(run, np.inf, axis) for group in groups for run in group)
    first, reach = _FIRST, min(longest, *(float(np.median(until)) for until in known))
    if axis == "seconds":
        reach = float(_DIGITS.create_decimal(repr(reach)))
        began = [[np.append(run.trajectory.seconds, np.inf)[0] for run in group] for group in groups]
        first = max(reach * _SHORTEST, *(float(np.median(times)) for times in began))
        if reach and first >= reach:
            raise ValueError(f"half of the runs of an algorithm found no value within {reach:g} s; give timepoints")
    if reach <= first:
        raise ValueError(f"half of the runs of an algorithm ended within {reach:g} {axis}; give timepoints")
    return log_times(first, reach, _TIMEPOINTS, axis)


def _recorded_axis(spec: Mapping[str, Any], runs: Sequence[Run]) -> Axis:
    """Seconds if everything in the study was counted in them and the runs have them; otherwise evaluations."""
    timed = any(run.outcome.seconds > 0 for run in runs)
    return "seconds" if timed and set(_axes(spec)) == {"seconds"} else "evaluations"


def _axes(spec: Mapping[str, Any]) -> Iterator[str]:
    """The axes of the plan or race of a study, and of the studies merged into it."""
    for kind in ("plan", "race"):
        if kind in spec:
            yield spec[kind]["axis"]
    for merged in spec.get("merged", ()):
        yield from _axes(merged["spec"])


def _blocks(runs: Sequence[Run], names: Sequence[str], final_target: float | None) -> tuple[list[dict[str, Run]], int]:
    """The runs on each instance and repetition with two or more algorithms, and the number of the others."""
    if final_target is not None:
        runs = [_solved(run, final_target) for run in runs]
    grouped: defaultdict[tuple[str, int], dict[str, Run]] = defaultdict(dict)
    for run in runs:
        if run.key.algorithm in names:
            block = grouped[run.key.instance, run.key.seed]
            if run.key.algorithm in block:
                raise ValueError(f"there are two runs of {run.key}; give each repetition its own seed")
            block[run.key.algorithm] = run
    blocks = [grouped[key] for key in sorted(grouped) if len(grouped[key]) > 1]
    linked, unlinked = _linked(names, {frozenset(block) for block in blocks})
    if unlinked:
        raise ValueError(
            f"no instance has runs both of one of {', '.join(linked)} and of one of {', '.join(unlinked)}, so they "
            "cannot be compared; leave some out, or give runs on the same instances and repetitions"
        )
    return blocks, len(grouped) - len(blocks)


def _linked(names: Sequence[str], together: Collection[frozenset[str]]) -> tuple[list[str], list[str]]:
    """The algorithms that instances link to the first one, possibly through others, and the rest."""
    linked, size = {names[0]}, 0
    while len(linked) > size:
        size = len(linked)
        linked.update(*(group for group in together if linked & group))
    return [name for name in names if name in linked], [name for name in names if name not in linked]


def _everything(race: Race, blocks: Sequence[Mapping[str, Run]]) -> RaceResult:
    """The result of one round on all recorded runs."""
    size = len(blocks)
    settings: dict[str, Any] = asdict(race.settings) | {"batch": size, "smallest_batch": 1, "largest_batch": size}
    whole = Race(race.names, times=race.times, model=race.model, **settings)
    requests = whole.ask(size)
    _tell(whole, requests, [blocks[request.draw] for request in requests])
    return whole.result()


def _tell(race: Race, requests: Sequence[Request], blocks: Sequence[Mapping[str, Run]]) -> list[Run]:
    """Answer each request with the run recorded in its block; return the answers."""
    axis, answers, unavailable = race.settings.axis, list[Run](), list[Request]()
    for request, block in zip(requests, blocks, strict=True):
        if recorded := block.get(request.key.algorithm):
            answers.append(_answer(recorded, request, axis))
        else:
            unavailable.append(request)
    race.tell(answers, unavailable=unavailable)
    return answers


def _answer(recorded: Run, request: Request, axis: Axis) -> Run:
    key = replace(request.key, instance=recorded.key.instance)
    trajectory = _until(recorded.trajectory, request.until, axis)
    point = recorded.solution if trajectory is recorded.trajectory else None
    return replace(recorded, key=key, trajectory=trajectory, parameters=None, solution=point)


def _until(trajectory: Trajectory, until: float, axis: Axis) -> Trajectory:
    """The trajectory of a run if it had been stopped at time `until`."""
    end = trajectory.outcome
    if (end.evaluations if axis == "evaluations" else end.seconds) <= until:
        return trajectory
    kept = int(np.searchsorted(trajectory.along(axis), until, side="right"))
    evaluations, seconds = trajectory.evaluations[:kept], trajectory.seconds[:kept]
    stop = (
        Outcome(Reason.BUDGET, int(until), float(seconds[-1]) if kept else 0.0)
        if axis == "evaluations"
        else Outcome(Reason.BUDGET, int(evaluations[-1]) if kept else 0, until)
    )
    return Trajectory(evaluations, seconds, trajectory.values[:kept], stop)


def _solved(run: Run, final_target: float) -> Run:
    """The run with the given target, at which it ended if it reached it."""
    if not np.isfinite(final_target):
        raise ValueError(f"final_target is {final_target!r}; it must be a finite precision or value")
    target = final_target + (run.optimum or 0.0)
    if run.trajectory.best > target or not run.outcome.cut_short:
        return replace(run, target=target)
    outcome = replace(run.outcome, reason=Reason.TARGET)
    return replace(run, target=target, trajectory=replace(run.trajectory, outcome=outcome))


def _unknown(name: str, blocks: Sequence[Mapping[str, Run]], race: Race) -> float:
    """The share of unknown values of an algorithm's runs at the timepoints."""
    runs = [block[name] for block in blocks if name in block]
    return float(np.mean([np.isnan(run.trajectory.value_at(race.times, race.settings.axis)) for run in runs]))


def _length(run: Run, until: float, axis: Axis) -> float:
    """The evaluations or seconds of a run, at most `until`."""
    return min(float(run.outcome.evaluations if axis == "evaluations" else run.outcome.seconds), until)


def _known_until(run: Run, axis: Axis) -> float:
    """The time until which a run's values are known: infinite if it ended by itself."""
    return _length(run, np.inf, axis) if run.outcome.cut_short else np.inf


def _effort(amount: float, axis: Axis) -> str:
    """A number of evaluations, or of seconds with at least three digits, as text."""
    return f"{amount:,.0f}" if axis == "evaluations" or amount >= 100 else f"{amount:.3g}"
