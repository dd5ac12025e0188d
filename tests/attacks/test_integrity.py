"""Attacks on the files of a study: whatever is changed, cut, swapped, removed or added is named, and never believed."""

import copy
import dataclasses
import errno
import json
import math
import os
import shutil
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import polarbear as pb
from polarbear import store
from polarbear.cli.app import app
from polarbear.experiment import Watch
from polarbear.racing import Round
from polarbear.racing.settings import RaceSettings
from polarbear.store import StudyError, contents
from polarbear.store.manifest import MANIFEST
from polarbear.store.specification import VERSION
from polarbear.study import OtherSettings, Plan, StudyFileError, load, load_plan, run_plan, verify
from polarbear.study.stored import _Race, _Round
from tests.store.conftest import make_run
from tests.store.seals import as_version_1, replace
from tests.study.entrants import descend, guess
from tests.study.test_racing import PROBLEM, race

RUN = make_run(7)
KINDS = {"specification": "study.json", "manifest": MANIFEST, "round": "rounds/*", "part": "runs/*"}


@pytest.fixture(scope="module")
def raced(tmp_path_factory):
    """A finished race of several rounds, and what it answers."""
    path = tmp_path_factory.mktemp("raced") / "a.study"
    race(path)
    return path


@pytest.fixture
def study(raced, tmp_path):
    """A copy of the race's study, to be damaged."""
    return Path(shutil.copytree(raced, tmp_path / "a.study"))


def files(path, kind):
    return sorted(path.glob(KINDS[kind]))


def answer(path):
    result = load(path).result
    return result.pareto_set, result.eliminated, result.posterior.draws.tobytes()


def named(path):
    """The files that reading the study names as damaged, by their paths within; those of a study that is refused."""
    try:
        with store.open(path) as opened:
            return {damage.path.relative_to(path).as_posix() for damage in opened.damaged}
    except StudyError as error:
        return {"study.json"} if str(error).startswith(f"{path}/study.json is damaged") else {str(error)}


def flip(data, rng):
    at, bit = rng.integers(len(data)), 1 << rng.integers(8)
    return data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]


@pytest.mark.parametrize("kind", KINDS)
def test_every_flipped_bit_is_noticed(study, kind):
    rng = np.random.default_rng(17)
    for _ in range(200):
        file = files(study, kind)[rng.integers(len(files(study, kind)))]
        whole = file.read_bytes()
        file.write_bytes(flip(whole, rng))
        assert named(study) == {file.relative_to(study).as_posix()}
        file.write_bytes(whole)
    assert named(study) == set()


