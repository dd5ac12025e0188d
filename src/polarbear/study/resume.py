"""Create or resume a study, and make the runs that it lacks: what races and plans have in common."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from polarbear import store
from polarbear.experiment import Task, WorkerPool, run_tasks
from polarbear.experiment.cluster import Apart
from polarbear.records import Axis, Reason, Run, RunKey, tried_again, without_samples
from polarbear.store.specification import COUNTED, GROWING, MISSING, SPEC, differing
from polarbear.study.stored import check_spec


class OtherSettings(ValueError):  # noqa: N818 - states what happened
    """The study was made with other settings than it is to be resumed with; the message names them."""


class RunFailureWarning(UserWarning):
    """Some runs failed, timed out or were killed; their outcomes say why."""


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
    """Raise `OtherSettings` unless a study with the spec `stored` can be resumed with the spec `new`."""
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
