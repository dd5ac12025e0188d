"""Arrays in memory that several processes see."""

from __future__ import annotations

import math
import mmap
import os
import tempfile
import weakref
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from polarbear.records import FloatArray

_MOST_ROOMS = 2
"""That of the present posterior, and that of the next."""
_LARGE = 1 << 26
"""Bytes from which on memory is given back to the system at once."""


class Room:
    """Room for an array of floating-point numbers, in a file without a name: memory alone on Linux.

    It needs no place in ``/dev/shm``, which containers keep small, and is gone once no process has it.

    Args:
        entries: How many numbers, at least one.
        descriptor: The file, if there is one already.

    Attributes:
        entries: How many numbers.
        free: Whether nobody has an array in it.
    """

    def __init__(self, entries: int, descriptor: int | None = None) -> None:
        self.entries, self.free = entries, True
        file = _new_file(8 * entries) if descriptor is None else descriptor
        try:
            self._memory = mmap.mmap(file, 8 * entries)
        except BaseException:
            os.close(file)
            raise
        self._file: int | None = file

    @property
    def large(self) -> bool:
        """Whether it is too large to be kept for later."""
        return 8 * self.entries > _LARGE

    def hand_over(self, connection: Connection[Any, Any]) -> None:
        """Give it to the process at the other end, which is waiting for it in `handed_over`."""
        if self._file is not None:
            reduction.send_handle(connection, self._file, 0)

    @classmethod
    def handed_over(cls, entries: int, connection: Connection[Any, Any]) -> Room:
        """What the process at the other end gives."""
        room = cls(entries, reduction.recv_handle(connection))
        room.close_file()
        return room

    def close_file(self) -> None:
        """Give it to no more processes."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def array(self, shape: tuple[int, ...]) -> FloatArray:
        """An array in it, which fits; the room is free again when that and all its views are gone."""
        self.free = False
        array = np.frombuffer(self._memory, dtype=np.float64, count=math.prod(shape))
        weakref.finalize(array, self._release).atexit = False
        return array.reshape(shape)

    def _release(self) -> None:
        self.free = True


class Rooms:
    """The last few rooms, for reuse: memory that a process sees for the first time costs it time."""

    def __init__(self) -> None:
        self._rooms: list[Room] = []

    def place(self, entries: int) -> int | None:
        """The place of a free room that fits, or None."""
        fitting = (k for k, room in enumerate(self._rooms) if room.free and entries <= room.entries <= 2 * entries)
        return next(fitting, None)

    def __getitem__(self, place: int) -> Room:
        return self._rooms[place]

    def add(self, room: Room) -> None:
        """Keep a room, unless it is large, and the oldest no longer if there are too many."""
        if not room.large:
            self._rooms = [*self._rooms, room][-_MOST_ROOMS:]

    def clear(self) -> None:
        """Keep none."""
        self._rooms.clear()


def _new_file(size: int) -> int:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("polarbear")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, size)
    return descriptor
