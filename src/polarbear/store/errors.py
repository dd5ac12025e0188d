"""Why a study cannot be opened or gone on with."""

from __future__ import annotations


class StudyError(RuntimeError):
    """A study cannot be opened: there is none, its `study.json` cannot be used, or another process writes to it."""


class StudyNotFound(StudyError, FileNotFoundError):  # noqa: N818 - says what is the case
    """There is no study at the path; the message says what is missing."""


class StudyLocked(StudyError):  # noqa: N818 - says what is the case
    """Another process writes to the study; the message names it."""


class PackageMissing(StudyError, ImportError):  # noqa: N818 - says what is the case
    """A package that reaches the study's place is not installed; the message names it."""


class NoTemporaryFile(OSError):  # noqa: N818 - says what is the case
    """The list of a study's runs needs a temporary file that cannot be written; the study itself is sound."""
