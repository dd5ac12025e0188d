"""The server: access control, security headers, and figures and tables as files."""

# pyright: reportArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnusedFunction=false
# (the types of Flask and Waitress are incomplete)
from __future__ import annotations

import hmac
import io
import secrets
import socket
import tempfile
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from polarbear.extras import optional
from polarbear.store import exists, write_zip
from polarbear.web.address import Address
from polarbear.web.components import FAULTS, FORMATS, TABLES, written
from polarbear.web.sources import Sources
from polarbear.web.uploads import LARGEST, Uploads
from polarbear.web.views import View

HERE = "127.0.0.1"
_NAMES = (HERE, "localhost", "::1")
"""Names of the local machine; a server that listens on one of them answers only requests addressed to them."""
_TYPES = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf", "eps": "application/postscript"}
_DRAWING = threading.Lock()
"""Lock for drawing, since Matplotlib's settings are global to the process."""
_THREADS = 4


@dataclass
class Server:
    """A server that is ready to run.

    Attributes:
        url: Address of the server, including the token if one is needed.
        token: Token required from visitors; empty if only the local machine is served.
    """

    url: str
    token: str
    _waitress: Any
    _uploads: Uploads
    _closed: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Serve until `close` is called."""
        try:
            self._waitress.run()
        except OSError:
            if not self._closed.is_set():  # else another thread has closed the socket
                raise
        finally:
            self._uploads.close()

    def close(self) -> None:
        """Stop the server, from any thread."""
        self._closed.set()
        self._waitress.close()


def make_server(
    paths: Iterable[str | Path],
    *,
    library: str | Path | None = None,
    targets: str | Path | None = None,
    host: str = HERE,
    port: int = 0,
) -> Server:
    """Make a server of the analyzer.

    Args:
        paths: Studies, or other tools' files, folders and archives.
        library: Folder with further ones.
        targets: CSV file with targets for every function; see `Sources`.
        host: Address to listen on. Any other than 127.0.0.1 requires a token from visitors.
        port: Port to listen on; 0 for a free one.

    Raises:
        ExtraMissing: If dash or waitress is not installed.
        FileNotFoundError: If there is nothing at a path.
        ValueError: If the file of targets is invalid.
        OSError: If the port is taken.
    """
    optional("dash", "serve", "polarbear serve")
    waitress = optional("waitress", "serve", "polarbear serve")
    from polarbear.web.app import make_app

    sources = Sources(paths, library, targets)
    uploads = Uploads(sources)
    listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    port = listening.getsockname()[1]
    token = "" if host in _NAMES else secrets.token_urlsafe(24)
    app = make_app(sources, uploads)
    policy = _policy(app.csp_hashes())
    _guard(app.server, token, policy, f"polarbear-{port}")
    _files(app.server, sources)
    _saved(app.server, sources)
    _studies(app.server, sources)
    made = waitress.create_server(app.server, sockets=[listening], threads=_THREADS, max_request_body_size=2 * LARGEST)
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}/" + (f"?token={token}" if token else "")
    return Server(url, token, made, uploads)


def _policy(hashes: Iterable[str]) -> str:
    """Content security policy: pages may load what this server provides, and Dash's own inline scripts."""
    return "; ".join(
        (
            "default-src 'self'",
            f"script-src 'self' {' '.join(hashes)}",
            "style-src 'self' 'unsafe-inline'",  # plotly.js positions its parts by inline styles
            "img-src 'self' data: blob:",
            *("object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'", "form-action 'self'"),
        )
    )


