"""The parts of a study, the runs that they contain, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from polarbear.records import Instance, Outcome, Run, RunKey
from polarbear.store import parts
from polarbear.store.folders import Folder
from polarbear.store.locations import Locations, PartOfRuns

if TYPE_CHECKING:
    import polars as pl

Item = TypeVar("Item")


class Size(NamedTuple):
    """The size of a part."""

    bytes: int
    runs: int


class PartIndex(Folder):
    """The parts of a study, and the position of each run in them.

    The methods that read parts raise OSError if a part can no longer be read, and ValueError if it was damaged after
    the study was opened.

    Attributes:
        sizes: The size of each usable part, by file name.
        problems: The problems of runs whose instance names do not identify them.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.sizes: dict[str, Size] = {}
        self.problems: dict[RunKey, Instance] = {}
        self._locations = Locations()
        self._last: tuple[str, pl.DataFrame] | None = None

    def __contains__(self, key: RunKey) -> bool:
        return key in self._locations

    def __iter__(self) -> Iterator[RunKey]:
        return iter(self._locations)

    def __len__(self) -> int:
        return len(self._locations)

    def add(self, name: str, data: bytes) -> None:
        """Add a part; ValueError if its bytes cannot be read."""
        keys = parts.decode_keys(data)
        self.problems |= parts.decode_unnamed_problems(data)
        self._locations.add(name, keys)
        self.sizes[name] = Size(len(data), len(keys))
        super().add(name, data)

    def forget(self, names: Collection[str]) -> None:
        """Forget parts. A run that is in another part as well stays known."""
        self._locations.remove(names)
        for name in names:
            del self.sizes[name]
        super().forget(names)

    def rows(self, keys: Collection[RunKey] | None = None) -> dict[str, list[int]]:
        """The rows of given runs in each part, by default of all runs; KeyError if one is gone."""
        return self._locations.find_all(keys)

    def runs(self, rows: Mapping[str, list[int]]) -> list[Run]:
        """The runs in the given rows of each part."""
        return self._each(rows, lambda name, numbers: parts.runs_of(self._table(name), numbers))

    def outcomes(self, rows: Mapping[str, list[int]]) -> list[tuple[RunKey, Outcome]]:
        """The outcomes of the runs in the given rows of each part."""

        def read(name: str, numbers: list[int]) -> list[tuple[RunKey, Outcome]]:
            outcomes = parts.decode_outcomes(self.read(name))
            return [outcomes[number] for number in numbers]

        return self._each(rows, read)

    def sample_files(self, rows: Mapping[str, list[int]]) -> dict[RunKey, str]:
        """The files with the points of the runs, for those that have any."""
        return dict(self._each(rows, lambda name, numbers: parts.sample_files_of(self._table(name), numbers)))

    def table(self, names: Sequence[str]) -> pl.DataFrame:
        """The rows that are read from the given parts."""
        import polars as pl

        keys = [key for name in names for key in self._locations.held_by(name)]
        tables = self._each(self.rows(keys), lambda name, numbers: [self._table(name)[numbers]])
        return pl.concat(tables or [self._table(names[0])[:0]])

    def by_part(self) -> Iterator[PartOfRuns]:
        """The runs that are read from each part, in the order of commits, as of now."""
        return self._locations.by_part()

    def _each(self, rows: Mapping[str, list[int]], read: Callable[[str, list[int]], Iterable[Item]]) -> list[Item]:
        items: list[Item] = []
        for name, numbers in rows.items():
            try:
                items += read(name, numbers)
            except ValueError as error:
                raise self.damaged_since(name, str(error)) from error
        return items

    def _table(self, name: str) -> pl.DataFrame:
        """A part's rows. The last part is cached, as runs that are read one by one are often in the same part."""
        if self._last is None or self._last[0] != name:
            self._last = name, parts.decode_table(self.read(name))
        return self._last[1]
