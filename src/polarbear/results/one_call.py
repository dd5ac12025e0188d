"""Race optimizers in one call."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypedDict, Unpack

from numpy.typing import ArrayLike

from polarbear import study
from polarbear.descriptions import did_you_mean
from polarbear.experiment import Watch
from polarbear.inference import Model
from polarbear.racing import Race, RaceSettings
from polarbear.racing.settings import Batches, Compared, Elimination, JudgedBy, Resolution
from polarbear.records import Axis
from polarbear.results.entrants import Algorithm, as_algorithms, as_problems, as_times, dimension_of
from polarbear.results.result import Result


class RaceOptions(TypedDict, total=False):
    """Further options of a race: those of `polarbear.racing.RaceSettings` and of `polarbear.study.race`."""

    alpha: float
    epsilon: float
    elimination: Elimination
    resolution: Resolution
    relations: Compared
    axis: Axis
    judged_by: JudgedBy
    batches: Batches
    batch: int
    smallest_batch: int
    largest_batch: int
    draws: int
    precision: float | None
    seed: int
    stop: study.StopRules | None
    target_precision: float | None
    timeout: float | None
    watch: Watch | None
    executor: Executor | None
    withdraw: str | Collection[str]
    accept_damage: bool
    retry_killed: int
    retry: bool
    observer: study.Observer | None


def race(
    algorithms: Mapping[str, Algorithm] | Iterable[Algorithm],
    problems: object,
    times: ArrayLike | tuple[str | float, str | float],
    *,
    path: str | Path | None = None,
    workers: int = 1,
    progress: bool = True,
    dimension: int | None = None,
    model: Model | str | None = None,
    seconds: float | None = None,
    **options: Unpack[RaceOptions],
) -> Result:
    """Race optimizers on problems to their anytime Pareto set.

    To execute runs yourself, by ask and tell, see `polarbear.Race`.

    Args:
        algorithms: Two or more algorithms: names such as ``"random-search"`` (`polarbear optimizers` lists them),
            classes, optimizers, or functions ``optimizer(problem, rng)``; or a mapping from names of your choice.
        problems: The name of a suite such as ``"ma-bbob"``; ``(function, lower, upper)``; a problem, which is
            repeated; a list of problems, each of which is used once; or a distribution of problem instances.
        times: ``(first, last)``, the smallest and the largest budget, between which 50 timepoints are evenly spaced
            on a log scale; or a list of all timepoints. Numbers, or multiples of the dimension such as ``"100*d"``.
        path: The study's directory or URL, which is created or resumed; None to keep the result in memory only.
        workers: Number of worker processes.
        progress: Whether to show progress on standard error: live on a terminal, else one line per round.
        dimension: Number of variables, for the name of a suite or with single numbers as bounds.
        model: The model, or its name such as ``"random-walk"``; by default `polarbear.inference.InstanceBootstrap`.
        seconds: Wall-clock limit; the result after it is valid, with undecided pairs.
        options: Options from `RaceOptions`, such as ``alpha=0.95`` and ``epsilon=0.1``. An `observer` replaces the
            progress display.

    Returns:
        The result of the race.

    Raises:
        TypeError: If an argument has a wrong type, or an option is unknown.
        ValueError: If a value is unknown or out of range.
        polarbear.study.EveryRunFailed: If all runs of a round failed before they found anything.
        polarbear.study.OtherSettings: If the study at `path` was made with other settings.
    """
    if unknown := [name for name in options if name not in RaceOptions.__annotations__]:
        valid = (*RaceOptions.__annotations__, "path", "workers", "progress", "dimension", "model", "seconds")
        raise TypeError(f"race has no argument {unknown[0]!r};{did_you_mean(unknown[0], valid)}")
    given: dict[str, Any] = {**options}
    settings = {field.name: given.pop(field.name) for field in fields(RaceSettings) if field.name in given}
    instances = as_problems(problems, dimension)
    grid = as_times(times, settings.get("axis", RaceSettings.axis), dimension or dimension_of(instances))
    entry = Race(as_algorithms(algorithms), times=grid, model=model, **settings)
    if seconds is not None:
        if given.get("stop") is not None:
            raise ValueError("seconds and stop are both given; give stop=StopRules(seconds=...) alone")
        given["stop"] = study.StopRules(seconds=seconds)
    with _study_path(path) as location, _observed(given.pop("observer", None), progress) as observer:
        result = study.race(entry, instances, location, workers=workers, observer=observer, **given)
        return Result.of(study.view_of(location, result), path=path)


@contextmanager
def _study_path(path: str | Path | None) -> Generator[str | Path]:
    """The path, or a temporary one that is deleted afterwards."""
    if path is not None:
        yield path
        return
    with TemporaryDirectory(prefix="polarbear-") as folder:
        yield Path(folder) / "race.study"


@contextmanager
def _observed(observer: study.Observer | None, progress: bool) -> Generator[study.Observer | None]:
    if observer is not None or not progress:
        yield observer
        return
    from polarbear.progress import Console, LiveProgress

    with LiveProgress(Console(stderr=True)) as live:
        yield live
        live.say_stopped()
