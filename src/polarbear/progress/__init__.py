"""Show the progress of races, plans and other long work.

The display is live on a terminal; in notebooks and files it writes lines.
"""

from polarbear.progress.configuring import ConfigureProgress
from polarbear.progress.console import Console
from polarbear.progress.plans import PlanProgress
from polarbear.progress.races import LiveProgress
from polarbear.progress.steps import steps

__all__ = ["ConfigureProgress", "Console", "LiveProgress", "PlanProgress", "steps"]
