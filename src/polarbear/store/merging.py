"""Merging of studies made on different machines into one."""

from __future__ import annotations

import glob
import hashlib
import secrets
import shutil
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polarbear.descriptions import listed
from polarbear.quantities import plural
from polarbear.records import Run, RunKey
from polarbear.store import parts
from polarbear.store.errors import NoTemporaryFile, StudyError
from polarbear.store.formats.importing import IMPORTED
from polarbear.store.lock import OWNER, has_ended_here, read_owner
from polarbear.store.manifest import MANIFEST
from polarbear.store.paths import place, remote
from polarbear.store.specification import COUNTED, GROWING, MISSING, RUNS, SAMPLES, SPEC, differing, require_free
from polarbear.store.study import StudyStore, create, not_accepted, open_study

_COMMIT_SECONDS = 86_400.0
"""Interval that rules out commits by the clock: the study appears as a whole."""
_SHOWN = 20
"""Number of conflicts that a message lists."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A run that differs between two studies.

    Attributes:
        key: The run's key.
        first: The study given first.
        other: The other study.
        why: What differs.
    """

    key: RunKey
    first: Path
    other: Path
    why: str

    def __str__(self) -> str:
        return f"{self.key}: {self.why} in {self.first} and {self.other}"


class MergeConflict(ValueError):  # noqa: N818 - says what is the case
    """Studies contain different runs with the same key; nothing was written.

    Attributes:
        conflicts: All conflicts.
    """

    def __init__(self, conflicts: Sequence[Conflict]) -> None:
        self.conflicts = tuple(conflicts)
        shown = "\n".join(f"  {conflict}" for conflict in self.conflicts[:_SHOWN])
        more = f"\n  and {len(self.conflicts) - _SHOWN:,} more" if len(self.conflicts) > _SHOWN else ""
        differ = "differs" if len(self.conflicts) == 1 else "differ"
        super().__init__(
            f"{plural(self.conflicts, 'run')} {differ} between the studies; nothing was written:\n{shown}{more}\n"
            "Keep those of the study given first (keep_first=True, or --keep-first), or leave a study out"
        )


@dataclass(frozen=True, slots=True)
class Merged:
    """The result of a merge.

    Attributes:
        study: The study's directory.
        taken: Number of runs taken from each study, in order.
        shared: Number of runs found in several studies that agreed.
        clocks: Number of those that agreed except for clocks, error messages, and best points that one of the studies
            lacks; the first study's are kept.
        conflicts: Runs that differed, of which the first study's were kept.
        differences: Settings in which the studies differ. If there are any, the merged study has no plan to resume.
        rounds: Number of rounds of races, which were not merged.
    """

    study: Path
    taken: tuple[int, ...]
    shared: int
    clocks: int
    conflicts: tuple[Conflict, ...]
    differences: tuple[str, ...]
    rounds: int

    @property
    def runs(self) -> int:
        """Number of runs in the merged study."""
        return sum(self.taken)


