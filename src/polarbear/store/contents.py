"""The files of a study on disk: its specification, manifest, parts, rounds and points."""

from __future__ import annotations

import copy
import json
import shlex
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from polarbear.records import Outcome, Run, RunKey, Samples
from polarbear.store import parts
from polarbear.store.atomic import make_directory, remove_temporaries, write_atomically
from polarbear.store.errors import Damage, StudyError, explain
from polarbear.store.folders import MISSING_FILE, Folder, RoundFiles, SampleFiles, digest_in, file_number
from polarbear.store.index import PartIndex, Size
from polarbear.store.locations import PartOfRuns
from polarbear.store.manifest import MANIFEST, UNKNOWN, Manifest, read_manifest, sha256
from polarbear.store.paths import remote
from polarbear.store.specification import (
    ROUNDS,
    RUNS,
    SAMPLES,
    SPEC,
    VERSION,
    StudyFile,
    encode_spec,
    read_study_file,
)

if TYPE_CHECKING:
    import polars as pl

Result = TypeVar("Result")
SMALL = Size(8 << 20, 20_000)
"""Size in bytes and runs below which a part counts as small and is worth merging."""
MANY = 128
"""Number of small parts that triggers a merge."""
_ATTEMPTS = 20
"""Number of attempts to find a part that the writer meanwhile merges into others."""
_NOT_WRITTEN = (
    "Nothing committed before is lost, and later runs are kept in memory: free disk space or make the directory "
    "writable and commit again, or resume the study later"
)


