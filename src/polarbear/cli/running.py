"""What the commands that run something share: workers or a cluster, signals, warnings."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import warnings
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polarbear.cli.options import INTERRUPTED, TERMINATED
from polarbear.cli.starting import after_fragile_calls
from polarbear.cli.terminal import echo, tell_warning

if TYPE_CHECKING:
    from concurrent.futures import Executor

ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="Address of a Dask scheduler to run on, such as tls://host:8786, or tcp://host:8786 on a network that "
        "nobody else reaches.",
        show_default=False,
    ),
]
CAFileOption = Annotated[
    Path | None, typer.Option("--tls-ca-file", help="Of a tls:// cluster: its authority's certificate (PEM).")
]
CertOption = Annotated[Path | None, typer.Option("--tls-cert", help="Of a tls:// cluster: our own certificate (PEM).")]
KeyOption = Annotated[Path | None, typer.Option("--tls-key", help="Of a tls:// cluster: our certificate's key (PEM).")]
ImportOption = Annotated[
    list[str] | None,
    typer.Option(
        "--import", help="A module or package of yours that the study may import from; repeatable.", show_default=False
    ),
]
TrustOption = Annotated[
    bool, typer.Option("--trust", help="Import all modules that the study names, and say which; they run as you.")
]


def look_in(*folders: Path) -> None:
    """Have modules be looked for in folders as well, after all others: what is installed is not replaced."""
    for folder in map(str, (Path.cwd(), *(folder.resolve() for folder in folders))):
        if folder not in sys.path:
            sys.path.append(folder)


@contextmanager
def resumable(study: Path, spec: Mapping[str, Any], imports: Collection[str], *, trust: bool) -> Generator[list[str]]:
    """What is built here is from a study: it may import the modules that are named, or that `--trust` lets it name.

    The current folder, and that of the study, are looked in only where such modules are needed. Errors name the study.
    """
    from polarbear.store.paths import remote
    from polarbear.study import NotTrusted, StudyFileError, modules_of

    named = modules_of(spec)
    if trust and named:
        echo(f"importing what {study} names: {', '.join(named)}", err=True)
    if named and (trust or imports):
        look_in(*(() if remote(study) else (study.parent,)))
    try:
        yield [*imports, *(named if trust else ())]
    except NotTrusted:
        raise
    except (ValueError, TypeError) as error:
        raise StudyFileError(f"{study / 'study.json'} cannot be resumed from here: {error}") from error


def resuming(path: Path, spec: Mapping[str, Any]) -> str:
    """The command that goes on with a study."""
    from polarbear.study import modules_of

    return " ".join(["polarbear resume", shlex.quote(str(path)), *(f"--import {name}" for name in modules_of(spec))])


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Dask cluster to run on.

    Attributes:
        address: Where its scheduler is.
        files: For TLS, as `distributed.Security` names them; without any, Dask's own configuration counts.
    """

    address: str
    files: Mapping[str, str]

    @classmethod
    def of(cls, address: str | None, ca_file: Path | None, cert: Path | None, key: Path | None) -> Cluster | None:
        """From the options; None without an address."""
        given = {"tls_ca_file": ca_file, "tls_client_cert": cert, "tls_client_key": key}
        files = {name: str(file) for name, file in given.items() if file is not None}
        if files and not (address or "").startswith("tls://"):
            raise typer.BadParameter("--tls-ca-file, --tls-cert and --tls-key are for --cluster tls://…")
        return None if address is None else cls(address, files)


@contextmanager
def executor(cluster: Cluster | None) -> Generator[Executor | None]:
    """The workers of a Dask cluster; None for our own."""
    if cluster is None:
        yield None
        return
    from polarbear.experiment import DaskExecutor

    try:
        from distributed import Client, Security
    except ImportError as error:
        raise typer.BadParameter("--cluster needs distributed; pip install 'polarbear[dask]'") from error
    try:
        security = Security(require_encryption=True, **cluster.files) if cluster.files else None
        client = Client(cluster.address, timeout=10, security=security, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise typer.BadParameter(f"there is no Dask scheduler at {cluster.address} that accepts us: {error}") from error
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


class Terminated(KeyboardInterrupt):
    """SIGTERM has come; what is under way ends as on Ctrl-C."""


@contextmanager
def terminable() -> Generator[None]:
    """Let SIGTERM end what is under way as Ctrl-C does, with the exit code 143; for the main thread.

    A commit that is under way is finished, studies are closed and locks released. Further SIGTERMs do nothing, unless
    what was under way has ignored the first. Processes that are started or forked are ended by SIGTERM as ever.
    """
    from polarbear.store.atomic import after_commit

    process, come, over = os.getpid(), False, False

    def unwind(number: int, frame: object) -> None:  # noqa: ARG001 - a signal handler's arguments
        nonlocal come
        if os.getpid() != process:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
        elif not (over or _unwinding()):
            come = True
            if not after_commit(lambda: signal.raise_signal(signal.SIGTERM)):
                raise Terminated

    before = signal.getsignal(signal.SIGTERM)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, after_fragile_calls(unwind))
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as ended:
        if come and not (isinstance(ended, SystemExit) and not ended.code):  # it had not come to its end
            sys.exit(TERMINATED)
        raise
    finally:
        over = True  # Python leaves SIG_IGN as it is when it ends, and replaces handlers by SIG_DFL
        signal.signal(signal.SIGTERM, signal.SIG_IGN if come else before)


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
        echo(f"\n{what}; {kept} is kept. Go on with: {again}", err=True)
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def told_warnings() -> Generator[None]:
    """Print warnings as single lines on standard error; not those of failed runs, which the results tell."""
    from polarbear.study import RunFailureWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunFailureWarning)
        warnings.showwarning = tell_warning  # pyright: ignore[reportAttributeAccessIssue]
        yield
