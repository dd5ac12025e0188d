"""Text files of the Stochastic Optimisation Software (SOS), one run per file.

The first line contains pairs of names and values after a ``#``, such as ``# function 0 dim 30 max_evals 300000``. Every
other line is a point that entered the population: its number, its ancestor, its value, the evaluation that found it,
the number of the point it replaced, and its ``dim`` coordinates. The algorithm's name is the file's name up to its last
``D``, which is followed by the dimension. Values are minimized.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

import numpy as np

from polarbear.records import FloatArray
from polarbear.store.formats.archives import decoded
from polarbear.store.formats.parsed_run import LARGEST_DIMENSION, MOST, ParsedRun, Reader, identified, trajectory
from polarbear.store.formats.reports import Report

SUITE = "SOS"
_DIMENSION = 30
"""The dimension that the platform's own analyses assume if the header gives none."""
_AFTER_VALUE = 3
"""Number of columns from the value to the coordinates: the value, the evaluation, and the replaced point."""


class Sos(Reader):
    """Reader of the text files of SOS. Its files of corrections, which contain no runs, are ignored."""

    name = "sos"
    endings = (".txt",)

    def claims(self, name: str, data: bytes) -> bool:
        """Whether a text file begins like those of SOS."""
        words = data[:4096].split(b"\n", 1)[0].split()
        return name.endswith(".txt") and words[:1] == [b"#"] and b"function" in words

    def read(self, name: str, data: bytes) -> Iterator[ParsedRun]:
        """The run of a file."""
        run = _run(name, data, self._tree.label(name), self._report)
        if run is not None:
            yield run


def _run(name: str, data: bytes, label: str, report: Report) -> ParsedRun | None:
    lines = data.split(b"\n")
    words = decoded(lines[0], label, report).split()[1:]
    header = dict(zip(words[::2], words[1::2], strict=False))
    try:
        dimension = int(header.get("dim", _DIMENSION))
        if not 0 < dimension <= LARGEST_DIMENSION:
            raise ValueError
    except ValueError:
        report.skip(label, f"the dimension is {header['dim']!r}; it must be a whole number from 1 to 10**9", 1)
        return None
    evaluations: list[int] = []
    values: list[float] = []
    points: list[list[bytes]] = []
    if last := lines.pop().strip():
        report.skip(
            label,
            f"the last line does not end with a newline, so it may be cut off: {last[:60].decode(errors='replace')!r}",
        )
    for number, line in enumerate(lines[1:], start=2):
        cells = line.split()
        if not cells:
            continue
        at = len(cells) - dimension - _AFTER_VALUE
        try:
            if at < 0:
                raise ValueError("too few columns")
            value, evaluation = float(cells[at]), int(cells[at + 1])
            if not 1 <= evaluation <= MOST:
                raise ValueError(f"evaluation {evaluation} is out of range")
        except ValueError as error:
            report.skip(label, f"not a point with {dimension} coordinates, a value and its evaluation: {error}", number)
            continue
        evaluations.append(evaluation)
        values.append(value)
        points.append(cells[-dimension:])
    if not evaluations:
        report.skip(label, "it has no points")
        return None
    best = min(range(len(values)), key=lambda row: (values[row], evaluations[row]))
    stem = posixpath.basename(name).rpartition(".")[0] or name
    instance, identity = identified(SUITE, header.get("function", ""), dimension, header.get("instance", "1"))
    return ParsedRun(
        instance,
        stem.rpartition("D")[0] or stem,
        trajectory(evaluations, values, spent=max(evaluations)),
        solution=_coordinates(points[best], label, report),
        identity=identity,
    )


def _coordinates(cells: list[bytes], label: str, report: Report) -> FloatArray | None:
    """The point of the best value; None, which is reported, if it cannot be read."""
    try:
        return np.array(list(map(float, cells)))
    except ValueError as error:
        report.remark(label, f"the point of its best value cannot be read: {error}")
        return None
