"""Studies: a race, the runs it asks for and the directory that keeps them, joined. Run, resume, read."""

from polarbear.study.observer import Observer
from polarbear.study.racing import EveryRunFailed, OtherSettings, RunFailureWarning, StopRules, race, race_from_spec
from polarbear.study.replay import Replay, recorded_race, replay
from polarbear.study.spec import RecordedSpec, StudyFileError, StudySpec, read_recorded_spec, read_spec
from polarbear.study.view import StudyView, load

__all__ = [
    "EveryRunFailed",
    "Observer",
    "OtherSettings",
    "RecordedSpec",
    "Replay",
    "RunFailureWarning",
    "StopRules",
    "StudyFileError",
    "StudySpec",
    "StudyView",
    "load",
    "race",
    "race_from_spec",
    "read_recorded_spec",
    "read_spec",
    "recorded_race",
    "replay",
]
