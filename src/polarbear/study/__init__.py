"""Studies: a race, the runs it asks for and the directory that keeps them, joined. Run, resume, read."""

from polarbear.study.observer import Observer
from polarbear.study.racing import RunFailureWarning, StopRules, race
from polarbear.study.spec import StudyFileError, StudySpec, read_spec
from polarbear.study.view import StudyView, load

__all__ = [
    "Observer",
    "RunFailureWarning",
    "StopRules",
    "StudyFileError",
    "StudySpec",
    "StudyView",
    "load",
    "race",
    "read_spec",
]
