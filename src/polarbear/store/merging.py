"""Studies made on different machines become one."""

from __future__ import annotations

import glob
import hashlib
import secrets
import shutil
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polarbear.records import Run, RunKey
from polarbear.store import parts
from polarbear.store.errors import NoTemporaryFile, StudyError
from polarbear.store.formats.importing import IMPORTED
from polarbear.store.lock_owner import HOLDER, ended_here, read_holder
from polarbear.store.manifest import MANIFEST
from polarbear.store.paths import place, remote
from polarbear.store.specification import COUNTED, GROWING, MISSING, RUNS, SAMPLES, SPEC, differing, require_free
from polarbear.store.study import StudyStore, create, not_accepted, open_study

_COMMIT_SECONDS = 86_400.0
"""No commits by the clock: the study appears as a whole."""
_SHOWN = 20
"""How many conflicts a message names."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A run that two studies tell differently.

    Attributes:
        key: Which run.
        first: The study that was named first.
        other: The other one.
        why: What differs.
    """

    key: RunKey
    first: Path
    other: Path
    why: str

    def __str__(self) -> str:
        return f"{self.key}: {self.why} in {self.first} and {self.other}"


class MergeConflict(ValueError):  # noqa: N818 - says what is the case
    """Studies hold different runs of the same key; nothing was written.

    Attributes:
        conflicts: All of them.
    """

    def __init__(self, conflicts: Sequence[Conflict]) -> None:
        self.conflicts = tuple(conflicts)
        shown = "\n".join(f"  {conflict}" for conflict in self.conflicts[:_SHOWN])
        more = f"\n  and {len(self.conflicts) - _SHOWN:,} more" if len(self.conflicts) > _SHOWN else ""
        super().__init__(
            f"{len(self.conflicts):,} runs differ between the studies; nothing was written:\n{shown}{more}\n"
            "Keep those of the study that is named first (keep_first=True, or --keep-first), or leave a study out"
        )


