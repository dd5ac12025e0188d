"""Where the commands that run something run it, and what they say of warnings."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polarbear.cli.options import INTERRUPTED, TERMINATED

if TYPE_CHECKING:
    from concurrent.futures import Executor

ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster", help="Address of a Dask scheduler, such as tcp://host:8786, to run on.", show_default=False
    ),
]


@contextmanager
def executor(cluster: str | None) -> Generator[Executor | None]:
    """The workers of a Dask cluster at an address; None for our own."""
    if cluster is None:
        yield None
        return
    from polarbear.experiment import DaskExecutor

    try:
        from distributed import Client
    except ImportError as error:
        raise typer.BadParameter("--cluster needs distributed; pip install 'polarbear[dask]'") from error
    try:
        client = Client(cluster, timeout=10)
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"there is no Dask scheduler at {cluster}: {error}") from error
    with client:
        _check_workers(client)
        yield DaskExecutor(client)


def _check_workers(client: Any) -> None:
    """Refuse workers without polarbear: they would end at the first run, and it would wait for ever."""
    from polarbear.experiment import WorkersUnavailable

    def trouble() -> str:  # a local function travels by value, also to where there is no polarbear
        import importlib
        import sys

        try:
            importlib.import_module("polarbear.experiment")
        except Exception as error:  # noqa: BLE001 - whatever keeps it from being imported is told
            return f"{sys.executable}: {type(error).__name__}: {error}"
        return ""

    unfit = {address: why for address, why in client.run(trouble).items() if why}
    if unfit:
        address, why = next(iter(unfit.items()))
        raise WorkersUnavailable(
            f"polarbear cannot be imported on {len(unfit)} of the cluster's workers, such as {address} ({why}). Nothing"
            " was run. Install polarbear[dask] for them, in the same version as here"
        )


_MOMENT = 0.01
"""Seconds until it is seen again whether a commit is over."""


class Terminated(KeyboardInterrupt):
    """SIGTERM has come; what is under way ends as on Ctrl-C."""


@contextmanager
def terminable() -> Generator[None]:
    """Let SIGTERM end what is under way as Ctrl-C does, with the exit code 143; for the main thread.

    A commit that is under way is finished, studies are closed and locks released. Further SIGTERMs do nothing, unless
    what was under way has ignored the first.
    Processes that are started or forked are ended by SIGTERM as ever.
    """
    from polarbear.store.undisturbed import committing

    process, come, over = os.getpid(), False, False

    def unwind(number: int, frame: object) -> None:  # noqa: ARG001 - a signal handler's arguments
        nonlocal come
        if os.getpid() != process:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
        elif not (over or _unwinding()):
            come = True
            if not committing():
                raise Terminated
            again = threading.Timer(_MOMENT, os.kill, (process, signal.SIGTERM))
            again.daemon = True
            again.start()

    before = signal.getsignal(signal.SIGTERM)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, unwind)
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as ended:
        if come and not (isinstance(ended, SystemExit) and not ended.code):  # it had not come to its end
            sys.exit(TERMINATED)
        raise
    finally:
        over = True
        if not come:
            signal.signal(signal.SIGTERM, before)


def _unwinding() -> bool:
    """Whether the main thread is about to end because of a `Terminated`."""
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, Terminated):
        error = error.__context__
    return error is not None


@contextmanager
def interruptible(kept: str, again: str) -> Generator[None]:
    """Say on Ctrl-C and SIGTERM what is kept, and the command that goes on."""
    try:
        yield
    except KeyboardInterrupt as error:
        what = "ended by SIGTERM" if isinstance(error, Terminated) else "interrupted"
        typer.echo(f"\n{what}; {kept} is kept. Go on with: {again}", err=True)
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def told_warnings() -> Generator[None]:
    """Print warnings as single lines on standard error; not those of failed runs, which the results tell."""
    from polarbear.study import RunFailureWarning

    def tell(message: Warning | str, *_: object) -> None:
        typer.echo(f"polarbear: warning: {message}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunFailureWarning)
        warnings.showwarning = tell  # pyright: ignore[reportAttributeAccessIssue]
        yield
