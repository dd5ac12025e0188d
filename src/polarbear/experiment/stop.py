"""How a run is stopped: an exception that ordinary error handling does not swallow."""

from __future__ import annotations


class Stop(BaseException):
    """The run is over: its budget is spent, its target reached or its time up.

    It derives from `BaseException`, as `KeyboardInterrupt` does, so that an optimizer's `except Exception` lets
    it through. Code that catches it all the same meets it again at the next evaluation.
    """
