"""The manifest: which files belong to a study, each with its checksum.

It is a text in the format of ``sha256sum``, so that ``sha256sum -c manifest.txt`` checks a study as well. Its last line
is the checksum of all lines before. `docs/decisions/0011-manifest.md` tells how it stays consistent when a writer is
killed.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from polarbear.store.atomic import TEMPORARY, write_atomically

MANIFEST = "manifest.txt"
UNKNOWN = "0" * 64
"""The checksum of a file of which none is known: no file has it."""
_DIGITS = 16
"""How many digits of a checksum stand in a file's name."""
_NAME = re.compile(r"(?P<number>\d{6,})(-(?P<digest>[0-9a-f]{16})(-(?P<head>[0-9a-f]{16}))?)?\.(parquet|json)")
_FIRST = re.compile(r"# polarbear study (?P<study>[0-9a-f]+), commit (?P<commits>\d+)")
_FILE = re.compile(r"(# (?P<kind>replaced|lost) )?(?P<digest>[0-9a-f]{64})  (?P<path>.+)")
_LAST = "# sha256 of the lines above: "


@dataclass(slots=True)
class Manifest:
    """The files of a study.

    Attributes:
        study: A random name of the study.
        commits: How many manifests the study has had.
        files: The SHA-256 of each file of the study, by its path in the study's directory.
        replaced: Files that belonged to the study until now, and may still be there.
        lost: Files that were damaged or missing, and were given up.
        head: The first digits of this manifest's checksum: files written after it have them in their names.
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
        lines += [f"{digest}  {path}" for path, digest in sorted(self.files.items())]
        for kind, files in (("replaced", self.replaced), ("lost", self.lost)):
            lines += [f"# {kind} {digest}  {path}" for path, digest in sorted(files.items())]
        text = "".join(f"{line}\n" for line in lines).encode()
        checksum = sha256(text)
        write_atomically(study / MANIFEST, text + f"{_LAST}{checksum}\n".encode())
        self.commits, self.head = self.commits + 1, checksum[:_DIGITS]

    def accepts(self, path: str, digest: str) -> bool:
        """Whether a file of the study may have this checksum: that of the manifest, or the one it had before."""
        return digest in (self.files.get(path), self.replaced.get(path))


def read_manifest(study: Path) -> Manifest | None:
    """The manifest of a study, None if there is no such file.

    Raises:
        ValueError: If it is not as it was written.
        OSError: If it cannot be read.
    """
    try:
        data = (study / MANIFEST).read_bytes()
    except FileNotFoundError:
        return None
    text, last = data[: -len(_LAST) - 65], data[-len(_LAST) - 65 :]
    if last != f"{_LAST}{(checksum := sha256(text))}\n".encode():
        raise ValueError(f"its {len(data):,} bytes are not those that were written (their hash differs)")
    first, *lines = text.decode().removesuffix("\n").split("\n")
    begun = _FIRST.fullmatch(first)
    found = [_FILE.fullmatch(line) for line in lines]
    if begun is None or None in found:
        raise ValueError("it was written by a newer polarbear; upgrade polarbear")
    manifest = Manifest(begun["study"], int(begun["commits"]), head=checksum[:_DIGITS])
    kinds = {None: manifest.files, "replaced": manifest.replaced, "lost": manifest.lost}
    for match in filter(None, found):
        kinds[match["kind"]][match["path"]] = match["digest"]
    return manifest


@dataclass(frozen=True, slots=True)
class Sorting:
    """The files of a folder of a study, by name.

    Attributes:
        belonging: Those that belong to the study, with the digits that their checksums begin with.
        absent: Which of these are not there, as far as the listing tells.
        unknown: Those that do not belong there, and why.
    """

    belonging: dict[str, str]
    absent: frozenset[str]
    unknown: dict[str, str]


def sort_out(folder: Path, suffix: str, manifest: Manifest | None) -> Sorting:
    """What is to be made of each file in a folder of a study; without a manifest all belong to it."""
    present = {path.name for path in folder.glob(f"*{suffix}") if not path.name.startswith(TEMPORARY)}
    if manifest is None:
        return Sorting({name: digest_in(name) for name in present}, frozenset(), {})
    listed, replaced, lost = (
        {path.partition("/")[2]: digest for path, digest in files.items() if path.partition("/")[0] == folder.name}
        for files in (manifest.files, manifest.replaced, manifest.lost)
    )
    others = present - listed.keys() - replaced.keys() - lost.keys()
    new = {name for name in others if _told(name, "head") == manifest.head}  # of a writer at work, or killed
    unknown = dict.fromkeys(others - new, f"{MANIFEST} does not name it; if it is from another study, remove it")
    return Sorting({name: digest_in(name) for name in new} | listed, frozenset(listed.keys() - present), unknown)


def file_name(number: int, data: bytes, head: str, suffix: str) -> str:
    """What a new file is called: its place in the order, and the first digits of its checksum and the manifest's."""
    return f"{number:06d}-{sha256(data)[:_DIGITS]}-{head}{suffix}"


def digest_in(name: str) -> str:
    """The first digits of a file's checksum that its name tells; empty if it tells none."""
    return _told(name, "digest")


def file_number(name: str) -> int:
    """A file's place in the order; 0 if its name tells none."""
    return int(_told(name, "number") or 0)


def read_file(path: Path, digest: str) -> bytes:
    """The bytes of a file whose checksum begins with these digits.

    Raises:
        OSError: If it cannot be read; FileNotFoundError if it is gone.
        ValueError: If its bytes are not those that were written.
    """
    data = path.read_bytes()
    if not sha256(data).startswith(digest):
        raise ValueError(f"its {len(data):,} bytes are not those that were written (their hash differs)")
    return data


def sha256(data: bytes) -> str:
    """The checksum of some bytes."""
    return hashlib.sha256(data).hexdigest()


def _told(name: str, what: str) -> str:
    """What a file's name tells; empty if it does not."""
    found = _NAME.fullmatch(name)
    return (found[what] or "") if found else ""
