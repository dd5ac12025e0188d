"""The layout of a study's directory, and the file `study.json`, which makes it a study."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from polarbear.store.atomic import TEMPORARY
from polarbear.store.errors import StudyError, StudyNotFound
from polarbear.store.lock import LOCK, OWNER
from polarbear.store.manifest import MANIFEST, Manifest, altered, read_manifest, sha256
from polarbear.store.paths import place, remote

FORMAT = "polarbear study"
VERSION = 5
"""Since version 2, a manifest names all files; since 3, races name their relations, and models over time how they treat
repeated rankings; since 4, races name the size of their rounds; since 5, runs keep points."""
SPEC, RUNS, ROUNDS, SAMPLES = "study.json", "runs", "rounds", "samples"
COUNTED = ("plan", "problems")
"""Location of a plan's number of problems, which studies of earlier versions lack."""
GROWING = frozenset({("plan", "repetitions"), ("plan", "draws"), COUNTED, ("branch", "repeats")})
"""Numbers in a specification that may grow, so that there is more to run."""
MISSING: Final = object()
"""Placeholder for an absent setting."""


def exists(path: str | Path) -> bool:
    """Whether there is a study at `path`."""
    return (place(path) / SPEC).is_file()


def to_json(content: dict[str, Any], what: str) -> bytes:
    """The bytes of a JSON file; non-finite numbers are written as by Python's ``json``.

    Raises:
        TypeError: If `content` cannot be written as JSON; the message names it as `what`.
    """
    try:
        return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()
    except (TypeError, ValueError) as error:
        raise TypeError(f"{what} cannot be written as JSON: {error}") from error


def encode_spec(path: Path, spec: dict[str, Any], origin: Mapping[str, Any]) -> bytes:
    """The bytes of a study's ``study.json``, including its origin; TypeError as for `to_json`."""
    content = {"format": FORMAT, "version": VERSION, "spec": spec, **({"origin": dict(origin)} if origin else {})}
    return to_json(content, f"the specification of study {path}")


def read_spec(path: Path) -> dict[str, Any]:
    """The specification of the study at `path`; raises as `read_study_file`."""
    return read_study_file(path).spec


@dataclass(frozen=True, slots=True)
class StudyFile:
    """The content of a study's ``study.json``.

    Attributes:
        version: The version of the study's format.
        spec: The specification.
        digest: The SHA-256 of the file.
        origin: The machine, software and time with which the study was begun; empty if not recorded.
    """

    version: int
    spec: dict[str, Any]
    digest: str
    origin: dict[str, Any] = field(default_factory=dict[str, Any])


def read_study_file(path: Path, *, changed: bool = False) -> StudyFile:
    """The content of the ``study.json`` of the study at `path`.

    Args:
        path: The study's directory.
        changed: Whether the file may differ from what was written.

    Raises:
        StudyNotFound: If there is no study.
        StudyError: If its ``study.json`` is unusable, not as it was written, or written by a newer polarbear.
    """
    if not path.is_dir():
        raise StudyNotFound(f"{path} is not a study: {_what_is_there(path)}")
    file = path / SPEC
    while True:
        manifest = _sound_manifest(path)
        try:
            data = file.read_bytes()
        except FileNotFoundError:
            raise StudyNotFound(f"{path} is not a study: it holds no {SPEC}") from None
        digest = sha256(data)
        if changed or manifest is None or manifest.accepts(SPEC, digest):
            return _parsed(path, data, digest)
        now = _sound_manifest(path)
        if now is not None and now.head == manifest.head:  # otherwise the writer has replaced both meanwhile
            raise StudyError(
                f"{file} is damaged: {altered(data)}. Restore it from a copy; if you changed it on purpose, accept "
                f"the change: polarbear verify --accept-damage {shlex.quote(str(path))}"
            )


def _what_is_there(path: Path) -> str:
    """A description of what is at a path that is not a directory."""
    if remote(path):
        return "nothing is there"
    if not path.is_file():
        return "there is no such directory"
    study = path.with_suffix(".study")
    return f"it is a file; studies are directories{f', such as {study} next to it' if study.is_dir() else ''}"


def _sound_manifest(path: Path) -> Manifest | None:
    try:
        return read_manifest(path)
    except ValueError:  # the study's `damaged` reports it
        return None


def _parsed(path: Path, data: bytes, digest: str) -> StudyFile:
    file = path / SPEC
    try:
        content: Any = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise StudyError(f"{file} is damaged: {error}; restore it from a copy") from error
    fields = cast("dict[str, Any]", content) if isinstance(content, dict) else {}
    if fields.get("format") != FORMAT:
        raise StudyError(f"{file} is not from a study: 'format' is {fields.get('format')!r}; it must be {FORMAT!r}")
    version, spec = fields.get("version"), fields.get("spec")
    if type(version) is not int or version < 1 or not isinstance(spec, dict):
        raise StudyError(f"{file} is damaged: it lacks a whole-number 'version' or a 'spec'; restore it from a copy")
    if version > VERSION:
        raise StudyError(
            f"{path} has format version {version}, but this polarbear reads versions up to {VERSION}; upgrade polarbear"
        )
    known = cast("dict[str, Any]", spec)
    _add_former_defaults(known, version)
    return StudyFile(version, known, digest, _origin(file, fields.get("origin", {})))


def _origin(file: Path, stored: Any) -> dict[str, Any]:
    """The origin of a study: strings, and a table of strings."""
    origin = cast("dict[str, object]", stored) if isinstance(stored, dict) else {"": stored}
    for name, value in origin.items():
        inner = isinstance(value, dict) and name == "packages"
        texts: list[object] = [*cast("dict[str, object]", value).values()] if inner else [value]
        if not name or not all(isinstance(text, str) for text in texts):
            raise StudyError(f"{file} is damaged: its 'origin' is invalid; restore it from a copy")
    return origin


def _add_former_defaults(spec: dict[str, Any], version: int) -> None:
    """Add to a race the settings that an earlier version fixed and did not write."""
    race: Any = spec.get("race")
    if not isinstance(race, dict):
        return
    settings = cast("dict[str, Any]", race)
    if version < 4:
        settings.setdefault("batches", "doubling")
    if version < 3:
        settings.setdefault("relations", "ratings")
        model: Any = settings.get("model")
        if isinstance(model, dict) and "time_scale" in model:
            model["repeated"] = "as published"


def differing(
    first: Mapping[str, Any], other: Mapping[str, Any], where: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Differences of two specifications, such as ``(("plan", "seed"), 0, 5)``, with `MISSING` for absent settings."""
    for name in dict.fromkeys([*first, *other]):
        path, old, new = (*where, name), first.get(name, MISSING), other.get(name, MISSING)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from differing(cast("Mapping[str, Any]", old), cast("Mapping[str, Any]", new), path)
        elif old != new:
            yield path, old, new


def require_free(path: Path) -> None:
    """Raise FileExistsError unless a study can be created at `path`, StudyError if none can be written there at all."""
    path = place(path)
    if elsewhere := remote(path):
        elsewhere.require_whole_writes()
    if exists(path):
        raise FileExistsError(f"{path} is already a study; open it, or choose another path")
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"{path} is a file; choose another path for the study")
    if path.is_dir():
        ours = {RUNS, ROUNDS, LOCK, OWNER, MANIFEST}  # a creation that was killed leaves these
        names = {entry.name for entry in path.iterdir()} - ours
        if others := sorted(name for name in names if not name.startswith(TEMPORARY)):
            raise FileExistsError(f"{path} is not a study and contains {others[0]!r}; choose a new or empty directory")
