"""Studies remember where and by what they were begun, whatever becomes of them."""

import json
import platform

import pytest

import polarbear as pb
from polarbear.store.specification import read_study_file


def test_a_study_says_by_what_it_was_begun_and_keeps_it_when_its_settings_change(tmp_path):
    path = tmp_path / "a.study"
    with pb.store.create(path, {"plan": {"repetitions": 1}}) as study:
        begun = read_study_file(path).origin
        study.replace_spec({"plan": {"repetitions": 2}})
    assert begun["polarbear"] == pb.__version__
    assert begun["python"] == platform.python_version()
    assert begun["packages"]["modcma"]
    assert platform.node() not in json.dumps(begun) or platform.node() in platform.machine()
    found = read_study_file(path)
    assert (found.origin, found.spec) == (begun, {"plan": {"repetitions": 2}})


def test_what_does_not_say_it_has_none(tmp_path):
    path = tmp_path / "a.study"
    pb.store.create(path, {}).close()
    content = json.loads((path / "study.json").read_text())
    (path / "study.json").write_text(json.dumps({name: content[name] for name in ("format", "version", "spec")}))
    assert read_study_file(path, changed=True).origin == {}


@pytest.mark.parametrize(
    "origin", ["here", {"time": 5}, {"packages": {"numpy": None}}, {"packages": "numpy"} | {"time": []}]
)
def test_one_that_is_no_text_is_damage(tmp_path, origin):
    path = tmp_path / "a.study"
    pb.store.create(path, {}).close()
    content = json.loads((path / "study.json").read_text()) | {"origin": origin}
    (path / "study.json").write_text(json.dumps(content))
    with pytest.raises(pb.store.StudyError, match="its 'origin' is invalid"):
        read_study_file(path, changed=True)
