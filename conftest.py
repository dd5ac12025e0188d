"""Every Python example in the documentation is run by the tests.

A block with a title is written to the file of that name. On pages of numbered tasks each begins in an empty folder, and
of the lines of a console those run that begin with ``$ polarbear`` or ``$ python``.
"""

import gc
import os
import re
import shlex
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pytest
from sybil import Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer
from sybil.region import Region

from polarbear.optimizers.settings import ALGORITHMS, FAMILIES
from polarbear.problems.descriptions import OWN

pytest_plugins = ["tests.statistical"]


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """Examples run in an empty folder, and what they register is forgotten."""
    views = patch.dict("polarbear.web.kind.KINDS")
    with patch.dict(OWN), patch.dict(FAMILIES), patch.dict(ALGORITHMS), views, chdir(tmp_path_factory.mktemp("docs")):
        yield


def name_module(namespace):
    """Name a module for what examples define; to find out that it has none takes long, for every run anew."""
    namespace["__name__"] = "example"
    sys.modules.setdefault("example", ModuleType("example"))  # that of a dataclass' methods is looked up


def write_file(example):
    """Write a block that has a title to the file of that name."""
    Path(example.region.lexemes["file"]).write_text(example.parsed)


def titled_blocks(document):
    """Blocks such as those that begin with ``toml title="study.toml"``."""
    for region in RawFencedCodeBlockLexer(re.compile(r' *\w+ title="(?P<file>[^"]+)"\n'))(document):
        region.parsed, region.evaluator = region.lexemes["source"], write_file
        yield region


def run_commands(example):
    """Run the commands of a console, each to its end."""
    from tests.cli.commands import environment, polarbear

    for line in re.findall(r"^\$ ((?:polarbear|python) .*)$", example.parsed.replace("\\\n", " "), re.MULTILINE):
        program, *arguments = shlex.split(line, comments=True)
        if program == "polarbear":
            polarbear(*arguments)
        else:
            done = subprocess.run([sys.executable, *arguments], env=environment(), capture_output=True, text=True)
            assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


def begin_task(example):
    """Begin in an empty folder, with no names."""
    folder = Path.cwd() / re.sub(r"\W+", "-", example.parsed)
    folder.mkdir()
    os.chdir(folder)
    example.namespace.clear()
    name_module(example.namespace)


def tasks(document):
    """Headings of numbered tasks, and the consoles below them."""
    headings = list(re.finditer(r"^## (\d+)\. .*$", document.text, re.MULTILINE))
    for found in headings:
        yield Region(found.start(), found.end(), found[1], begin_task)
    if headings:
        yield from CodeBlockParser("console", run_commands)(document)


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), titled_blocks, tasks],
    patterns=["*.md"],
    fixtures=["elsewhere"],
    setup=name_module,
).pytest()


LONGEST = (
    "tests/web/test_browser.py",
    "tests/study/test_racing.py",
    "tests/analyzer/test_report.py",
    "tests/study/test_configuring.py",
    "docs/how-to/first-tasks.md",
    "tests/analyzer/test_assessment.py",
    "tests/cli/test_recorded.py",
    "tests/attacks/test_integrity.py",
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


SLOW = "docs/how-to/first-tasks.md"
"""A page whose examples take a minute; `make test-full` runs them."""


def pytest_collection_modifyitems(items):
    """Mark the slow page, and put the longest files first, the others in their order."""
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: LONGEST.index(file) if (file := item.nodeid.partition("::")[0]) in LONGEST else 99)


def pytest_collection_finish():
    """Keep what the collection made, which stays to the end, out of every later search for garbage."""
    gc.collect()
    gc.freeze()
