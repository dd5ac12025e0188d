"""The protocol between driver and worker: length-prefixed frames of bytes over a private pipe."""

from __future__ import annotations

import os
import struct

_LENGTH = struct.Struct("<Q")
CHUNK = 1 << 20


def framed(payload: bytes) -> bytes:
    """A payload with its length in front."""
    return _LENGTH.pack(len(payload)) + payload


class FrameReader:
    """Collects bytes as they come and gives back whole frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The frames that `data` completes, in order."""
        self._buffer += data
        frames: list[bytes] = []
        begin = 0
        while len(self._buffer) - begin >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer, begin)
            end = begin + _LENGTH.size + length
            if len(self._buffer) < end:
                break
            frames.append(bytes(self._buffer[begin + _LENGTH.size : end]))
            begin = end
        del self._buffer[:begin]
        return frames


def write_frame(descriptor: int, payload: bytes) -> None:
    """Write one frame to a blocking descriptor."""
    rest = memoryview(framed(payload))
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def read_frame(descriptor: int) -> bytes | None:
    """Read one frame from a blocking descriptor; None at its end."""
    header = _read_exactly(descriptor, _LENGTH.size)
    return None if header is None else _read_exactly(descriptor, _LENGTH.unpack(header)[0])


def _read_exactly(descriptor: int, count: int) -> bytes | None:
    data = bytearray()
    while len(data) < count:
        piece = os.read(descriptor, min(count - len(data), CHUNK))
        if not piece:
            return None
        data += piece
    return bytes(data)
