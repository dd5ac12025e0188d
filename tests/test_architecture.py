"""The page on architecture names files that are there, and the layers that import-linter holds the rooms to."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_its_files_are_there():
    files = {str(path.relative_to(ROOT / "src" / "polarbear")) for path in (ROOT / "src").rglob("*.py")}
    named = set(re.findall(r"`([\w/]+\.py)`", PAGE))
    assert len(named) > 40
    assert not {name for name in named if not any(f"/{file}".endswith(f"/{name}") for file in files)}


def test_its_layers_are_those_of_import_linter():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    drawn = re.search(r"```\n(__main__\n.*?)```", PAGE, re.DOTALL)[1].splitlines()
    assert [set(re.findall(r"\w+", layer)) for layer in drawn] == [set(re.findall(r"\w+", layer)) for layer in layers]
