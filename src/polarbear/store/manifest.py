"""The manifest: the list of files of a study with their checksums.

It is a text file in the format of ``sha256sum``, so that ``sha256sum -c manifest.txt`` checks a study as well. Its last
line is the checksum of all lines before. `docs/decisions/0011-manifest.md` explains how it stays consistent when a
writer is killed.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from polarbear.store.atomic import write_atomically

MANIFEST = "manifest.txt"
UNKNOWN = "0" * 64
"""Placeholder for an unknown checksum, which no file has."""
SHORT = 16
"""Number of digits of a checksum in a file's name."""
_FIRST = re.compile(r"# polarbear study (?P<study>[0-9a-f]+), commit (?P<commits>\d+)")
_FILE = re.compile(r"(# (?P<kind>replaced|lost) )?(?P<digest>[0-9a-f]{64})  (?P<path>.+)")
_LAST = "# sha256 of the lines above: "


@dataclass(slots=True)
class Manifest:
    """The files of a study.

    Attributes:
        study: A random identifier of the study.
        commits: Number of manifests that the study has had.
        files: The SHA-256 of each file of the study, by its path in the study's directory.
        replaced: Files that belonged to the study until now and may still exist.
        lost: Files that were damaged or missing and have been given up.
        head: The first digits of this manifest's checksum, which files written after it have in their names.
    """

    study: str = field(default_factory=lambda: secrets.token_hex(8))
    commits: int = 0
    files: dict[str, str] = field(default_factory=dict[str, str])
    replaced: dict[str, str] = field(default_factory=dict[str, str])
    lost: dict[str, str] = field(default_factory=dict[str, str])
    head: str = ""

    def write(self, study: Path) -> None:
        """Write it as the study's next manifest; OSError as for `write_atomically`."""
        lines = [f"# polarbear study {self.study}, commit {self.commits + 1}"]
        for prefix, files in (("", self.files), ("# replaced ", self.replaced), ("# lost ", self.lost)):
            lines += [f"{prefix}{digest}  {path}" for path, digest in sorted(files.items())]
        text = "".join(f"{line}\n" for line in lines).encode()
        checksum = sha256(text)
        write_atomically(study / MANIFEST, text + f"{_LAST}{checksum}\n".encode())
        self.commits, self.head = self.commits + 1, checksum[:SHORT]

    def accepts(self, path: str, digest: str) -> bool:
        """Whether `digest` is a valid checksum of a file: that in the manifest, or the file's previous one."""
        return digest in (self.files.get(path), self.replaced.get(path))


def read_manifest(study: Path) -> Manifest | None:
    """The manifest of a study; None if there is none.

    Raises:
        ValueError: If it differs from what was written.
        OSError: If it cannot be read.
    """
    try:
        return parse_manifest((study / MANIFEST).read_bytes())
    except FileNotFoundError:
        return None


def parse_manifest(data: bytes) -> Manifest:
    """The manifest from the bytes of its file; ValueError if they differ from what was written."""
    text, last = data[: -len(_LAST) - 65], data[-len(_LAST) - 65 :]
    checksum = sha256(text)
    if last != f"{_LAST}{checksum}\n".encode():
        raise ValueError(altered(data))
    first, *lines = text.decode().removesuffix("\n").split("\n")
    head, entries = _FIRST.fullmatch(first), [_FILE.fullmatch(line) for line in lines]
    if head is None or None in entries:
        raise ValueError("it was written by a newer polarbear; upgrade polarbear")
    manifest = Manifest(head["study"], int(head["commits"]), head=checksum[:SHORT])
    files = {None: manifest.files, "replaced": manifest.replaced, "lost": manifest.lost}
    for entry in filter(None, entries):
        files[entry["kind"]][entry["path"]] = entry["digest"]
    return manifest


def sha256(data: bytes) -> str:
    """The SHA-256 checksum of bytes."""
    return hashlib.sha256(data).hexdigest()


def altered(data: bytes) -> str:
    """A description of what is wrong with a file whose checksum differs."""
    return f"its {len(data):,} bytes differ from those that were written (the SHA-256 does not match)"
