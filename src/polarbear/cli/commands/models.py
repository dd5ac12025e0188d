"""`polarbear models`: the models of ratings over time."""

from __future__ import annotations

from polarbear.cli.options import JsonOption
from polarbear.cli.terminal import echo_listed

EXAMPLE = "polarbear models"


def models(as_json: JsonOption = False) -> None:
    """List the models of ratings over time and their fields, as used in [model] of study files."""
    from polarbear.inference import from_description
    from polarbear.inference import models as known

    kinds = known()
    fields = {name: from_description({"model": name}).describe() for name in kinds}
    listed = {name: {field: value for field, value in fields[name].items() if field != "model"} for name in kinds}
    echo_listed(listed, {name: kind.__doc__ for name, kind in kinds.items()}, as_json=as_json)
