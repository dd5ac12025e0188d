"""Every Python example in the documentation is run by the tests."""

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

from polarbear.problems import descriptions

pytest_plugins = ["tests.statistical"]


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """Examples run in an empty folder, and what they register is forgotten."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("docs"))
        patch.setattr(descriptions, "_OWN", {})
        yield


def name_module(namespace):
    """Name a module for what examples define; to find out that it has none takes long, for every run anew."""
    namespace["__name__"] = "example"


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser()], patterns=["*.md"], fixtures=["elsewhere"], setup=name_module
).pytest()
