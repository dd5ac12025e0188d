"""`polarbear serve`: the analyzer in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polarbear.cli.options import to_data
from polarbear.cli.recorded import bad_input
from polarbear.cli.terminal import echo

EXAMPLE = "polarbear serve study.study archive.tgz --library archives"


def serve(
    data: Annotated[
        list[Path] | None,
        typer.Argument(parser=to_data, help="Studies, archives, folders or files to view.", show_default=False),
    ] = None,
    library: Annotated[
        Path | None, typer.Option(help="A folder of further studies and archives to search.", show_default=False)
    ] = None,
    targets: Annotated[
        Path | None,
        typer.Option(
            help="A CSV file of targets (suite, function, dimension, target) that replaces the usual ones; "
            "pages follow its changes. The view COCO, Targets creates one.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on. Default: a free port.", show_default=False)
    ] = 0,
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on; any but 127.0.0.1 requires visitors to have a token, which is part "
            "of the printed address."
        ),
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the browser.")] = True,
) -> None:
    """View studies and archives in the browser, even while they grow; nothing is run."""
    from polarbear.web.server import make_server

    with bad_input():
        if library is not None and not library.is_dir():
            raise ValueError(f"library is {library}, which is not a folder; give the folder of the archives")
        server = make_server(data or (), library=library, targets=targets, host=host, port=port)
    if server.token:
        echo(f"Listening on {host}: others can reach it, so visitors need the token in this address.")
    echo(f"{server.url}\nCtrl-C ends it.")
    if browser:
        import webbrowser

        webbrowser.open(server.url)
    try:
        server.run()
    except KeyboardInterrupt:
        server.close()
