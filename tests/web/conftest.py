"""Studies that all tests of the analyzer in the browser look at."""

import pytest

from polarbear.web import Sources
from tests.web import studies
from tests.web.asking import served


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Recorded runs, and a race on them."""
    path = tmp_path_factory.mktemp("web")
    studies.recorded(path / "runs.study")
    studies.raced(path / "race.study")
    return path


@pytest.fixture(scope="session")
def sources(folder):
    """Both studies, open."""
    return Sources([folder / "runs.study", folder / "race.study"])


@pytest.fixture(scope="session")
def server(folder):
    """The server of both studies."""
    pytest.importorskip("dash", reason="dash is not installed")
    from polarbear.web.server import make_server

    made = served(make_server([folder / "runs.study", folder / "race.study"]))
    yield made
    made.close()
