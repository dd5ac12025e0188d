"""Recorded runs: choosing those that a command uses, and reading them."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polarbear.cli.options import BAD_INPUT, repeatable
from polarbear.cli.terminal import echo
from polarbear.extras import ExtraMissing

if TYPE_CHECKING:
    from polarbear.assess.report import Subject
    from polarbear.records import Run, RunKey
    from polarbear.store import Skipped

_SHOWN_SKIPS = 20

AbsoluteOption = Annotated[
    list[float] | None,
    repeatable(
        "absolute",
        "A target that is an objective value, with or without known optima; repeatable, in place of --target.",
    ),
]


@dataclass(frozen=True, slots=True)
class Choice:
    """Which recorded runs a command uses; by default all."""

    algorithm: Annotated[list[str] | None, repeatable("algorithm", "Only this algorithm; repeatable.")] = None
    function: Annotated[list[str] | None, repeatable("function", "Only this function; repeatable.")] = None
    dimension: Annotated[list[int] | None, repeatable("dimension", "Only this dimension; repeatable.")] = None

    def __bool__(self) -> bool:
        return bool(self.algorithm or self.function or self.dimension)

    def subject(
        self,
        paths: Iterable[Path],
        targets: list[float] | None = None,
        absolute: list[float] | None = None,
        *,
        samples: bool = False,
    ) -> Subject:
        """The chosen runs at all paths, grouped; unreadable files are named."""
        from polarbear.assess.report import subject_of

        return subject_of(
            read_runs(paths, samples=samples),
            algorithms=self.algorithm or (),
            functions=self.function or (),
            dimensions=self.dimension or (),
            targets=targets or (),
            absolute=absolute or (),
        )


def read_runs(paths: Iterable[Path], *, samples: bool = False) -> list[Run]:
    """The runs at all paths, without duplicates; unreadable files are named."""
    from polarbear.store import read_checked

    runs: dict[RunKey, Run] = {}
    for path in paths:
        reading = read_checked(path, samples=samples)
        say_skipped(reading.skipped, most=_SHOWN_SKIPS)
        for run in reading.runs:
            if runs.setdefault(run.key, run).trajectory != run.trajectory:
                raise ValueError(
                    f"{path} and an earlier path contain different runs of {run.key}; import both into one study, and "
                    "--rename the algorithm in one of them"
                )
    return list(runs.values())


def say_skipped(skipped: Sequence[Skipped], *, most: int | None = None) -> None:
    """Print what was skipped or changed while reading, by default all of it."""
    for skip in skipped[:most]:
        echo(f"{'note' if skip.kept else 'skipped'}: {skip}", err=True)
    if most is not None and len(skipped) > most:
        echo(f"skipped: {len(skipped) - most:,} more; polarbear import lists all", err=True)


@contextmanager
def bad_input() -> Generator[None]:
    """Report invalid data or options, or a missing package, in one line, and exit with the corresponding code."""
    from polarbear.study import StudyFileError

    try:
        yield
    except StudyFileError:
        raise
    except (ValueError, ExtraMissing) as error:
        echo(f"polarbear: {error}", err=True)
        raise typer.Exit(BAD_INPUT) from error
