"""Which step of long work is under way, such as an assessment."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.text import Text

from polarbear.progress.bar import LINE_SECONDS
from polarbear.progress.console import Console


@contextmanager
def steps(console: Console, first: str) -> Generator[Callable[[str], None]]:
    """Show the step that is under way: live on a terminal; elsewhere a line every half minute, if it takes that long.

    Args:
        console: Where to show it.
        first: The first step.

    Yields:
        What to call with each further step.
    """
    printed = time.monotonic()

    with console.status(Text(first)) as status:

        def show(step: str) -> None:
            nonlocal printed
            status.update(Text(step))
            if not console.is_terminal and time.monotonic() - printed > LINE_SECONDS:
                printed = time.monotonic()
                console.print(Text(step))

        yield show