def _guard(server: Any, token: str, policy: str, cookie: str) -> None:
    """Admit requests with the token, or to this machine's own name; add security headers to the responses."""
    from flask import Response, abort, redirect, request

    server.config["MAX_CONTENT_LENGTH"] = 2 * LARGEST

    @server.before_request
    def let_in() -> Any:
        if (origin := request.headers.get("Origin")) and urlsplit(origin).netloc != request.host:
            abort(403, "the request comes from a page of another site; open the address that polarbear serve printed")
        if not token:
            if urlsplit(f"//{request.host}").hostname not in _NAMES:
                abort(403, "this is not the address of the analyzer; open the one that polarbear serve printed")
            return None
        if hmac.compare_digest(request.cookies.get(cookie, "").encode(), token.encode()):
            return None
        if not hmac.compare_digest(request.args.get("token", "").encode(), token.encode()):
            abort(403, "open the address with the token that polarbear serve printed")
        rest = urlencode([(name, text) for name, text in request.args.items(multi=True) if name != "token"])
        entered = redirect(f"/{request.path.lstrip('/')}" + (f"?{rest}" if rest else ""))
        entered.set_cookie(cookie, token, httponly=True, samesite="Strict")
        return entered

    @server.after_request
    def say(response: Response) -> Response:
        response.headers["Content-Security-Policy"] = policy
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["X-Frame-Options"] = "DENY"
        response.headers.setdefault("Cache-Control", "no-store")
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        return response

    @server.errorhandler(500)
    def fault(_: Exception) -> Response:  # Flask has logged it
        text = "this is a bug in polarbear, please report it; the terminal that runs polarbear serve shows more\n"
        return Response(text, 500, mimetype="text/plain")


def _files(server: Any, sources: Sources) -> None:
    """Serve each view as a file, at its address with a suffix."""
    from flask import Response, request

    # before Dash's own route, which answers every path
    @server.route("/file/<page>/<name>")
    def file(page: str, name: str) -> Response:
        kind, _, ending = name.rpartition(".")
        try:
            view = View.at(f"/{page}/{kind}?{request.query_string.decode()}")
            content, media = _written(view, ending, sources)
        except FAULTS as fault:
            return Response(f"{fault}\n", 404, mimetype="text/plain")
        return Response(content, content_type=media, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _saved(server: Any, sources: Sources) -> None:
    """Serve the settings of an address as files."""
    from flask import Response, request

    from polarbear.web.settings_page import algorithms

    @server.route("/<any('settings.json', 'colors.csv'):name>")
    def saved(name: str) -> Response:
        try:
            address = Address.of("/", request.query_string.decode(), sources.names)
            settings = address.view.settings
            colors = name == "colors.csv"
            content = settings.colors_of(algorithms(address, sources)).csv() if colors else settings.json()
        except FAULTS as fault:
            return Response(f"{fault}\n", 404, mimetype="text/plain")
        sent = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(content, mimetype="text/csv" if colors else "application/json", headers=sent)


def _studies(server: Any, sources: Sources) -> None:
    """Serve studies as zip archives, e.g. ones imported here; of a study being written, the part that is complete."""
    from flask import Response, request, send_file

    @server.route("/study.zip")
    def study() -> Response:
        try:
            path = sources.path(request.args.get("study", ""))
            if not exists(path):
                raise ValueError(f"{path.name} is not a study, and only studies can be saved; open the file itself")
        except FAULTS as fault:
            return Response(f"{fault}\n", 404, mimetype="text/plain")
        content = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it has been sent
        try:
            write_zip(path, content)
        except FAULTS as fault:
            content.close()
            return Response(f"{fault}\n", 503, mimetype="text/plain")
        content.seek(0)
        return send_file(content, "application/zip", as_attachment=True, download_name=f"{path.stem}.zip")


def _written(view: View, ending: str, sources: Sources) -> tuple[str | bytes, str]:
    """A view in the format of a suffix, and its media type."""
    if form := TABLES.get(ending):
        return written(view.data(sources), ending, view.settings.digits), form.media
    if ending not in FORMATS:
        raise ValueError(f"there is no format {ending!r}; there are {', '.join((*FORMATS, *TABLES))}")
    figure = view.figure(sources)
    if figure is None:
        raise ValueError(f"{view.of_kind.title} has no figure; available formats: {', '.join(TABLES)}")
    with _DRAWING:
        if ending == "svg":
            return figure.svg(), _TYPES[ending]
        content = io.BytesIO()
        figure.matplotlib().savefig(content, format=ending, dpi=200)
    return content.getvalue(), _TYPES[ending]
