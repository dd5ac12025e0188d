"""Handle Ctrl-C and SIGTERM: committed runs are kept, and the command that resumes is printed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager

import typer

from polarbear.cli.options import INTERRUPTED, TERMINATED
from polarbear.cli.starting import after_fragile_calls
from polarbear.cli.terminal import echo


class Terminated(KeyboardInterrupt):
    """SIGTERM was received; work in progress ends as on Ctrl-C."""


@contextmanager
def terminable() -> Generator[None]:
    """Let SIGTERM end work in progress as Ctrl-C does, with exit code 143; for the main thread.

    A commit in progress is finished, studies are closed and locks released. Further SIGTERMs have no effect, unless the
    first was ignored by the work in progress. Child processes are ended by SIGTERM as usual.
    """
    from polarbear.store.atomic import after_commit

    process, received, over = os.getpid(), False, False

    def unwind(number: int, frame: object) -> None:  # noqa: ARG001 - a signal handler's arguments
        nonlocal received
        if os.getpid() != process:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
        elif not (over or _unwinding()):
            received = True
            if not after_commit(lambda: signal.raise_signal(signal.SIGTERM)):
                raise Terminated

    before = signal.getsignal(signal.SIGTERM)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, after_fragile_calls(unwind))
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as ended:
        if received and not (isinstance(ended, SystemExit) and not ended.code):  # it was not finished
            sys.exit(TERMINATED)
        raise
    finally:
        over = True  # at exit, Python keeps SIG_IGN but replaces handlers by SIG_DFL
        signal.signal(signal.SIGTERM, signal.SIG_IGN if received else before)


def _unwinding() -> bool:
    """Whether the main thread is unwinding because of a `Terminated`."""
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, Terminated):
        error = error.__context__
    return error is not None


@contextmanager
def interruptible(kept: str, again: str) -> Generator[None]:
    """On Ctrl-C and SIGTERM, print what is kept, and the command that continues."""
    try:
        yield
    except KeyboardInterrupt as error:
        what = "ended by SIGTERM" if isinstance(error, Terminated) else "interrupted"
        echo(f"\n{what}; {kept} is kept. Continue with: {again}", err=True)
        raise typer.Exit(INTERRUPTED) from None
