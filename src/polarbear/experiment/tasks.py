"""Runs many tasks through an executor, a bounded number at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from queue import SimpleQueue

from polarbear.experiment.pool import WorkerPool
from polarbear.experiment.process import WorkerError, WorkerTimedOut
from polarbear.experiment.run import Task, describe_error, execute
from polarbear.records import Reason, Run, lost

IN_FLIGHT = 256
"""Tasks handed to the executor at a time: enough to keep many workers busy, few enough to hold in memory."""


def local_executor(workers: int | None = None, timeout: float | None = None) -> WorkerPool:
    """A `WorkerPool` on this machine: `workers` processes, whose runs are meant to end within `timeout` seconds."""
    return WorkerPool(workers, timeout)


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
        `Reason.TIMED_OUT` if the worker was killed at the time limit, `Reason.KILLED` if it died, `Reason.FAILED` if
        the task could not travel to a worker or back.

    Raises:
        BrokenExecutor: If the executor accepts no more tasks since it broke, as `ProcessPoolExecutor` does when a
            worker dies; the runs it lost have been yielded before.
    """
    waiting = iter(tasks)
    running: dict[Future[Run], Task] = {}
    done: SimpleQueue[Future[Run]] = SimpleQueue()
    broken: BrokenExecutor | None = None
    try:
        while True:
            while broken is None and len(running) < in_flight and (task := next(waiting, None)) is not None:
                try:
                    future = executor.submit(execute, task)
                except BrokenExecutor as error:
                    broken = error
                    break
                running[future] = task
                future.add_done_callback(done.put)
            if not running:
                break
            future = done.get()
            yield _run(running.pop(future), future)
    finally:
        _abandon(running, executor)
    if broken is not None:
        raise broken


def _run(task: Task, future: Future[Run]) -> Run:
    try:
        return future.result()
    except WorkerTimedOut as error:
        return lost(task.key, Reason.TIMED_OUT, str(error))
    except (WorkerError, BrokenExecutor) as error:
        return lost(task.key, Reason.KILLED, str(error))
    except Exception as error:  # noqa: BLE001 - a task that could not travel is an outcome of its run
        return lost(task.key, Reason.FAILED, describe_error(error))


def _abandon(running: dict[Future[Run], Task], executor: Executor) -> None:
    if not running:
        return
    for future in running:
        future.cancel()
    if isinstance(executor, WorkerPool):
        executor.kill(running)
