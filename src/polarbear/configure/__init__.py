"""Algorithm configuration: spaces of what an optimizer may be set to."""

from polarbear.configure import spaces
from polarbear.configure.spaces import Space

__all__ = ["Space", "spaces"]
