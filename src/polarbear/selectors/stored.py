"""Selectors as files: plain arrays and JSON, which no reader executes."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from polarbear.inference.model.conditional import Covariates
from polarbear.selectors.selector import KINDS, Selector
from polarbear.store.atomic import write_atomically

_FORMAT = 1
_LEARNT = "learnt."


def save(selector: Selector, path: str | Path) -> None:
    """Write a selector to a file of NumPy's format npz, whole or not at all; draws are rounded to float32.

    Args:
        selector: What is written.
        path: The file, which ends in ``.npz`` by custom.
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
        ValueError: If it is no selector, or of a newer format.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        said = json.loads(str(arrays["said"]))
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is no selector ({error}); polarbear selector train makes one") from error
    if said.get("format") != _FORMAT or said.get("kind") not in KINDS:
        raise ValueError(f"{path} is a selector of format {said.get('format')}; this version reads format {_FORMAT}")
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
        raise ValueError(f"{path} is no whole selector: it lacks {error}") from error
