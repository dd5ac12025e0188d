"""Show the current step of long work, such as an assessment."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.text import Text

from polarbear.progress.bar import LINE_SECONDS
from polarbear.progress.console import Console


@contextmanager
def steps(console: Console, first: str) -> Generator[Callable[[str], None]]:
    """Show the current step: live on a terminal; elsewhere as a line at most every half minute.

    Args:
        console: The console to show it on.
        first: The first step.

    Yields:
        A function to call with each further step.
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
