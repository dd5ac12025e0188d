"""Create or resume a study: check its settings, restore its race, and make the runs that it lacks.

`opened` compares settings; `built` makes optimizers and problems from their descriptions, once the study's owner has
named what to import; `restore` puts a race where it stood; `RunMaker` executes and commits what is not there yet.
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
    """The study was made with other settings than it is to be resumed with; the message names them."""


class RunFailureWarning(UserWarning):
    """Some runs failed, timed out or were killed; their outcomes say why."""


class NotTrusted(ValueError):  # noqa: N818 - states what happened
    """A study names code that may not be imported.

    Attributes:
        modules: The modules that hold it.
    """

    def __init__(self, asked: Mapping[str, str]) -> None:
        self.modules = tuple(dict.fromkeys(asked.values()))
        super().__init__(
            f"the study asks to import {', '.join(asked)} and to run it, which is code that is not polarbear's. If you "
            f"trust it, name {'its module' if len(self.modules) == 1 else 'each module'}: "
            f"{' '.join(f'--import {module}' for module in self.modules)}, or --trust for all of it (imports=… in "
            "Python). Whoever made the study chose these names"
        )


@contextmanager
def opened(
    path: Path, spec: dict[str, Any], *, accept_damage: bool = False
) -> Generator[tuple[store.StudyStore, bool]]:
    """The study at `path` open for writing, made if there is none; and whether it was there before.

    Args:
        path: Where it is.
        spec: Its settings.
        accept_damage: Give up files that are damaged or missing.

    Raises:
        OtherSettings: If it was made with other settings, except that it lacked some of the algorithms, or had fewer
            repetitions or draws.
        StudyError: If files are damaged, and that was not accepted.
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
    "Put the files back from a copy, or go on without the runs that they held, which a plan executes again "
    "(accept_damage=True, or --accept-damage); polarbear verify tells what is there"
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
    """The settings with which a study cannot be resumed, each with both values."""
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
    """The modules that would be imported to resume a study of this specification, each once."""
    return tuple(dict.fromkeys(module for _, module in references([spec.get(part) for part in _BUILT])))


def built(
    spec: Mapping[str, Any], imports: Collection[str] = ()
) -> tuple[dict[str, optimizers.Optimizer], problems.Instances]:
    """The optimizers, by name, and the problems that a study's specification describes.

    Args:
        spec: The specification.
        imports: Modules and packages that it may import from; polarbear's own classes need no import.

    Raises:
        NotTrusted: If it asks for anything else; nothing is imported then.
        ValueError: If an optimizer or problem cannot be made from its description, or is proposed code, which runs in
            the confined workers of `polarbear.study.design` alone.
    """
    if proposed := [name for name, each in spec["algorithms"].items() if each.get("optimizer") == _PROPOSED]:
        raise ValueError(
            f"the study holds proposed code, such as that of {proposed[0]}, which runs in the confined workers of "
            "polarbear.study.design alone; call that again with the study that it was called with"
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
    """Put `race` where the study stood after a round, by default the last committed one.

    Returns:
        How many runs of completed rounds are missing; None if there is no completed round.

    Raises:
        StudyError: If files are damaged or runs of completed rounds are missing, and that was not accepted; or if the
            rounds cannot be understood, or are those of another race.
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
        raise store.StudyError(f"nothing can go on from {last} with the race in {spec}: {error}. {MEND}") from error


def race_from_spec(spec: dict[str, Any], algorithms: dict[str, object] | None = None, *, file: object = SPEC) -> Race:
    """The race that a study's spec describes; its algorithms are their descriptions unless given.

    Args:
        spec: The specification.
        algorithms: The algorithms by name.
        file: Where the specification stands, for messages.

    Raises:
        StudyError: If the study holds no race, or a setting is missing, unknown or not what it has to be.
    """
    if "race" not in spec:
        made = {"plan": "a plan", "configure": "a configurator", "branch": "branches"}
        instead = next((f"the runs of {name}, not a race" for key, name in made.items() if key in spec), "no race")
        raise store.StudyError(f"the study holds {instead}; assess, compare or race on its runs ({file})")
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
        raise store.StudyError(f"{file} cannot be used: race.{', race.'.join(missing)} is missing")
    return race


@contextmanager
def executor_or_pool(executor: Executor | None, workers: int, timeout: float | None, axis: Axis) -> Generator[Executor]:
    """The given executor, which stays open, or worker processes of our own.

    Where runs are measured in seconds, each process keeps to a core that no other such process holds, and an
    `OversubscriptionWarning` says if there is none for it; of executors given, that holds for `Isolated` and
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
    """The chosen runs that a study holds as killed."""
    return {key for key, outcome in study.outcomes() if outcome.reason is Reason.KILLED and chosen(key)}


class RunMaker(NamedTuple):
    """Makes runs and commits them.

    Attributes:
        study: Where runs are kept.
        executor: Where they are made.
        again: Killed runs of the study that are to be made again.
        retry_killed: How often one that is killed now is tried again.
    """

    study: store.StudyStore
    executor: Executor
    again: set[RunKey]
    retry_killed: int

    def has(self, key: RunKey) -> bool:
        """Whether a run is in the study, and need not be made again."""
        return key in self.study and key not in self.again

    def make(self, tasks: Iterable[Task], until: float | None = None) -> Iterator[Run]:
        """Execute tasks, and commit each run within a second or so; one that was killed before is replaced at once.

        Args:
            tasks: What to run.
            until: As for `polarbear.experiment.run_tasks`.

        Yields:
            The runs as the study has them, without their samples: messages tell of the tries before.
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