class Contents:
    """The files of a study. Writing methods are for the process that holds the lock, after `begin_writing`.

    Methods that read runs or points raise OSError if a file can no longer be read, and ValueError if it was damaged
    after the study was opened.

    Attributes:
        spec: The specification.
        version: The version of the study's format.
        origin: The machine, software and time with which the study was begun.
        rounds: The rounds of a race.
        index: The parts that contain the runs.
        samples: The files with the points that runs evaluated.
    """

    def __init__(self, path: Path, file: StudyFile | None = None) -> None:
        self._path = path
        file = file or read_study_file(path)
        self.spec, self.version, self._spec_digest = file.spec, file.version, file.digest
        self.origin = file.origin
        self.index = PartIndex(path / RUNS)
        self.rounds = RoundFiles(path / ROUNDS)
        self.samples = SampleFiles(path / SAMPLES)
        self._folders: dict[str, Folder] = {RUNS: self.index, ROUNDS: self.rounds, SAMPLES: self.samples}
        self._manifest: Manifest | None = None
        self._manifest_damage = ""
        self._writing = False

    # Reading

    @property
    def damaged(self) -> list[Damage]:
        """The unusable files."""
        # Remote stores have no directories that could be missing.
        required = () if remote(self._path) else (RUNS, ROUNDS)
        missing = [name for name in required if not (self._path / name).is_dir()]
        damaged = [Damage(self._path / name, "the directory is missing") for name in missing]
        if self._manifest_damage:
            damaged.append(Damage(self._path / MANIFEST, self._manifest_damage))
        damaged += [
            Damage(self._path / path, why) for path, why in self._damaged_files(set(self._folders) - {*missing})
        ]
        lost = self._manifest.lost if self._manifest else ()
        return damaged + [
            Damage(self._path / path, "it was damaged or missing", accepted=True) for path in sorted(lost)
        ]

    def refresh(self) -> None:
        """Take in what was written since the last call.

        Raises:
            OSError: If a remote store cannot be reached, or files cannot be opened for lack of resources; as
                `NoTemporaryFile` if the list of its runs has no room.
        """
        while True:
            if not self._writing:
                self._read_manifest()
            head = self._manifest.head if self._manifest else None
            self.rounds.refresh(self._manifest)  # first, as the runs of a round are on disk before the round is
            changed = self.index.refresh(self._manifest)
            self.samples.refresh(self._manifest)
            if self._writing or (head and not any(folder.damaged for folder in self._folders.values())):
                return
            # Missing or unknown files may be the work of a writer: a listing is believed if the manifest is the same
            # before and after, or without one if nothing has changed between two.
            if head is None and not changed:
                return
            self._read_manifest()
            if head and self._manifest and self._manifest.head == head:
                return

    def rounds_by_file(self) -> dict[Path, dict[str, Any]]:
        """The usable rounds by their files, in order."""
        rounds = sorted(self.rounds.contents.items())
        return {self._path / ROUNDS / name: copy.deepcopy(content) for name, content in rounds}

    def runs(self, keys: Collection[RunKey] | None = None) -> list[Run]:
        """The runs with the given keys, by default all, in no particular order; KeyError if one is missing."""
        return self._read(self.index.runs, lambda: self.index.rows(keys))

    def runs_of(self, part: PartOfRuns) -> list[Run]:
        """The runs that are read from a part, or were before it was merged."""
        return self._read(self.index.runs, lambda: self._rows_of(part))

    def outcomes_of(self, part: PartOfRuns) -> list[tuple[RunKey, Outcome]]:
        """The outcomes of the runs of a part."""
        return self._read(self.index.outcomes, lambda: self._rows_of(part))

    def sample_files(self, keys: Collection[RunKey]) -> dict[RunKey, str]:
        """The files with the points of the given runs, for those that have any."""
        return self._read(self.index.sample_files, lambda: self.index.rows(keys)) if self.samples.digests else {}

    def samples_of(self, keys: Collection[RunKey]) -> dict[RunKey, Samples | None]:
        """The points of the given runs, for those that have any."""

        def read(rows: dict[str, list[int]]) -> dict[RunKey, Samples | None]:
            files = set(self.index.sample_files(rows).values())
            return {key: samples for name in files for key, samples in self.samples.points(name, keys).items()}

        return self._read(read, lambda: self.index.rows(keys)) if self.samples.digests else {}

    def _rows_of(self, part: PartOfRuns) -> dict[str, list[int]]:
        """The current rows of a part's runs: in that part, or elsewhere if it was merged."""
        return {part.name: part.rows} if part.name in self.index.digests else self.index.rows(part.keys())

    def _read(self, read: Callable[[dict[str, list[int]]], Result], rows: Callable[[], dict[str, list[int]]]) -> Result:
        """Read rows; if their file is gone, find the file it was merged into."""
        for _ in range(_ATTEMPTS):
            try:
                return read(rows())
            except FileNotFoundError as error:
                self.refresh()
                name = Path(str(error.filename)).name
                for folder in (self.index, self.samples):
                    if name in folder.damaged:
                        raise folder.damaged_since(name, folder.damaged[name]) from error
        return read(rows())

    def _read_manifest(self) -> None:
        self._manifest, self._manifest_damage = None, ""
        if self.version == 1:
            return
        try:
            self._manifest = read_manifest(self._path)
        except ValueError as error:
            self._manifest_damage = str(error)
        else:
            self._manifest_damage = "" if self._manifest else MISSING_FILE

    def _damaged_files(self, folders: Collection[str] = (RUNS, ROUNDS, SAMPLES)) -> Iterator[tuple[str, str]]:
        """The path and the fault of each unusable file in the folders."""
        for folder, files in self._folders.items():
            if folder in folders:
                yield from ((f"{folder}/{name}", why) for name, why in sorted(files.damaged.items()))

    # Writing

    def begin_writing(self, *, accept_damage: bool) -> None:
        """Add the files that a killed writer left, and upgrade a study of an earlier version.

        Args:
            accept_damage: Accept the study as it is: damaged or missing files are given up, and files that the manifest
                does not name are added if they can be read, as is a changed ``study.json``.

        Raises:
            StudyError: If the manifest is unusable and that is not accepted.
            OSError: If something cannot be written.
        """
        if not remote(self._path):
            for name in (RUNS, ROUNDS):
                make_directory(self._path / name)
            for directory in (self._path, *(self._path / name for name in self._folders)):
                remove_temporaries(directory)
        self.refresh()
        if self._manifest_damage and not accept_damage:
            raise StudyError(
                f"{self._path / MANIFEST} cannot be used: {self._manifest_damage}. Restore it from a copy, or rebuild "
                f"it from the files in the study: polarbear verify --accept-damage {shlex.quote(str(self._path))}"
            )
        before, self._manifest_damage, self._writing = copy.deepcopy(self._manifest), "", True
        manifest = self._manifest = self._manifest or Manifest()
        if accept_damage:
            if before:
                self._add_unknown(manifest)
            self.samples.check()
        self._list_files(manifest, all_of_them=before is None, accept_damage=accept_damage)
        for path in manifest.replaced:
            if path != SPEC:
                (self._path / path).unlink(missing_ok=True)
        manifest.replaced = {}
        if self.version < VERSION:
            self.replace_spec(self.spec)
            self.version = VERSION
        elif before is None or (before.files, before.lost) != (manifest.files, manifest.lost):
            self._save()
        if accept_damage:
            self.refresh()

    def add_runs(self, runs: Sequence[Run]) -> None:
        """Write the next part, preceded by the points that its runs evaluated; OSError as for `StudyStore.commit`."""
        sampled = [run for run in runs if run.samples is not None]
        points = self._add_samples(parts.encode_samples(sampled)) if sampled else ""
        self._add(RUNS, parts.encode(runs, points))
        self._save()

    def add_round(self, data: bytes) -> None:
        """Write the next round; OSError as for `StudyStore.commit`."""
        self._add(ROUNDS, data)
        self._save()

    def replace_spec(self, spec: dict[str, Any]) -> None:
        """Replace the specification; raises as `StudyStore.replace_spec`."""
        data, manifest = encode_spec(self._path, spec, self.origin), self._listed
        manifest.files[SPEC], manifest.replaced[SPEC] = sha256(data), self._spec_digest
        self._save()  # from now on, either file is valid
        self._write(SPEC, data)
        self.spec, self._spec_digest = json.loads(data)["spec"], sha256(data)
        del manifest.replaced[SPEC]
        self._save()

    def merge_small(self) -> None:
        """Merge small parts. A kill in between leaves some runs in two parts, which is harmless."""
        manifest = self._listed
        for group in self._groups_to_merge():
            names = [name for name in group if name in self.index.digests]
            if len(names) < 2:
                continue  # the others are already gone
            try:
                table = self.index.table(names)
            except ValueError:
                continue  # damaged after the study was opened: `damaged` names it from now on
            except FileNotFoundError:
                self.refresh()  # its runs are lost with it, so that they can be run again
                continue
            table, points = self._with_samples_merged(table)
            if len(table):
                self._add(RUNS, parts.encode_table(table))
            paths = [*(f"{RUNS}/{name}" for name in names), *(f"{SAMPLES}/{name}" for name in points)]
            manifest.replaced |= {path: manifest.files.pop(path) for path in paths if path in manifest.files}
            self._save()
            self.index.forget(names)
            self.samples.forget(points)
            for path in paths:
                (self._path / path).unlink(missing_ok=True)
                manifest.replaced.pop(path, None)

    @property
    def small_parts(self) -> int:
        """Number of small parts."""
        return sum(map(_is_small, self.index.sizes.values()))

    def _groups_to_merge(self) -> list[list[str]]:
        groups: list[list[str]] = [[]]
        filled = Size(0, 0)
        for name, size in sorted(self.index.sizes.items()):
            if _is_small(size):
                groups[-1].append(name)
                filled = Size(filled.bytes + size.bytes, filled.runs + size.runs)
                if not _is_small(filled):
                    groups.append([])
                    filled = Size(0, 0)
        return [group for group in groups if len(group) > 1]

    def _with_samples_merged(self, table: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
        """Merge small files of points that rows of parts name; return the updated rows and the merged files' names."""
        import polars as pl

        sizes = self.samples.sizes
        named = table["samples"].drop_nulls().unique(maintain_order=True).to_list()
        known = sorted((name for name in named if name in sizes), key=sizes.__getitem__)
        total = accumulate(map(sizes.__getitem__, known))
        small = [name for name, size in zip(known, total, strict=True) if size < SMALL.bytes]
        if len(small) < 2:
            return table, []
        try:
            points = self.samples.table(small)
        except (ValueError, FileNotFoundError):
            return table, []  # damaged after they were written, which reading them will report
        merged = self._add_samples(parts.encode_table(points))
        return table.with_columns(pl.col("samples").replace(dict.fromkeys(small, merged))), small

    @property
    def _listed(self) -> Manifest:
        if self._manifest is None:
            raise ValueError(f"study {self._path} is not open for writing; open it with write=True")
        return self._manifest

    def _add_unknown(self, manifest: Manifest) -> None:
        """Retry the files that were given up, and those that the manifest does not name."""
        manifest.files |= manifest.lost
        manifest.lost = {}
        for path, _ in self._damaged_files():
            name = path.partition("/")[2]
            if path not in manifest.files and file_number(name):
                manifest.files[path] = digest_in(name)
        self.refresh()

    def _list_files(self, manifest: Manifest, *, all_of_them: bool, accept_damage: bool) -> None:
        """List usable files as such, and damaged ones as damaged, or as lost if that is accepted."""
        manifest.files[SPEC] = self._spec_digest
        for folder, files in self._folders.items():
            manifest.files |= {f"{folder}/{name}": digest for name, digest in files.digests.items()}
        for path, _ in self._damaged_files():
            if not file_number(path.partition("/")[2]):
                continue
            if accept_damage:
                digest = manifest.files.pop(path, UNKNOWN)
                manifest.lost[path] = digest if len(digest) == len(UNKNOWN) else UNKNOWN
            elif all_of_them:
                manifest.files[path] = UNKNOWN

    def _add_samples(self, data: bytes) -> str:
        """Write a file of points and return its name."""
        if not remote(self._path):
            directory = self._path / SAMPLES
            with explain(f"{directory} could not be written", _NOT_WRITTEN):
                make_directory(directory)
        return self._add(SAMPLES, data)

    def _add(self, folder: str, data: bytes) -> str:
        """Write the next file of a folder and return its name."""
        name = self._folders[folder].next_name(data, self._listed.head)
        self._write(f"{folder}/{name}", data)
        self._folders[folder].add(name, data)
        return name

    def _write(self, path: str, data: bytes) -> None:
        """Write a file, which belongs to the study from now on."""
        with explain(f"{self._path / path} could not be written", _NOT_WRITTEN):
            write_atomically(self._path / path, data)
        self._listed.files[path] = sha256(data)

    def _save(self) -> None:
        with explain(f"{self._path / MANIFEST} could not be written", _NOT_WRITTEN):
            self._listed.write(self._path)


def _is_small(size: Size) -> bool:
    return size.bytes < SMALL.bytes and size.runs < SMALL.runs
