"""Validation of a study's JSON, its specification and its rounds, before any of it is used.

A study is written with all its fields, so that a missing one is not replaced by its default.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt, ValidationError

from polarbear import store
from polarbear.experiment import Watch
from polarbear.racing import RaceState, Round
from polarbear.racing.rounds import disagreements
from polarbear.racing.settings import Batches, Compared, Elimination, JudgedBy, Resolution
from polarbear.racing.state import UNAVAILABLE, decoded
from polarbear.records import Axis
from polarbear.store.specification import SPEC
from polarbear.study.files import LogSection, Section
from polarbear.validation import fault_message

_Description = Annotated[dict[str, Any], Field(min_length=1)]
_Algorithms = Annotated[dict[str, _Description], Field(min_length=1)]


class _Limits(Section):
    target_precision: NonNegativeFloat | None
    timeout: Annotated[float, Field(gt=0)] | None


class _Race(Section):
    times: Annotated[list[float], Field(min_length=1)]
    model: _Description
    alpha: float
    epsilon: float
    elimination: Elimination
    resolution: Resolution
    relations: Compared
    axis: Axis
    judged_by: JudgedBy = "best"
    batches: Batches
    batch: int
    smallest_batch: int
    largest_batch: int
    draws: int
    precision: float | None
    seed: int


class _Candidate(Section):
    code: str | None = None
    configuration: dict[str, Any] | None = None
    about: dict[str, Any] = Field(default_factory=dict[str, Any])


class _Finding(Section):
    wrong: str
    printed: str


class _Design(Section):
    on: PositiveInt
    checks: list[str]
    imports: list[str]
    timeout: Annotated[float, Field(gt=0)]
    alpha: float
    epsilon: float
    seed: NonNegativeInt
    space: _Description | None
    generations: list[list[_Candidate]]
    findings: dict[str, _Finding]


class _RaceSpec(Section):
    race: _Race
    instances: _Description
    algorithms: _Algorithms
    limits: _Limits
    log: LogSection | None = None
    design: _Design | None = None


class _Plan(Section):
    repetitions: PositiveInt
    budget: float | str
    axis: Axis
    draws: PositiveInt | None
    seed: NonNegativeInt
    problems: PositiveInt | None = None


class _PlanSpec(Section):
    plan: _Plan
    instances: _Description
    algorithms: _Algorithms
    limits: _Limits
    log: LogSection | None


class _ConfigureSpec(Section):
    configure: _Description
    space: _Description
    instances: _Description
    algorithms: dict[str, _Description]
    configurations: dict[str, dict[str, Any]]
    initial: list[str] = Field(default_factory=list[str])
    limits: _Limits


class _Branch(Section):
    repeats: PositiveInt
    horizon: PositiveInt


class _BranchSpec(Section):
    branch: _Branch
    instances: _Description
    algorithms: _Algorithms
    limits: _Limits


class _Rival(Section):
    name: str
    probability: NonNegativeFloat


class _Round(Section):
    number: PositiveInt
    batch: NonNegativeInt
    instances: NonNegativeInt
    runs: NonNegativeInt
    failures: NonNegativeInt
    evaluations: NonNegativeInt
    seconds: NonNegativeFloat
    horizon: dict[str, NonNegativeFloat]
    dominance: dict[str, _Rival]
    eliminated: dict[str, str]
    withdrawn: list[str]
    candidates: Annotated[list[str], Field(min_length=1)]
    settled: list[str]
    resolved_pairs: NonNegativeInt
    resolved_share: Annotated[float, Field(ge=0, le=1)]
    next_batch: PositiveInt
    smallest_ess: NonNegativeFloat
    largest_k_hat: float | None
    inference_seconds: NonNegativeFloat
    overconfidence: NonNegativeFloat | None = None


class _State(Section):
    algorithms: Annotated[list[str], Field(min_length=2)]
    round: PositiveInt
    batch: PositiveInt
    eliminated: dict[str, str]
    withdrawn: list[str]
    catching_up: dict[str, NonNegativeInt]
    timepoints: PositiveInt
    resolved: str
    asked: str


class _Record(Section):
    round: _Round
    state: _State


_SCHEMAS: dict[str, type[Section]] = {
    "race": _RaceSpec,
    "plan": _PlanSpec,
    "configure": _ConfigureSpec,
    "branch": _BranchSpec,
}


def check_spec(spec: Mapping[str, Any], file: object = SPEC) -> None:
    """Validate the specification of a study, if it is one of a race, a plan, a configurator or branches.

    Args:
        spec: The specification.
        file: The file that contains it, for messages.

    Raises:
        polarbear.store.StudyError: If a field is missing, unknown or invalid; the message names it.
    """
    for name, schema in _SCHEMAS.items():
        if name in spec:
            _check(file, schema, spec)
            if spec.get("log") is not None:
                try:
                    Watch(**spec["log"])
                except (ValueError, TypeError) as error:
                    raise _unusable(file, f"log: {error}") from error
    if not _SCHEMAS.keys() & spec.keys() and {"instances", "limits"} & spec.keys():
        raise _unusable(file, "race or plan is missing")


def read_rounds(records: Mapping[Path, dict[str, Any]]) -> tuple[list[Round], RaceState | None]:
    """The rounds of a study's race, and its state after the last one, None before the first.

    Args:
        records: The content of each file, in order.

    Raises:
        polarbear.store.StudyError: If a field is missing, unknown or invalid; the message names it.
    """
    rounds: list[Round] = []
    state: RaceState | None = None
    for where, record in records.items():
        _check(where, _Record, record)
        this, before = Round.from_dict(record["round"]), state
        _check_state(where, record["state"])
        state = RaceState.from_dict(record["state"])
        follows = state.round == 1 + (before.round if before else 0)  # a damaged round may be missing in between
        if this.number != state.round:
            raise _unusable(where, f"round.number is {this.number}, but state.round is {state.round}")
        if follows and (faults := disagreements(this, before, state)):
            raise _unusable(where, "; ".join(faults))
        rounds.append(this)
    return rounds, state


def _unusable(file: object, why: str) -> store.StudyError:
    return store.StudyError(f"{file} cannot be used: {why}. Restore it from a copy")


def _check(where: object, schema: type[Section], content: Mapping[str, Any]) -> None:
    try:
        schema.model_validate_json(json.dumps(content))
    except ValidationError as error:
        faults = [fault_message(fault, fault["loc"] or ("all of it",)) for fault in error.errors()]
        raise _unusable(where, "; ".join(dict.fromkeys(faults))) from error
    except RecursionError as error:
        raise _unusable(where, "it is nested too deeply to be read") from error


def _check_state(where: Path, state: dict[str, Any]) -> None:
    """Check that the arrays have the required sizes and only algorithms of the race are named."""
    names = set(state["algorithms"])
    entries = state["timepoints"] * len(names) ** 2
    strangers = {
        *state["eliminated"],
        *state["eliminated"].values(),
        *state["withdrawn"],
        *state["catching_up"],
    } - names
    faults = [f"{name!r} is not in state.algorithms" for name in sorted(strangers)]
    if len(names) < len(state["algorithms"]):
        faults.append("state.algorithms names an algorithm twice")
    arrays: dict[str, bytes] = {}
    for field in ("resolved", "asked"):
        try:
            arrays[field] = decoded(state[field], len(state["algorithms"]))
        except ValueError as error:
            faults.append(f"state.{field} cannot be read: {error}")
    bits, each = -(-entries // 8), 2 * len(names)
    if (size := len(arrays.get("resolved", bytes(bits)))) != bits:
        faults.append(f"state.resolved holds {size} bytes; it needs {bits}")
    if (size := len(arrays.get("asked", b""))) % each:
        faults.append(f"state.asked holds {size} bytes; it needs {each} for each instance")
    elif size:
        asked = np.frombuffer(arrays["asked"], "<i2")
        if not UNAVAILABLE <= asked.min() <= asked.max() <= state["timepoints"]:
            faults.append(f"state.asked names a timepoint beyond {state['timepoints']}")
    if faults:
        raise _unusable(where, "; ".join(faults))
