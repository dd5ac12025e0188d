"""What pages say of all pages and of all commands is complete."""

import re
from pathlib import Path

import pytest

from polarbear.cli.commands import commands

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
COMMANDS = {command.name: Path(command.function.__code__.co_filename) for command in commands()}


def page(name):
    return (DOCS / name).read_text(encoding="utf-8")


def linked(name):
    """The pages of the documentation that a page links to, as `mkdocs.yml` names them."""
    targets = re.findall(r"\]\(([\w./-]+\.md)", page(name))
    return {str(((DOCS / name).parent / target).resolve().relative_to(DOCS)) for target in targets}


def test_the_index_names_every_page():
    """Those of subpackages and decisions are named by an overview that it names."""
    listed = set(re.findall(r"^ *- ([\w./-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    assert len(listed) > 100
    overviews = {"reference/python.md", "decisions/index.md"}
    assert overviews <= linked("index.md")
    found = linked("index.md").union(*map(linked, overviews)) | {"index.md"}
    assert not listed - found
    assert {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")} <= listed | {"gallery.md"}


def test_the_commands_that_run_anybodys_code_are_named():
    """A command that looks for modules beside its file, or opens a plan, imports what that names."""
    code = re.compile(r"^from polarbear\.cli\.executing import .*\b(?:look_in|open_plan|open_problems)\b", re.MULTILINE)
    run = {name for name, file in COMMANDS.items() if code.search(file.read_text(encoding="utf-8"))}
    assert {"race", "selector", "configure", "branch"} <= run
    said = re.search(r"^Only (`race FILE`.*?) run third-party code", page("reference/cli.md"), re.DOTALL | re.MULTILINE)
    assert set(re.findall(r"`([a-z]+)", said[1])) == run


@pytest.mark.parametrize("name", COMMANDS)
def test_whom_every_command_trusts_is_said(name):
    table = page("background/trust.md").partition("\n## ")[0]
    assert re.search(rf"`{name}[` ]", table)
