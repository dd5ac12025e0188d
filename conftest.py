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


LONGEST = (
    "tests/study/test_racing.py",
    "tests/study/test_clusters.py",
    "tests/inference/test_accuracy.py",
    "tests/attacks/test_runs.py",
    "tests/experiment/test_cluster.py",
    "tests/inference/test_methods.py",
    "tests/cli/test_plans.py",
    "tests/cli/test_termination.py",
    "tests/study/test_faults.py",
    "tests/store/test_study.py",
    "tests/experiment/test_pool.py",
    "tests/cli/test_cli.py",
)
"""Files that take longest, on the clock; begun last, one of them would leave the other process idle at the end."""


def pytest_collection_modifyitems(items):
    """The longest files first, the others in their order."""
    items.sort(key=lambda item: LONGEST.index(file) if (file := item.nodeid.partition("::")[0]) in LONGEST else 99)
