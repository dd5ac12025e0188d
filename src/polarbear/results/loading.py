"""Load stored results and runs."""

from __future__ import annotations

from pathlib import Path

from polarbear import store, study
from polarbear.results.recorded import RecordedRuns
from polarbear.results.result import Result


def load(path: str | Path) -> Result | RecordedRuns:
    """Load the result of a study, even while it is running; or the runs of a plan, an import or an archive.

    Args:
        path: A study's directory or URL; or a file, folder or archive of another tool's data.

    Returns:
        For a race, the same as `polarbear.race` returns; for everything else its runs.

    Raises:
        TypeError: If `path` is neither text nor a path.
        polarbear.store.StudyNotFound: If there is nothing at `path`.
        polarbear.store.StudyError: If there is a study that cannot be used.
        ValueError: If no run can be read from `path`.
    """
    if not isinstance(path, str | Path):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"path is a {type(path).__name__}; give the directory of a study, such as 'mine.study'")
    spec = {}
    if store.exists(path) or store.remote(store.place(path)):
        with store.open(path) as kept:
            spec = kept.spec
    if "race" in spec:
        return Result.of(study.load(path), path=path)
    return RecordedRuns(tuple(store.read(path)), path, spec)
