"""Runs on external executors: clusters by Dask or MPI, or any other `concurrent.futures.Executor`.

A worker of such an executor passes each call to a separate process beside it. Hence a crash, a hang or a call that
exhausts the memory ends only that process, a time limit interrupts whatever runs, and optimizers that seed a library
for the whole process do not meet each other in a worker's threads.
"""

from __future__ import annotations

import pickle
import platform
import threading
import time
import uuid
import warnings
import weakref
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from concurrent.futures import wait as await_all
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

import cloudpickle

from polarbear.experiment.pool import WorkerPool
from polarbear.experiment.process import MOMENT, WorkerDied
from polarbear.experiment.run import Task
from polarbear.machine import OversubscriptionWarning, oversubscription, seat

if TYPE_CHECKING:
    import asyncio

P = ParamSpec("P")
T = TypeVar("T")

IN_FLIGHT = 1024
"""Number of calls submitted to a cluster at a time: enough to keep hundreds of workers busy, few enough for memory."""


class ClusterLost(BrokenExecutor):
    """The cluster's scheduler is lost, and with it the calls it held."""


class Apart(Executor):
    """Base of executors whose workers run each call in a separate process.

    If a call has a `Task` among its arguments, the task's time limit applies to that process, as in a `WorkerPool`. If
    its run is measured in seconds (`Task.warm_up`), the process is pinned to a core that no other process of this user
    on the host has taken.

    Args:
        in_flight: Number of calls that `run_tasks` submits at a time.
    """

    def __init__(self, in_flight: int) -> None:
        self.in_flight = in_flight
        self._crowded: dict[str, str] = {}
        self._warned: set[str] = set()

    def warn_beforehand(self) -> None:
        """Warn of hosts with too few cores, as far as known (`OversubscriptionWarning`)."""

    def warn_if_crowded(self) -> None:
        """Warn once of each host where a run found no free core (`OversubscriptionWarning`)."""
        for host in sorted(self._crowded.keys() - self._warned):
            self._warned.add(host)
            self._warn(
                f"on {host} {self._crowded[host]}: runs slow each other down there and their seconds mean little; "
                "execute no more runs at a time there than the host has cores"
            )

    def _warn(self, why: str) -> None:
        warnings.warn(why, OversubscriptionWarning, stacklevel=4)

    def _opened(self, answer: Answer[T]) -> T:
        if answer.crowded:
            self._crowded[answer.host] = answer.crowded
        return answer.value


