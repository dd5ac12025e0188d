"""Helper processes, as the process that shares out its work with them sees them."""

from __future__ import annotations

import math
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import warnings
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import cloudpickle

from polarbear.inference.memory import Room, Rooms
from polarbear.inference.workers import HelperDied
from polarbear.records import FloatArray

_BOOT = (
    "import sys; connection, *sys.path = sys.argv[1:]; del sys.argv[1:]; "
    "from polarbear.inference.helper_process import main; main(int(connection))"
)
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 25),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 26),
}
"""One thread; and memory of arrays is kept for the next ones, which a new process would give back again and again."""
_MOMENT = 5.0
"""Seconds within which a helper whose connection has closed is known to have ended."""


class Helpers:
    """Some helper processes, and memory that all see.

    Args:
        number: How many.
    """

    def __init__(self, number: int) -> None:
        self._driver, self._rooms = os.getpid(), Rooms()
        self._helpers: list[Helper] = []
        weakref.finalize(self, _end, self._helpers)
        for _ in range(number):
            self._helpers.append(Helper())

    @property
    def ours(self) -> bool:
        """Whether this process started them, and was not forked from the one that did."""
        return self._driver == os.getpid()

    def __len__(self) -> int:
        return len(self._helpers)

    def __iter__(self) -> Iterator[Helper]:
        return iter(self._helpers)

    def begin(self, make: Callable[..., object], arguments: Sequence[object], more: Mapping[str, object]) -> None:
        """Have each make its share of the work."""
        package = cloudpickle.dumps((make, arguments, more))
        for helper in self._helpers:
            helper.send("begin", package)

    def lend(self, shape: tuple[int, ...]) -> FloatArray:
        """An array that all see, which is lent to every share."""
        place = self._rooms.place(math.prod(shape))
        room = Room(math.prod(shape)) if place is None else self._rooms[place]
        for helper in self._helpers:
            helper.send("lend", shape, place)
            if place is None:
                helper.hand_over(room)
        if place is None:
            room.close_file()
            self._rooms.add(room)
        return room.array(shape)

    def end(self) -> None:
        """Have each forget its share."""
        for helper in self._helpers:
            helper.send("end")

    def close(self) -> None:
        """End the processes."""
        _end(self._helpers)


class Helper:
    """A helper process, as the driver sees it.

    Attributes:
        driver: The id of the process that started it.
    """

    def __init__(self) -> None:
        self.driver = os.getpid()
        self._connection, theirs = multiprocessing.Pipe()
        path = [entry or os.getcwd() for entry in sys.path]  # noqa: PTH109 - sys.path holds strings
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _BOOT, str(theirs.fileno()), *path],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env=os.environ | _ENVIRONMENT,
                start_new_session=True,  # the terminal's Ctrl-C does not reach it
            )

    def hand_over(self, room: Room) -> None:
        """Give it memory, which it is waiting for."""
        with self._watched():
            room.hand_over(self._connection)

    def send(self, *message: Any) -> None:
        """Send a message; only "map" is answered."""
        with self._watched():
            self._connection.send_bytes(pickle.dumps(message, protocol=5))

    def answer(self) -> list[Any]:
        """The results of what it was last asked for; what it raised is raised here, and its warnings are given."""
        with self._watched():
            fine, results, caught = pickle.loads(self._connection.recv_bytes())
        for message, category, file, line in caught:
            warnings.warn_explicit(message, category, file, line)
        if not fine:
            raise results
        return results

    def end(self) -> int:
        """End it, whatever it is doing, and return how it ended; nothing if another process started it."""
        if self.driver != os.getpid():
            return 0
        self._connection.close()
        self._process.kill()
        return self._process.wait()

    @contextmanager
    def _watched(self) -> Generator[None]:
        try:
            yield
        except (EOFError, OSError) as error:
            try:
                status = self._process.wait(_MOMENT)
            except subprocess.TimeoutExpired:
                raise error from None
            how = f"exited with code {status}" if status >= 0 else f"was killed by {signal.Signals(-status).name}"
            raise HelperDied(
                f"helper process {self._process.pid}, which shared the work of a fit, {how} (is memory short?); "
                "fit again, with fewer workers if that happens again"
            ) from error


def _end(helpers: list[Helper]) -> None:
    for helper in helpers:
        helper.end()
    helpers.clear()
