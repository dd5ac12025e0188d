"""What is uploaded to a package index: its name, its page, and that it races where nothing else is installed."""

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

from polarbear.extras import DISTRIBUTION
from polarbear.version import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RACE = """
import polarbear as pb
if __name__ == "__main__":
    result = pb.race(["random-search", "quasi-random-search"], "ma-bbob", (5, 20), dimension=2, epsilon=0.4, alpha=0.6)
    print(result.best(10).members)
    result.report("race.html")
"""


def test_the_name_is_the_same_everywhere_and_never_that_of_another_project():
    assert PROJECT["name"] == DISTRIBUTION
    extras = [entry for group in PROJECT["optional-dependencies"].values() for entry in group if "polarbear" in entry]
    assert extras
    assert all(entry.startswith(f"{DISTRIBUTION}[") for entry in extras)
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    wrong = {page.name for page in pages if re.search(r"install [\"']?polarbear\b(?!-race)", page.read_text("utf-8"))}
    assert wrong <= {"0023-distribution-name.md"}


def test_every_extra_is_described():
    page = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
    described = set(re.findall(r"`([a-z]+)`", page))
    assert {*PROJECT["optional-dependencies"]} - {"bench", "dev", "docs"} <= described


def test_the_versions_agree():
    citation = dict(re.findall(r"^(\w+): (.*)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE))
    assert PROJECT["version"] == __version__ == citation["version"]
    assert PROJECT["license"] == citation["license"]


def test_links_of_the_page_on_the_index_lead_somewhere():
    page = (ROOT / PROJECT["readme"]).read_text(encoding="utf-8")
    assert all(link.startswith("https://") for link in re.findall(r"\]\(([^)]*)\)", page))
    files = re.findall(r"`((?:docs|examples)/[\w./-]*)`", page)
    assert len(files) > 5
    assert all((ROOT / file).exists() for file in files)


def test_no_source_is_ignored_by_git_and_so_left_out_of_the_wheel():
    listed = ["git", "-C", str(ROOT), "ls-files", "--cached", "--ignored", "--exclude-standard", "src"]
    found = subprocess.run(listed, capture_output=True, text=True)
    if found.returncode:
        pytest.skip("this is no git repository")
    assert found.stdout == ""


@pytest.mark.slow
def test_a_wheel_races_in_an_environment_of_its_own(tmp_path):
    """With the dependencies that it names, and no others."""
    built = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", tmp_path, ROOT],
        capture_output=True,
        text=True,
    )
    if "No matching distribution" in built.stderr or "No module named pip" in built.stderr:
        pytest.skip("packages cannot be installed here")
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("polarbear_race-*.whl")
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True)
    (tmp_path / "mine.py").write_text(RACE)
    options = {"cwd": tmp_path, "env": {"PATH": "/usr/bin:/bin"}, "check": True, "capture_output": True, "text": True}
    assert "search" in subprocess.run([python, "mine.py"], **options).stdout.lower()
    assert (tmp_path / "race.html").stat().st_size > 10_000
    version = subprocess.run([python.with_name("polarbear"), "--version"], **options).stdout
    assert version.split() == ["polarbear", __version__]
