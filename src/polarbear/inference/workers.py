"""Threads that share out the work of one fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers:
    """Threads among which pieces of work are shared out.

    What is computed must not depend on their number: pieces are cut without regard to it, each has a random generator
    of its own, and results come in the order of the pieces. Threads pay where pieces spend their time in long arrays.
    All else holds the interpreter's lock, and with arrays of some thousand entries two threads are slower than one.

    Args:
        threads: How many; 1: the calling thread does it all.

    Raises:
        ValueError: If `threads` is below 1.
    """

    def __init__(self, threads: int = 1) -> None:
        if threads < 1:
            raise ValueError(f"threads is {threads!r}; at least 1 thread is needed")
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """The results of `work` for each item, in order. Must not be called from within `work`."""
        return [work(item) for item in items] if self._pool is None else list(self._pool.map(work, items))

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


ALONE = Workers()
"""The calling thread alone."""
