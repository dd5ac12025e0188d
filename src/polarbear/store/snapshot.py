"""A study as one zip archive: what of it is complete at one moment, also while it is written."""

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
"""How often to begin again because the writer has merged files away meanwhile."""


def write_zip(study: Path, file: IO[bytes]) -> None:
    """Write a study on this machine's disk as a zip archive, in which it is a folder of its own name.

    It holds one commit: the manifest with the files that it names, and what else lies in the folder; no lock, no
    unfinished files, and nothing that is a link. Files that are damaged are as they are.

    Args:
        study: Its directory.
        file: A file that can be read and written, which is emptied first.

    Raises:
        StudyError: If the writer replaces files faster than they can be read.
        OSError: If something cannot be read or written.
    """
    for _ in range(_ATTEMPTS):
        file.seek(0)
        file.truncate()
        if _is_written(study, file):
            return
    raise StudyError(f"the files of {study} were replaced {_ATTEMPTS} times while they were read; try again later")


def _is_written(study: Path, file: IO[bytes]) -> bool:
    """Whether it is there as its manifest says; not if the next manifest has come, and files that it named are gone."""
    listed = _manifest(study)
    try:
        manifest = parse_manifest(listed) if listed else None
    except ValueError:  # what is damaged is copied as it is
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
    """The bytes of the manifest; none if there is no such file."""
    try:
        return (study / MANIFEST).read_bytes()
    except FileNotFoundError:
        return b""


def _names(study: Path, manifest: Manifest | None) -> Iterator[str]:
    """The files to copy: of the folders that a manifest is about those that it names, else all."""
    for path in sorted(study.rglob("*")):
        name = path.relative_to(study).as_posix()
        committed = manifest is None or name in manifest.files or name.partition("/")[0] not in (RUNS, ROUNDS, SAMPLES)
        own = name in (LOCK, OWNER, MANIFEST) or path.name.startswith(TEMPORARY)
        if committed and not own and path.is_file() and not path.is_symlink():
            yield name
