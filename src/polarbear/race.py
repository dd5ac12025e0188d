"""A callable module: `polarbear.race(...)` runs a race, and ``from polarbear.race import Race`` imports from it.

It has to be callable because importing it sets the attribute `polarbear.race`, whatever that was before. The function
is `polarbear.results.race`; the other names are those of `polarbear.racing`.
"""

from __future__ import annotations

import sys
from types import ModuleType

from polarbear import racing
from polarbear.racing import *  # noqa: F403 - every public name
from polarbear.results import race

__all__ = ["race"]
__all__ += racing.__all__


class _Callable(ModuleType):
    """A module that calls its function of the same name."""

    __call__ = staticmethod(race)


sys.modules[__name__].__class__ = _Callable
