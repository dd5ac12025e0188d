"""Data that users send: read by the importer in a process with limits, into a temporary study."""

from __future__ import annotations

import base64
import binascii
import re
import secrets
import tempfile
from pathlib import Path

from polarbear.store import Imported, Limits, import_runs
from polarbear.web.sources import Sources

LARGEST = 64 << 20
"""Bytes of a file that is sent."""
_LIMITS = Limits(total=1 << 30, files=20_000, seconds=60.0, memory=2 << 30)


class Uploads:
    """What was sent, in a temporary folder that goes when the server ends.

    Each becomes a study with a name that nobody guesses: who sent it sees it, and whoever is given its address.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._folder = tempfile.TemporaryDirectory(prefix="polarbear-")

    def take(self, name: str, content: str) -> tuple[str, Imported]:
        """Import a file that a browser sent, and return the name of its study.

        Args:
            name: Of the file; its ending may tell the format.
            content: A data URI.

        Raises:
            ValueError: If it is too large, asks for too much, or is of no known format.
            OSError: If it cannot be kept.
        """
        try:
            data = base64.b64decode(content.partition(",")[2], validate=True)
        except binascii.Error as error:
            raise ValueError(f"{name} did not arrive whole ({error}); send it again") from error
        if len(data) > LARGEST:
            raise ValueError(
                f"{name} has {len(data):,} bytes; at most {LARGEST:,} can be sent: import it, and serve it"
            )
        folder = Path(tempfile.mkdtemp(dir=self._folder.name))
        file = folder / (re.sub(r"[^\w.-]", "_", Path(name).name).lstrip(".") or "data")
        file.write_bytes(data)
        study = folder / f"{file.stem[:40]}-{secrets.token_hex(6)}.study"
        try:
            imported = import_runs(file, study, limits=_LIMITS)
        except ValueError as error:
            raise ValueError(str(error).replace(f"{folder}/", "")) from error
        finally:
            file.unlink()
        if not imported.added:
            raise ValueError(f"no run can be read from {name}")
        return self._sources.add(study, listed=False), imported

    def close(self) -> None:
        """Delete everything that was sent."""
        self._folder.cleanup()