@dataclass(frozen=True, slots=True)
class Merged:
    """What came of a merge.

    Attributes:
        study: The study's directory.
        taken: How many runs were taken from each study, in their order.
        shared: Runs that stood in several studies and agreed.
        clocks: How many of these agreed but for clocks, the texts of errors, and best points that one of the studies
            does not tell; the first study's are kept.
        conflicts: Runs that differed, of which the first study's were kept.
        differences: Settings in which the studies differ. If there are any, the study keeps no plan to resume.
        rounds: Rounds of races, which were left behind.
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
        """Runs in the study."""
        return sum(self.taken)


def merge(
    paths: Sequence[str | Path], into: str | Path, *, keep_first: bool = False, accept_damage: bool = False
) -> Merged:
    """Unite the runs of studies in a new study.

    Runs of one key in several studies have to agree: in evaluations, values, target, optimum, how they ended and what
    was logged; and in the best point, where both tell it. Clocks differ between machines, and so do the texts of
    errors; the first study's are kept, and with them all points that it holds of the run. Runs are read and written a
    file at a time. The new study appears once it is complete; elsewhere than on a disk, as it grows.

    Where all studies have the same settings, but for their algorithms and the number of repetitions and draws, the new
    one has them too, with all the algorithms, and can be resumed; else it tells what the settings of each were.
    Rounds of races are not merged; race on the runs with `polarbear.study.replay`.

    Args:
        paths: Two studies or more.
        into: The new study's directory: new, or empty; or a URL.
        keep_first: Where runs differ, keep that of the study which is named first.
        accept_damage: Leave out the runs of damaged files.

    Raises:
        MergeConflict: If runs of the same key differ and `keep_first` is false.
        ValueError: If fewer than two studies are given, two of them describe an algorithm of one name differently, or
            `into` is the current directory.
        StudyError: If there is no study at a path, or files are damaged and that was not accepted.
        FileExistsError: If there is something at `into`.
        OSError: If the study cannot be written. Nothing is left of it then, unless a store elsewhere cannot be reached.
    """
    into, sources = place(into), [place(path) for path in paths]
    if len({str(path.resolve()) for path in sources}) < max(2, len(sources)):
        raise ValueError(f"{', '.join(map(str, sources)) or 'nothing'}: give two different studies or more to merge")
    require_free(into)
    if remote(into) is None and into.resolve() == Path.cwd():
        raise ValueError(
            f"{into} is the current directory, whose place a new study cannot take; give another, such as merged.study"
        )
    with ExitStack() as stack:
        studies = [stack.enter_context(open_study(path)) for path in sources]
        _check_damage(studies, accept_damage=accept_damage)
        spec, differences = _united(studies)
        shared, clocks, conflicts = _compared(studies)
        if conflicts and not keep_first:
            raise MergeConflict(conflicts)
        taken = _written(studies, into, spec)
        return Merged(
            study=into,
            taken=taken,
            shared=shared - len({conflict.key for conflict in conflicts}),
            clocks=clocks,
            conflicts=tuple(conflicts),
            differences=tuple(differences),
            rounds=sum(len(study.rounds()) for study in studies),
        )


def _check_damage(studies: Sequence[StudyStore], *, accept_damage: bool) -> None:
    damaged = [found for study in studies if (found := not_accepted(study))]
    if damaged and not accept_damage:
        raise StudyError(
            f"{'; '.join(damaged)}. Put the files back from a copy, or leave out their runs (accept_damage=True, or "
            "--accept-damage)"
        )


# Settings


def _united(studies: Sequence[StudyStore]) -> tuple[dict[str, Any], list[str]]:
    """The specification of the new study, and what differs between those of the studies."""
    algorithms: dict[str, Any] = {}
    told: dict[str, Path] = {}
    differences: list[str] = []
    spec = studies[0].spec
    for study in studies:
        for name, description in study.spec.get("algorithms", {}).items():
            if algorithms.setdefault(name, description) != description:
                raise ValueError(
                    f"{told[name]} and {study.path} describe different algorithms by the name {name!r}: "
                    f"{algorithms[name]} and {description}; export one and import it with another name"
                )
            told.setdefault(name, study.path)
        spec, differ = _joined(spec, study.spec, studies[0].path, study.path)
        differences += differ
    if algorithms:
        spec = spec | {"algorithms": algorithms}
    if differences or "race" in spec:
        merged = [{"path": study.path.name, "runs": len(study), "spec": study.spec} for study in studies]
        spec = {"algorithms": algorithms, "merged": merged}
    return spec, list(dict.fromkeys(differences))


def _joined(first: dict[str, Any], other: dict[str, Any], this: Path, that: Path) -> tuple[dict[str, Any], list[str]]:
    """Settings that have grown as far as either, and the differences that cannot be joined."""
    grown: dict[str, dict[str, int]] = {}
    differences: list[str] = []
    for where, one, another in differing(first, other):
        if where[0] == "algorithms":
            continue
        numbers = [value for value in (one, another) if isinstance(value, int)]
        if where in GROWING and (len(numbers) == 2 or (where == COUNTED and numbers)):
            grown.setdefault(where[0], {})[where[1]] = max(numbers)
        elif where == (IMPORTED,) and MISSING not in (one, another):
            first = first | {IMPORTED: first[IMPORTED] + other[IMPORTED]}
        else:
            told = ["not there" if value is MISSING else repr(value) for value in (one, another)]
            differences.append(f"{'.'.join(where)} is {told[0]} in {this} and {told[1]} in {that}")
    return first | {section: first[section] | fields for section, fields in grown.items()}, differences


# Runs


def _compared(studies: Sequence[StudyStore]) -> tuple[int, int, list[Conflict]]:
    """How many runs stand in several studies, how many of them differ in clocks alone, and which conflict."""
    times = Counter(key for keys in (study.keys() for study in studies) for key in keys)
    shared = {key for key, count in times.items() if count > 1}
    seen: dict[RunKey, tuple[StudyStore, bytes, bytes, bytes]] = {}
    clocks: set[RunKey] = set()
    conflicts: list[Conflict] = []
    for study in studies if shared else ():
        for run in _runs_among(study, shared):
            found, told, point = _digest(_facts(run)), _digest(parts.storable(run)), _point(run)
            first, first_found, first_told, first_point = seen.setdefault(run.key, (study, found, told, point))
            if found != first_found or (point and first_point and point != first_point):
                why = _why(first.run(run.key), run)
                conflicts.append(Conflict(run.key, first.path, study.path, why))
            elif told != first_told:
                clocks.add(run.key)
    return len(shared), len(clocks - {conflict.key for conflict in conflicts}), conflicts


def _runs_among(study: StudyStore, keys: set[RunKey]) -> Iterator[Run]:
    for batch in study.batches():
        yield from (run for run in batch if run.key in keys)


def _facts(run: Run) -> Mapping[str, object]:
    """All that does not depend on the machine's clock, each under what it is called."""
    trajectory, outcome, logged = run.trajectory, run.outcome, run.parameters
    return {
        "the end": (outcome.reason.value, outcome.evaluations, outcome.invalid_evaluations),
        "evaluations of improvements": trajectory.evaluations.tobytes(),
        "values": trajectory.values.tobytes(),
        "target or optimum": (run.target, run.optimum),
        "logged parameters": None
        if logged is None
        else (
            logged.evaluations.tobytes(),
            [(name, column.tobytes()) for name, column in logged.values.items()],
        ),
    }


