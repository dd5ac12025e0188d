"""A `rich` console that prints text verbatim, without markup."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO

from rich.console import Console as RichConsole  # noqa: TID251 - the one place
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

from polarbear.descriptions import printable


class Console(RichConsole):
    """A console that lets no printed text add control codes or styles.

    Args:
        stderr: Whether to write to standard error instead of standard output.
        file: A file to write to instead.
    """

    def __init__(self, *, stderr: bool = False, file: IO[str] | None = None) -> None:
        super().__init__(stderr=stderr, file=file, markup=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments to write for a renderable."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)
