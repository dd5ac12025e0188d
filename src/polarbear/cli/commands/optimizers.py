"""`polarbear optimizers`: the optimizers."""

from __future__ import annotations

from polarbear.cli.options import JsonOption
from polarbear.cli.terminal import echo_fields


def optimizers(as_json: JsonOption = False) -> None:
    """List the optimizers and their fields."""
    from polarbear import optimizers

    echo_fields({name: optimizers.family_parameters(name) for name in optimizers.families()}, as_json=as_json)