CHANGES = {
    "garbage": lambda data: b"garbage",
    "nothing": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "cut by a byte": lambda data: data[:-1],
    "longer": lambda data: data + b"\n",
    "other case": lambda data: data.swapcase(),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", KINDS)
def test_other_bytes_are_noticed_and_verify_names_the_file(study, kind, change):
    file = files(study, kind)[-1]
    file.write_bytes(CHANGES[change](file.read_bytes()))
    assert named(study) == {file.relative_to(study).as_posix()}
    found = verify(study)
    assert not found.sound
    assert [damage.path for damage in found.damaged] == [file]
    assert "--accept-damage" in found.advice


def swap(one, other):
    held = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(held)
    return {one, other}


def exchange_names(one, other):
    held = one.with_name("held")
    one.rename(held)
    other.rename(one)
    held.rename(other)
    return {one, other}


def copy_over(one, other):
    other.write_bytes(one.read_bytes())
    return {other}


def move_on(one, other):
    """Another number for the same file."""
    moved = one.with_name(f"{int(other.name[:6]) + 1:06d}{one.name[6:]}")
    one.rename(moved)
    return {one, moved}


def duplicate(one, other):
    more = other.with_name(f"{int(other.name[:6]) + 1:06d}{one.name[6:]}")
    more.write_bytes(one.read_bytes())
    return {more}


def old_name(one, other):
    """A duplicate that is called as files of the first format version were."""
    more = one.with_name(f"{int(other.name[:6]) + 1:06d}{one.suffix}")
    more.write_bytes(one.read_bytes())
    return {more}


@pytest.mark.parametrize("attack", [swap, exchange_names, copy_over, move_on, duplicate, old_name])
@pytest.mark.parametrize("kind", ["round", "part"])
def test_swapped_moved_and_duplicated_files_are_named_and_not_believed(study, kind, attack):
    with store.open(study, write=True) as opened:
        opened.append(RUN)
    first, *_, last = files(study, kind)
    damaged = attack(first, last)
    assert named(study) == {file.relative_to(study).as_posix() for file in damaged}
    assert {damage.path for damage in verify(study).damaged} == damaged


@pytest.mark.parametrize("kind", ["specification", "round", "part"])
def test_files_of_another_study_are_named_and_left_out(study, tmp_path, kind):
    """Also of one that is made in the same way, and whose file has the next number."""
    before, other = answer(study), tmp_path / "other.study"
    race(other, settings={"seed": 3})
    file = files(other, kind)[-1]
    copied = study / file.relative_to(other)
    copied = copied if kind == "specification" else copied.with_name(f"999999{copied.name[6:]}")
    shutil.copy(file, copied)
    assert named(study) == {copied.relative_to(study).as_posix()}
    if kind != "specification":
        assert answer(study) == before


def test_a_whole_study_may_be_copied_and_moved(study, tmp_path):
    moved = study.rename(tmp_path / "b.study")
    assert verify(moved).sound
    assert verify(moved).advice == ""


@pytest.mark.parametrize("which", [0, -1])
@pytest.mark.parametrize("kind", ["round", "part"])
def test_a_deleted_file_is_named_refused_and_accepted_once(study, kind, which):
    before = answer(study)
    lost = files(study, kind)[which]
    lost.unlink()
    (damage,) = verify(study).damaged
    assert (damage.path, damage.why, damage.accepted) == (lost, "the file is missing", False)
    with pytest.raises(StudyError, match=f"{lost} cannot be used: the file is missing.*--accept-damage"):
        race(study)
    view = load(study)
    assert [damage.path for damage in view.damaged] == [lost]
    result = race(study, accept_damage=True)
    assert result.finished
    found = verify(study)
    assert found.sound
    assert [(damage.path, damage.accepted) for damage in found.damaged] == [(lost, True)]
    race(study)  # need not be accepted again
    if kind == "round" and which:
        assert answer(study) == before  # the round was decided again from its runs
    elif kind == "round":
        assert len(load(study).result.rounds) == len(files(study, "round"))


def test_a_file_that_was_given_up_can_be_put_back(study):
    before, lost = answer(study), files(study, "part")[0]
    held = lost.read_bytes()
    lost.write_bytes(b"garbage")
    assert verify(study, accept_damage=True).damaged[0].accepted
    assert answer(study) != before
    lost.write_bytes(held)
    assert verify(study, accept_damage=True).damaged == ()
    assert answer(study) == before


def test_a_plan_runs_again_what_was_lost(tmp_path):
    path, plan = tmp_path / "p.study", Plan({"a": guess, "b": descend}, [PROBLEM], repetitions=3, budget=20)
    assert run_plan(plan, path).ran == 6
    part, *others = files(path, "part")
    part.unlink()
    assert load_plan(path).damaged[0].path == part
    with pytest.raises(StudyError, match="the file is missing"):
        run_plan(plan, path)
    assert (run_plan(plan, path, accept_damage=True).ran == 6) == (not others)
    assert run_plan(plan, path).ran == 0
    assert verify(path).sound


def test_without_its_manifest_a_study_is_read_but_not_written_until_that_is_accepted(study):
    before = answer(study)
    (study / MANIFEST).unlink()
    (damage,) = verify(study).damaged
    assert (damage.path, damage.why) == (study / MANIFEST, "the file is missing")
    assert answer(study) == before
    with pytest.raises(StudyError, match=r"manifest\.txt cannot be used: the file is missing.*verify --accept-damage"):
        race(study)
    assert not (study / MANIFEST).exists()
    found = verify(study, accept_damage=True)
    assert (found.sound, found.damaged) == (True, ())
    assert answer(study) == before


def test_an_intended_change_of_the_specification_is_accepted_on_request(study):
    file = study / "study.json"
    file.write_bytes(file.read_bytes().replace(b'"alpha": 0.95', b'"alpha": 0.90'))
    found = verify(study)
    assert not found.sound
    assert "verify --accept-damage" in found.damaged[0].why
    assert found.runs > 0  # they can be saved
    assert verify(study, accept_damage=True).sound
    with store.open(study) as opened:
        assert opened.spec["race"]["alpha"] == 0.9


def test_studies_of_the_first_version_are_read_told_and_brought_up_when_written(study):
    before = answer(study)
    as_version_1(study)
    found = verify(study)
    assert found.sound
    assert found.version == 1
    assert "no checksums" in found.advice
    assert answer(study) == before
    assert not (study / MANIFEST).exists()
    race(study)
    found = verify(study)
    assert (found.sound, found.version, found.damaged, found.advice) == (True, VERSION, (), "")
    assert answer(study) == before
    files(study, "round")[0].write_bytes(b"{}")
    assert named(study) == {"rounds/000001.json"}


def test_models_over_time_of_the_second_version_stay_as_published(tmp_path):
    """There was no other way, and their description did not say so."""
    path = tmp_path / "a.study"
    race(path, settings={"model": pb.inference.RandomWalk(repeated="as published")})
    before, file = answer(path), path / "study.json"
    content = json.loads(file.read_bytes())
    content["version"] = 2
    assert content["spec"]["race"]["model"].pop("repeated") == "as published"
    replace(path, file, json.dumps(content).encode())
    assert answer(path) == before
    with pytest.raises(OtherSettings, match="repeated"):
        race(path, settings={"model": pb.inference.RandomWalk()})
    race(path, settings={"model": pb.inference.RandomWalk(repeated="as published")})
    assert answer(path) == before
    assert json.loads(file.read_bytes())["spec"]["race"]["model"]["repeated"] == "as published"


def test_races_of_the_third_version_go_on_doubling(study):
    before, file = answer(study), study / "study.json"
    content = json.loads(file.read_bytes())
    content["version"] = 3
    assert content["spec"]["race"].pop("batches") == "doubling"
    replace(study, file, json.dumps(content).encode())
    assert answer(study) == before
    for version, field in (
        (VERSION, "batches"),
        (4, "batches"),
        (3, "relations"),
    ):  # what a version always told is not made up
        lacking = {**content, "version": version}
        lacking["spec"]["race"].pop(field, None)
        replace(study, file, json.dumps(lacking).encode())
        with pytest.raises(StudyError, match=field):
            answer(study)


def test_what_was_damaged_in_the_first_version_stays_named_when_it_is_brought_up(study):
    as_version_1(study)
    rounds, parts = files(study, "round"), files(study, "part")
    rounds[0].unlink()
    parts[0].write_bytes(b"garbage")
    store.open(study, write=True).close()
    assert named(study) == {f"rounds/{rounds[0].name}", f"runs/{parts[0].name}"}


# Fields


DEEP = "[" * 300 + "]" * 300
NONSENSE = [None, "x", -1, math.inf, [], {}, True, 0.5, DEEP]
TOLD = (StudyError, StudyFileError, OtherSettings, OSError)
"""What the command line makes a sentence and an exit code of."""


@pytest.fixture(scope="module")
def two_studies(tmp_path_factory):
    """Studies of a race and of a plan that need no code but polarbear's."""
    folder = tmp_path_factory.mktemp("two")
    algorithms = {"random": pb.optimizers.RandomSearch(), "sobol": pb.optimizers.QuasiRandomSearch()}
    problems = pb.problems.BBOB(functions=[1, 2], dimensions=[2])
    entrants = pb.Race(algorithms, times=[5.0, 10.0], draws=100, batch=2, smallest_batch=2, largest_batch=4)
    found = pb.study.race(entrants, problems, folder / "race.study", stop=pb.study.StopRules(instances=4))
    assert len(found.rounds) > 1
    run_plan(Plan(algorithms, problems, draws=2, budget="5*d", watch=Watch(every=5)), folder / "plan.study")
    return folder


def places(content, where=()):
    """Where each field stands, and of lists the first entry."""
    if isinstance(content, dict):
        for name, value in content.items():
            yield (*where, name)
            yield from places(value, (*where, name))
    elif isinstance(content, list) and content:
        yield (*where, 0)
        yield from places(content[0], (*where, 0))


def changed(content, where, value):
    """A copy with another value at a place; with nothing there if `value` is `...`."""
    content = copy.deepcopy(content)
    table = content
    for step in where[:-1]:
        table = table[step]
    if value is ...:
        del table[where[-1]]
    else:
        table[where[-1]] = value
    return content


def outcome(*arguments):
    """What a command comes to: its exit code and what it says; a traceback is an error of the test."""
    done = CliRunner().invoke(app, list(map(str, arguments)))
    if isinstance(done.exception, TOLD):
        assert str(done.exception)
        return 2, str(done.exception)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise AssertionError(arguments) from done.exception
    return done.exit_code, done.output


def is_needed(where):
    """Whether a study cannot do without a field; it can without an algorithm that the specification names."""
    optional = where[0] in {"log", "origin"} or where == ("plan", "problems")  # defaults; else said to be unknown
    return isinstance(where[-1], str) and where[:-1] != ("algorithms",) and not optional


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "file"), [("race", "study.json"), ("plan", "study.json"), ("race", "rounds/*")])
def test_no_field_can_be_missing_or_nonsense_unnoticed(two_studies, tmp_path, kind, file):
    """Each field is left out, and replaced by all of the nonsense."""
    path = shutil.copytree(two_studies / f"{kind}.study", tmp_path / "a.study")
    target = sorted(path.glob(file))[-1]
    whole = json.loads(target.read_bytes())
    commands = ("show", "select", "verify", "resume")
    for where in places(whole):
        field = [name for name in where if isinstance(name, str)][-1]
        for value in (..., *NONSENSE):
            data = json.dumps(changed(whole, where, value)).replace(json.dumps(DEEP), DEEP)
            replace(path, target, data.encode())
            found = {command: outcome(command, path) for command in commands}
            codes = [code for code, _ in found.values()]
            inner = where[1:] if where[0] == "spec" and len(where) > 1 else where
            if value is ... and is_needed(inner):
                assert any(codes), f"{where} was missed by nobody"
            for code, said in found.values():
                assert code == 0 or target.name in said or field in said, (where, value, said)


