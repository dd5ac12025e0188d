"""The command line: thin commands over the other rooms."""

from __future__ import annotations

import sys

from polarbear.cli.starting import INTERRUPTED, MEMORY_SHORT, fail, prepare


def main() -> None:
    """Entry point of `polarbear`."""
    sys.path[:] = [entry for entry in sys.path if entry]  # `python -c` puts "", the current folder, first
    try:
        prepare()
        from polarbear.cli.app import run

        run()
    except KeyboardInterrupt:
        fail("interrupted", INTERRUPTED)
    except MemoryError as error:
        what = str(error) or "there is no memory left"
        fail(f"{what}. What was committed is kept", MEMORY_SHORT)
