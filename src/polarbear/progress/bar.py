"""A progress bar on a terminal, or else a line every half minute."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn

from polarbear.progress.console import Console

LINE_SECONDS = 30.0
"""Seconds between lines without a terminal."""


class Bar:
    """A progress bar, live inside a `with` block; `columns` follow its description and the bar itself."""

    def __init__(self, console: Console, *columns: ProgressColumn) -> None:
        self._console = console
        shown = (TextColumn("{task.description}"), BarColumn(), *columns)
        self._bar = Progress(*shown, console=console, transient=True, disable=not console.is_terminal)
        self._task: TaskID | None = None
        self._printed = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._bar.stop()

    def _print_seldom(self, line: Callable[[], str]) -> None:
        """Without a terminal, print a line unless another one was printed in the last half minute."""
        if not self._console.is_terminal and time.monotonic() - self._printed > LINE_SECONDS:
            self._printed = time.monotonic()
            self._console.print(line())
