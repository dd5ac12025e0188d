"""What a study holds on disk: its manifest, its parts, its rounds and its specification, as one."""

from __future__ import annotations

import copy
import json
import shlex
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from polarbear.records import Outcome, Run, RunKey, Samples
from polarbear.store import parts
from polarbear.store.atomic import make_directory, remove_temporaries, write_atomically
from polarbear.store.errors import Damage, StudyError
from polarbear.store.index import PartIndex, Size
from polarbear.store.locations import PartOfRuns
from polarbear.store.manifest import MANIFEST, UNKNOWN, Manifest, digest_in, file_number, read_manifest, sha256
from polarbear.store.paths import remote
from polarbear.store.rounds import RoundFiles
from polarbear.store.samples import SampleFiles
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

Found = TypeVar("Found")
SMALL = Size(8 << 20, 20_000)
"""Bytes and runs below which a part counts as small and is worth merging."""
MANY = 128
"""How many small parts are left before they are merged."""
_ATTEMPTS = 20
"""How often to look again for a part that the writer merges into others meanwhile."""


class Contents:
    """The files of a study. What writes is for the process that holds the lock, after `begin_writing`.

    Attributes:
        spec: The specification.
        version: The version of the study's format.
        rounds: The rounds of a race.
        index: The parts, which hold the runs.
        samples: The files of points that runs evaluated.
    """

    def __init__(self, path: Path, file: StudyFile | None = None) -> None:
        self._path = path
        file = file or read_study_file(path)
        self.spec, self.version, self._spec_digest = file.spec, file.version, file.digest
        self.index = PartIndex(path / RUNS)
        self.rounds = RoundFiles(path / ROUNDS)
        self.samples = SampleFiles(path / SAMPLES)
        self._manifest: Manifest | None = None
        self._manifest_damage = ""
        self._writing = False

    # Reading

    @property
    def damaged(self) -> list[Damage]:
        """The files that cannot be used."""
        # Elsewhere there are no directories that could be missing.
        folders = () if remote(self._path) else (RUNS, ROUNDS)
        missing = [name for name in folders if not (self._path / name).is_dir()]
        found = [Damage(self._path / name, "the directory is missing") for name in missing]
        if self._manifest_damage:
            found.append(Damage(self._path / MANIFEST, self._manifest_damage))
        for folder, path, why in self._damaged_files():
            if folder not in missing:
                found.append(Damage(self._path / path, why))
        lost = self._manifest.lost if self._manifest else ()
        return found + [Damage(self._path / path, "it was damaged or missing", accepted=True) for path in sorted(lost)]

    def refresh(self) -> None:
        """See what was written since the last time.

        Raises:
            OSError: If it lies elsewhere and cannot be reached, or files cannot be opened for lack of resources; as
                `NoTemporaryFile` if the list of its runs has no room.
        """
        while True:
            if not self._writing:
                self._read_manifest()
            head = self._manifest.head if self._manifest else None
            self.rounds.refresh(self._manifest)  # first: the runs of a round are on disk before the round is
            changed = self.index.refresh(self._manifest)
            self.samples.refresh(self._manifest)
            damaged = self.rounds.damaged or self.index.damaged or self.samples.damaged
            if self._writing or (head and not damaged):
                return
            # What is missing or unknown may be the work of a writer: a listing is to be believed if the manifest is
            # the same before and after, or without one if nothing has changed between two.
            if head is None and not changed:
                return
            self._read_manifest()
            if head and self._manifest and self._manifest.head == head:
                return

    def rounds_by_file(self) -> dict[Path, dict[str, Any]]:
        """The rounds that can be used, in order, by their files."""
        return {self._path / ROUNDS / name: copy.deepcopy(one) for name, one in sorted(self.rounds.contents.items())}

    def runs(self, keys: Collection[RunKey] | None = None) -> list[Run]:
        """The runs with these keys, by default all, in no particular order; errors as for `PartIndex.runs`."""
        return self._read(self.index.runs, lambda: self.index.rows(keys))

    def runs_of(self, part: PartOfRuns) -> list[Run]:
        """The runs that are, or were, read from a part; errors as for `PartIndex.runs`."""
        return self._read(self.index.runs, lambda: self._rows_of(part))

    def outcomes_of(self, part: PartOfRuns) -> list[tuple[RunKey, Outcome]]:
        """How the runs of a part ended; errors as for `PartIndex.runs`."""
        return self._read(self.index.outcomes, lambda: self._rows_of(part))

    def sample_files(self, keys: Collection[RunKey]) -> dict[RunKey, str]:
        """The files in which the points of those of these runs lie that have any; errors as for `PartIndex.runs`."""
        return self._read(self.index.sample_files, lambda: self.index.rows(keys)) if self.samples.digests else {}

    def samples_of(self, keys: Collection[RunKey]) -> dict[RunKey, Samples | None]:
        """The points of those of these runs that have any; errors as for `PartIndex.runs`."""

        def read(rows: dict[str, list[int]]) -> dict[RunKey, Samples | None]:
            files = set(self.index.sample_files(rows).values())
            return {key: one for name in files for key, one in self.samples.read(name, keys).items()}

        return self._read(read, lambda: self.index.rows(keys)) if self.samples.digests else {}

    def _rows_of(self, part: PartOfRuns) -> dict[str, list[int]]:
        """Where these runs lie by now: in their part, unless it was merged."""
        return {part.name: part.rows} if part.name in self.index.digests else self.index.rows(part.keys())

    def _read(self, read: Callable[[dict[str, list[int]]], Found], rows: Callable[[], dict[str, list[int]]]) -> Found:
        for _ in range(_ATTEMPTS):
            try:
                return read(rows())
            except FileNotFoundError as error:
                self._look_again(error)
        return read(rows())

    def _look_again(self, error: FileNotFoundError) -> None:
        """See into which part one was merged; ValueError if it is just gone."""
        self.refresh()
        gone = Path(str(error.filename)).name
        for folder, damaged in ((RUNS, self.index.damaged), (SAMPLES, self.samples.damaged)):
            if gone in damaged:
                path = self._path / folder / gone
                raise ValueError(f"{path} was damaged since the study was opened: {damaged[gone]}") from error

    def _read_manifest(self) -> None:
        self._manifest, self._manifest_damage = None, ""
        if self.version == 1:
            return
        try:
            self._manifest = read_manifest(self._path)
        except ValueError as error:
            self._manifest_damage = str(error)
        else:
            self._manifest_damage = "" if self._manifest else "the file is missing"

    def _damaged_files(self) -> Iterator[tuple[str, str, str]]:
        """The folder, the path and the fault of each part and round that cannot be used."""
        folders = (RUNS, self.index.damaged), (ROUNDS, self.rounds.damaged), (SAMPLES, self.samples.damaged)
        for folder, files in folders:
            yield from ((folder, f"{folder}/{name}", why) for name, why in sorted(files.items()))

    # Writing

    def begin_writing(self, *, accept_damage: bool) -> None:
        """Take in what a killed writer left, and bring a study of an earlier version to the present one.

        Args:
            accept_damage: Take the study as it is: files that are damaged or missing are given up, those that the
                manifest does not know are taken in if they can be read, as is a ``study.json`` that was changed.

        Raises:
            StudyError: If the manifest cannot be used, and that is not accepted.
            OSError: If something cannot be written.
        """
        if remote(self._path) is None:
            for name in (RUNS, ROUNDS):
                make_directory(self._path / name)
            for directory in (self._path, *(self._path / name for name in (RUNS, ROUNDS, SAMPLES))):
                remove_temporaries(directory)
        self.refresh()
        if self._manifest_damage and not accept_damage:
            raise StudyError(
                f"{self._path / MANIFEST} cannot be used: {self._manifest_damage}. Put it back from a copy, or have it "
                f"written anew from the files that are there: polarbear verify --accept-damage "
                f"{shlex.quote(str(self._path))}"
            )
        before, self._manifest_damage, self._writing = copy.deepcopy(self._manifest), "", True
        manifest = self._manifest = self._manifest or Manifest()
        if accept_damage and before:
            self._take_in_unknown(manifest)
        if accept_damage:
            self.samples.check()
        self._list_files(manifest, all_of_them=before is None, accept_damage=accept_damage)
        for path in [path for path in manifest.replaced if path != SPEC]:
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
        """Write the next part, and before it the points that its runs evaluated; OSError as for `StudyStore.commit`."""
        sampled = [run for run in runs if run.samples is not None]
        points = self._add_samples(parts.encode_samples(sampled)) if sampled else ""
        self._add_part(parts.encode(runs, points))
        self._save()

    def _add_part(self, data: bytes) -> None:
        name = self.index.next_name(data, self._listed.head)
        self._write(f"{RUNS}/{name}", data)
        self.index.add(name, data)

    def _add_samples(self, data: bytes) -> str:
        """Write a file of points and return its name."""
        if remote(self._path) is None:
            with _told(self._path / SAMPLES):
                make_directory(self._path / SAMPLES)
        name = self.samples.next_name(data, self._listed.head)
        self._write(f"{SAMPLES}/{name}", data)
        self.samples.add(name, data)
        return name

    def add_round(self, data: bytes) -> None:
        """Write the next round; OSError as for `StudyStore.commit`."""
        name = self.rounds.next_name(data, self._listed.head)
        self._write(f"{ROUNDS}/{name}", data)
        self.rounds.add(name, data)
        self._save()

    def replace_spec(self, spec: dict[str, Any]) -> None:
        """Replace the specification; errors as for `StudyStore.replace_spec`."""
        data, manifest = encode_spec(self._path, spec), self._listed
        manifest.files[SPEC], manifest.replaced[SPEC] = sha256(data), self._spec_digest
        self._save()  # now either file will do
        self._write(SPEC, data)
        self.spec, self._spec_digest = json.loads(data)["spec"], sha256(data)
        del manifest.replaced[SPEC]
        self._save()

    def merge_small(self) -> None:
        """Merge small parts. A kill in between leaves some runs in two parts, which does no harm."""
        manifest = self._listed
        for group in self._groups_to_merge():
            names = [name for name in group if name in self.index.digests]
            if len(names) < 2:
                continue  # the others are gone by now
            try:
                table = self.index.table(names)
            except ValueError:
                continue  # damaged since the study was opened: `damaged` names it from now on
            except FileNotFoundError:
                self.refresh()  # its runs are gone with it, so that they can be run again
                continue
            table, points = self._with_samples_merged(table)
            if len(table):
                self._add_part(parts.encode_table(table))
            paths = [*(f"{RUNS}/{name}" for name in names), *(f"{SAMPLES}/{name}" for name in points)]
            manifest.replaced |= {path: manifest.files.pop(path) for path in paths if path in manifest.files}
            self._save()
            self.index.forget(names)
            self.samples.forget(points)
            for path in paths:
                (self._path / path).unlink(missing_ok=True)
                manifest.replaced.pop(path, None)

    def _with_samples_merged(self, table: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
        """Merge small files of points that rows of parts name: the rows as they are then, and the merged files."""
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
            return table, []  # damaged since they were written, which whoever reads them is told
        merged = self._add_samples(parts.encode_table(points))
        return table.with_columns(pl.col("samples").replace(dict.fromkeys(small, merged))), small

    @property
    def small_parts(self) -> int:
        """How many parts are small."""
        return sum(map(_is_small, self.index.sizes.values()))

    @property
    def _listed(self) -> Manifest:
        if self._manifest is None:
            raise ValueError(f"study {self._path} is not open for writing; open it with write=True")
        return self._manifest

    def _take_in_unknown(self, manifest: Manifest) -> None:
        """Give files that are there another chance: those that were given up, and those that nobody knows."""
        manifest.files |= manifest.lost
        manifest.lost = {}
        for folder, path, _ in self._damaged_files():
            name = path.removeprefix(f"{folder}/")
            if path not in manifest.files and file_number(name):
                manifest.files[path] = digest_in(name)
        self.refresh()

    def _list_files(self, manifest: Manifest, *, all_of_them: bool, accept_damage: bool) -> None:
        """List what can be used; and what cannot as damaged, or as lost if that is accepted."""
        manifest.files[SPEC] = self._spec_digest
        rooms = (RUNS, self.index.digests), (ROUNDS, self.rounds.digests), (SAMPLES, self.samples.digests)
        for folder, digests in rooms:
            manifest.files |= {f"{folder}/{name}": digest for name, digest in digests.items()}
        for folder, path, _ in self._damaged_files():
            if not file_number(path.removeprefix(f"{folder}/")):
                continue
            if accept_damage:
                digest = manifest.files.pop(path, UNKNOWN)
                manifest.lost[path] = digest if len(digest) == len(UNKNOWN) else UNKNOWN
            elif all_of_them:
                manifest.files[path] = UNKNOWN

    def _write(self, path: str, data: bytes) -> None:
        """Write a file of the study, which belongs to it from now on."""
        with _told(self._path / path):
            write_atomically(self._path / path, data)
        self._listed.files[path] = sha256(data)

    def _save(self) -> None:
        with _told(self._path / MANIFEST):
            self._listed.write(self._path)

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


@contextmanager
def _told(path: Path) -> Generator[None]:
    """Say of an OSError what becomes of the study, and what to do."""
    try:
        yield
    except OSError as error:
        raise OSError(
            error.errno,
            f"{path} could not be written: {error.strerror}. Nothing committed before is lost, and the runs since then "
            "are kept in memory: make room or the directory writable and commit again, or resume the study later",
        ) from error


def _is_small(size: Size) -> bool:
    return size.bytes < SMALL.bytes and size.runs < SMALL.runs
