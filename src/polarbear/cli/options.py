"""Options, exit codes and JSON that commands share."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polarbear.cli.starting import INTERRUPTED as INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polarbear.assess.report import Subject
    from polarbear.records import Run

EVERY_RUN_FAILED = 1
BAD_INPUT = 2
UNUSABLE_STUDY = 3
NOT_CONFORMING = 4
NO_WORKERS = 5
TERMINATED = 143


class Preference(StrEnum):
    """What budgets matter."""

    UNIFORM = "uniform"
    LOG_UNIFORM = "log-uniform"
    FINAL = "final"


class CriterionOption(StrEnum):
    """How to decide under uncertainty."""

    P2BB = "p2bb"
    EXPECTED = "expected"
    QUANTILE = "quantile"


def to_place(text: str) -> Path:
    """A directory, or what stands in for one if the study is given by a URL."""
    from polarbear.store import place

    return place(text)


StudyArgument = Annotated[
    Path, typer.Argument(parser=to_place, help="The study's directory, or its URL.", show_default=False)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
WorkersOption = Annotated[int, typer.Option(min=1, help="Worker processes.")]
SecondsOption = Annotated[
    float | None,
    typer.Option(
        "--seconds", min=1e-6, help="Wall-clock limit: a race begins no round expected to end later, a plan stops then."
    ),
]
WithdrawOption = Annotated[
    list[str] | None,
    typer.Option("--withdraw", help="Take this algorithm out of the race for good; repeatable.", show_default=False),
]
AcceptDamageOption = Annotated[bool, typer.Option("--accept-damage", help="Go on without the runs of damaged files.")]
TakeOverOption = Annotated[
    bool,
    typer.Option(
        "--take-over", help="Take over the lock that a killed writer left on a study elsewhere, if it has ended."
    ),
]
RetryKilledOption = Annotated[
    int, typer.Option("--retry-killed", min=0, help="How often a run whose worker died is tried again.")
]
RetryOption = Annotated[bool, typer.Option("--retry", help="Run again what the study holds as killed.")]
FromOption = Annotated[
    Path | None,
    typer.Option(
        "--from", parser=to_place, help="Race on these recorded runs, a study or an archive, and run nothing."
    ),
]
FinalTargetOption = Annotated[
    float | None,
    typer.Option(
        "--final-target",
        help="Of recorded runs: those that reached this precision (or value, where no optimum is known) had solved it.",
        show_default=False,
    ),
]
DataArgument = Annotated[
    list[Path],
    typer.Argument(
        parser=to_place,
        help="Studies, archives, folders or files of recorded runs.",
        show_default=False,
    ),
]
AlgorithmsOption = Annotated[
    list[str] | None, typer.Option("--algorithm", help="Only this algorithm; repeatable.", show_default=False)
]
FunctionsOption = Annotated[
    list[str] | None, typer.Option("--function", help="Only this function; repeatable.", show_default=False)
]
DimensionsOption = Annotated[
    list[int] | None, typer.Option("--dimension", help="Only this dimension; repeatable.", show_default=False)
]


@dataclass(frozen=True, slots=True)
class Choice:
    """Which recorded runs a command is about; empty: all.

    Attributes:
        algorithms: Names.
        functions: Numbers or names.
        dimensions: Numbers of variables.
    """

    algorithms: tuple[str, ...]
    functions: tuple[str, ...]
    dimensions: tuple[int, ...]

    @classmethod
    def of(cls, algorithms: list[str] | None, functions: list[str] | None, dimensions: list[int] | None) -> Choice:
        """From the options."""
        return cls(tuple(algorithms or ()), tuple(functions or ()), tuple(dimensions or ()))

    def subject(
        self, runs: Iterable[Run], targets: list[float] | None = None, absolute: list[float] | None = None
    ) -> Subject:
        """The chosen runs, grouped."""
        from polarbear.assess.report import subject_of

        return subject_of(
            runs,
            algorithms=self.algorithms,
            functions=self.functions,
            dimensions=self.dimensions,
            targets=targets or (),
            absolute=absolute or (),
        )


def to_json(value: Any) -> str:
    """JSON to print."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)
