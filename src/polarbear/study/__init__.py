"""Studies: a race, the runs it asks for and the directory that keeps them, joined. Run, resume, read."""

from polarbear.study.observer import Observer
from polarbear.study.racing import EveryRunFailed, OtherSettings, RunFailureWarning, StopRules, race, race_from_spec
from polarbear.study.spec import StudyFileError, StudySpec, read_spec
from polarbear.study.view import StudyView, load

__all__ = [
    "EveryRunFailed",
    "Observer",
    "OtherSettings",
    "RunFailureWarning",
    "StopRules",
    "StudyFileError",
    "StudySpec",
    "StudyView",
    "load",
    "race",
    "race_from_spec",
    "read_spec",
]
