"""A helper process: makes its share of a fit's work, does what it is asked for, and answers.

It ends when the connection closes, and so with the process that started it.
"""

from __future__ import annotations

import math
import pickle
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from polarbear.inference.memory import Room, Rooms


def main(descriptor: int) -> None:
    """Serve until the connection closes."""
    served = _Served(Connection(descriptor))
    with suppress(EOFError, OSError):
        while True:
            served.one()


class _Served:
    """The share of the present fit, or why there is none."""

    def __init__(self, connection: Connection[Any, Any]) -> None:
        self._connection = connection
        self._share: Any = None
        self._failure: Exception | None = None
        self._rooms = Rooms()

    def one(self) -> None:
        """Wait for a message, and do as it says."""
        kind, *content = pickle.loads(self._connection.recv_bytes())
        if kind == "begin":
            self.begin(*content)
        elif kind == "lend":
            self.lend(*content)
        elif kind == "map":
            self._connection.send_bytes(self.answer(*content))
        else:
            self.drop()

    def begin(self, package: bytes) -> None:
        """Make the share from a pickled function and its arguments."""
        self.drop()
        try:
            make, arguments, more = pickle.loads(package)
            self._share = make(*arguments, **more)
        except Exception as error:  # noqa: BLE001 - told with the next answer
            self._failure = error

    def lend(self, shape: tuple[int, ...], place: int | None) -> None:
        """Take memory for results: a room kept from before, by its place, or a new one."""
        if place is None:
            room = Room.handed_over(math.prod(shape), self._connection)
            self._rooms.add(room)
        else:
            room = self._rooms[place]
        if self._failure is None:
            self._share.lend(room.array(shape))

    def drop(self) -> None:
        """Forget the share, and free its memory."""
        self._share, self._failure = None, None

    def answer(
        self,
        method: Callable[..., object],
        items: Sequence[object],
        arguments: Sequence[object],
        more: dict[str, object],
    ) -> bytes:
        """Whether all went well, the results or the exception, and the warnings given; pickled."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                if self._failure is not None:
                    raise self._failure
                fine, found = True, [method(self._share, item, *arguments, **more) for item in items]
            except Exception as error:  # noqa: BLE001 - travels to the driver, which raises it
                fine, found = False, _told(error)
        given = [(str(one.message), one.category, one.filename, one.lineno) for one in caught]
        return pickle.dumps((fine, found, given), protocol=5)


def _told(error: Exception) -> Exception:
    """The exception with its traceback as a note, or, if it cannot travel, another that tells of it."""
    error.add_note("In a helper process:\n" + "".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - whatever hinders it
        return RuntimeError("".join(traceback.format_exception(error)))
    return error
