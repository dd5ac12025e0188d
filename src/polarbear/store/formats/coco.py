"""COCO's archives and folders, from 2009 on: single-objective, biobjective, noisy and constrained.

Values are precisions, f − f_opt, as COCO logs them, or its indicator for two objectives; so the optimum is 0. A run's
``.dat`` rows, logged when a target is hit, and its ``.tdat`` rows, logged at selected evaluations, form one trajectory.
First hitting times of COCO's targets are those of ``cocopp``, which reads them from the ``.dat`` rows, and so is the
number of evaluations spent, that of the last row.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from polarbear.quantities import plural
from polarbear.records import FloatArray, IntArray, Parameters
from polarbear.store.formats.archives import Tree, beside
from polarbear.store.formats.coco_dat import Block, Rows, blocks, contradicted, layout, match_by_end, rows
from polarbear.store.formats.info import DataFile, Entry, Listed, entries, first_format
from polarbear.store.formats.parsed_run import ParsedRun, Reader, identified, trajectory
from polarbear.store.formats.reports import Report

PRECISION = 1e-8
"""COCO's final target precision if the header does not give it."""
TARGETS_PER_DECADE = 5
"""COCO, in any version, logs at least when a target 10**(i/5) is hit."""
ABOVE = 2e-9
"""Relative amount by which a value that misses a target lies above it: ``cocopp`` treats 1e-9 as equal."""
ARTIFICIAL = b"Artificial instance"
"""The mark of reference algorithms' data, which are expected runtimes, not runs."""
_LOST = {
    "dat": "target hitting times are taken from the .tdat file and are only approximate",
    "tdat": "values between target hits are unknown",
}


