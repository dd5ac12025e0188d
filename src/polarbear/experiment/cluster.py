"""Runs on other people's executors: clusters by Dask or MPI, or anything behind `concurrent.futures.Executor`.

A worker of such an executor hands each call to a process of its own beside it. So a crash, a hang or a call that eats
all memory ends that process alone, a time limit interrupts whatever runs, and optimizers that seed a library for the
whole process do not meet each other in a worker's threads.
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
"""Calls given to a cluster at a time: enough to keep hundreds of workers busy, few enough to hold in memory."""


class ClusterLost(BrokenExecutor):
    """The cluster's scheduler is gone, and with it the calls it held."""


class Apart(Executor):
    """Base of executors whose workers run each call in a process of its own.

    A `Task` among a call's arguments has its time limit hold for that process, as in a `WorkerPool`. If its run is
    measured in seconds (`Task.warm_up`), the process keeps to a core that no other one of the user's on its host holds.

    Args:
        in_flight: How many calls `run_tasks` gives it at a time.
    """

    def __init__(self, in_flight: int) -> None:
        self.in_flight = in_flight
        self._crowded: dict[str, str] = {}
        self._warned: set[str] = set()

    def warn_beforehand(self) -> None:
        """Warn of hosts with too few cores (`OversubscriptionWarning`), as far as known."""

    def warn_if_crowded(self) -> None:
        """Warn of hosts where a run has found no core for itself (`OversubscriptionWarning`), of each once."""
        for host in sorted(self._crowded.keys() - self._warned):
            self._warned.add(host)
            self._warn(
                f"on {host} {self._crowded[host]}: runs slow each other down there and their seconds mean little; "
                "let its workers execute no more runs at a time than it has cores"
            )

    def _warn(self, why: str) -> None:
        warnings.warn(why, OversubscriptionWarning, stacklevel=4)

    def _opened(self, answer: Answer[T]) -> T:
        if answer.crowded:
            self._crowded[answer.host] = answer.crowded
        return answer.value


class Isolated(Apart):
    """Another executor whose workers run each call in a process of its own.

    Time limits and cores are kept as for `Apart`.

    Args:
        executor: Any executor, such as ``mpi4py.futures.MPIPoolExecutor()``. It is shut down with this one.
        in_flight: How many calls `run_tasks` gives it at a time.
    """

    def __init__(self, executor: Executor, *, in_flight: int = IN_FLIGHT) -> None:
        super().__init__(in_flight)
        self._executor = executor

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue ``fn(*args, **kwargs)``; the future's exception may be a `WorkerDied` or `WorkerTimedOut` too."""
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
        """Shut the executor down."""
        self._executor.shutdown(wait, cancel_futures=cancel_futures)