def _why(one: Run, other: Run) -> str:
    first, second = _facts(one), _facts(other)
    what = [name for name, fact in first.items() if repr(fact) != repr(second[name])] or ["best points"]
    if "the end" in what:
        ends = [f"{run.outcome.reason} after {run.outcome.evaluations:,} evaluations" for run in (one, other)]
        if ends[0] != ends[1]:
            return f"it ended differently ({ends[0]}, {ends[1]})"
    return f"{' and '.join(what)} differ"


def _point(run: Run) -> bytes:
    """A digest of the best point; empty where it is not known, as in studies of earlier versions."""
    return b"" if run.solution is None else _digest((run.solution.shape, run.solution.tobytes()))


def _digest(what: object) -> bytes:
    return hashlib.sha256(repr(what).encode()).digest()[:16]


def _written(studies: Sequence[StudyStore], into: Path, spec: dict[str, Any]) -> tuple[int, ...]:
    """Write the new study beside its place and move it there; how many runs came from each study."""
    if remote(into):  # nothing can be moved there
        return _copied(studies, into, spec, into)
    place = into.resolve()
    with _told(into):
        place.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(place)
    beside = place.with_name(f"{_beside(place)}{secrets.token_hex(8)}")
    try:
        taken = _copied(studies, beside, spec, into)
        with _told(into):
            beside.replace(place)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    return taken


def _beside(place: Path) -> str:
    """How the name begins under which a study is written that belongs to a place."""
    return f".{place.name}.merging-"


def _remove_leftovers(place: Path) -> None:
    """Remove what killed merges left beside a place, where its lock says so; a merge at work has none at both ends."""
    for leftover in place.parent.glob(f"{glob.escape(_beside(place))}*"):
        with suppress(OSError):  # another user's stays
            if ended_here(read_holder(leftover / HOLDER) or {}):
                shutil.rmtree(leftover)


def _copied(studies: Sequence[StudyStore], where: Path, spec: dict[str, Any], into: Path) -> tuple[int, ...]:
    """Write the new study, which belongs to `into`, somewhere."""
    taken = [0] * len(studies)
    with _told(into):
        target = create(where, spec, commit_seconds=_COMMIT_SECONDS)
    try:
        for number, study in enumerate(studies):
            for batch in study.batches():
                for new in study.with_samples(run for run in batch if run.key not in target):
                    with _told(into):
                        target.extend(new)
                        target.commit()
                    taken[number] += len(new)
        with _told(into):
            target.close()
    except BaseException:
        with suppress(OSError), target:
            pass  # the lock is let go of, also if the last runs cannot be written
        if remote(where):
            _remove_elsewhere(where)
        raise
    return tuple(taken)


def _remove_elsewhere(study: Path) -> None:
    with suppress(OSError):  # why the study could not be written is told
        for file in (study / SPEC, study / MANIFEST, *(study / RUNS).glob("*"), *(study / SAMPLES).glob("*")):
            file.unlink(missing_ok=True)


@contextmanager
def _told(into: Path) -> Generator[None]:
    """Say of an OSError that it kept the new study from being written."""
    try:
        yield
    except (NoTemporaryFile, FileExistsError):
        raise
    except OSError as error:
        cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
        remains = "What it held is removed, if the store allows" if remote(into) else "Nothing is left of it"
        raise OSError(
            cause.errno,
            f"the merged study {into} could not be written: {cause.strerror}. {remains}, and the studies to merge are "
            "as they were: make room or the place writable, and merge again",
        ) from error
