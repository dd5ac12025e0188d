"""Race optimizers in one call, and work with the results."""

from polarbear.figures.race_figures import Plots
from polarbear.results.frames import FRAMES
from polarbear.results.improvement import Improvement, improves
from polarbear.results.loading import load
from polarbear.results.one_call import RaceOptions, race
from polarbear.results.recorded import RecordedRuns
from polarbear.results.result import Result

__all__ = [
    "FRAMES",
    "Improvement",
    "Plots",
    "RaceOptions",
    "RecordedRuns",
    "Result",
    "improves",
    "load",
    "race",
]