class Coco(Reader):
    """Reader of ``.info`` files. Data sets that appear twice, as in merged folders, count once."""

    name = "coco"
    endings = (".info",)

    def __init__(self, tree: Tree, report: Report) -> None:
        super().__init__(tree, report)
        self._seen: dict[bytes, str] = {}
        self._references: set[str] = set()

    def claims(self, name: str, data: bytes) -> bool:
        """Whether a file is a COCO ``.info`` file."""
        return name.endswith(".info") and not first_format(self._tree, name, data)

    def read(self, name: str, data: bytes) -> Iterator[ParsedRun]:
        """The runs that an ``.info`` file lists."""
        for entry in entries(data, self._tree.label(name), self._report):
            for file in entry.files:
                yield from self._file(name, entry, file)

    def _file(self, info: str, entry: Entry, file: DataFile) -> Iterator[ParsedRun]:
        label = self._tree.label(info)
        stem = beside(info, posixpath.join(entry.get("folder"), posixpath.splitext(file.path)[0]))
        if stem is None:
            self._report.skip(label, f"{file.path} lies outside the data; it is not read", entry.line)
            return
        names = {ending: f"{stem}.{ending}" for ending in ("dat", "tdat", "rdat")}
        contents = {ending: self._bytes(name) for ending, name in names.items() if name in self._tree}
        if not contents.keys() & {"dat", "tdat"}:
            self._report.skip(label, f"both {names['dat']} and {names['tdat']} are missing", entry.line)
        elif any(ARTIFICIAL in data[:200] for data in contents.values()):
            if label not in self._references:
                self._references.add(label)
                self._report.skip(
                    label, "expected runtimes of a reference algorithm, not runs; read them with read_reference"
                )
        elif not self._is_repeated(entry, file, contents, label):
            logs = {
                ending: _Log(self._tree.label(names[ending]), blocks(data), ending == "tdat", entry, self._report)
                for ending, data in contents.items()
            }
            for ending, lost in _LOST.items():
                if ending not in logs:
                    self._report.skip(label, f"{names[ending]} is missing; {lost}", entry.line)
            yield from self._runs(label, entry, file, logs)

    def _bytes(self, name: str) -> bytes:
        try:
            return self._tree.read(name)
        except (OSError, ValueError) as error:
            self._report.skip(self._tree.label(name), str(error))
            return b""

    def _is_repeated(self, entry: Entry, file: DataFile, contents: dict[str, bytes], label: str) -> bool:
        header = repr((sorted(entry.fields.items()), file.runs)).encode()
        digest = hashlib.sha256(b"\0".join([header, *contents.values()])).digest()
        first = self._seen.setdefault(digest, label)
        if first != label:
            self._report.skip(label, f"duplicates the data of {first}, which are read once", entry.line)
        return first != label

    def _runs(self, label: str, entry: Entry, file: DataFile, logs: dict[str, _Log]) -> Iterator[ParsedRun]:
        restarts = logs.pop("rdat", None)
        restarts_of = _by_order(file.runs, restarts.blocks) if restarts else {}
        blocks_of = {ending: self._match(file.runs, log) for ending, log in logs.items()}
        for position, listed in enumerate(file.runs):
            own = {ending: matched[position] for ending, matched in blocks_of.items() if position in matched}
            if not own:
                self._report.skip(
                    label, f"run {position + 1} (instance {listed.instance}) is missing from the data files", entry.line
                )
                continue
            log = {ending: logs[ending].rows(block) for ending, block in own.items()}
            if {"dat", "tdat"} <= log.keys() and not entry.has_indicator:
                log["tdat"] = self._without_contradicted(log, own["tdat"], logs["tdat"].label, logs["dat"].label)
            parameters = None
            block = restarts_of.get(position)
            if restarts and block and block.rows:
                at = np.unique(restarts.rows(block).evaluations)
                parameters = Parameters(at, {"restarts": np.arange(1.0, at.size + 1)}) if at.size else None
            yield self._run(label, entry, listed, log, parameters)

    def _without_contradicted(self, log: Mapping[str, Rows], block: Block, label: str, hits: str) -> Rows:
        """The ``.tdat`` rows without values contradicted by the ``.dat`` rows, which record when targets were hit."""
        times = log["tdat"]
        wrong = contradicted(log["dat"], times, ABOVE)
        if not wrong:
            return times
        at, value = times.evaluations[wrong[0]], times.values[wrong[0]]
        more = f" (likewise in {plural(len(wrong) - 1, 'more row')} of this run)" if len(wrong) > 1 else ""
        self._report.skip(
            label,
            f"at evaluation {at} the best value is {value:g}, but {hits} has a worse one then or later{more}; the "
            ".dat file is used, as in cocopp",
            block.first + wrong[0],
        )
        values = np.array(times.values)
        values[wrong] = np.inf
        return Rows(times.evaluations, values.tolist(), times.whole)

    def _match(self, runs: Sequence[Listed], log: _Log) -> dict[int, Block]:
        """The block of each run."""
        filled = [block for block in log.blocks if block.rows]
        if matched := _by_order(runs, log.blocks) or _by_order(runs, filled):
            return matched
        quiet = replace(log, report=Report())
        numbers = _by_instance(runs, filled) or match_by_end(
            runs, list(map(quiet.rows, filled)), log.entry.precision or 0.0, ended=log.ended
        )
        self._report.skip(
            log.label,
            f"it holds {plural(filled, 'run')}, but the .info file lists {len(runs)}; {len(numbers)} could be matched",
        )
        return {position: filled[number] for position, number in numbers.items()}

    def _run(
        self, label: str, entry: Entry, listed: Listed, log: dict[str, Rows], restarts: Parameters | None
    ) -> ParsedRun:
        precision = PRECISION if entry.precision is None else entry.precision
        target = None if entry.has_indicator else precision
        evaluations, values = _merged(log, target)
        spent = int(evaluations.max()) if evaluations.size else 0
        if target is not None and "dat" in log and values.size:
            self._check_hits(label, entry, listed, log["dat"], max(float(np.nanmin(values)), target))
        if listed.evaluations is not None and listed.evaluations > spent:
            if "tdat" in log and log["tdat"].whole:
                self._report.skip(
                    label,
                    f"the run on instance {listed.instance} spent {listed.evaluations} evaluations, but its rows end "
                    f"at {spent}; it is kept up to that point",
                    entry.line,
                )
            else:
                spent = listed.evaluations  # the .dat rows contain every target that was hit until the end
        name, identity = identified(entry.suite, entry.function, entry.dimension, str(listed.instance))
        return ParsedRun(
            name,
            entry.algorithm or posixpath.basename(self._tree.path),
            trajectory(evaluations, values, spent=spent, target=target),
            target=target,
            optimum=0.0,
            parameters=restarts,
            surpassable=entry.has_indicator,
            identity=identity,
        )

    def _check_hits(self, label: str, entry: Entry, listed: Listed, hits: Rows, best: float) -> None:
        """Report a run whose last hits are missing: its best value is more than a target below its .dat rows."""
        last = min(hits.values, default=np.inf)
        if last * 10 ** (-1 / TARGETS_PER_DECADE) > best * (1 + ABOVE):
            self._report.skip(
                label,
                f"the .dat rows of the run on instance {listed.instance} end at {last:g}, though it reached {best:g}; "
                "the hitting times of the targets in between are only approximate",
                entry.line,
            )


