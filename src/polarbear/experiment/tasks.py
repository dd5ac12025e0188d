"""Runs many tasks through an executor, a bounded number at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, Future
from queue import SimpleQueue

from polarbear.experiment.pool import WorkerPool
from polarbear.experiment.process import WorkerError, WorkerTimedOut
from polarbear.experiment.run import Task, execute
from polarbear.records import Reason, Run, lost

IN_FLIGHT = 256
"""Tasks handed to the executor at a time: enough to keep many workers busy, few enough to hold in memory."""


def run_tasks(tasks: Iterable[Task], executor: Executor, *, in_flight: int = IN_FLIGHT) -> Iterator[Run]:
    """Execute tasks and yield their runs as they complete, in no particular order.

    Tasks are drawn from the iterable as there is room for them. When the iterator is closed or interrupted by
    Ctrl-C, tasks that have not begun are cancelled; a `WorkerPool` also kills the workers busy with the others.

    Args:
        tasks: What to run.
        executor: Any `concurrent.futures.Executor`; it stays open.
        in_flight: How many tasks the executor holds at a time.

    Yields:
        One run for each task. A task whose worker was lost gives a run without evaluations that says why:
        `Reason.TIMED_OUT` if the worker was killed at the time limit, `Reason.KILLED` if it died.

    Raises:
        BrokenExecutor: If no worker comes up, or the executor broke, as `ProcessPoolExecutor` does when a worker dies.
            Which task is to blame is not known then, so that none of those it held counts as run.
        Exception: What the executor raised for a task that could not travel to a worker, with a note that names it.
    """
    waiting = iter(tasks)
    running: dict[Future[Run], Task] = {}
    done: SimpleQueue[Future[Run]] = SimpleQueue()
    try:
        while True:
            while len(running) < in_flight and (task := next(waiting, None)) is not None:
                future = executor.submit(execute, task)
                running[future] = task
                future.add_done_callback(done.put)
            if not running:
                break
            future = done.get()
            yield _run(running.pop(future), future)
    finally:
        _abandon(running, executor)


def _run(task: Task, future: Future[Run]) -> Run:
    try:
        return future.result()
    except WorkerTimedOut as error:
        return lost(task.key, Reason.TIMED_OUT, str(error))
    except WorkerError as error:
        return lost(task.key, Reason.KILLED, str(error))
    except Exception as error:
        error.add_note(f"while executing the run of {task.key}")
        raise


def _abandon(running: dict[Future[Run], Task], executor: Executor) -> None:
    if not running:
        return
    for future in running:
        future.cancel()
    if isinstance(executor, WorkerPool):
        executor.kill(running)
