"""The points that runs evaluated: Parquet files of their own, which are read only when they are asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from polarbear.records import RunKey, Samples
from polarbear.store import parts
from polarbear.store.errors import EXHAUSTED
from polarbear.store.manifest import Manifest, digest_in, file_name, file_number, read_file, sha256, sort_out
from polarbear.store.paths import remote

if TYPE_CHECKING:
    import polars as pl


class SampleFiles:
    """The files of points in a directory, which is there once there is one. The row of a run names its file.

    Attributes:
        digests: The SHA-256 of those that are there, by file name.
        sizes: How many bytes those have that were written through this object.
        damaged: The files that cannot be used or are missing, and why, by name. Whether the others are as they were
            written is found out when they are read.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.digests: dict[str, str] = {}
        self.sizes: dict[str, int] = {}
        self.damaged: dict[str, str] = {}

    def next_name(self, data: bytes, head: str) -> str:
        """What the next file is called."""
        number = max(map(file_number, (*self.digests, *self.damaged)), default=0) + 1
        return file_name(number, data, head, parts.SUFFIX)

    def add(self, name: str, data: bytes) -> None:
        """Take in a file that was written."""
        self.digests[name], self.sizes[name] = sha256(data), len(data)

    def forget(self, names: Collection[str]) -> None:
        """Let go of files."""
        for name in names:
            del self.digests[name], self.sizes[name]

    def refresh(self, manifest: Manifest | None) -> None:
        """Look at the directory again.

        Raises:
            OSError: If it lies elsewhere and cannot be reached, or files cannot be opened for lack of resources.
        """
        found = sort_out(self._directory, parts.SUFFIX, manifest)
        self.damaged = found.unknown | dict.fromkeys(found.absent, "the file is missing")
        self.digests = {name: digest for name, digest in found.belonging.items() if name not in self.damaged}
        for name in [name for name, digest in self.digests.items() if digest == digest_in(name)]:
            data = self._data(name)  # the manifest does not know all of the digest yet
            if data is not None:
                self.digests[name] = sha256(data)

    def check(self) -> None:
        """Read all files, so that `damaged` names those that are not as they were written; OSError as for `refresh`."""
        for name in list(self.digests):
            self._data(name)

    def read(self, name: str, keys: Collection[RunKey]) -> Mapping[RunKey, Samples | None]:
        """The points of some runs in a file; none if it is known to be damaged.

        Raises:
            OSError: If it cannot be read any more, as `ValueError` if it has been damaged since.
        """
        if name not in self.digests:
            return {}
        try:
            found = parts.decode_samples(read_file(self._directory / name, self.digests[name]))
        except ValueError as error:
            self._give_up(name, str(error))
            path = self._directory / name
            raise ValueError(f"{path} was damaged since the study was opened: {error}") from error
        return {key: samples for key, samples in found if key in keys}

    def table(self, names: Collection[str]) -> pl.DataFrame:
        """The rows of several files, one after the other; errors as for `read_file`."""
        import polars as pl

        data = (read_file(self._directory / name, self.digests[name]) for name in names)
        return pl.concat(map(parts.decode_samples_table, data))

    def _data(self, name: str) -> bytes | None:
        """The bytes of a file; None if they cannot be used, which `damaged` tells then."""
        try:
            return read_file(self._directory / name, self.digests[name])
        except (OSError, ValueError) as error:
            gone = isinstance(error, FileNotFoundError)
            if isinstance(error, OSError) and not gone and (remote(self._directory) or error.errno in EXHAUSTED):
                raise  # which says nothing about the file
            self._give_up(name, "the file is missing" if gone else str(error))
            return None

    def _give_up(self, name: str, why: str) -> None:
        del self.digests[name]
        self.sizes.pop(name, None)
        self.damaged[name] = why