@dataclass(frozen=True, slots=True)
class _Log:
    label: str
    blocks: list[Block]
    ended: bool  # whether the last row of each run is its end
    entry: Entry
    report: Report

    def rows(self, block: Block) -> Rows:
        columns = layout(block, self.entry.get("data_format"), indicator=self.entry.has_indicator)
        return rows(block, columns, self.label, self.report)


def _merged(log: Mapping[str, Rows], final: float | None) -> tuple[IntArray, FloatArray]:
    """The merged rows of both files, in no particular order."""
    at = {ending: np.array(each.evaluations, dtype=np.int64) for ending, each in log.items()}
    values = {ending: np.array(each.values, dtype=np.float64) for ending, each in log.items()}
    if final is not None and set(log) == {"dat", "tdat"}:
        values["tdat"] = _above_next_target(at["dat"], values["dat"], at["tdat"], values["tdat"], final)
    return np.concatenate(list(at.values())), np.concatenate(list(values.values()))


def _above_next_target(hits: IntArray, hit: FloatArray, at: IntArray, values: FloatArray, final: float) -> FloatArray:
    """The values of ``.tdat`` rows; those that rounding has put on the next target are moved just above it.

    The ``.dat`` rows record which targets were hit, and when. A value logged with ten digits may be rounded to the next
    target although the logger, which knew it exactly, did not count that target as hit. A value further below shows
    that the ``.dat`` rows are incomplete, and is kept.
    """
    order = np.argsort(hits, kind="stable")
    best = np.concatenate(([np.inf], np.minimum.accumulate(hit[order])))[np.searchsorted(hits[order], at, side="right")]
    known = (best > final) & np.isfinite(best)
    level = np.ceil(np.log10(np.where(known, best, 1.0)) * TARGETS_PER_DECADE) - 1
    following = 10.0 ** (level / TARGETS_PER_DECADE)
    wrong = known & (following >= final) & (values <= following) & (values >= following * (1 - ABOVE))
    return np.where(wrong, following * (1 + ABOVE), values)


def _by_order(runs: Sequence[Listed], logged: Sequence[Block]) -> dict[int, Block]:
    return dict(enumerate(logged)) if len(logged) == len(runs) else {}


def _by_instance(runs: Sequence[Listed], logged: Sequence[Block]) -> dict[int, int]:
    """The number of each run's block, if all blocks name their instances and none is repeated."""
    instances = [listed.instance for listed in runs]
    numbers = {block.instance: number for number, block in enumerate(logged)}
    if None in numbers or len(numbers) < len(logged) or len(set(instances)) < len(instances):
        return {}
    return {position: numbers[instance] for position, instance in enumerate(instances) if instance in numbers}
