"""Paths of studies: a directory or a URL."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import cast
from urllib.parse import unquote, urlsplit

from polarbear.store.remote import RemotePath

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/(.*)", re.DOTALL)
_LOCAL = ("file", "local")


def place(path: str | os.PathLike[str]) -> Path:
    """The place of a study: a `Path`, or what stands in for one if `path` is a URL.

    A URL is ``PROTOCOL://…`` of any protocol that `fsspec` knows. `Path` makes one slash of two; such a path is taken
    for the URL it was, too. (A relative local path whose first part ends in a colon has to be given as absolute.)

    Returns:
        For URLs a `RemotePath`: it is typed as a `Path`, of which it has the part that studies need.

    Raises:
        ValueError: If the URL is chained (``PROTOCOL::…``).
    """
    if isinstance(path, Path):
        if not _URL.fullmatch(str(path)):
            return path
    elif isinstance(path, RemotePath):
        return cast("Path", path)
    text = os.fspath(path)
    if "::" in text and _URL.fullmatch(text.rpartition("::")[2]):
        raise ValueError(f"{text} is a chain of URLs; give one, PROTOCOL://…")
    match = _URL.fullmatch(text)
    if match is None:
        return Path(path)
    protocol, rest = match.groups()
    if protocol in _LOCAL and not isinstance(path, Path):
        return _local(text)
    parts = [part for part in rest.split("/") if part]
    if protocol in _LOCAL:
        return Path("/", *parts)
    return cast("Path", RemotePath(f"{protocol}://{'/'.join(parts)}"))


def _local(url: str) -> Path:
    """The path that a local URL means."""
    split = urlsplit(url)
    if split.netloc not in {"", "localhost"} or not split.path.startswith("/"):
        raise ValueError(
            f"{url} names the host {split.netloc!r}; write {split.scheme}:///ABSOLUTE/PATH, or a plain path"
        )
    return Path(unquote(split.path))


def remote(path: Path) -> RemotePath | None:
    """The place if it is elsewhere."""
    return path if isinstance(path, RemotePath) else None
