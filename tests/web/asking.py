"""Ask a server as browsers do."""

import threading
from urllib.error import HTTPError
from urllib.request import Request, urlopen


def served(server):
    """The server, running in a thread of its own."""
    threading.Thread(target=server.run, daemon=True).start()
    return server


def ask(server, path, data=None, **headers):
    """The status, the headers and the content of an answer."""
    try:
        with urlopen(Request(server.url.rstrip("/") + path, data, headers)) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except HTTPError as error:
        return error.code, dict(error.headers), error.read()
