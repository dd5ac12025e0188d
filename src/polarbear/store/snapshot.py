"""A study as a zip archive: a consistent snapshot, even while the study is being written."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from polarbear.store.atomic import TEMPORARY
from polarbear.store.errors import StudyError
from polarbear.store.lock import LOCK, OWNER
from polarbear.store.manifest import MANIFEST, Manifest, parse_manifest, sha256
from polarbear.store.specification import ROUNDS, RUNS, SAMPLES

_ATTEMPTS = 20
"""Number of attempts, as the writer may merge files away meanwhile."""


def write_zip(study: Path, file: IO[bytes]) -> None:
    """Write a study on a local disk as a zip archive, in which it is a folder with its own name.

    The archive contains one commit: the manifest with the files it names, and everything else in the folder except
    locks, unfinished files and links. Damaged files are copied unchanged.

    Args:
        study: The study's directory.
        file: A readable and writable file, which is emptied first.

    Raises:
        StudyError: If the writer replaces files faster than they can be read.
        OSError: If reading or writing fails.
    """
    for _ in range(_ATTEMPTS):
        file.seek(0)
        file.truncate()
        if _is_written(study, file):
            return
    raise StudyError(f"the files of {study} were replaced {_ATTEMPTS} times while they were read; try again later")


def _is_written(study: Path, file: IO[bytes]) -> bool:
    """Whether the archive matches its manifest; it does not if a new manifest has come and old files are gone."""
    listed = _manifest(study)
    try:
        manifest = parse_manifest(listed) if listed else None
    except ValueError:  # damaged files are copied unchanged
        manifest = None
    named = manifest.files if manifest else {}
    with zipfile.ZipFile(file, "w") as archive:
        for folder in (RUNS, ROUNDS, SAMPLES):
            if (study / folder).is_dir():
                archive.mkdir(f"{study.name}/{folder}")
        if listed:
            archive.writestr(f"{study.name}/{MANIFEST}", listed)
        whole: set[str] = set()
        for name in _names(study, manifest):
            try:
                content = (study / name).read_bytes()
            except FileNotFoundError:
                continue
            archive.writestr(f"{study.name}/{name}", content)
            if manifest and manifest.accepts(name, sha256(content)):
                whole.add(name)
    return whole >= named.keys() or _manifest(study) == listed


def _manifest(study: Path) -> bytes:
    """The bytes of the manifest; empty if there is no such file."""
    try:
        return (study / MANIFEST).read_bytes()
    except FileNotFoundError:
        return b""


def _names(study: Path, manifest: Manifest | None) -> Iterator[str]:
    """The files to copy: in the folders that a manifest covers, those that it names; elsewhere all."""
    for path in sorted(study.rglob("*")):
        name = path.relative_to(study).as_posix()
        committed = manifest is None or name in manifest.files or name.partition("/")[0] not in (RUNS, ROUNDS, SAMPLES)
        own = name in (LOCK, OWNER, MANIFEST) or path.name.startswith(TEMPORARY)
        if committed and not own and path.is_file() and not path.is_symlink():
            yield name
