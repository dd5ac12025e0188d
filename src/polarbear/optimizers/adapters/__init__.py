"""Adapters of other libraries' optimizers, one file per library; importing this package declares all of them."""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
