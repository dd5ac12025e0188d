"""`polarbear.race(...)` races; ``from polarbear.race import Race`` works as it always did.

The module can be called, because importing it makes it the attribute `polarbear.race`, whatever stood there before. The
function is `polarbear.results.race`, the other names are those of `polarbear.racing`.
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
    """A module that is called as its function of the same name."""

    __call__ = staticmethod(race)


sys.modules[__name__].__class__ = _Callable