def test_the_schemas_name_every_field():
    settings = {field.name for field in dataclasses.fields(RaceSettings)}
    assert _Race.model_fields.keys() == settings | {"times", "model"}
    assert _Round.model_fields.keys() == {field.name for field in dataclasses.fields(Round)}


@pytest.mark.parametrize("command", ["show", "select", "check", "report"])
def test_all_that_reads_a_study_tells_which_files_are_damaged(study, command):
    part = files(study, "part")[0]
    part.write_bytes(b"garbage")
    done = CliRunner().invoke(app, [command, str(study), "--json"], catch_exceptions=False)
    assert (done.exit_code, bool(json.loads(done.stdout))) == (0, True)
    assert done.stderr.startswith(f"damaged and left out: {part} cannot be used: ")


# Resources


def test_a_process_without_room_for_more_files_says_so_and_calls_nothing_damaged(study):
    with store.open(study) as reader, ExitStack() as held:
        with suppress(OSError):
            while True:
                held.enter_context(Path("/dev/null").open())
        for read in (lambda: store.open(study), reader.runs, reader.refresh, lambda: verify(study)):
            with pytest.raises(OSError, match="Too many open files"):
                read()
        assert reader.damaged == ()
        held.close()
        assert len(reader.runs()) == len(reader)
    assert named(study) == set()


