"""Algorithm configuration: spaces of what an optimizer may be set to, and the search for its best settings."""

from polarbear.configure import spaces
from polarbear.configure.configurator import Configurator, ConfiguratorSettings, Iteration
from polarbear.configure.criteria import Criterion, UnknownOptimum, bootstrap_means
from polarbear.configure.spaces import Configuration, Space

__all__ = [
    "Configuration",
    "Configurator",
    "ConfiguratorSettings",
    "Criterion",
    "Iteration",
    "Space",
    "UnknownOptimum",
    "bootstrap_means",
    "spaces",
]
