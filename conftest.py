"""Every Python example in the documentation is run by the tests."""

import os
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

pytest_plugins = ["tests.statistical"]


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """Examples run in an empty folder."""
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("docs"))
    yield
    os.chdir(before)


pytest_collect_file = Sybil(parsers=[PythonCodeBlockParser()], patterns=["*.md"], fixtures=["elsewhere"]).pytest()
