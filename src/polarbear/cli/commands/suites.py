"""`polarbear suites`: the problem suites."""

from __future__ import annotations

from polarbear.cli.options import JsonOption
from polarbear.cli.terminal import echo_listed

EXAMPLE = "polarbear suites"


def suites(as_json: JsonOption = False) -> None:
    """List the problem suites and their fields."""
    from polarbear import problems

    listed = {suite: problems.suite_parameters(suite) for suite in problems.suites()}
    echo_listed(listed, {suite: problems.suite_class(suite)[0].__doc__ for suite in listed}, as_json=as_json)
