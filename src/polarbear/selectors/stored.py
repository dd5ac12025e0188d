"""Selectors as files: plain arrays and JSON, which are read without executing anything."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.model.conditional import Covariates
from polarbear.selectors.selector import KINDS, Selector
from polarbear.store.atomic import write_atomically

_FORMAT = 1
_LEARNT = "learnt."
_SAID: dict[str, type | tuple[type, ...]] = {
    "algorithms": list,
    "default": str,
    "confidence": (int, float),
    "features": list,
    "squares": bool,
    "trained_on": dict,
    "sampling": dict,
}
"""Types of the values in a file."""


def save(selector: Selector, path: str | Path) -> None:
    """Write a selector to a file of NumPy's format npz, atomically; draws are rounded to float32.

    Args:
        selector: Selector to write.
        path: Path of the file, by convention with suffix ``.npz``.
    """
    covariates = selector.covariates
    said = {
        "format": _FORMAT,
        "kind": selector.kind,
        "algorithms": selector.algorithms,
        "default": selector.default,
        "confidence": selector.confidence,
        "features": covariates.names,
        "squares": covariates.squares,
        "trained_on": dict(selector.trained_on),
        "sampling": dict(selector.sampling),
    }
    arrays: dict[str, Any] = {
        f"{_LEARNT}{name}": array.astype(np.float32) if name in {"draws", "found"} else array
        for name, array in selector.arrays.items()
    }
    content = io.BytesIO()
    np.savez_compressed(
        content,
        said=np.array(json.dumps(said, ensure_ascii=False)),
        centre=covariates.centre,
        scale=covariates.scale,
        unknown=covariates.unknown,
        owners=covariates.owners,
        cases=selector.cases,
        groups=selector.groups,
        **arrays,
    )
    write_atomically(Path(path), content.getvalue())


def load(path: str | Path) -> Selector:
    """Read a selector.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is not a selector, or of a newer format.
    """
    said, arrays = _parts(path)
    if said.get("format") != _FORMAT:
        raise ValueError(
            f"{path} is a selector of format {said.get('format')}; this version reads format {_FORMAT}: "
            "train it again, or update polarbear"
        )
    if said.get("kind") not in KINDS:
        raise ValueError(f"{path} is a selector of kind {said.get('kind')!r}; it must be one of {', '.join(KINDS)}")
    for name, kind in _SAID.items():
        if name in said and not isinstance(said[name], kind):
            raise ValueError(f"{path} is not a valid selector: {name} is {said[name]!r}; train it again")
    try:
        covariates = Covariates(
            tuple(said["features"]),
            arrays["centre"],
            arrays["scale"],
            arrays["unknown"],
            said["squares"],
            arrays["owners"],
        )
        return Selector(
            said["kind"],
            tuple(said["algorithms"]),
            said["default"],
            said["confidence"],
            covariates,
            arrays["cases"],
            arrays["groups"],
            {name.removeprefix(_LEARNT): array for name, array in arrays.items() if name.startswith(_LEARNT)},
            said["trained_on"],
            said["sampling"],
        )
    except KeyError as error:
        raise ValueError(f"{path} is not a valid selector: it lacks {error}; train it again") from error


def _parts(path: str | Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The plain values in a file, and its arrays."""
    try:
        with zipfile.ZipFile(path) as file:
            arrays = {name.removesuffix(".npy"): _array(file.read(name)) for name in file.namelist()}
        said: Any = json.loads(str(arrays["said"]))
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path} is not a selector ({error}); create one with polarbear selector train") from error
    if not isinstance(said, dict):
        raise ValueError(  # noqa: TRY004 - the file is wrong
            f"{path} is not a selector (its description is not a table); create one with polarbear selector train"
        )
    return cast("dict[str, Any]", said), arrays


def _array(content: bytes) -> NDArray[Any]:
    return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
