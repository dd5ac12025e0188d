"""Processes that share out the work of fits."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

import numpy as np

from polarbear.records import FloatArray

if TYPE_CHECKING:
    from polarbear.inference.helpers import Helpers

Item = TypeVar("Item")
Result = TypeVar("Result")
Given = ParamSpec("Given")

_SMALL = 1 << 22
"""Bytes up to which shared memory is copied in the end: as long as it lives it holds a file open."""


class HelperDied(RuntimeError):  # noqa: N818 - says what is the case
    """A helper process ended before it answered."""


class Share(Protocol):
    """What one process does of the work, and what it keeps for it. Every process makes its own from equal arguments."""

    def lend(self, memory: FloatArray) -> None:
        """Take an array that all processes see, for results."""
        ...


S = TypeVar("S", bound=Share)


class Workers:
    """Processes that share out the work of fits: the one that calls, and helpers.

    Helpers start with the ``with`` statement or the first fit, which takes half a second, and stay until `close` or the
    end of the program: give the same workers to fits that follow each other. They load no script of the user's, so no
    ``if __name__ == "__main__"`` is needed.

    What is computed does not depend on their number, bit by bit: pieces are cut without regard to it, each has a random
    generator of its own, results come in the order of the pieces, and the linear algebra of each process runs in one
    thread.

    Args:
        workers: How many processes; 1: the calling one does it all.

    Raises:
        ValueError: If `workers` is below 1.
        OSError: If it is above 1 on systems other than Unix.
    """

    def __init__(self, workers: int = 1) -> None:
        if workers < 1:
            raise ValueError(f"workers is {workers!r}; at least 1 process is needed")
        if workers > 1 and os.name != "posix":
            raise OSError(f"workers is {workers!r}; sharing out a fit needs Unix, use workers=1 here")
        self._number = workers
        self._helpers: Helpers | None = None
        self._busy = threading.Lock()

    @contextmanager
    def team(self, make: Callable[Given, S], *arguments: Given.args, **more: Given.kwargs) -> Generator[Team[S]]:
        """All processes, each with a share of the work made by ``make(*arguments)``; one team at a time.

        Raises:
            HelperDied: If a helper process ended.
        """
        if self._number == 1:
            yield Team(make(*arguments, **more))
            return
        with self._busy:
            helpers = self.start()
            try:
                helpers.begin(make, arguments, more)
                yield Team(make(*arguments, **more), helpers)
                helpers.end()
            except BaseException:
                self.close()  # a helper may be in the middle of something
                raise

    def start(self) -> Helpers:
        """Start the helpers if they are not there, without waiting until they are up."""
        from polarbear.inference.helpers import Helpers

        if self._helpers is None or not self._helpers.ours:
            self._helpers = Helpers(self._number - 1)
        return self._helpers

    def close(self) -> None:
        """End the helpers. The next fit would start others."""
        if self._helpers is not None:
            self._helpers.close()
        self._helpers = None

    def __enter__(self) -> Workers:
        if self._number > 1:
            self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def working(workers: int | Workers) -> Generator[Workers]:
    """The workers; those of which only the number is given are ended afterwards."""
    if isinstance(workers, Workers):
        yield workers
    else:
        with Workers(workers) as ours:
            yield ours


class Team(Generic[S]):
    """The processes at work on one fit.

    Attributes:
        own: The calling process's share.
    """

    def __init__(self, own: S, helpers: Helpers | None = None) -> None:
        self.own, self._helpers = own, helpers

    def map(
        self,
        method: Callable[Concatenate[S, Item, Given], Result],
        items: Iterable[Item],
        *arguments: Given.args,
        **more: Given.kwargs,
    ) -> list[Result]:
        """The results of ``method(share, item, *arguments)`` for each item, in order.

        The item at index k is always for the same process, so that what its share keeps for item k is there in the
        next call.

        Raises:
            HelperDied: If a helper process ended.
        """
        pieces = list(items)
        if self._helpers is None:
            return [method(self.own, piece, *arguments, **more) for piece in pieces]
        parties = 1 + len(self._helpers)
        asked = [(k, helper) for k, helper in enumerate(self._helpers, start=1) if pieces[k::parties]]
        for k, helper in asked:
            helper.send("map", method, pieces[k::parties], arguments, more)
        found: list[Any] = [None] * len(pieces)
        found[::parties] = [method(self.own, piece, *arguments, **more) for piece in pieces[::parties]]
        for k, helper in asked:
            found[k::parties] = helper.answer()
        return found

    def array(self, shape: tuple[int, ...]) -> FloatArray:
        """An array that all processes see, which is lent to every share."""
        memory = np.empty(shape) if self._helpers is None or 0 in shape else self._helpers.lend(shape)
        self.own.lend(memory)
        return memory

    def kept(self, array: FloatArray) -> FloatArray:
        """An array whose work is done, to be kept by the caller for as long as he likes."""
        return array.copy() if self._helpers is not None and array.nbytes <= _SMALL else array


ALONE = Workers()
"""The calling process alone."""
