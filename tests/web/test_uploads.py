"""What visitors send: good, damaged and hostile files, columns that they name, and example data."""

import base64
import io
import tarfile
import zipfile

import pytest

from polarbear import store
from polarbear.results import Result, load
from polarbear.web import Sources, View
from polarbear.web import uploads as module
from polarbear.web.uploads import Uploads
from tests.analyzer.recorded import runs

OWN = "fevals;Fitness;Optimizer;problem\n" + "".join(
    f"{at};{value};{name};sphere-d2-{i}\n"
    for name in ("A", "B")
    for i in (1, 2)
    for at, value in ((1, 3.0), (2, 5.0), (9, 4.0))
)


def sent(content):
    return f"data:;base64,{base64.b64encode(content).decode()}"


@pytest.fixture
def uploads(folder):
    made = Uploads(Sources([folder / "runs.study"]))
    yield made
    made.close()


def test_are_imported_into_a_study_that_is_not_listed(folder, tmp_path):
    sources = Sources([folder / "runs.study"])
    uploads = Uploads(sources)
    file = store.export(runs(), tmp_path / "mine.csv", "csv")
    parcel = uploads.receive("../../mine.csv", sent(file.read_bytes()))
    assert parcel.speaks_for_itself
    name, imported = uploads.take(parcel)
    assert imported.added == 48
    assert sources.names == ("runs",)
    assert View("loaded", name).data(sources).rows == View("loaded", "runs").data(sources).rows
    assert not parcel.file.exists()
    kept = sources.path(name)
    uploads.close()
    assert not kept.exists()


class TestColumns:
    def test_are_guessed_and_named(self, uploads):
        parcel = uploads.receive("own.csv", sent(OWN.encode()))
        assert not parcel.speaks_for_itself
        assert uploads.find(parcel.id) is parcel
        named = {"evaluations": "fevals", "value": "Fitness", "algorithm": "Optimizer", "instance": "problem"}
        assert parcel.guess == named
        assert parcel.beginning[0] == "fevals;Fitness;Optimizer;problem"
        name, imported = uploads.take(parcel, named | {"seed": ""})
        assert (imported.added, imported.algorithms) == (4, ("A", "B"))
        best = [run.trajectory.best for run in store.read(uploads._sources.path(name))]
        assert best == [3.0] * 4
        with pytest.raises(ValueError, match="send it again"):
            uploads.find(parcel.id)

    def test_of_values_to_be_maximized_and_of_one_algorithm(self, uploads):
        text = OWN.replace("Optimizer", "x").replace(";A;", ";1;").replace(";B;", ";2;")
        parcel = uploads.receive("own.csv", sent(text.encode()))
        columns = {"evaluations": "fevals", "value": "Fitness", "instance": "problem", "seed": "x"}
        name, imported = uploads.take(parcel, columns, algorithm="mine", maximize=True)
        assert imported.algorithms == ("mine",)
        assert [run.trajectory.best for run in store.read(uploads._sources.path(name))] == [-5.0] * 4

    @pytest.mark.parametrize(
        ("columns", "complaint"),
        [
            ({"value": "Fitness"}, "name the column that holds evaluations"),
            (
                {"evaluations": "evals", "value": "Fitness"},
                "columns maps 'evaluations' to 'evals', but the columns are",
            ),
            ({"evaluations": "Fitness", "value": "Optimizer"}, "own.csv"),
            ({"evals": "fevals"}, "'evals' is not a column that can be assigned"),
        ],
    )
    def test_that_are_wrong_are_said_and_can_be_named_again(self, uploads, columns, complaint):
        parcel = uploads.receive("own.csv", sent(OWN.encode()))
        with pytest.raises(ValueError, match=complaint) as raised:
            uploads.take(parcel, columns)
        assert str(parcel.file.parent) not in str(raised.value)
        assert uploads.take(parcel, parcel.guess)[1].added == 4

    def test_lines_that_cannot_be_read_are_said_without_saying_where_they_lie(self, uploads):
        parcel = uploads.receive("own.csv", sent(f"{OWN}many;1;A;sphere-d2-1\n".encode()))
        _, imported = uploads.take(parcel, parcel.guess)
        assert [str(each) for each in imported.skipped] == ["own.csv, line 14: evaluations is 'many'"]


