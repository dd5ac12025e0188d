"""The library of recorded runs: by name and version, whole or not at all, and refused once it was changed."""

import json

import pytest

import polarbear as pb
from polarbear.store import Library, StudyError
from polarbear.store.library import VARIABLE, default_folder
from tests.cli.commands import polarbear


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A CSV of two algorithms on a function."""
    path = tmp_path_factory.mktemp("runs") / "runs.csv"
    rows = ["algorithm,instance,seed,evaluations,value"]
    rows += [f"{name},mine,{seed},{at},{10 / at}" for name in "AB" for seed in range(3) for at in (1, 5, 20)]
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture
def library(tmp_path):
    return Library(tmp_path / "library")


def test_what_is_added_is_found_listed_and_removed(library, runs):
    added = library.add("mine", [runs])
    assert (added.name, added.version, added.runs, added.algorithms) == ("mine", "1", 6, ("A", "B"))
    assert library.list() == [added] == [library.get("mine")] == [library.get("mine@1")]
    assert len(pb.store.read(added.path)) == 6
    assert library.holds("mine")
    library.remove("mine")
    assert library.list() == []
    assert not library.holds("mine")
    assert runs.exists()


def test_of_several_versions_the_latest_is_meant(library, runs, monkeypatch):
    library.add("mine", [runs], version="2024")
    with pytest.raises(ValueError, match="mine already has version 2024; give another"):
        library.add("mine", [runs], version="2024")
    old = library.list()[0]
    content = json.loads((old.folder / "entry.json").read_text())
    (old.folder / "entry.json").write_text(json.dumps(content | {"added": "2020-01-01T00:00:00+00:00"}))
    library.add("mine", [runs], version="2019")
    assert library.get("mine").version == "2019"
    assert library.get("mine@2024").version == "2024"
    library.remove("mine@2019")
    assert library.get("mine").version == "2024"


@pytest.mark.parametrize("name", ["", "..", "a/b", "a b", "a@1", "-a"])
def test_names_are_words(library, runs, name):
    with pytest.raises(ValueError, match="letters, digits"):
        library.add(name, [runs])
    assert not library.holds(name)
    assert not library.folder.exists()


def test_nothing_is_left_of_what_cannot_be_read(library, tmp_path):
    (tmp_path / "no.csv").write_text("nothing,of\nthe,kind\n")
    with pytest.raises(ValueError, match="holds no data that polarbear can read"):
        library.add("mine", [tmp_path / "no.csv"])
    with pytest.raises(FileNotFoundError):
        library.add("mine", [tmp_path / "absent.csv"])
    assert library.list() == []
    assert not library.holds("mine")


def test_what_was_changed_is_refused(library, runs):
    added = library.add("mine", [runs])
    manifest = added.path / "manifest.txt"
    manifest.write_bytes(manifest.read_bytes() + b"\n")
    with pytest.raises(StudyError, match="differs from what was added: its checksum is"):
        _ = library.get("mine").path
    (added.folder / "entry.json").write_text("{")
    with pytest.raises(StudyError, match=r"entry\.json is damaged"):
        library.list()


def test_unknown_names_are_told_with_the_closest(library, runs):
    with pytest.raises(ValueError, match="no data set 'mime': it is empty; add one with polarbear archive add"):
        library.remove("mime")
    library.add("mine", [runs])
    with pytest.raises(ValueError, match="no data set 'mime'; did you mean 'mine'"):
        library.get("mime")


def test_where_it_is_can_be_said(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert default_folder() == tmp_path
    monkeypatch.delenv(VARIABLE)
    assert default_folder().parts[-2:] == ("polarbear", "library")


def test_commands_take_names_in_place_of_paths(monkeypatch, tmp_path, runs):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "library"))
    assert "is empty" in polarbear("archive", "list")[0]
    assert "added mine 1  6 runs of 2 algorithms" in polarbear("archive", "add", "mine", runs)[0]
    assert json.loads(polarbear("archive", "list", "--json")[0])[0]["runs"] == 6
    assert "A" in polarbear("compare", "mine", "--budget", "10", cwd=tmp_path)[0]
    assert "6 runs" in polarbear("show", "mine", cwd=tmp_path)[0]
    (tmp_path / "mine").mkdir()  # a path goes before a name
    assert "6 runs" not in polarbear("show", "mine", code=3, cwd=tmp_path)[0]
    assert "removed mine 1" in polarbear("archive", "remove", "mine")[0]
    for arguments in (("add", "mine"), ("remove",), ("list", "mine")):
        assert "give list; add NAME PATH" in polarbear("archive", *arguments, code=2)[1]
