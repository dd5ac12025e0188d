"""Creating or resuming a study: check its settings, restore its race, and execute the runs that it lacks.

`opened` compares settings; `built` constructs optimizers and problems from their descriptions, once the study's owner
has named what may be imported; `restore` restores a race; `RunMaker` executes and commits missing runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from polarbear import inference, optimizers, problems, store
from polarbear.descriptions import reference, references
from polarbear.experiment import ProposedCode, Task, WorkerPool, run_tasks
from polarbear.experiment.cluster import Apart
from polarbear.racing import Race
from polarbear.records import Axis, Reason, Run, RunKey, tried_again, without_samples
from polarbear.store.specification import COUNTED, GROWING, MISSING, SPEC, differing
from polarbear.study.stored import check_spec, read_rounds

_BUILT = ("algorithms", "instances")
"""The parts of a specification from which optimizers and problems are built."""
_PROPOSED = reference(ProposedCode)


class OtherSettings(ValueError):  # noqa: N818 - states what happened
    """The study was made with settings other than those to resume it with; the message names them."""


class RunFailureWarning(UserWarning):
    """Some runs failed, timed out or were killed; their outcomes say why."""


class NotTrusted(ValueError):  # noqa: N818 - states what happened
    """A study names code that may not be imported.

    Attributes:
        modules: The modules that contain it.
    """

    def __init__(self, asked: Mapping[str, str]) -> None:
        self.modules = tuple(dict.fromkeys(asked.values()))
        super().__init__(
            f"the study asks to import and run code that is not part of polarbear: {', '.join(asked)}. If you trust "
            f"it, name {'its module' if len(self.modules) == 1 else 'each module'}: "
            f"{' '.join(f'--import {module}' for module in self.modules)}, or use --trust for all of it (imports=… in "
            "Python). Whoever made the study chose these names"
        )


@contextmanager
def opened(
    path: Path, spec: dict[str, Any], *, accept_damage: bool = False
) -> Generator[tuple[store.StudyStore, bool]]:
    """The study at `path` open for writing, created if it does not exist; and whether it existed before.

    Args:
        path: The study's path.
        spec: The study's specification.
        accept_damage: Whether to give up files that are damaged or missing.

    Raises:
        OtherSettings: If the study was made with other settings; additional algorithms and larger numbers of
            repetitions or draws are allowed.
        StudyError: If files are damaged and that is not accepted.
    """
    if not store.exists(path):
        with store.create(path, spec) as study:
            yield study, False
        return
    with store.open(path, write=True, accept_damage=accept_damage) as study:
        check_spec(study.spec, path / SPEC)
        if spec != study.spec:
            check_same(path, study.spec, spec)
            study.replace_spec(spec)
        if not accept_damage and (damaged := store.not_accepted(study)):
            raise store.StudyError(f"{damaged}. {MEND}")
        yield study, True


MEND = (
    "Restore the files from a copy, or continue without the runs that they contained, which a plan executes again "
    "(accept_damage=True, or --accept-damage); polarbear verify shows what can be read"
)
"""What to do about damaged files."""


def check_same(path: Path, stored: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Raise `OtherSettings` unless a study at `path` with the spec `stored` can be resumed with the spec `new`."""
    if differences := list(_differences(stored, new)):
        raise OtherSettings(
            f"the study at {path} was made with other settings: {'; '.join(differences)}. "
            "Resume with the same, or choose another path"
        )


