"""The former location of `polarbear.optimizers.adapters.nevergrad`."""

from polarbear.optimizers.adapters.nevergrad import Nevergrad, Registry, registry

__all__ = ["Nevergrad", "Registry", "registry"]