def zipped(*files, **options):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(name, data, **options)
    return content.getvalue()


def tarred(kind, target):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        member = tarfile.TarInfo("data.csv")
        member.type, member.linkname = kind, target
        archive.addfile(member)
    return content.getvalue()


FILES = {
    "gone.csv": b"",
    "noise.csv": bytes(range(256)) * 50,
    "notes.txt": b"hello\n",
    "damaged.tgz": b"\x1f\x8b\x08\x00damaged",
    "damaged.zip": zipped(("a.csv", OWN))[:-40],
    "outside.zip": zipped(("../../outside.csv", OWN)),
    "absolute.zip": zipped(("/etc/outside.csv", OWN)),
    "bomb.zip": zipped(("bomb.csv", b"0" * (80 << 20))),
    "many.zip": zipped(*((f"{i}.csv", b"") for i in range(20_001))),
    "link.tar": tarred(tarfile.SYMTYPE, "/etc/passwd"),
    "hard.tar": tarred(tarfile.LNKTYPE, "../../etc/passwd"),
    "device.tar": tarred(tarfile.CHRTYPE, ""),
    "false.parquet": b"PAR1" + bytes(100) + b"PAR1",
    "false.rds": b"\x1f\x8b\x08\x00",
}


class TestHostileFiles:
    @pytest.mark.parametrize("name", FILES)
    def test_are_refused_in_plain_words_and_leave_nothing(self, uploads, name, tmp_path):
        parcel = uploads.receive(name, sent(FILES[name]))
        with pytest.raises(ValueError, match=r"\w") as raised:
            uploads.take(parcel, dict.fromkeys(("evaluations", "value"), "x") if parcel.columns else None)
        assert str(parcel.file.parent) not in str(raised.value), "where things lie is nobody's business"
        assert "Traceback" not in str(raised.value)
        assert list(parcel.file.parent.glob("*.study")) == []
        assert uploads._sources.names == ("runs",)

    @pytest.mark.parametrize(
        ("content", "complaint"),
        [("data:;base64,!!!", "did not arrive complete"), ("", "holds no data|no run")],
    )
    def test_that_did_not_arrive_are_said(self, uploads, content, complaint):
        with pytest.raises(ValueError, match=complaint):
            uploads.take(uploads.receive("a.txt", content))

    def test_that_are_too_large_alone_or_together_are_refused(self, uploads, monkeypatch):
        monkeypatch.setattr(module, "LARGEST", 100)
        with pytest.raises(ValueError, match="at most 100 can be sent"):
            uploads.receive("large.csv", sent(bytes(101)))
        monkeypatch.setattr(module, "_TOTAL", 150)
        uploads.receive("first.csv", sent(bytes(90)))
        with pytest.raises(ValueError, match=r"the files sent have 90 bytes, and with second\.csv more than 150"):
            uploads.receive("second.csv", sent(bytes(90)))

    @pytest.mark.parametrize("name", ["../../../etc/passwd", "..", "/", "a\x00b", ".hidden", "é" * 40, "a/b\\c:d.csv"])
    def test_with_hostile_names_are_kept_where_all_are(self, uploads, name):
        file = uploads.receive(name, sent(b"x")).file
        assert file.parent.parent.samefile(uploads._folder.name)
        assert file.read_bytes() == b"x"


def test_the_example_is_made_once_and_can_be_raced_and_assessed(uploads):
    name = uploads.example()
    assert uploads.example() == name
    both = uploads._sources.beside(name)
    assert set(both) == {"example", "example-race"}
    assert uploads._sources.names == ("runs",)
    result = load(uploads._sources.path("example-race"))
    assert isinstance(result, Result)
    assert result.pareto_set == ("cmaes",)
    assert len(View("standings", name).data(uploads._sources).rows) == 6