class Isolated(Apart):
    """An executor that wraps another one, whose workers run each call in a separate process.

    Time limits and cores are handled as in `Apart`.

    Args:
        executor: Any executor, such as ``mpi4py.futures.MPIPoolExecutor()``. It is shut down together with this one.
        in_flight: Number of calls that `run_tasks` submits at a time.
    """

    def __init__(self, executor: Executor, *, in_flight: int = IN_FLIGHT) -> None:
        super().__init__(in_flight)
        self._executor = executor

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue ``fn(*args, **kwargs)``; the future's exception may also be a `WorkerDied` or `WorkerTimedOut`."""
        self.warn_if_crowded()
        inner: Future[Answer[T]] = self._executor.submit(_apart, _terms(args), fn, args, kwargs)
        future: Future[T] = Future()
        future.add_done_callback(lambda done: inner.cancel() if done.cancelled() else None)
        inner.add_done_callback(lambda done: self._settle(future, done))
        return future

    def _settle(self, future: Future[T], inner: Future[Answer[T]]) -> None:
        if inner.cancelled():
            future.cancel()
        if not future.set_running_or_notify_cancel():
            return
        if (error := inner.exception()) is not None:
            future.set_exception(error)
        else:
            future.set_result(self._opened(inner.result()))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Shut the wrapped executor down."""
        self._executor.shutdown(wait, cancel_futures=cancel_futures)


class DaskExecutor(Apart):
    """The workers of a Dask cluster, as an executor that runs each call in a separate process.

    Time limits and cores are handled as in `Apart`. A call whose worker is lost is repeated on another one; a run has
    the same result there, since all its randomness derives from its key. The scheduler gives up a call that was on
    several lost workers, four by default. It cannot know which call was to blame, so such calls are tried once more,
    one after another, and fail with `WorkerDied` if they are given up again.

    Anyone who can reach a Dask scheduler can run anything on it, and it can run anything here: use TLS, or a network
    that nobody else can reach.

    Args:
        client: A `distributed.Client`, which stays open; or the address of a scheduler, for which a client is opened
            that is closed by `shutdown`.
        security: With an address, a `distributed.Security` for TLS (``tls://host:8786``); by default Dask's own
            configuration applies.
        in_flight: Number of calls that `run_tasks` submits at a time; should exceed the cluster's number of threads.

    Raises:
        ClusterLost: If the client is closed.
        ValueError: If `security` is given with a client, which has its own.
        OSError: If no scheduler answers at the address, or it refuses the connection.
    """

    def __init__(self, client: Any, *, security: Any = None, in_flight: int = IN_FLIGHT) -> None:
        from asyncio import Lock  # slow to import, for every worker that starts

        super().__init__(in_flight)
        self._own_client = isinstance(client, str)
        if self._own_client:
            from distributed import Client

            client = Client(client, security=security, set_as_default=False)
        elif security is not None:
            raise ValueError("security is given with a client, which has its own; give the scheduler's address instead")
        if client.scheduler is None:
            raise ClusterLost(f"the Dask client is {client.status}; give one that is connected to a scheduler")
        self._client = client
        self._scheduler: str = client.scheduler.address
        self._futures: weakref.WeakSet[Future[Any]] = weakref.WeakSet()
        self._suspects = Lock()
        self._ended = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue ``fn(*args, **kwargs)``; besides those of `Isolated`, its exception may be a `ClusterLost`."""
        if self._ended:
            raise RuntimeError("this executor has been shut down; it accepts no more calls")
        self.warn_if_crowded()
        call: _Call[T] = _Call(self._client, self._scheduler, self._opened, self._suspects)
        try:
            call.attempt(cloudpickle.dumps(_Deferred(_terms(args), fn, args, kwargs)))
        except Exception as error:  # noqa: BLE001 - what cannot be pickled fails its own future, as any failed call
            call.future.set_exception(error)
        self._futures.add(call.future)
        return call.future

    def warn_beforehand(self) -> None:
        """Warn of hosts with more threads of Dask workers than cores, or with cores that other programs use.

        Workers that join later are not known yet, nor those that lack polarbear, which report it at their first run.
        """
        threads: dict[tuple[str, tuple[int, ...]], list[tuple[str, int]]] = {}
        if self._client.status != "running":
            return  # the first call reports it
        seats: dict[str, Any] = self._client.run(seat, on_error="return")
        for address, count in self._client.nthreads().items():
            if not isinstance(host_and_cores := seats.get(address), BaseException | None):
                threads.setdefault(host_and_cores, []).append((address, count))
        for (host, _), workers in threads.items():
            address, total = workers[0][0], sum(count for _, count in workers)
            why = self._client.run(oversubscription, total, workers=[address], on_error="return").get(address)
            if isinstance(why, str):
                self._warned.add(host)
                self._warn(f"on {host} {why}")

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Shut down the calls submitted here; a client that was passed in stays open.

        Args:
            wait: Whether to wait until all calls have ended; otherwise they are cancelled, as by Dask's own executor.
            cancel_futures: Whether to cancel the calls in any case.
        """
        self._ended = True
        futures = list(self._futures)
        if cancel_futures or not wait:
            for future in futures:
                future.cancel()
        if wait:
            await_all(futures)
        if self._own_client:
            self._client.close()


class _Call(Generic[T]):
    """A call on a Dask cluster that is repeated if the scheduler gives it up.

    The client's own executor is not used: it considers a call failed if its worker is lost while the answer is on the
    way (distributed 2026.8).

    Args:
        client: The `distributed.Client`.
        scheduler: The scheduler's address, for messages.
        opened: A function that extracts the result from an answer.
        suspects: A lock held by the one call that is repeated after being given up, so that it affects no other one.
    """

    def __init__(self, client: Any, scheduler: str, opened: Callable[[Answer[T]], T], suspects: asyncio.Lock) -> None:
        self.future: Future[T] = Future()
        self._client, self._scheduler, self._opened, self._suspects = client, scheduler, opened, suspects
        self.future.add_done_callback(lambda done: self._cancel() if done.cancelled() else None)

    def attempt(self, packed: bytes) -> None:
        """Submit the call; `packed` is a pickled `_Deferred`."""
        if (inner := self._submitted(packed)) is not None:
            self._client.loop.add_callback(self._follow, inner, packed)

    def _submitted(self, packed: bytes) -> Any:
        """The client's future of the call; None if the client is closed, in which case the call has failed."""
        from distributed.client import ClosedClientError

        try:
            inner = self._client.submit(pickle.loads, packed, key=f"polarbear-{uuid.uuid4()}")
        except ClosedClientError:
            self._fail(self._lost())
            return None
        self._inner = weakref.ref(inner)  # no strong reference: the cluster keeps the answer as long as there is one
        return inner

    async def _follow(self, inner: Any, packed: bytes, *, again: bool = False) -> None:
        from distributed import KilledWorker

        try:
            answer = await inner
        except KilledWorker as error:
            if again or self.future.cancelled():
                self._fail(WorkerDied(f"the Dask workers it ran on died one after another: {error}"))
                return
            async with self._suspects:
                if not self.future.cancelled() and (inner := self._submitted(packed)) is not None:
                    await self._follow(inner, packed, again=True)
        except Exception as error:  # noqa: BLE001 - whatever the call raised is its result
            self._fail(error if inner.status == "error" else self._lost())
        else:
            if self.future.set_running_or_notify_cancel():
                self.future.set_result(self._opened(answer))

    def _fail(self, error: Exception) -> None:
        if self.future.set_running_or_notify_cancel():
            self.future.set_exception(error)

    def _lost(self) -> ClusterLost:
        lost = f"the Dask scheduler {self._scheduler} is lost, and with it the runs in progress"
        return ClusterLost(f"{lost}; committed runs are kept. Start a cluster and resume")

    def _cancel(self) -> None:
        if (inner := self._inner()) is not None:
            inner.cancel()


class _Deferred:
    """A call of `_apart` that is made when it is unpickled.

    A Dask worker that cannot unpickle the function it is sent, because it lacks polarbear, ends silently, and the call
    waits forever (distributed 2026.8). Every worker has `pickle.loads`; what is missing becomes the call's exception.
    """

    def __init__(self, *args: Any) -> None:
        self._args = args

    def __reduce__(self) -> tuple[Any, ...]:
        return _apart, self._args


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a call: its time limit, and whether its process is pinned to a core."""

    timeout: float | None = None
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """The result of a call, its host, and the reason why it had no core of its own there; empty if it had one."""

    value: T
    host: str
    crowded: str


def _terms(args: tuple[Any, ...]) -> Terms:
    """The terms of the `Task` among a call's arguments."""
    return next((Terms(task.limits.timeout, task.warm_up) for task in args if isinstance(task, Task)), Terms())


_here = threading.local()


def _apart(terms: Terms, fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Answer[T]:
    """Run a call in a separate process, which this thread keeps for its later calls."""
    pool: WorkerPool | None = getattr(_here, "pool", None)
    if pool is None or _here.terms != terms:
        if pool is not None:
            pool.shutdown()
        pool = _here.pool = WorkerPool(1, terms.timeout, pinned=terms.pinned)
        _here.terms = terms
    try:
        value = pool.put(fn, args, kwargs).result()
    except WorkerDied as error:
        if error.terminated:
            time.sleep(MOMENT)  # a SIGTERM meant for all processes here ends this one now, and the call is lost
        raise
    return Answer(value, platform.node(), pool.crowded)
