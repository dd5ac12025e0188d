"""Verification that a study is as it was written, and recovery of what can be saved if it is not."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from polarbear import store
from polarbear.quantities import plural
from polarbear.store.contents import Contents
from polarbear.store.specification import SPEC, StudyFile
from polarbear.study.resume import race_from_spec
from polarbear.study.stored import check_spec, read_rounds


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of verifying a study.

    Attributes:
        study: The study's directory.
        version: The version of its format; 0 if its ``study.json`` does not say.
        runs: Number of readable runs.
        parts: Number of files that contain them.
        rounds: Number of readable rounds of a race.
        damaged: Files that are damaged, missing or foreign; those that were given up before are `accepted`.
        faults: What is wrong although all files are as they were written.
    """

    study: Path
    version: int
    runs: int
    parts: int
    rounds: int
    damaged: tuple[store.Damage, ...]
    faults: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong except damage accepted before."""
        return not self.faults and all(damage.accepted for damage in self.damaged)

    @property
    def advice(self) -> str:
        """Advice on what to do; empty if there is nothing to do."""
        quoted = shlex.quote(str(self.study))
        if not all(damage.accepted for damage in self.damaged):
            return (
                "Restore the damaged and missing files from a copy, and remove those that do not belong there. Or "
                f"accept the loss: polarbear verify --accept-damage {quoted} gives these files up for good, and "
                f"polarbear resume --accept-damage {quoted} also continues and repeats the runs that a plan lacks"
            )
        if self.faults:
            return "Restore the named file from a copy, or merge or export the runs, which can be read"
        if self.version == 1:
            return (
                "The study has format version 1, in which rounds and study.json have no checksums: changes to them go "
                "unnoticed. It is upgraded to the current version when it is next written to, by polarbear resume or "
                f"polarbear verify --accept-damage {quoted}"
            )
        return ""

    def as_dict(self) -> dict[str, Any]:
        """The verification as plain values for JSON."""
        return {
            "study": str(self.study),
            "sound": self.sound,
            "version": self.version,
            "runs": self.runs,
            "parts": self.parts,
            "rounds": self.rounds,
            "damaged": [
                {"path": str(damage.path), "why": damage.why, "accepted": damage.accepted} for damage in self.damaged
            ],
            "faults": list(self.faults),
            "advice": self.advice,
        }

    def __str__(self) -> str:
        holds = (
            f"{plural(self.runs, 'run')} in {plural(self.parts, 'file')} and {plural(self.rounds, 'round')} can be read"
        )
        lines = [f"{self.study}: {'sound; ' if self.sound else ''}{holds}"]
        lines += [
            f"{'given up' if damage.accepted else 'damaged'}: {damage.path}: {damage.why}" for damage in self.damaged
        ]
        lines += [f"wrong: {fault}" for fault in self.faults]
        return "\n".join([*lines, self.advice] if self.advice else lines)


def verify(path: str | Path, *, accept_damage: bool = False) -> Verification:
    """Read and check every file of a study, also while another process writes to it.

    Args:
        path: The study's directory or URL.
        accept_damage: Whether to first accept the study permanently as it is: see `polarbear.store.open`.

    Raises:
        polarbear.store.StudyNotFound: If there is no study.
        polarbear.store.StudyLocked: With `accept_damage`, if another process writes to it.
        polarbear.store.StudyError: With `accept_damage`, if its ``study.json`` is invalid.
        OSError: If it cannot be reached or, with `accept_damage`, written to.
    """
    path = store.place(path)
    if accept_damage:
        store.open(path, write=True, accept_damage=True).close()
    damaged: list[store.Damage] = []
    try:
        contents = Contents(path)
    except store.StudyNotFound:
        raise
    except store.StudyError as error:
        damaged.append(store.Damage(path / SPEC, str(error)))
        contents = Contents(path, StudyFile(0, {}, ""))
    contents.refresh()
    runs = _count_runs(contents)
    contents.samples.check()
    verification = Verification(
        study=path,
        version=contents.version,
        runs=runs,
        parts=len(contents.index.sizes),
        rounds=len(contents.rounds.contents),
        damaged=(*damaged, *contents.damaged),
    )
    return verification if damaged else replace(verification, faults=tuple(_faults(path, contents)))


def _count_runs(contents: Contents) -> int:
    """Read every run and return their number; unreadable files are among the damaged ones afterwards."""
    while True:
        try:
            return sum(len(contents.runs_of(part)) for part in contents.index.by_part())
        except ValueError:
            continue


def _faults(path: Path, contents: Contents) -> Iterator[str]:
    """Inconsistencies although every file is as it was written."""
    try:
        check_spec(contents.spec, path / SPEC)
        if "race" not in contents.spec:
            return
        race = race_from_spec(contents.spec, file=path / SPEC)
        rounds, state = read_rounds(contents.rounds_by_file())
        if state is None:
            return
        runs = contents.runs()
        missing = race.restore(state, rounds, runs, accept_missing=True)
    except ValueError as error:
        yield f"the rounds do not belong to the race in {path / SPEC}: {error}"
    except store.StudyError as error:
        yield str(error)
    else:
        if missing and not contents.damaged:
            yield f"completed rounds lack {plural(missing, 'run')}"