def merge(
    paths: Sequence[str | Path], into: str | Path, *, keep_first: bool = False, accept_damage: bool = False
) -> Merged:
    """Merge the runs of studies into a new study.

    Runs with the same key in several studies must agree in evaluations, values, target, optimum, how they ended and
    what was logged; and in the best point, if both have it. Clocks and error messages differ between machines; the
    first study's are kept, with all points that it has of the run. Runs are read and written one file at a time. The
    new study appears once it is complete or, on a remote store, as it grows.

    If all studies have the same settings, except for their algorithms and the numbers of repetitions and draws, the new
    one has them too, with all the algorithms, and can be resumed; otherwise it lists the settings of each.
    Rounds of races are not merged; race on the runs with `polarbear.study.replay`.

    Args:
        paths: Two or more studies.
        into: The new study's directory, which must be new or empty; or a URL.
        keep_first: Whether to keep the run of the study given first if runs differ.
        accept_damage: Whether to leave out the runs of damaged files.

    Raises:
        MergeConflict: If runs with the same key differ and `keep_first` is false.
        ValueError: If fewer than two studies are given, two of them describe an algorithm of the same name differently,
            or `into` is the current directory.
        StudyError: If there is no study at a path, or files are damaged and that is not accepted.
        FileExistsError: If there is something at `into`.
        OSError: If the study cannot be written. Nothing of it is left then, unless a remote store cannot be reached.
    """
    into, sources = place(into), [place(path) for path in paths]
    if len({str(path.resolve()) for path in sources}) < max(2, len(sources)):
        raise ValueError(f"paths is [{', '.join(map(str, sources))}]; give at least two different studies")
    require_free(into)
    if remote(into) is None and into.resolve() == Path.cwd():
        raise ValueError(
            f"{into} is the current directory, which a new study cannot replace; give another, such as merged.study"
        )
    with ExitStack() as stack:
        studies = [stack.enter_context(open_study(path)) for path in sources]
        damaged = [damage for study in studies if (damage := not_accepted(study))]
        if damaged and not accept_damage:
            raise StudyError(
                f"{'; '.join(damaged)}. Restore the files from a copy, or leave out their runs "
                "(accept_damage=True, or --accept-damage)"
            )
        spec, differences = _merged_spec(studies)
        shared, clocks, conflicts = _compare(studies)
        if conflicts and not keep_first:
            raise MergeConflict(conflicts)
        taken = _write(studies, into, spec)
        return Merged(
            study=into,
            taken=taken,
            shared=shared - len({conflict.key for conflict in conflicts}),
            clocks=clocks,
            conflicts=tuple(conflicts),
            differences=tuple(differences),
            rounds=sum(len(study.rounds()) for study in studies),
        )


# Settings


def _merged_spec(studies: Sequence[StudyStore]) -> tuple[dict[str, Any], list[str]]:
    """The specification of the new study, and the differences between those of the studies."""
    algorithms: dict[str, Any] = {}
    origins: dict[str, Path] = {}
    differences: list[str] = []
    spec = studies[0].spec
    for study in studies:
        for name, description in study.spec.get("algorithms", {}).items():
            if algorithms.setdefault(name, description) != description:
                raise ValueError(
                    f"{origins[name]} and {study.path} describe different algorithms under the name {name!r}: "
                    f"{algorithms[name]} and {description}; export one and import it under another name"
                )
            origins.setdefault(name, study.path)
        spec, differ = _join(spec, study.spec, studies[0].path, study.path)
        differences += differ
    if algorithms:
        spec = spec | {"algorithms": algorithms}
    if differences or "race" in spec:
        merged = [{"path": study.path.name, "runs": len(study), "spec": study.spec} for study in studies]
        spec = {"algorithms": algorithms, "merged": merged}
    return spec, list(dict.fromkeys(differences))


def _join(first: dict[str, Any], other: dict[str, Any], this: Path, that: Path) -> tuple[dict[str, Any], list[str]]:
    """The settings with the larger of both numbers, and the differences that cannot be reconciled."""
    grown: dict[str, dict[str, int]] = {}
    differences: list[str] = []
    for where, *values in differing(first, other):
        if where[0] == "algorithms":
            continue
        numbers = [value for value in values if isinstance(value, int)]
        if where in GROWING and (len(numbers) == 2 or (where == COUNTED and numbers)):
            grown.setdefault(where[0], {})[where[1]] = max(numbers)
        elif where == (IMPORTED,) and MISSING not in values:
            first = first | {IMPORTED: first[IMPORTED] + other[IMPORTED]}
        else:
            here, there = ("missing" if value is MISSING else repr(value) for value in values)
            differences.append(f"{'.'.join(where)} is {here} in {this} and {there} in {that}")
    return first | {section: first[section] | fields for section, fields in grown.items()}, differences


# Runs


def _compare(studies: Sequence[StudyStore]) -> tuple[int, int, list[Conflict]]:
    """The number of shared runs, the number of those that differ only in clocks, and the conflicts."""
    counts = Counter(key for study in studies for key in study)
    shared = {key for key, count in counts.items() if count > 1}
    seen: dict[RunKey, tuple[StudyStore, bytes, bytes, bytes]] = {}
    clocks: set[RunKey] = set()
    conflicts: list[Conflict] = []
    for study in studies if shared else ():
        for run in (run for batch in study.batches() for run in batch if run.key in shared):
            facts, whole, point = _digest(_facts(run)), _digest(parts.storable(run)), _point(run)
            first, first_facts, first_whole, first_point = seen.setdefault(run.key, (study, facts, whole, point))
            if facts != first_facts or (point and first_point and point != first_point):
                why = _why(first.run(run.key), run)
                conflicts.append(Conflict(run.key, first.path, study.path, why))
            elif whole != first_whole:
                clocks.add(run.key)
    return len(shared), len(clocks - {conflict.key for conflict in conflicts}), conflicts


