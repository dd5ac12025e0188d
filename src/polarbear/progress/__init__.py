"""Progress of races, plans and other long work, for terminals, notebooks and log files alike.

On a terminal a display is live; in notebooks and files lines are written.
"""

from polarbear.progress.configuring import ConfigureProgress
from polarbear.progress.console import Console
from polarbear.progress.plans import PlanProgress
from polarbear.progress.races import LiveProgress
from polarbear.progress.steps import steps

__all__ = ["ConfigureProgress", "Console", "LiveProgress", "PlanProgress", "steps"]
