"""Algorithm configuration: spaces of an optimizer's settings, and the search for its best configurations."""

from polarbear.configure import spaces
from polarbear.configure.configurator import Configurator, ConfiguratorSettings, Iteration
from polarbear.configure.criteria import Criterion, UnknownOptimum, bootstrap_means
from polarbear.configure.effects import Band, Effects, fit_effects
from polarbear.configure.spaces import Configuration, Space

__all__ = [
    "Band",
    "Configuration",
    "Configurator",
    "ConfiguratorSettings",
    "Criterion",
    "Effects",
    "Iteration",
    "Space",
    "UnknownOptimum",
    "bootstrap_means",
    "fit_effects",
    "spaces",
]
