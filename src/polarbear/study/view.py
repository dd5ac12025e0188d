"""Loading of a study, finished or running, without changing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polarbear import store
from polarbear.quantities import plural
from polarbear.racing import RaceResult
from polarbear.records import Run
from polarbear.store.specification import RUNS, SPEC
from polarbear.study.resume import race_from_spec, restore
from polarbear.study.summary import Remarks, remarks_of


@dataclass(frozen=True, slots=True, eq=False)
class StudyView:
    """A study after its last committed round, or an earlier one.

    Attributes:
        path: The study's directory.
        spec: The specification: the race, its instances, algorithms and limits.
        result: The result of the race.
        failures: Runs that failed, timed out or were killed.
        invalid: Runs during which the objective returned NaN.
        damaged: Files that cannot be read, and why; their runs are left out.
        remarks: Messages of runs that are ok, grouped by similarity.
    """

    path: Path
    spec: dict[str, Any]
    result: RaceResult
    failures: tuple[Run, ...]
    invalid: tuple[Run, ...]
    damaged: tuple[store.Damage, ...]
    remarks: tuple[Remarks, ...] = ()


def load(path: str | Path, *, after: int | None = None) -> StudyView:
    """Open a study for reading, also while another process writes to it.

    Args:
        path: The study.
        after: The round, counted from 1, after which the race is shown; default the last.

    Raises:
        polarbear.store.StudyError: If there is no study at `path`, or its spec or rounds are unusable.
        ValueError: If there is no such round.
    """
    with store.open(path) as study:
        race, runs = race_from_spec(study.spec, file=study.path / SPEC), study.runs()
        missing, damaged = restore(race, study, runs, accept_damage=True, after=after), study.damaged
        if missing and not damaged:
            damaged = (store.Damage(study.path / RUNS, f"completed rounds lack {plural(missing, 'run')}"),)
        return _view(study, race.result(), runs, damaged)


def view_of(path: str | Path, result: RaceResult) -> StudyView:
    """A study whose race has just ended, with its result; the same as by `load`, without repeating the inference.

    Raises:
        polarbear.store.StudyError: If there is no study at `path`.
    """
    with store.open(path) as study:
        return _view(study, result, study.runs(), study.damaged)


def _view(
    study: store.StudyStore, result: RaceResult, runs: Sequence[Run], damaged: tuple[store.Damage, ...]
) -> StudyView:
    return StudyView(
        path=study.path,
        spec=study.spec,
        result=result,
        failures=tuple(run for run in runs if not run.outcome.ok),
        invalid=tuple(run for run in runs if run.outcome.invalid_evaluations),
        damaged=damaged,
        remarks=remarks_of((run.key, run.outcome) for run in runs),
    )