def _facts(run: Run) -> Mapping[str, object]:
    """Everything that does not depend on the machine's clock, by the names used in messages."""
    trajectory, outcome, logged = run.trajectory, run.outcome, run.parameters
    columns = logged and [(name, column.tobytes()) for name, column in logged.values.items()]
    return {
        "outcomes": (outcome.reason.value, outcome.evaluations, outcome.invalid_evaluations),
        "evaluations of improvements": trajectory.evaluations.tobytes(),
        "values": trajectory.values.tobytes(),
        "target or optimum": (run.target, run.optimum),
        "logged parameters": logged and (logged.evaluations.tobytes(), columns),
    }


def _why(first: Run, other: Run) -> str:
    facts, others = _facts(first), _facts(other)
    differ = [name for name, fact in facts.items() if repr(fact) != repr(others[name])] or ["best points"]
    if "outcomes" in differ:
        ends = [f"{run.outcome.reason} after {plural(run.outcome.evaluations, 'evaluation')}" for run in (first, other)]
        if ends[0] != ends[1]:
            return f"it ended differently ({ends[0]}, {ends[1]})"
    return f"{listed(differ)} differ"


def _point(run: Run) -> bytes:
    """A digest of the best point; empty where it is unknown, as in studies of earlier versions."""
    return b"" if run.solution is None else _digest((run.solution.shape, run.solution.tobytes()))


def _digest(content: object) -> bytes:
    return hashlib.sha256(repr(content).encode()).digest()[:16]


def _write(studies: Sequence[StudyStore], into: Path, spec: dict[str, Any]) -> tuple[int, ...]:
    """Write the new study under a temporary name and rename it; return the number of runs from each study."""
    if remote(into):  # nothing can be renamed there
        return _copy(studies, into, spec, into)
    final = into.resolve()
    with _explain(into):
        final.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{final.name}.merging-"
    for leftover in final.parent.glob(f"{glob.escape(prefix)}*"):  # of killed merges; an active one has not ended
        with suppress(OSError):  # another user's is kept
            if has_ended_here(read_owner(leftover / OWNER) or {}):
                shutil.rmtree(leftover)
    temporary = final.with_name(f"{prefix}{secrets.token_hex(8)}")
    try:
        taken = _copy(studies, temporary, spec, into)
        with _explain(into):
            temporary.replace(final)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return taken


def _copy(studies: Sequence[StudyStore], path: Path, spec: dict[str, Any], into: Path) -> tuple[int, ...]:
    """Write the new study at `path`; error messages name `into`."""
    taken = [0] * len(studies)
    with _explain(into):
        target = create(path, spec, commit_seconds=_COMMIT_SECONDS)
    try:
        for number, study in enumerate(studies):
            for batch in study.batches():
                for new in study.with_samples(run for run in batch if run.key not in target):
                    with _explain(into):
                        target.extend(new)
                        target.commit()
                    taken[number] += len(new)
        with _explain(into):
            target.close()
    except BaseException:
        with suppress(OSError), target:
            pass  # the lock is released even if the last runs cannot be written
        if remote(path):
            with suppress(OSError):  # the error being raised says why the study could not be written
                for file in (path / SPEC, path / MANIFEST, *(path / RUNS).glob("*"), *(path / SAMPLES).glob("*")):
                    file.unlink(missing_ok=True)
        raise
    return tuple(taken)


@contextmanager
def _explain(into: Path) -> Generator[None]:
    """Add to an OSError that it prevented the new study from being written."""
    try:
        yield
    except (NoTemporaryFile, FileExistsError):
        raise
    except OSError as error:
        cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
        remains = "Its files are removed if the store permits" if remote(into) else "No part of it remains"
        raise OSError(
            cause.errno,
            f"the merged study {into} could not be written: {cause.strerror}. {remains}, and the studies to merge are "
            "unchanged: free disk space or make the location writable, and merge again",
        ) from error
