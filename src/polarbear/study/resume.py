"""Create or reopen a study, and choose an executor: what races and plans have in common."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from polarbear import store
from polarbear.experiment import WorkerPool
from polarbear.experiment.cluster import Apart
from polarbear.records import Axis, Run, tried_again, without_samples
from polarbear.store.specification import COUNTED, GROWING, MISSING, SPEC, differing
from polarbear.study.stored import check_spec


class OtherSettings(ValueError):  # noqa: N818 - says what is the case
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
        OtherSettings: If it was made with other settings, except that it lacked some of the algorithms, or had less
            repetitions or draws.
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
        yield study, True


def check_same(path: Path, stored: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Raise `OtherSettings` unless a study with the spec `stored` can be resumed with the spec `given`."""
    found = list(_differences(stored, given))
    if found:
        raise OtherSettings(
            f"the study at {path} was made with other settings: {'; '.join(found)}. "
            "Resume with the same, or choose another path"
        )


def _differences(stored: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    """What stands in the way of resuming, each setting by its name and both values."""
    for place, before, now in differing(stored, given):
        name = ".".join(place)
        if before is MISSING:
            if place[:-1] != ("algorithms",) and place != COUNTED:
                yield f"{name} is new"
        elif now is MISSING:
            yield f"{name} is gone"
        elif not (place in GROWING and isinstance(before, int) and isinstance(now, int) and before < now):
            yield f"{name} was {before!r} and is now {now!r}"


@contextmanager
def executor_or_pool(executor: Executor | None, workers: int, timeout: float | None, axis: Axis) -> Generator[Executor]:
    """The executor that was given, which stays open, or worker processes of our own.

    Where runs are measured in seconds, each process keeps to a core that no other such process holds, and an
    `OversubscriptionWarning` says if there is none for it; of executors given, that holds for `Isolated` and
    `DaskExecutor`.
    """
    timed = axis == "seconds"
    with nullcontext(executor) if executor is not None else WorkerPool(workers, timeout=timeout, pinned=timed) as pool:
        seen = pool if timed and isinstance(pool, Apart | WorkerPool) else None
        if seen is not None:
            seen.warn_beforehand()
        yield pool
        if seen is not None:
            seen.warn_if_crowded()


def keep(run: Run, study: store.StudyStore) -> Run:
    """Commit a run within a second or so; one that was tried again takes the place of the killed one at once.

    Returns:
        The run as the study has it, without its samples: its message tells of the try before.
    """
    if run.key not in study:
        study.append(run)
    else:
        run = tried_again(run, [study.run(run.key).outcome.message])
        study.replace_killed(run)
    return without_samples(run)
