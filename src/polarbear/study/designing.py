"""Design of optimizers: a proposer's candidates are checked and raced, and the verdicts are returned to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from polarbear import optimizers, problems, store
from polarbear.configure import Space
from polarbear.conformance import CHECKS, examine
from polarbear.descriptions import did_you_mean, plain_value, printable
from polarbear.design import Candidate, History, Proposer
from polarbear.experiment import Confinement, ProposedCode, WorkerError, WorkerPool
from polarbear.experiment.proposed import inspect_code
from polarbear.racing import Race, RaceResult, RaceSettings
from polarbear.racing.settings import by_name
from polarbear.records import Outcome
from polarbear.study.configuring import VALIDATE, race_beside, race_on_fresh
from polarbear.study.design_verdicts import Finding, history_of
from polarbear.study.observer import Observer
from polarbear.study.race_runner import EveryRunFailed, Rounds, keep_round, plan_of
from polarbear.study.resume import RunMaker, opened, restore
from polarbear.study.suitability import Unsuitable, check_pairs, first_problems
from polarbear.validation import Checked, real, settings, whole, whole_number

IMPORTS = (
    *("__future__", "abc", "bisect", "collections", "dataclasses", "enum", "functools", "heapq", "itertools", "math"),
    *("numbers", "numpy", "operator", "random", "scipy", "statistics", "typing"),
)
"""The packages that proposed code may import."""


def _names(value: Any, name: str) -> tuple[str, ...]:
    if isinstance(value, str) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"{name} is {value!r}; give a list of names")
    return tuple(value)


def _checks(value: Any, name: str) -> tuple[str, ...]:
    for each in (names := _names(value, name)):
        if each not in CHECKS:
            raise ValueError(f"{name} names {each!r};{did_you_mean(each, CHECKS)}")
    return names


@settings(kw_only=True)
class DesignSettings:
    """Settings by which candidates are judged.

    Attributes:
        on: Maximum number of instances on which a candidate runs.
        checks: The checks of `polarbear.conformance` that candidates must pass, those most likely to fail first.
        imports: Packages that code may import, as far as its import statements show.
        timeout: Maximum number of seconds of a run or a check.
        alpha: See `polarbear.racing.RaceSettings`.
        epsilon: See `polarbear.racing.RaceSettings`.
        seed: The seed of instances, of runs, and of what proposers draw by `History.rng`.
    """

    on: Annotated[int, whole(2)] = 24
    checks: Annotated[tuple[str, ...], Checked(_checks)] = ("budget", "bounds", "seed")
    imports: Annotated[tuple[str, ...], Checked(_names)] = IMPORTS
    timeout: Annotated[float, real(gt=0)] = 60.0
    alpha: Annotated[float, real(gt=0.5, lt=1)] = 0.95
    epsilon: Annotated[float, real(ge=0, lt=0.5)] = 0.05
    seed: Annotated[int, whole(0)] = 0


class DesignObserver(Observer):
    """An observer of the design of optimizers; override the methods you need."""

    def proposed(self, generation: int, candidates: Sequence[Candidate]) -> None:
        """Called when candidates are about to be checked."""

    def judged(self, history: History) -> None:
        """Called when a generation is over, with all verdicts so far."""


@dataclass(frozen=True, slots=True, eq=False)
class DesignResult:
    """The result of a design.

    Attributes:
        history: All verdicts, and the Pareto set of the candidates and the optimizers that they were raced against.
        race: The race of the Pareto set and the latter on fresh instances, which is the result to trust: candidates
            were selected by their runs in the design. None if only one was left.
        path: The path of that race's study, an ordinary one.
    """

    history: History
    race: RaceResult | None
    path: Path

    @property
    def pareto_set(self) -> tuple[str, ...]:
        """The names of those not found to be dominated, on fresh instances if there was a race on them."""
        return self.race.pareto_set if self.race else self.history.pareto_set

    @property
    def candidates(self) -> dict[str, Candidate]:
        """The candidates in the Pareto set."""
        known = {each.name: each.candidate for each in self.history.elites}
        return {name: known[name] for name in self.pareto_set if name in known}

    def as_dict(self) -> dict[str, Any]:
        """The result as plain values."""
        return {
            "verdicts": [each.as_dict() for each in self.history.verdicts],
            "pareto_set": list(self.pareto_set),
            "race": str(self.path) if self.race else None,
        }

    def __str__(self) -> str:
        where = "on fresh instances" if self.race else "in the design"
        return "\n".join([*map(str, self.history.verdicts), f"Pareto set {where}: {', '.join(self.pareto_set)}"])


def design(
    propose: Proposer,
    instances: object,
    path: str | Path,
    *,
    times: ArrayLike,
    space: Space | None = None,
    against: Sequence[object] = (optimizers.RandomSearch(),),
    generations: int = 10,
    validate: int = VALIDATE,
    workers: int = 1,
    confinement: Confinement | None = None,
    observer: DesignObserver | None = None,
    **options: Any,
) -> DesignResult:
    """Design optimizers for problems; create the study at `path`, or resume it.

    In each generation, `propose` receives the verdicts on all candidates so far and returns new ones. They are
    inspected and checked; those that pass join the race to the anytime Pareto set, on the instances that the others
    have run on and with the same seeds, and leave it once another one dominates them with confidence. All proposals are
    kept: a design that was interrupted continues with them and does not request them again.

    Proposed code is mere text to the driver, which neither runs nor parses it. It runs in worker processes with limits
    on time and memory; `Confinement` says what these protect against, and what not.

    Args:
        propose: A function from `polarbear.design.History` to candidates. It is trusted and runs in this process.
        instances: A distribution of problem instances (see `polarbear.problems`), or a list of problems, which are
            repeated with other seeds if necessary.
        path: The study's directory.
        times: (T,) timepoints at which candidates are compared, in evaluations.
        space: The space of candidates that are configurations.
        against: Optimizers, or functions, that the candidates compete with; at least one.
        generations: Total number of generations; a larger number continues a design.
        validate: Number of fresh instances on which the Pareto set is raced at the end.
        workers: Number of worker processes.
        confinement: Restrictions on these processes; by default only a memory limit of 2 GiB each.
        observer: An observer that is notified of everything that happens.
        **options: See `DesignSettings`.

    Raises:
        ValueError: If a setting is out of range, or two of `against` have the same name.
        TypeError: If the proposer returns anything other than candidates.
        OtherSettings: If the study at `path` was made with other settings; the message names them.
        Unsuitable: If one of `against` does not suit the problems.
        EveryRunFailed: If no run of one of `against` got anywhere.
        Exception: Whatever the proposer raises; what was done is kept, and the same call continues it.
    """
    chosen = DesignSettings(**options)
    generations, validate = whole_number(generations, "generations", 1), whole_number(validate, "validate", 2)
    stream, location = problems.as_instances(instances), store.place(path)
    named = by_name([optimizers.as_optimizer(each) for each in against])
    rivals = {name: cast("optimizers.Optimizer", each) for name, each in named.items()}
    if not rivals:
        raise ValueError("against is empty; name at least one optimizer that candidates compete with")
    rules = {"times": times, "alpha": chosen.alpha, "epsilon": chosen.epsilon, "seed": chosen.seed}
    size = min(stream.size or chosen.on, chosen.on)
    limited = problems.FiniteInstances(tuple(stream[draw % size] for draw in range(chosen.on)))
    spec = _specification(location, chosen, space, rivals, limited, rules)
    guarded = confinement or Confinement()
    with (
        opened(location, spec) as (study, _),
        WorkerPool(workers, chosen.timeout, confinement=guarded, preload=("polarbear.conformance",)) as pool,
    ):
        designer = _Designer(study, pool, chosen, space, rivals, limited, rules, observer or DesignObserver())
        history = designer.run(propose, generations)
        entrants = designer.entrants()
        last = {name: entrants[name] for name in dict.fromkeys([*history.pareto_set, *rivals])}
        final = race_beside(location)
        raced = None
        if len(last) > 1:
            raced = race_on_fresh(last, stream, final, validate, rules, executor=pool, timeout=chosen.timeout)
    return DesignResult(history, raced, final)


def _specification(
    location: Path,
    chosen: DesignSettings,
    space: Space | None,
    rivals: Mapping[str, optimizers.Optimizer],
    limited: problems.Instances,
    rules: Mapping[str, Any],
) -> dict[str, Any]:
    """The specification of the study at `location`, including the proposals that it already contains."""
    kept: dict[str, Any] = {"generations": [], "findings": {}}
    algorithms: dict[str, Any] = {}
    if store.exists(location):
        with store.open(location) as study:
            kept |= {field: study.spec.get("design", {}).get(field, kept[field]) for field in kept}
            algorithms = {name: each for name, each in study.spec["algorithms"].items() if name in kept["findings"]}
    placeholder = Race([*rivals, "candidates"], **rules)
    plan = plan_of(Race(dict(rivals) | {"candidates": optimizers.RandomSearch()}, **rules), limited, chosen.timeout)
    described = plan.describe()
    described["algorithms"] = {name: described["algorithms"][name] for name in rivals} | algorithms
    judged = plain_value(asdict(chosen))
    searched = space.describe() if space else None
    return {"race": placeholder.describe(), **described, "design": {**judged, "space": searched, **kept}}


class _Designer:
    """Checks candidates, races them, and keeps everything in the study.

    Args:
        study: The open study.
        pool: The confined workers.
        chosen: The settings.
        space: The space of configurations.
        rivals: The optimizers that candidates are raced against.
        stream: The instances.
        rules: Arguments of `Race`.
        observer: An observer that is notified of everything.
    """

    def __init__(
        self,
        study: store.StudyStore,
        pool: WorkerPool,
        chosen: DesignSettings,
        space: Space | None,
        rivals: Mapping[str, optimizers.Optimizer],
        stream: problems.FiniteInstances,
        rules: Mapping[str, Any],
        observer: DesignObserver,
    ) -> None:
        self._study, self._pool, self._chosen, self._space = study, pool, chosen, space
        self._rivals, self._stream, self._rules, self._observer = rivals, stream, rules, observer
        self._spec: dict[str, Any] = study.spec
        kept = self._spec["design"]
        self._generations = [[Candidate(**each) for each in generation] for generation in kept["generations"]]
        self._findings = {name: Finding(**each) for name, each in kept["findings"].items()}

    def run(self, propose: Proposer, generations: int) -> History:
        """Continue until there are `generations` generations or the proposer has no more candidates."""
        history = self._judge()
        while len(self._generations) < generations:
            candidates = _candidates(propose(history))
            if not candidates:
                break
            self._generations.append(candidates)
            self._spec["design"]["generations"].append([each.as_dict() for each in candidates])
            self._study.replace_spec(self._spec)
            history = self._judge()
        return history

    def entrants(self) -> dict[str, optimizers.Optimizer]:
        """All participants of the race: the rivals, and the candidates that passed."""
        passed = {
            each.name: self._optimizer(each)
            for generation in self._generations
            for each in generation
            if each.name in self._findings and not self._findings[each.name].wrong
        }
        return {**self._rivals, **passed}

    def _judge(self) -> History:
        """Check and race the candidates that have not been yet, and return all verdicts."""
        if self._generations:
            self._observer.proposed(len(self._generations), self._generations[-1])
        for candidate in (each for generation in self._generations for each in generation):
            if candidate.name not in self._findings:
                self._keep(candidate, self._examined(candidate))
        race = self._raced()
        times = RaceSettings().timepoints(self._rules["times"])
        history = history_of(self._generations, self._findings, race, self._study.outcomes(), self._chosen.seed, times)
        if self._generations:
            self._observer.judged(history)
        return history

    def _keep(self, candidate: Candidate, finding: Finding) -> None:
        self._findings[candidate.name] = finding
        self._spec["design"]["findings"][candidate.name] = finding._asdict()
        if not finding.wrong:
            self._spec["algorithms"][candidate.name] = optimizers.describe(self._optimizer(candidate))
        self._study.replace_spec(self._spec)

    def _optimizer(self, candidate: Candidate) -> optimizers.Optimizer:
        if candidate.code is not None:
            return ProposedCode(candidate.code, candidate.name)
        return cast("Space", self._space).optimizer(candidate.configuration or {})

    def _examined(self, candidate: Candidate) -> Finding:
        """Inspect and check a candidate before it races."""
        printed = ""
        if candidate.code is None:
            if self._space is None:
                return Finding("it is a configuration, but the design has no space", "")
            if wrong := self._space.fault(candidate.configuration or {}):
                return Finding(wrong, "")
            try:
                check_pairs({candidate.name: self._optimizer(candidate)}, first_problems(self._stream))
            except Unsuitable as error:
                return Finding(str(error), "")
        else:
            code, chosen = candidate.code, self._chosen
            inspected = self._pool.submit(inspect_code, code, candidate.name, chosen.imports, chosen.timeout)
            try:
                inspection = inspected.result()
            except WorkerError as error:
                return Finding(f"its process was lost: {error}", "")
            printed = printable(inspection["printed"])
            if inspection["wrong"]:
                return Finding(printable(inspection["wrong"]), printed)
        entrant = self._optimizer(candidate)
        report = examine(entrant, checks=self._chosen.checks, pool=self._pool, until_wrong=True)
        wrong = [f"it fails the check {each.check!r}: {each.wrong}" for each in report.findings if each.wrong]
        return Finding(printable("; ".join(wrong)), printed)

    def _raced(self) -> Race | None:
        """Race all that passed until every pair is resolved or all instances are used; None if there are none."""
        entrants = self.entrants()
        if len(entrants) == len(self._rivals):
            return None
        race = Race(dict(entrants), **self._rules)
        restore(race, self._study, self._study.runs(), accept_damage=False)
        plan = plan_of(race, self._stream, self._chosen.timeout)
        self._observer.started(race, resumed=bool(race.rounds))
        rounds = Rounds(race, plan, RunMaker(self._study, self._pool, set(), 0), self._observer, tolerant=True)
        reason = rounds.drive()
        self._check_rivals(race)
        values = race.result().values
        nothing = [name for name in race.pareto_set if np.isnan(values[:, :, race.names.index(name)]).all()]
        if nothing and (decided := race.withdraw(*nothing)) is not None:
            keep_round(decided, race, self._study, self._observer)
        self._observer.stopped(race, reason)
        return race

    def _check_rivals(self, race: Race) -> None:
        """Check that candidates compete with something: a rival that fails in each run would lose to all.

        Raises:
            EveryRunFailed: If all runs of a rival failed before they found anything by a timepoint.
        """
        outcomes = dict[str, list[Outcome]]()
        for key, outcome in self._study.outcomes():
            outcomes.setdefault(key.algorithm, []).append(outcome)
        values = race.result().values
        for name in self._rivals:
            found = np.isfinite(values[:, :, race.names.index(name)]).any()
            if not found and (ends := outcomes.get(name)) and not any(end.ok for end in ends):
                raise EveryRunFailed(
                    f"no run of {name}, which the candidates compete with, found a value; the first: {ends[0].reason}: "
                    f"{ends[0].message}. Fix the cause and start a new study"
                )


def _candidates(proposed: object) -> list[Candidate]:
    """The candidates that a proposer returned.

    Raises:
        TypeError: If `proposed` is anything other than candidates.
    """
    try:
        listed = list(cast("Sequence[Any]", proposed))
    except TypeError as error:
        raise TypeError(f"the proposer returned {proposed!r}; return a list of candidates") from error
    for each in listed:
        if not isinstance(each, Candidate):
            raise TypeError(f"the proposer returned {each!r}; return polarbear.design.Candidate(code=...)")
    return listed
