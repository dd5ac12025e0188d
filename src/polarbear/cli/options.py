"""Options, exit codes and JSON common to several commands."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from polarbear.cli.starting import INTERRUPTED as INTERRUPTED
from polarbear.cli.starting import MEMORY_SHORT

EVERY_RUN_FAILED = 1
BAD_INPUT = 2
UNUSABLE_STUDY = 3
NOT_CONFORMING = 4
NO_WORKERS = 5
TERMINATED = 143

_MEANINGS = {
    0: "done",
    EVERY_RUN_FAILED: "all runs failed",
    BAD_INPUT: "bad input",
    UNUSABLE_STUDY: "a study or data cannot be used",
    NOT_CONFORMING: "an optimizer does not conform",
    NO_WORKERS: "no worker is left",
    MEMORY_SHORT: "too little memory",
    INTERRUPTED: "interrupted",
    TERMINATED: "ended by SIGTERM",
}
_RUNNING = {EVERY_RUN_FAILED: ("race", "run", "resume"), NO_WORKERS: ("race", "run", "resume", "conform")}
_ONLY = _RUNNING | {NOT_CONFORMING: ("conform",)}
"""Exit codes specific to certain commands."""


def exit_codes(command: str) -> str:
    """The exit codes of a command, in words."""
    return ", ".join(f"{code} {words}" for code, words in _MEANINGS.items() if command in _ONLY.get(code, [command]))


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose dataclass parameters are replaced by options, one for each field."""
    hints, groups, parameters = get_type_hints(command, include_extras=True), dict[str, Any](), list[Parameter]()
    for name, parameter in signature(command).parameters.items():
        if dataclasses.is_dataclass(hints[name]):
            groups[name], fields = hints[name], get_type_hints(hints[name], include_extras=True)
            parameters += [
                Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=fields[field.name])
                for field in dataclasses.fields(groups[name])
            ]
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[name]))

    @wraps(command)
    def call(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in dataclasses.fields(group)})
        command(**values)

    del call.__wrapped__  # Typer would read its signature
    call.__signature__ = Signature(parameters)  # pyright: ignore[reportAttributeAccessIssue]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def to_place(text: str) -> Path:
    """A directory, or the local stand-in for a study given by a URL."""
    from polarbear.store import place

    return place(text)


def to_data(text: str) -> Path:
    """The path of recorded runs, as in `to_study`; web addresses are rejected."""
    if text.lower().startswith(("http://", "https://", "ftp://")):
        raise typer.BadParameter(
            f"{text} is a web address, and polarbear downloads nothing; fetch it first, such as with curl -LO {text}"
        )
    return to_study(text)


def to_study(text: str) -> Path:
    """The path of a study; if nothing is there, that of the library's data set of this name."""
    from polarbear.store import Library

    path = to_place(text)
    if not path.exists() and (library := Library()).holds(text):
        return library.get(text).path
    return path


def place_option(help_: str, **settings: Any) -> Any:
    """An option that takes a directory or a URL."""
    return typer.Option(parser=to_place, help=help_, show_default=False, **settings)


def data_option(help_: str, *names: str) -> Any:
    """An option that takes recorded runs."""
    return typer.Option(*names, parser=to_data, help=help_, show_default=False)


def repeatable(name: str, help_: str) -> Any:
    """An option that may be given several times."""
    return typer.Option(f"--{name}", help=help_, show_default=False)


StudyArgument = Annotated[
    Path, typer.Argument(parser=to_study, help="The study's directory or URL.", show_default=False)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON.")]
WorkersOption = Annotated[int, typer.Option(min=1, help="Worker processes.")]


def seconds_option(help_: str) -> Any:
    """An option that limits wall-clock time."""
    return typer.Option("--seconds", min=1e-6, help=f"Wall-clock limit: {help_}.", show_default=False)


SecondsOption = Annotated[
    float | None,
    seconds_option("a race starts no round that is expected to end later; a plan stops then"),
]
PlanSecondsOption = Annotated[
    float | None, seconds_option("stop then; unfinished runs start afresh when the same command continues")
]
WithdrawOption = Annotated[
    list[str] | None, repeatable("withdraw", "Races: take this algorithm out for good; repeatable.")
]


@dataclasses.dataclass(frozen=True, slots=True)
class RaceLimits:
    """When a race stops early, which algorithms are withdrawn, and which runs are repeated."""

    seconds: SecondsOption = None
    instances: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Races: stop once this many instances are drawn; checked between rounds.",
            show_default=False,
        ),
    ] = None
    evaluations: Annotated[
        float | None,
        typer.Option(
            min=1,
            help="Races: stop once this many evaluations are spent in total; checked between rounds.",
            show_default=False,
        ),
    ] = None
    withdraw: WithdrawOption = None
    retry: Annotated[bool, typer.Option("--retry", help="Repeat the runs recorded as killed.")] = False

    def stops(self) -> dict[str, Any]:
        """The limits given, by their names in `polarbear.study.StopRules`."""
        names = "seconds", "instances", "evaluations"
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    @property
    def given(self) -> bool:
        """Whether any limit is given."""
        return bool(self.stops() or self.withdraw or self.retry)


AcceptDamageOption = Annotated[
    bool, typer.Option("--accept-damage", help="Continue without the contents of damaged or missing files.")
]
TakeOverOption = Annotated[
    bool,
    typer.Option(
        "--take-over",
        help="Take over the lock that a killed writer left on a remote study, provided that writer has ended.",
    ),
]
RetryKilledOption = Annotated[
    int,
    typer.Option(
        "--retry-killed", min=0, help="How often to retry a run whose worker process died before counting it as killed."
    ),
]
FinalTargetOption = Annotated[
    float | None,
    typer.Option(
        "--final-target",
        help="With recorded runs: those that reached this precision (this value where no optimum is known) "
        "count as having solved their problem.",
        show_default=False,
    ),
]
DataArgument = Annotated[
    list[Path],
    typer.Argument(
        parser=to_data,
        help="Studies, archives, folders or files of recorded runs, or names in the library.",
        show_default=False,
    ),
]


def to_json(value: Any) -> str:
    """Serialize a value as JSON for printing."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)
