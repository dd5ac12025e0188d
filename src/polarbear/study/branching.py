"""Branches of recorded runs, which continue a run with its own optimizer or with another one."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np

from polarbear import optimizers, store
from polarbear.descriptions import did_you_mean
from polarbear.experiment import Task
from polarbear.optimizers.switch import Branched
from polarbear.problems import FiniteInstances, ProblemSpec
from polarbear.protocols import starts_from_others
from polarbear.racing.settings import by_name
from polarbear.records import STAY, Branch, Reason, Run, RunKey, Samples
from polarbear.records.branches import MOST_REPEATS
from polarbear.study.plan import Plan, plan_from_spec
from polarbear.study.plan_runner import run_plan
from polarbear.study.suitability import traits_and_dimension
from polarbear.study.summary import PlanSummary
from polarbear.validation import parse_number, whole_number

_LARGEST_SEED = 2**63 // MOST_REPEATS - 1
_SAME = 1e-9
"""Relative difference up to which a value counts as equal to the recorded one."""


class NotRepeatable(ValueError):  # noqa: N818 - states what happened
    """A recorded run has another result when it is repeated, so that nothing can branch off from it."""


class BranchPlan(Plan):
    """All branches of recorded runs, as a plan to execute; constructed by `plan_branches`.

    Args:
        plan: The plan by which the runs were made.
        recorded: The recorded runs.
        alternatives: The optimizers that may take over, by name.
        at: The numbers of evaluations at which branches begin: one or several.
        repeats: Number of repeats of each branch.
        horizon: Number of evaluations of a branch after its beginning.

    Attributes:
        recorded: The recorded runs by key.
        moments: For each run, the numbers of evaluations at which branches begin.
        horizon: As given.
        skipped: Number of branching points at which a run had already ended.

    Raises:
        ValueError: If an argument is out of range, no run continues, or an alternative cannot take over.
    """

    def __init__(
        self,
        plan: Plan,
        recorded: Sequence[Run],
        alternatives: Mapping[str, optimizers.Optimizer],
        at: int | str | Sequence[int | str],
        repeats: int = 5,
        horizon: int = 500,
    ) -> None:
        self.recorded = {run.key: run for run in recorded}
        self.horizon = whole_number(horizon, "horizon", 1)
        points: list[int | str] = _several(at)
        if not points:
            raise ValueError(
                "at is empty; give the numbers of evaluations after which to branch, such as 100 or '20*d'"
            )
        self._entrants = dict(plan.algorithms), dict(alternatives)
        named = {spec.name: (spec, d) for spec, d in zip(plan.problems, plan.dimensions, strict=True)}
        self.moments, self.skipped = dict[RunKey, list[int]](), 0
        for key, run in self.recorded.items():
            moments = {_evaluations(each, named[key.instance][1]) for each in points}
            self.moments[key] = sorted(moment for moment in moments if _goes_on(run, moment))
            self.skipped += len(moments) - len(self.moments[key])
        chosen = dict.fromkeys(key.instance for key, moments in self.moments.items() if moments)
        if not chosen:
            raise ValueError(f"at is {', '.join(map(str, points))}; every run had ended by then; give a smaller number")
        specs = [named[name][0] for name in chosen]
        _check_repeatable(specs)
        super().__init__(
            {branch.key.algorithm: self._switch(branch) for branch in self._branches([0])},
            FiniteInstances(tuple(specs)),
            repetitions=whole_number(repeats, "repeats", 1, MOST_REPEATS),
            budget=self.horizon,
            target_precision=plan.limits.target_precision,
            timeout=plan.limits.timeout,
        )
        self._position = {spec.name: position for position, spec in enumerate(self.problems)}

    def __contains__(self, key: RunKey) -> bool:
        """Whether a run is one of the branches."""
        return key in self._of_key

    @property
    def size(self) -> int:
        """Number of branches in total."""
        return len(self._of_key)

    @property
    def evaluations(self) -> int:
        """The evaluations of all branches if none ends by itself, including those before the branching."""
        return sum(branch.at + self.horizon for branch in self._of_key.values())

    def counts(self) -> Counter[tuple[str, int]]:
        """Number of runs by algorithm and dimension."""
        return Counter((key.algorithm, self.dimensions[self._position[key.instance]]) for key in self._of_key)

    def order(self) -> Iterator[tuple[RunKey, int]]:
        """All branches, repeat by repeat, each with the position of its problem in `problems`."""
        for key in self._of_key:
            yield key, self._position[key.instance]

    def task(self, key: RunKey, position: int, **limits: Any) -> Task:
        """One branch: the recorded run up to the branching, and its continuation."""
        branch = self._of_key[key]
        firsts, alternatives = self._entrants
        optimizer = Branched(
            first=firsts[branch.run.algorithm],
            second=None if branch.into == STAY else alternatives[branch.into],
            at=branch.at,
            before=branch.run.entropy(),
            after=branch.entropy,
            name=key.algorithm,
        )
        reach = dataclasses.replace(self.limits, evaluations=branch.at + self.horizon)
        return Task(key, self.problems[position], optimizer, dataclasses.replace(reach, **limits))

    def check(self, run: Run) -> None:
        """Check that the recorded run was repeated: its best value at the branching must be the recorded one.

        Raises:
            NotRepeatable: If it is not.
        """
        branch = self._of_key[run.key]
        recorded, now = (_value_at(each, branch.at) for each in (self.recorded[branch.run], run))
        if run.outcome.ok and not np.isclose(now, recorded, rtol=_SAME, atol=0):
            raise NotRepeatable(
                f"the run of {branch.run} had the best value {recorded!r} after {branch.at} evaluations, but has "
                f"{now!r} when repeated here; record it again with these versions on this machine, and branch "
                "that into a new study"
            )

    def describe(self) -> dict[str, Any]:
        """The plan as plain values that a study keeps."""
        plan = super().describe()
        return {"branch": {"repeats": self.repetitions, "horizon": self.horizon}} | {
            part: plan[part] for part in ("instances", "algorithms", "limits")
        }

    @cached_property
    def _of_key(self) -> dict[RunKey, Branch]:
        return {branch.key: branch for branch in self._branches(range(self.repetitions))}

    def _branches(self, repeats: Collection[int]) -> Iterator[Branch]:
        for repeat in repeats:
            for run, moments in self.moments.items():
                others = [name for name in self._entrants[1] if name != run.algorithm]
                for at in moments:
                    yield from (Branch(run, at, into, repeat) for into in (STAY, *others))

    def _switch(self, branch: Branch) -> optimizers.Optimizer:
        """The optimizer to which a branch corresponds, apart from its random numbers."""
        firsts, alternatives = self._entrants
        first = firsts[branch.run.algorithm]
        return first if branch.into == STAY else optimizers.Switch(first, alternatives[branch.into], at=branch.at)


def plan_branches(
    source: str | Path,
    *,
    at: int | str | Sequence[int | str],
    into: object | Sequence[object] | Mapping[str, object] | None = None,
    repeats: int = 5,
    horizon: int = 500,
    runs: Callable[[RunKey], bool] | None = None,
    imports: Collection[str] = (),
) -> BranchPlan:
    """The plan that `branch` executes; arguments and errors are those of `branch`."""
    with store.open(source) as study:
        spec = study.spec
        if "plan" not in spec:
            raise ValueError(f"{source} contains no plan; only runs made by polarbear run can be branched")
        plan = plan_from_spec(spec, imports)
        keys = [key for key in study if key in plan and (runs is None or runs(key))]
        recorded = [run for run in study.runs(keys) if run.outcome.reason is not Reason.FAILED]
    if plan.axis != "evaluations":
        raise ValueError(
            f"the budget of {source} is in {plan.axis}; only runs with a budget of evaluations can be branched"
        )
    if (most := max((key.seed for key in keys), default=0)) > _LARGEST_SEED:
        raise ValueError(f"a run has the seed {most}; only runs with seeds up to {_LARGEST_SEED} can be branched")
    if not recorded:
        raise ValueError(
            f"{source} contains no chosen run that did not fail; make runs with polarbear run, or choose others"
        )
    alternatives = _alternatives(into, plan)
    if odd := next((name for name in (*plan.algorithms, *alternatives) if "@" in name or name == STAY), None):
        raise ValueError(f"an algorithm is named {odd!r}; give it a name that does not contain @ and is not {STAY!r}")
    return BranchPlan(plan, recorded, alternatives, at, repeats, horizon)


def branch(
    source: str | Path,
    path: str | Path,
    *,
    at: int | str | Sequence[int | str],
    into: object | Sequence[object] | Mapping[str, object] | None = None,
    repeats: int = 5,
    horizon: int = 500,
    runs: Callable[[RunKey], bool] | None = None,
    imports: Collection[str] = (),
    **settings: Any,
) -> PlanSummary:
    """Branch off from recorded runs: each continues with its own optimizer, and with each of other optimizers.

    A branch is a run from the first evaluation on: the recorded run is repeated from its key up to the branching, where
    a population-based optimizer completes its generation. There an optimizer that takes over starts from the first
    one's state, as in `polarbear.optimizers.Switch`, and one that stays has its random states reseeded, so that repeats
    differ; points that it has already drawn remain. Branches at the same point with the same repeat share their seeds.
    The study is an ordinary one, whose keys say which branch a run is (`polarbear.records.Branch`); a further call
    continues it, possibly with more repeats, evaluations or optimizers.

    Args:
        source: A study of a plan, counted in evaluations.
        path: The study of the branches, created if it does not exist.
        at: The numbers of evaluations at which to branch off: one or several numbers, or multiples of the dimension
            such as ``"10*d"``. Runs that had ended by then are skipped.
        into: One or several optimizers, or names of the plan's; default all of the plan's. No run is switched to its
            own optimizer, which is the one with the same name.
        repeats: Number of repeats of each branch, with different random numbers.
        horizon: Number of evaluations of a branch after `at`.
        runs: A function that selects the runs to branch off from; default all.
        imports: Modules and packages that the study may import from, see `polarbear.study.modules_of`.
        **settings: Arguments of `polarbear.study.run_plan`, such as `workers`.
        runs: Which runs are left; default all.
        imports: Modules and packages that the study may import from, see `polarbear.study.modules_of`.
        **settings: As `polarbear.study.run_plan` takes them, such as `workers`.

    Raises:
        NotRepeatable: If a recorded run now has another result, such as on another machine.
        ValueError: If the study contains no such plan, an optimizer is unknown, cannot take over or has a name that
            stands for another one, its problems are noisy, or an argument is out of range.
    """
    chosen: dict[str, Any] = {"at": at, "into": into, "repeats": repeats, "horizon": horizon, "runs": runs}
    return run_plan(plan_branches(source, **chosen, imports=imports), path, **settings)


def branch_features(
    source: str | Path, plan: BranchPlan, compute: Callable[..., dict[str, float]] | None = None, **settings: Any
) -> dict[tuple[RunKey, int], dict[str, float]]:
    """Features of what was known of the runs at the branching points, by run and number of evaluations.

    Args:
        source: The study of the runs, which must contain all points (``points = "all"`` in the plan's log).
        plan: The branches.
        compute: The function called as ``compute(run, lower, upper, until=at, **settings)``, such as
            `polarbear.landscape.run_features`; default `polarbear.landscape.recent_features` of the points until then.
        settings: Arguments of `compute`, such as ``last`` and ``sets`` of `polarbear.landscape.recent_features`.

    Raises:
        ValueError: If not all points of a run were kept.
    """
    boxes = {spec.name: spec.build() for spec in plan.problems}
    found = dict[tuple[RunKey, int], dict[str, float]]()
    with store.open(source) as study:
        for run in chain.from_iterable(study.with_samples(plan.recorded.values())):
            for at in plan.moments[run.key]:
                kept, box = run.samples, boxes[run.key.instance]
                if kept is None or len(kept.evaluations) < at or kept.evaluations[at - 1] != at:
                    raise ValueError(
                        f'not all points of {run.key} were kept; record it again with points = "all" in the log '
                        "of its plan"
                    )
                found[run.key, at] = (compute or _recent)(run, box.lower, box.upper, until=at, **settings)
    return found


def _recent(run: Run, lower: Any, upper: Any, *, until: int, **settings: Any) -> dict[str, float]:
    from polarbear.landscape import recent_features  # slow to import

    kept = cast("Samples", run.samples)
    return recent_features(kept.points[:until], kept.values[:until], lower, upper, **settings)


def _alternatives(into: object, plan: Plan) -> dict[str, optimizers.Optimizer]:
    """The optimizers that may take over, by name; names of the plan's algorithms stand for these."""
    if isinstance(into, Mapping):
        mapping = cast("Mapping[str, object]", into)
        given = {str(name): optimizers.as_optimizer(each) for name, each in mapping.items()}
    else:
        listed: list[object] = list(plan.algorithms) if into is None else _several(into)
        if unknown := next((each for each in listed if isinstance(each, str) and each not in plan.algorithms), None):
            raise ValueError(f"the study has no algorithm {unknown!r};{did_you_mean(unknown, plan.algorithms)}")
        named = by_name([each if isinstance(each, str) else optimizers.as_optimizer(each) for each in listed])
        given = {
            name: plan.algorithms[name] if isinstance(each, str) else cast("optimizers.Optimizer", each)
            for name, each in named.items()
        }
    if taken := next((name for name in given if name in plan.algorithms and _differ(given[name], plan, name)), None):
        raise ValueError(
            f"into names an optimizer {taken!r}, but the plan's algorithm of that name is a different one; give the "
            f"optimizer another name: into={{'another name': …}}"
        )
    if not set(given) - set(plan.algorithms) and len(plan.algorithms) < 2:
        raise ValueError("into names only the study's single algorithm; name another optimizer")
    if unable := [name for name, each in given.items() if not starts_from_others(each)]:
        raise ValueError(
            f"{unable[0]} cannot start from another optimizer; leave it out, and name only the others: into=…"
        )
    return given


def _several(given: object) -> list[Any]:
    """The entries of an iterable; anything else, including a string, is a single entry."""
    if isinstance(given, Iterable) and not isinstance(given, str):
        return list(cast("Iterable[Any]", given))
    return [given]


def _differ(optimizer: optimizers.Optimizer, plan: Plan, name: str) -> bool:
    """Whether an optimizer differs from the plan's optimizer of a given name, regardless of its own name."""
    one, other = (optimizers.describe(each) | {"name": ""} for each in (optimizer, plan.algorithms[name]))
    return one != other


def _evaluations(at: int | str, dimension: int) -> int:
    """A number of evaluations, rounded down."""
    return whole_number(int(parse_number(at, dimension)) if isinstance(at, str) else at, "at", 1)


def _value_at(run: Run, evaluations: int) -> float:
    return float(run.trajectory.value_at([evaluations])[0])


def _goes_on(run: Run, at: int) -> bool:
    """Whether a run can be branched off from then: not if it had ended by itself."""
    end = run.outcome
    return at < end.evaluations or (at == end.evaluations and end.reason is Reason.BUDGET)


def _check_repeatable(specs: Sequence[ProblemSpec]) -> None:
    """Refuse noisy problems, on which a repeated run would not see the same values."""
    for spec in specs:
        built = traits_and_dimension(spec)
        if built is not None and built[0].noisy:
            raise ValueError(
                f"{spec.name} is noisy; branching repeats runs, and therefore needs problems without noise"
            )
