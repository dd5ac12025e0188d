"""Data sent by users: imported in a separate process with limits, into a temporary study."""

from __future__ import annotations

import base64
import binascii
import re
import secrets
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from polarbear.descriptions import listed
from polarbear.store import Imported, Limits, import_runs
from polarbear.store.formats.frames import columns_of
from polarbear.store.formats.table import COLUMNS, KEY, REQUIRED
from polarbear.web.example import make_example
from polarbear.web.sources import Sources
from polarbear.web.work import say_reading

LARGEST = 64 << 20
"""Maximum size of a file sent, in bytes."""
_LIMITS = Limits(total=1 << 30, files=20_000, seconds=60.0, memory=2 << 30)
_TOTAL = 2 << 30
"""Maximum size of all files kept, in bytes."""
_HEAD = 1 << 16
_TABLES = (".csv", ".tsv")
NAMED = tuple(dict.fromkeys((*REQUIRED, *KEY, "suite", "function", "dimension", "seconds", "optimum", "target")))
"""Columns that users may assign, by polarbear's names."""
_ALIKE = {
    "evaluations": ("evaluation", "evals", "evaluation counter", "function evaluations", "fevals", "runtime", "budget"),
    "value": ("f(x)", "fitness", "y", "best", "raw_y", "best-so-far f(x)", "objective", "loss"),
    "algorithm": ("algorithmid", "algorithm_name", "optimizer", "optimizer_name", "method", "solver"),
    "instance": ("problem", "iid", "instance_id"),
    "seed": ("run", "run_id", "repetition", "rep"),
    "function": ("funcid", "function_id", "func", "fid"),
    "dimension": ("dim", "d", "n_variables"),
    "seconds": ("time", "elapsed", "wall_time"),
}
"""Names of these columns in other tools."""


@dataclass(frozen=True)
class Parcel:
    """A file that was sent but is not imported yet.

    Attributes:
        id: Identifier that cannot be guessed.
        name: Name of the file.
        file: Path at which it is kept.
        columns: Columns of a CSV file; empty for other files.
    """

    id: str
    name: str
    file: Path
    columns: tuple[str, ...]

    @property
    def speaks_for_itself(self) -> bool:
        """Whether it can be read without assigning its columns."""
        return not self.columns or {*REQUIRED, *KEY} <= set(self.columns)

    @property
    def guess(self) -> dict[str, str]:
        """For polarbear's column names, the similar columns of the file."""
        theirs = {name.strip().lower(): name for name in reversed(self.columns)}
        matches = {ours: [theirs[word] for word in (ours, *_ALIKE.get(ours, ())) if word in theirs] for ours in NAMED}
        return {ours: names[0] for ours, names in matches.items() if names}

    @property
    def beginning(self) -> list[str]:
        """The first lines of a CSV file."""
        with self.file.open("rb") as opened:
            return opened.read(_HEAD).decode("utf-8", "replace").splitlines()[:4]


class Uploads:
    """Files sent by users, in a temporary folder that is deleted when the server ends.

    Each becomes a study with a name that cannot be guessed: only the sender, and whoever is given its address, sees it.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._folder = tempfile.TemporaryDirectory(prefix="polarbear-")
        self._parcels: dict[str, Parcel] = {}
        self._example, self._making = "", threading.Lock()

    def receive(self, name: str, content: str) -> Parcel:
        """Keep a file that a browser sent.

        Args:
            name: Name of the file; its suffix may determine the format.
            content: Contents of the file as a data URI.

        Raises:
            ValueError: If it is too large, or incomplete.
            OSError: If it cannot be kept.
        """
        try:
            data = base64.b64decode(content.partition(",")[2], validate=True)
        except binascii.Error as error:
            raise ValueError(f"{name} did not arrive complete ({error}); send it again") from error
        if len(data) > LARGEST:
            raise ValueError(
                f"{name} has {len(data):,} bytes; at most {LARGEST:,} can be sent. Use polarbear import and serve the "
                "study instead"
            )
        kept = sum(path.stat().st_size for path in Path(self._folder.name).rglob("*") if path.is_file())
        if kept + len(data) > _TOTAL:
            raise ValueError(
                f"the files sent have {kept:,} bytes, and with {name} more than {_TOTAL:,}. Use polarbear import and "
                "serve the study instead"
            )
        folder = Path(tempfile.mkdtemp(dir=self._folder.name))
        file = folder / (re.sub(r"[^\w.-]", "_", Path(name).name).lstrip(".") or "data")
        file.write_bytes(data)
        columns = tuple(columns_of(data[:_HEAD])) if file.suffix.lower() in _TABLES else ()
        parcel = Parcel(secrets.token_urlsafe(12), name, file, columns)
        self._parcels[parcel.id] = parcel
        return parcel

    def find(self, parcel: str) -> Parcel:
        """Find a file that was sent but is not imported yet.

        Raises:
            ValueError: If there is no such file.
        """
        if parcel not in self._parcels:
            raise ValueError("the file is no longer here; send it again")
        return self._parcels[parcel]

    def take(
        self, parcel: Parcel, columns: Mapping[str, str] | None = None, *, algorithm: str = "", maximize: bool = False
    ) -> tuple[str, Imported]:
        """Import a file, and return the name of its study.

        Args:
            parcel: File to import; it is deleted if something was imported.
            columns: For a CSV file: its columns for polarbear's names, where they differ.
            algorithm: For a CSV file without a column of algorithms: name of the algorithm.
            maximize: For a CSV file: whether values are to be maximized.

        Raises:
            ValueError: If the import exceeds the limits, the format is unknown, or no run can be read.
            OSError: If it cannot be kept.
        """
        file, given = parcel.file, {ours: theirs for ours, theirs in (columns or {}).items() if theirs}
        if unknown := [ours for ours in given if ours not in COLUMNS]:
            raise ValueError(f"{unknown[0]!r} is not a column that can be assigned; choose from: {', '.join(COLUMNS)}")
        if missing := [ours for ours in REQUIRED if parcel.columns and ours not in {*given, *parcel.columns}]:
            raise ValueError(f"name the column that holds {listed(missing)}")
        study = file.parent / f"{file.stem[:40]}-{secrets.token_hex(6)}.study"
        rename = {file.stem: algorithm} if algorithm and "algorithm" not in given else {}
        try:
            imported = import_runs(
                file, study, columns=given, maximize=maximize, rename=rename, limits=_LIMITS, progress=say_reading
            )
        except ValueError as error:
            raise ValueError(str(error).replace(f"{file.parent}/", "")) from error
        if not imported.added:
            raise ValueError(f"no run can be read from {parcel.name}")
        self._parcels.pop(parcel.id, None)
        file.unlink()
        skipped = tuple(replace(each, path=each.path.replace(f"{file.parent}/", "")) for each in imported.skipped)
        return self._sources.add(study, listed=False), replace(imported, skipped=skipped)

    def example(self) -> str:
        """Make the example unless it exists, and return the name of its study, which all visitors share.

        Raises:
            OSError: If it cannot be written.
        """
        with self._making:
            if not self._example:
                made = make_example(Path(tempfile.mkdtemp(dir=self._folder.name)))
                self._example, _ = (self._sources.add(path, listed=False) for path in made)
            return self._example

    def close(self) -> None:
        """Delete everything that was sent."""
        self._folder.cleanup()
