"""Execution of runs: budgets, the recorder and worker processes.

A `Task` specifies a run and its limits. `execute` executes it in this process, and `run_tasks` executes many through
any `concurrent.futures.Executor`, such as the `WorkerPool`. A crash, a hang or a killed worker is a run's outcome.
"""

from polarbear.experiment.cluster import ClusterLost, DaskExecutor, Isolated
from polarbear.experiment.confinement import Confinement, confined
from polarbear.experiment.limits import Limits, Stop
from polarbear.experiment.logging_schedule import Watch
from polarbear.experiment.pool import WorkerPool
from polarbear.experiment.process import WorkerDied, WorkerError, WorkersUnavailable, WorkerTimedOut
from polarbear.experiment.proposed import ProposedCode
from polarbear.experiment.recorder import Recorder
from polarbear.experiment.run import Task, execute
from polarbear.experiment.tasks import WorkerUnprepared, run_tasks

__all__ = [
    "ClusterLost",
    "Confinement",
    "DaskExecutor",
    "Isolated",
    "Limits",
    "ProposedCode",
    "Recorder",
    "Stop",
    "Task",
    "Watch",
    "WorkerDied",
    "WorkerError",
    "WorkerPool",
    "WorkerTimedOut",
    "WorkerUnprepared",
    "WorkersUnavailable",
    "confined",
    "execute",
    "run_tasks",
]
