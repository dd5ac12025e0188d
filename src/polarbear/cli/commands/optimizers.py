"""`polarbear optimizers`: the optimizers."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from polarbear.cli.options import JsonOption, to_json
from polarbear.cli.terminal import echo, echo_listed, first_sentence

EXAMPLE = "polarbear optimizers cma --fields"


def optimizers(
    word: Annotated[
        str, typer.Argument(help="List only optimizers whose name or description contains this.", show_default=False)
    ] = "",
    fields: Annotated[bool, typer.Option("--fields", help="List fields and defaults instead.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the optimizers: what they are, whether they are installed, and their fields."""
    from polarbear import optimizers
    from polarbear.cli.console import print_columns

    kinds = {name: optimizers.family_class(name) for name in optimizers.families()}
    if word:  # with a word, also the hundreds of algorithms of libraries
        kinds |= {name: kinds[family] for name, family in optimizers.library_algorithms().items()}
    chosen = {name: kind for name, kind in kinds.items() if word.lower() in f"{name} {_about(name, kind)}".lower()}
    if not chosen:
        raise typer.BadParameter(f"no optimizer's name or description contains {word!r}")
    if fields or as_json:
        listed = {name: optimizers.family_parameters(name) for name in chosen if name in optimizers.families()}
        echo_listed(listed, {name: _about(name, chosen[name]) for name in listed}, as_json=as_json)
        return
    missing = {name: _missing(kind) for name, kind in chosen.items()}
    print_columns(
        ["optimizer", "installed", "what it is"],
        [[name, f"[{missing[name]}]" if missing[name] else "yes", _about(name, kind)] for name, kind in chosen.items()],
        words=(2,),
    )
    if any(missing.values()):
        echo("In brackets: the extra to install, pip install 'polarbear-race[extra]'.")
    if not word:
        hint = f"{len(optimizers.library_algorithms()):,} algorithms of libraries by name, such as nlopt-COBYLA"
        echo(f"{hint}: polarbear optimizers WORD. Fields: --fields")


def _about(name: str, kind: type[Any]) -> str:
    from polarbear import optimizers

    sentence = first_sentence(kind.__doc__)
    if family := optimizers.library_algorithms().get(name):
        return f"as {family}: {sentence}"
    family, other = optimizers.preset(name)
    if family == name:
        return sentence
    fields = ", ".join(f"{field} = {to_json(value)}" for field, value in other.items())
    return f"{family} with {fields}" if fields else f"as {family}"


def _missing(kind: type[Any]) -> str | None:
    """The missing extra that an optimizer needs."""
    from polarbear.extras import Extra, ExtraMissing

    extra = getattr(kind, "requires", None)
    if not isinstance(extra, Extra):
        return None
    try:
        extra.check(kind.__name__)
    except ExtraMissing:
        return extra.name
    return None