def _differences(stored: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """The settings that prevent a study from being resumed, each with both values."""
    for field, before, now in differing(stored, new):
        name = ".".join(field)
        if before is MISSING:
            if field[:-1] != ("algorithms",) and field != COUNTED:
                yield f"{name} is new"
        elif now is MISSING:
            yield f"{name} is gone"
        elif not (field in GROWING and isinstance(before, int) and isinstance(now, int) and before < now):
            yield f"{name} was {before!r} and is now {now!r}"


def modules_of(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """The modules that would be imported to resume a study with the given specification, without repetitions."""
    return tuple(dict.fromkeys(module for _, module in references([spec.get(part) for part in _BUILT])))


def built(
    spec: Mapping[str, Any], imports: Collection[str] = ()
) -> tuple[dict[str, optimizers.Optimizer], problems.Instances]:
    """The optimizers, by name, and the problems that a study's specification describes.

    Args:
        spec: The specification.
        imports: Modules and packages that may be imported from; polarbear's own classes need no import.

    Raises:
        NotTrusted: If the specification requires anything else; then nothing is imported.
        ValueError: If an optimizer or problem cannot be constructed from its description, or is proposed code, which
            runs only in the confined workers of `polarbear.study.design`.
    """
    if proposed := [name for name, each in spec["algorithms"].items() if each.get("optimizer") == _PROPOSED]:
        raise ValueError(
            f"the study contains proposed code, such as that of {proposed[0]}, which runs only in the confined workers "
            "of polarbear.study.design; to resume, call that again with this study"
        )
    asked = dict(references([spec.get(part) for part in _BUILT]))
    if refused := {
        reference: module
        for reference, module in asked.items()
        if not any(f"{module}.".startswith(f"{allowed}.") for allowed in imports)
    }:
        raise NotTrusted(refused)
    entrants = {name: optimizers.from_description(description) for name, description in spec["algorithms"].items()}
    return entrants, problems.from_description(spec["instances"])


def restore(
    race: Race, study: store.StudyStore, runs: Sequence[Run], *, accept_damage: bool, after: int | None = None
) -> int | None:
    """Restore `race` to its state after a round of the study, by default the last committed one.

    Returns:
        The number of missing runs of completed rounds; None if there is no completed round.

    Raises:
        StudyError: If files are damaged or runs of completed rounds are missing, and that is not accepted; or if the
            rounds are invalid or belong to another race.
        ValueError: If there is no such round.
    """
    records = study.rounds_by_file()
    rounds, state = read_rounds(records)
    if after is not None:
        numbers = [round_.number for round_ in rounds]
        if after not in numbers:
            raise ValueError(f"after is {after!r}; {study.path} has the completed rounds {numbers}")
        rounds, state = read_rounds(dict(list(records.items())[: numbers.index(after) + 1]))
    if state is None:
        return None
    try:
        return race.restore(state, rounds, runs, accept_missing=accept_damage or bool(study.damaged))
    except ValueError as error:
        last, spec = list(records)[-1], study.path / SPEC
        raise store.StudyError(f"the race in {spec} cannot continue from {last}: {error}. {MEND}") from error


def race_from_spec(spec: dict[str, Any], algorithms: dict[str, object] | None = None, *, file: object = SPEC) -> Race:
    """The race that a study's spec describes; its algorithms are the descriptions unless they are given.

    Args:
        spec: The specification.
        algorithms: The algorithms by name.
        file: The file of the specification, for messages.

    Raises:
        StudyError: If the study contains no race, or a setting is missing, unknown or invalid.
    """
    if "race" not in spec:
        made = {"plan": "a plan", "configure": "a configurator", "branch": "branches"}
        instead = next((f"the runs of {name}, not a race" for key, name in made.items() if key in spec), "no race")
        raise store.StudyError(f"the study contains {instead}; assess, compare or race on its runs ({file})")
    check_spec(spec, file)
    settings, entrants = dict(spec["race"]), algorithms or dict(spec["algorithms"])
    times, model = settings.pop("times"), settings.pop("model")
    try:
        race = Race(entrants, times=times, model=inference.from_description(model), **settings)
    except (ValueError, TypeError) as error:
        raise store.StudyError(f"{file} cannot be used: {error}") from error
    if missing := [
        ".".join(field) for field, before, _ in differing(spec["race"], race.describe()) if before is MISSING
    ]:
        raise store.StudyError(f"{file} cannot be used: it lacks race.{', race.'.join(missing)}")
    return race


@contextmanager
def executor_or_pool(executor: Executor | None, workers: int, timeout: float | None, axis: Axis) -> Generator[Executor]:
    """The given executor, which stays open, or a new pool of worker processes.

    If runs are measured in seconds, each process is pinned to a core that no other such process holds, and an
    `OversubscriptionWarning` is issued if there is none; among given executors, this applies to `Isolated` and
    `DaskExecutor`.
    """
    timed = axis == "seconds"
    with nullcontext(executor) if executor is not None else WorkerPool(workers, timeout=timeout, pinned=timed) as pool:
        watched = pool if timed and isinstance(pool, Apart | WorkerPool) else None
        if watched is not None:
            watched.warn_beforehand()
        yield pool
        if watched is not None:
            watched.warn_if_crowded()


def killed_runs(study: store.StudyStore, chosen: Callable[[RunKey], bool] = lambda _: True) -> set[RunKey]:
    """The chosen runs that a study contains as killed."""
    return {key for key, outcome in study.outcomes() if outcome.reason is Reason.KILLED and chosen(key)}


class RunMaker(NamedTuple):
    """Executes runs and commits them.

    Attributes:
        study: The study that keeps the runs.
        executor: The executor that runs them.
        again: Killed runs of the study that are to be repeated.
        retry_killed: How often a run that is killed now is retried.
    """

    study: store.StudyStore
    executor: Executor
    again: set[RunKey]
    retry_killed: int

    def has(self, key: RunKey) -> bool:
        """Whether a run is in the study and need not be repeated."""
        return key in self.study and key not in self.again

    def make(self, tasks: Iterable[Task], until: float | None = None) -> Iterator[Run]:
        """Execute tasks and commit each run within about a second; a run that was killed before is replaced at once.

        Args:
            tasks: The tasks to execute.
            until: As for `polarbear.experiment.run_tasks`.

        Yields:
            The runs as in the study, without samples; their messages report earlier tries.
        """
        for run in run_tasks(tasks, self.executor, until=until, retry_killed=self.retry_killed):
            if run.key in self.study:
                run = tried_again(run, [self.study.run(run.key).outcome.message])
                self.study.replace_killed(run)
                self.again.discard(run.key)
            else:
                self.study.append(run)
            yield without_samples(run)
        self.study.commit()