@pytest.mark.parametrize("file", ["runs/*", "rounds/*"])
def test_a_file_that_cannot_be_opened_for_lack_of_resources_is_not_called_damaged(study, monkeypatch, file):
    (target, *_), read = sorted(study.glob(file)), Path.read_bytes

    def fail(path):
        if path == target:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), str(path))
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", fail)
    with pytest.raises(OSError, match=f"Too many open files: '{target}'"):
        store.open(study)


# Kills between any two writes


@pytest.mark.parametrize("after", range(12))
def test_a_writer_killed_after_any_write_leaves_a_sound_study(tmp_path, monkeypatch, after):
    path = tmp_path / "a.study"
    store.create(path, {"n": 0}).close()
    left, writes, write = [after], [], contents.write_atomically

    class Killed(BaseException):
        """Nothing happens after it."""

    def dying(target, data):
        if not left[0]:
            raise Killed
        left[0] -= 1
        writes.append(target.name)
        write(target, data)

    monkeypatch.setattr("polarbear.store.contents.write_atomically", dying)
    monkeypatch.setattr("polarbear.store.manifest.write_atomically", dying)
    study = store.open(path, write=True, commit_seconds=600)

    def go_on():
        for number in range(3):
            study.append(make_run(number))
            study.append_round({"number": number})
            study.replace_spec({"n": number})
            study.compact()

    with pytest.raises(Killed):
        go_on()
    monkeypatch.undo()
    study._buffer.clear()
    study._release()
    assert named(path) == set()
    with store.open(path, write=True) as resumed:
        seen = len(resumed.rounds())
        assert [run.key.seed for run in resumed.runs()] == list(range(len(resumed)))
        assert seen <= len(resumed) <= seen + 1
        resumed.append(make_run(99))
    assert verify(path).sound
    assert len(store.read(path)) == len(resumed)