class DaskExecutor(Apart):
    """The workers of a Dask cluster, as an executor that runs each call in a process of its own.

    Time limits and cores are kept as for `Apart`. A call whose worker is lost is made again on another one; a run comes
    out the same there, since all its chance comes from its key. The scheduler gives up a call that was on several lost
    workers, by default four. It cannot know which call was to blame, so such calls are tried once more, one after the
    other, and fail with `WorkerDied` if they are given up again.

    Whoever can speak to a Dask scheduler can run anything on it, and it anything here: use TLS, or a network that
    nobody else reaches.

    Args:
        client: A `distributed.Client`, which stays open; or the address of a scheduler, to which a client is opened
            that closes on `shutdown`.
        security: With an address: a `distributed.Security`, for TLS (``tls://host:8786``). By default Dask's own
            configuration counts.
        in_flight: How many calls `run_tasks` gives it at a time; more than the cluster has threads.

    Raises:
        ClusterLost: If the client is closed.
        ValueError: If `security` is given with a client, which has its own.
        OSError: If no scheduler answers at the address, or it does not accept us.
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
        """Queue ``fn(*args, **kwargs)``; besides those of `Isolated`, its exception may be `ClusterLost`."""
        if self._ended:
            raise RuntimeError("this executor is shut down and takes no more calls")
        self.warn_if_crowded()
        call: _Call[T] = _Call(self._client, self._scheduler, self._opened, self._suspects)
        try:
            call.attempt(cloudpickle.dumps(_Deferred(_terms(args), fn, args, kwargs)))
        except Exception as error:  # noqa: BLE001 - what cannot be pickled fails its own future, as any failed call
            call.future.set_exception(error)
        self._futures.add(call.future)
        return call.future

    def warn_beforehand(self) -> None:
        """Warn of hosts with more threads of Dask workers than cores, or whose cores other programs use.

        Workers that come later are not known yet, nor those that lack polarbear, which say so at their first run.
        """
        threads: dict[tuple[str, tuple[int, ...]], list[tuple[str, int]]] = {}
        if self._client.status != "running":
            return  # the first call says so
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
        """End what was submitted here; a client that was given stays open.

        Args:
            wait: Wait until all calls have ended; without it they are cancelled, as Dask's own executor does.
            cancel_futures: Cancel them in any case.
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
    """A call on a Dask cluster that is made again if the scheduler gives it up.

    The client's own executor is not used: it takes a call for failed whose worker is lost just while its answer is on
    the way (distributed 2026.8).

    Args:
        client: The `distributed.Client`.
        scheduler: Where its scheduler is, for messages.
        opened: Takes the result out of an answer.
        suspects: Held by the one call that was given up and is made again, so that it falls with no other one.
    """

    def __init__(self, client: Any, scheduler: str, opened: Callable[[Answer[T]], T], suspects: asyncio.Lock) -> None:
        self.future: Future[T] = Future()
        self._client, self._scheduler, self._opened, self._suspects = client, scheduler, opened, suspects
        self.future.add_done_callback(lambda done: self._cancel() if done.cancelled() else None)

    def attempt(self, packed: bytes) -> None:
        """Make the call; `packed` is a `_Deferred`."""
        if (inner := self._submitted(packed)) is not None:
            self._client.loop.add_callback(self._follow, inner, packed)

    def _submitted(self, packed: bytes) -> Any:
        """The client's future of the call; None, and the call has failed, if the client is closed."""
        from distributed.client import ClosedClientError

        try:
            inner = self._client.submit(pickle.loads, packed, key=f"polarbear-{uuid.uuid4()}")
        except ClosedClientError:
            self._fail(self._lost())
            return None
        self._inner = weakref.ref(inner)  # nothing may keep it: the cluster holds the answer as long as somebody does
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
        except Exception as error:  # noqa: BLE001 - whatever the call raised is what came of it
            self._fail(error if inner.status == "error" else self._lost())
        else:
            if self.future.set_running_or_notify_cancel():
                self.future.set_result(self._opened(answer))

    def _fail(self, error: Exception) -> None:
        if self.future.set_running_or_notify_cancel():
            self.future.set_exception(error)

    def _lost(self) -> ClusterLost:
        lost = f"the Dask scheduler {self._scheduler} is lost, and with it what it held"
        return ClusterLost(f"{lost}; what is committed is kept. Start a cluster and resume")

    def _cancel(self) -> None:
        if (inner := self._inner()) is not None:
            inner.cancel()


class _Deferred:
    """A call as of `_apart` that is made when it is unpickled.

    A Dask worker that cannot open the function it is sent, as it lacks polarbear, ends without a word, and the call
    waits for ever (distributed 2026.8). Any worker has `pickle.loads`, and what that lacks is the call's exception.
    """

    def __init__(self, *args: Any) -> None:
        self._args = args

    def __reduce__(self) -> tuple[Any, ...]:
        return _apart, self._args


@dataclass(frozen=True, slots=True)
class Terms:
    """How a call is run: its time limit, and whether on a core of its own."""

    timeout: float | None = None
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """The result of a call, the host it ran on, and why it lacked a core of its own there; empty if it did not."""

    value: T
    host: str
    crowded: str


def _terms(args: tuple[Any, ...]) -> Terms:
    """The terms of the `Task` among a call's arguments."""
    return next((Terms(task.limits.timeout, task.warm_up) for task in args if isinstance(task, Task)), Terms())


_here = threading.local()


def _apart(terms: Terms, fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Answer[T]:
    """Run a call in a process of its own, which this thread keeps for its calls to come."""
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
            time.sleep(MOMENT)  # a SIGTERM that is meant for all processes here ends this one now, and the call is lost
        raise
    return Answer(value, platform.node(), pool.crowded)
