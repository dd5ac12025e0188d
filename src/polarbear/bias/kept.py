"""A cache of simulated distributions on disk, so that each is simulated only once per computer."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile

import numpy as np

from polarbear.bias import uniformity
from polarbear.records import FloatArray

VARIABLE = "POLARBEAR_CACHE"
"""The environment variable that names the folder of the cache; empty for none."""


def cache_folder() -> Path | None:
    """The folder of simulated values: the one that ``POLARBEAR_CACHE`` names, else a cache folder of the user."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named) if named else None
    import platformdirs

    return Path(platformdirs.user_cache_dir("polarbear", appauthor=False))


def remembered(name: str, simulate: Callable[[], FloatArray]) -> FloatArray:
    """The array cached under a name, or else a simulated one, which is cached from then on.

    Names contain a checksum of the statistics' formulas, as values of other formulas must not be mistaken for theirs. A
    file that cannot be read or written costs a warning and the time of the simulation.
    """
    if (folder := cache_folder()) is None:
        return simulate()
    path = folder / "bias" / f"{name}-{_formulas()}.npy"
    if path.exists():
        try:
            return np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            warnings.warn(f"{path} cannot be read and is simulated again: {error}", stacklevel=2)
    values = simulate()
    try:
        _write(path, values)
    except OSError as error:
        hint = f"set {VARIABLE} to a writable folder, or to an empty string for no cache"
        warnings.warn(f"{path} cannot be written, so it is simulated again next time; {hint}: {error}", stacklevel=2)
    return values


def _write(path: Path, values: FloatArray) -> None:
    """Write a file by a rename, so that other processes read all of it or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, prefix=".tmp-", delete=False) as file:
        temporary = Path(file.name)
        try:
            np.save(file, values)
            file.flush()
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


@cache
def _formulas() -> str:
    return sha256(Path(uniformity.__file__).read_bytes()).hexdigest()[:12]
