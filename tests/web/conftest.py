"""Studies that all tests of the analyzer in the browser look at."""

import pytest

from polarbear.web import Sources
from tests.web import studies


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
