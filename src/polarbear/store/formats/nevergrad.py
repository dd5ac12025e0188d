"""Nevergrad's CSV files: one row per experiment, with only the loss at the end of its budget.

Each row is a separate run whose only known value is the one at its budget. The loss is the noise-free value of the
recommended point. Settings that make it a different problem of the same function form the instance, such as
``noise_level=0.2``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polarbear.store.formats.frames import LINE, columns_of, frames_of
from polarbear.store.formats.parsed_run import ParsedRun, Reader, identified, trajectory

_REQUIRED = {"optimizer_name", "loss", "budget"}
_FUNCTIONS = ("name", "function_name", "function_class")
_SETTINGS = (
    "noise_level", "noise_dissymmetry", "rotation", "translation_factor", "hashing", "aggregator", "split", "bounded",
    "expo", "zero_pen", "transform", "rescale", "num_workers", "num_objectives", "useless_variables", "num_blocks",
)  # fmt: skip
_DEFAULTS = {"", "0", "0.0", "1", "1.0", "none", "None", "nan", "False", "max"}


class Nevergrad(Reader):
    """Reader of CSV files with the columns ``optimizer_name``, ``loss`` and ``budget``."""

    name = "nevergrad"
    endings = (".csv",)

    def claims(self, name: str, data: bytes) -> bool:
        """Whether a CSV file has nevergrad's columns."""
        return name.endswith((".csv", ".txt")) and set(columns_of(data)) >= _REQUIRED

    def read(self, name: str, data: bytes) -> Iterator[ParsedRun]:
        """The runs of a file. A last row without the line feed that nevergrad writes may be cut off: it is left out."""
        label = self._tree.label(name)
        whole, _, last = data.rpartition(b"\n")
        if not whole:
            raise ValueError("it has no rows, or is cut off in its first line")
        if last.strip():
            self._report.skip(
                label, "the last line does not end with a newline, so it may be cut off", whole.count(b"\n") + 2
            )
        for frame in frames_of(whole + b"\n", label, self._report):
            for row in frame.iter_rows(named=True):
                try:
                    yield _experiment({column: text or "" for column, text in row.items() if column != LINE})
                except ValueError as error:
                    self._report.skip(label, f"not a valid experiment: {error}", int(row[LINE]))


def _experiment(row: Mapping[str, str]) -> ParsedRun:
    budget, loss = float(row["budget"]), float(row["loss"])
    if not (budget >= 1 and budget.is_integer()):
        raise ValueError(f"the budget is {row['budget']!r}; it must be a whole number of at least 1")
    function = next((row[name] for name in _FUNCTIONS if row.get(name)), "")
    if not function:
        raise ValueError(f"no function is named in {' or '.join(_FUNCTIONS)}")
    name, identity = identified("nevergrad", function, _dimension(row), _setting(row))
    at_end = trajectory([int(budget)], [loss], spent=int(budget))
    return ParsedRun(name, row["optimizer_name"], at_end, identity=identity)


def _dimension(row: Mapping[str, str]) -> int:
    if row.get("dimension"):
        return _whole(row, "dimension")
    useful = "useful_dimensions" if row.get("useful_dimensions") else "block_dimension"
    blocks = _whole(row, "num_blocks") if row.get("num_blocks") else 1
    return _whole(row, useful) * blocks + _whole(row, "useless_variables")


def _whole(row: Mapping[str, str], name: str) -> int:
    number = float(row.get(name) or 0)
    if not (number >= 0 and number.is_integer()):
        raise ValueError(f"{name} is {row[name]!r}; it must be a whole number of at least 0")
    return int(number)


def _setting(row: Mapping[str, str]) -> str:
    settings = ((name, row.get(name, "")) for name in _SETTINGS)
    return ",".join(f"{name}={value}" for name, value in settings if value not in _DEFAULTS) or "1"
