"""Reasons why a study cannot be opened or continued."""

from __future__ import annotations

import errno
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
"""Errors of a process or machine that has run out of a resource, which say nothing about the file."""


@dataclass(frozen=True, slots=True)
class Damage:
    """An unusable file of a study.

    Attributes:
        path: The file.
        why: What is wrong with it.
        accepted: Whether the file was given up before (`accept_damage`).
    """

    path: Path
    why: str
    accepted: bool = False

    def __str__(self) -> str:
        return f"{self.path} cannot be used: {self.why}{' (accepted)' * self.accepted}"


class StudyError(RuntimeError):
    """A study cannot be opened: it does not exist, its `study.json` is unusable, or another process writes to it."""


class StudyNotFound(StudyError, FileNotFoundError):  # noqa: N818 - says what is the case
    """There is no study at the path; the message says what is missing."""


class StudyLocked(StudyError):  # noqa: N818 - says what is the case
    """Another process writes to the study; the message names it."""


class PackageMissing(StudyError, ImportError):  # noqa: N818 - says what is the case
    """A package needed to reach a remote study is not installed; the message names it."""


class NoTemporaryFile(OSError):  # noqa: N818 - says what is the case
    """The list of a study's runs needs a temporary file that cannot be written; the study itself is intact."""


@contextmanager
def explain(what: str, advice: str) -> Generator[None]:
    """Add to an OSError what failed because of it and what to do."""
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename and str(error.filename) not in what else ""
        raise OSError(error.errno, f"{what}: {error.strerror}{where}. {advice}") from error
