"""Worker processes behind the `concurrent.futures.Executor` interface.

The standard process pool gives up all its work when one worker dies, cannot end a call that hangs, and requires the
user's script to be importable. Here each worker is a separate process behind two pipes: when one dies, only its call is
lost, and another worker takes its place.
"""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Callable, Collection
from concurrent.futures import Executor, Future
from math import inf
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from polarbear.experiment.confinement import Confinement
from polarbear.experiment.manager import Call, Manager
from polarbear.machine import OversubscriptionWarning, cores, oversubscription

P = ParamSpec("P")
T = TypeVar("T")

GRACE = 10.0
"""Seconds that a call has after its time limit to end by itself before its worker is killed."""


class WorkerPool(Executor):
    """Runs calls in worker processes with one thread each.

    Workers start when first needed and do not import the user's script: functions and classes of ``__main__`` are sent
    by value, so no ``if __name__ == "__main__"`` is needed. What workers print goes to standard error.

    Args:
        workers: Number of processes; None for the number of cores that may be kept busy.
        timeout: Seconds after which a call should have ended; None for no limit. A call that goes on for `grace` more
            seconds loses its worker (`WorkerTimedOut`). Waiting for a worker does not count.
        grace: See `timeout`.
        pinned: Whether to pin each worker to a core that no pinned worker of this user holds, in any pool, where the
            system allows it; for runs measured in seconds. A worker that starts when none is free runs on any core,
            and `crowded` gives the reason.
        confinement: Restrictions on each worker; None for no restrictions.
        preload: Modules that a worker imports before it accepts calls, so that no call's time is spent on that.

    Raises:
        ValueError: If `workers` is below 1 or a time is not positive.
        OSError: On systems other than Unix.
    """

    def __init__(
        self,
        workers: int | None = None,
        timeout: float | None = None,
        *,
        grace: float = GRACE,
        pinned: bool = False,
        confinement: Confinement | None = None,
        preload: tuple[str, ...] = (),
    ) -> None:
        if os.name != "posix":
            raise OSError(
                "WorkerPool needs Linux or macOS; give executor=concurrent.futures.ProcessPoolExecutor(), which "
                "does not interrupt runs that hang, or use the Windows Subsystem for Linux"
            )
        if workers is not None and workers < 1:
            raise ValueError(f"workers is {workers!r}; a pool needs at least 1")
        if (timeout is not None and not timeout > 0) or not grace >= 0:
            raise ValueError(
                f"timeout is {timeout!r} and grace is {grace!r} seconds; timeout must be above 0, and grace not below 0"
            )
        self.workers = workers or cores()
        self.confinement = confinement
        allowed = inf if timeout is None else timeout + grace
        self._manager = Manager(self.workers, allowed, pinned=pinned, confinement=confinement, preload=preload)
        self._warned = False
        weakref.finalize(self, self._manager.abandon)

    @property
    def crowded(self) -> str:
        """The reason why a worker has no core of its own; empty if all have or need none."""
        return next(filter(None, self._manager.crowded), "")

    def warn_beforehand(self) -> None:
        """Warn if the machine has too few free cores for the workers (`OversubscriptionWarning`)."""
        if why := oversubscription(self.workers):
            self._warned = True
            warnings.warn(why, OversubscriptionWarning, stacklevel=5)

    def warn_if_crowded(self) -> None:
        """Warn if a worker found no free core (`OversubscriptionWarning`); once, and not after `warn_beforehand`."""
        if self.crowded and not self._warned:
            self._warned = True
            why = f"{self.crowded}: runs slow each other down and their seconds mean little"
            warnings.warn(f"{why}; wait for the others, or use fewer workers", OversubscriptionWarning, stacklevel=4)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue ``fn(*args, **kwargs)``.

        Returns:
            The call's future. Apart from what the call raises, its exception may be a `WorkerDied`, a `WorkerTimedOut`,
            or whatever pickling the call or its result raised.

        Raises:
            RuntimeError: After `shutdown`.
        """
        self.warn_if_crowded()
        return self.put(fn, args, kwargs)

    def put(self, fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Future[T]:
        """Queue a call as `submit` does, without a warning."""
        import cloudpickle

        future: Future[T] = Future()
        try:
            payload = cloudpickle.dumps((fn, args, kwargs))
        except Exception as error:  # noqa: BLE001 - what cannot be pickled fails its own future, as any failed call
            future.set_exception(error)
            return future
        self._manager.put(Call(future, payload))
        return future

    def kill(self, futures: Collection[Future[Any]] | None = None) -> None:
        """Cancel the given calls, by default all, and kill the workers busy with them; the pool remains usable."""
        self._manager.kill(None if futures is None else set(futures))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more calls and end the workers once the accepted ones are done.

        Args:
            wait: Whether to return only when every worker has ended.
            cancel_futures: Whether to cancel the calls that have not begun.
        """
        self._manager.close(cancel=cancel_futures)
        if wait:
            self._manager.join()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not None and not issubclass(kind, Exception):  # Ctrl-C: do not wait for running calls
            self.kill()
        self.shutdown(wait=True, cancel_futures=kind is not None)
