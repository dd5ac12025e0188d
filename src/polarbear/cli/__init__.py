"""The command line: thin commands over the rooms."""

from __future__ import annotations


def main() -> None:
    """Entry point of `polarbear`."""
    from polarbear.cli.app import run

    run()
