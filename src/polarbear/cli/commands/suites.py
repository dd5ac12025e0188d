"""`polarbear suites`: the problem suites."""

from __future__ import annotations

from polarbear.cli.options import JsonOption
from polarbear.cli.terminal import echo_fields


def suites(as_json: JsonOption = False) -> None:
    """List the problem suites and their fields."""
    from polarbear import problems

    echo_fields({suite: problems.suite_parameters(suite) for suite in problems.suites()}, as_json=as_json)
