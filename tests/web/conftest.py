"""Studies that all tests of the analyzer in the browser look at."""

import pytest

from polarbear.web import Sources
from tests.web import studies
from tests.web.asking import served


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Recorded runs, a race on them, and a knowledge base of them."""
    path = tmp_path_factory.mktemp("web")
    studies.recorded(path / "runs.study")
    studies.raced(path / "race.study")
    studies.known(path / "known")
    return path


@pytest.fixture(scope="session")
def sources(folder):
    """All of them, open."""
    return Sources([folder / "runs.study", folder / "race.study", folder / "known"])


@pytest.fixture(scope="session")
def server(folder):
    """The server of both studies."""
    pytest.importorskip("dash", reason="dash is not installed")
    from polarbear.web.server import make_server

    made = served(make_server([folder / "runs.study", folder / "race.study"]))
    yield made
    made.close()
