"""What executes runs: worker processes, or the workers of a Dask cluster."""

from __future__ import annotations

import socket
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polarbear.cli.options import WorkersOption
from polarbear.extras import how_to_install

if TYPE_CHECKING:
    from concurrent.futures import Executor


@dataclass(frozen=True, slots=True)
class Workers:
    """A number of worker processes, or a cluster; without TLS files, Dask's own configuration applies."""

    workers: WorkersOption = 1
    cluster: Annotated[
        str | None,
        typer.Option(
            help="Run on the workers of a Dask cluster instead, such as tls://host:8786, or tcp://host:8786 "
            "on a network that nobody else can reach.",
            show_default=False,
        ),
    ] = None
    tls_ca_file: Annotated[Path | None, typer.Option(help="For a tls:// cluster: the CA certificate (PEM).")] = None
    tls_cert: Annotated[Path | None, typer.Option(help="For a tls:// cluster: your own certificate (PEM).")] = None
    tls_key: Annotated[Path | None, typer.Option(help="For a tls:// cluster: the key of your certificate (PEM).")] = (
        None
    )

    def __post_init__(self) -> None:
        if self._files and not (self.cluster or "").startswith("tls://"):
            raise typer.BadParameter("--tls-ca-file, --tls-cert and --tls-key are for --cluster tls://…")

    @property
    def _files(self) -> dict[str, str]:
        """The files, by the names in `distributed.Security`."""
        files = {"tls_ca_file": self.tls_ca_file, "tls_client_cert": self.tls_cert, "tls_client_key": self.tls_key}
        return {name: str(file) for name, file in files.items() if file is not None}

    @contextmanager
    def executor(self) -> Generator[Executor | None]:
        """The workers of a Dask cluster; None for our own processes."""
        if self.cluster is None:
            yield None
            return
        from polarbear.experiment import DaskExecutor

        try:
            from distributed import Client, Security
        except ImportError as error:
            raise typer.BadParameter(f"--cluster needs distributed; {how_to_install('dask')}") from error
        try:
            security = Security(require_encryption=True, **self._files) if self._files else None
            _check_address(self.cluster, security)
            client = Client(self.cluster, timeout=10, security=security, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise typer.BadParameter(f"cannot connect to a Dask scheduler at {self.cluster}: {error}") from error
        with client:
            _check_workers(client)
            yield DaskExecutor(client)


def _check_address(address: str, security: Any) -> None:
    """Reject an address for which no client can be made; a client that fails to start takes half a minute to close.

    Raises:
        ValueError: If it is not an address, or is a TLS address without certificates.
        OSError: If there is no such host, or a certificate cannot be read.
    """
    from dask import config
    from distributed import Security
    from distributed.comm.addressing import get_address_host_port

    try:
        host, port = get_address_host_port(address)
    except ValueError as error:
        raise ValueError(f"{error}; write it like tls://host:8786 or tcp://host:8786") from error
    if not 0 < port < 1 << 16:
        raise ValueError(f"its port is {port}; it must be from 1 to 65535")
    socket.getaddrinfo(host or None, port)
    settings: Any = config
    if address.startswith("tls://") and (security or not settings.get("distributed.client.security-loader", None)):
        certified: Any = security or Security()  # from Dask's own configuration
        if certified.get_connection_args("client")["ssl_context"] is None:
            raise ValueError("it needs certificates; give them with --tls-ca-file, --tls-cert and --tls-key")


def _check_workers(client: Any) -> None:
    """Reject workers without polarbear, on which the first run would fail while we waited for ever."""
    from polarbear.experiment import WorkersUnavailable

    def trouble() -> str:  # a local function is sent by value, even to workers without polarbear
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
            " was run. Install polarbear-race[dask] on them, in the same version as here"
        )
