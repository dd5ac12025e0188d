"""Hostile and damaged files: each is named, costs a bounded time and memory, and leaves the others to be read."""

import gzip
import io
import json
import os
import re
import resource
import socket
import struct
import subprocess
import sys
import tarfile
import textwrap
import threading
import time
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

from polarbear import store
from polarbear.store.formats import supervision
from polarbear.store.formats.reading import Options, read_data

SOUND = "evaluations,value\n1,5.0\n4,2.5\n"
LIMITS = store.Limits(seconds=20, memory=1 << 30)
ROW = "1 1.0 1.0 1.0 1.0 0.5\n"


def read(path, **options):
    """What is read in the process with limits, which must not take long."""
    start = time.monotonic()
    reading = store.read_checked(path, limits=LIMITS, **options)
    assert time.monotonic() - start < 15
    return reading


def named(folder, name, content):
    """What is said of a hostile file in a folder that holds a sound one, which is read."""
    (folder / "sound.csv").write_text(SOUND)
    if content is not None:
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    reading = read(folder)
    assert [run.key.algorithm for run in reading.runs if run.key.algorithm == "sound"] == ["sound"]
    return [skipped.why for skipped in reading.skipped if name in skipped.path]


def tar(*headers):
    return b"".join(headers) + bytes(1024)


def header(name, size, kind=tarfile.REGTYPE):
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


@pytest.fixture
def sabotage(monkeypatch):
    """Processes that read in which the file bad.csv is fatal: ``sabotage(what it does)``."""
    waiting = {}
    monkeypatch.setattr(supervision, "_idle", waiting)
    yield lambda fault: monkeypatch.setattr(supervision, "_BOOT", _sabotaged(fault))
    for reader in waiting.get(os.getpid(), []):
        reader.end()


# Time and memory


def test_a_line_of_spaces_costs_linear_time(tmp_path):
    (tmp_path / "x.dat").write_text(ROW)
    for line in ("a" + " " * 100_000 + "b", "a=" * 200_000, "'" * 100_000 + "=", "x" + " ," * 100_000 + "=1"):
        assert named(tmp_path, "x.info", line + "\n")


def test_a_file_that_would_hang_is_named_and_the_others_are_read(tmp_path, sabotage):
    (tmp_path / "bad.csv").write_text(SOUND)
    (tmp_path / "sound.csv").write_text(SOUND)
    sabotage("import re; re.match('(a*)*b', 'a' * 64)")
    start = time.monotonic()
    reading = store.read_checked(tmp_path, limits=store.Limits(seconds=2))
    assert [run.key.algorithm for run in reading.runs] == ["sound"]
    (skipped,) = reading.skipped
    assert skipped.path.endswith("bad.csv")
    assert skipped.why.startswith("reading it takes more than 2 seconds")
    assert time.monotonic() - start < 40


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("import os; os.abort()", "more than .* bytes of memory"),
        ("import os; os.kill(os.getpid(), 9)", "ended with status -9"),
        ("import ctypes; ctypes.string_at(0)", "ended with status -11"),
        ("x = bytearray(1 << 33)", "more than 1,073,741,824 bytes of memory"),
        ("raise BaseException('panic')", "failed unexpectedly.*BaseException: panic"),
    ],
)
def test_a_reader_that_dies_costs_one_file(tmp_path, sabotage, fault, why):
    (tmp_path / "bad.csv").write_text(SOUND)
    (tmp_path / "sound.csv").write_text(SOUND)
    sabotage(fault)
    reading = store.read_checked(tmp_path, limits=LIMITS)
    assert [run.key.algorithm for run in reading.runs] == ["sound"]
    (skipped,) = reading.skipped
    assert skipped.path.endswith("bad.csv")
    assert re.search(why, skipped.why)


def _sabotaged(fault):
    """A reading process in which the file bad.csv is a fatal one."""
    return textwrap.dedent(f"""
        import sys; connection, *sys.path = sys.argv[1:]; del sys.argv[1:]
        from polarbear.store.formats import nevergrad
        whole = nevergrad.Nevergrad.claims
        def claims(self, name, data):
            if name == "bad.csv":
                {fault}
            return whole(self, name, data)
        nevergrad.Nevergrad.claims = claims
        from polarbear.store.formats.reader_process import main; main(int(connection))
    """)


@pytest.mark.parametrize(
    ("name", "first"),
    [
        pytest.param("x.csv", b"evaluations,value", marks=pytest.mark.slow),
        ("x.info", b""),
        ("x.txt", b"# function 0"),
    ],
)
def test_compressed_newlines_do_not_fill_the_memory(tmp_path, name, first):
    bomb = gzip.compress(first + b"\n" * (20 << 20))
    assert len(bomb) < 64_000
    (tmp_path / f"{name}.gz").write_bytes(bomb)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with suppress(ValueError):  # there is nothing to read, or it is refused
        assert not store.read_checked(tmp_path / f"{name}.gz", limits=LIMITS).runs
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KiB: it is decompressed elsewhere


def test_tar_members_of_negative_size(tmp_path):
    first = tarfile.TarInfo("a.csv")
    first.size = len(SOUND)
    block = first.tobuf() + SOUND.encode().ljust(512, b"\0")
    for kind in (tarfile.REGTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE):
        path = tmp_path / "x.tar"
        path.write_bytes(tar(block, header("b.csv", -512, kind)))
        with pytest.raises(store.ArchiveRefused):
            read(path)
    extended = tarfile.TarInfo("b.csv")
    extended.pax_headers = {"size": "-1024"}
    path.write_bytes(tar(block, extended.tobuf(tarfile.PAX_FORMAT)))
    with pytest.raises(store.ArchiveRefused, match=r"-1024 bytes"):
        read(path)


def test_huge_pax_headers(tmp_path):
    records = b"2 " * (8 << 20) + b"="
    path = tmp_path / "x.tar"
    path.write_bytes(tar(header("x", len(records), tarfile.XHDTYPE), records))
    with pytest.raises(store.ArchiveRefused, match="a header for 16,777,217 bytes"):
        read(path)
    small = b"2 " * (15 << 10) + b"="
    path.write_bytes(tar(header("x", len(small), tarfile.XHDTYPE), small.ljust(30 << 10, b"\0"), bytes(512)))
    with pytest.raises(ValueError, match=r"x\.tar"):
        read(path)


def test_a_long_chain_of_headers(tmp_path):
    link = header("x", 4, tarfile.GNUTYPE_LONGNAME) + b"name".ljust(512, b"\0")
    path = tmp_path / "x.tar"
    path.write_bytes(tar(link * 20_000))
    with pytest.raises(ValueError, match=r"x\.tar"):
        read(path)


def test_pipes_devices_and_sockets_are_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "endless.csv").symlink_to("/dev/zero")
    (tmp_path / "linked.csv").symlink_to(tmp_path / "target")
    (tmp_path / "target").write_text(SOUND)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket.csv"))
        assert "a device, a pipe or a socket" in named(tmp_path, "pipe.csv", None)[0]
        reading = read(tmp_path)
    assert {run.key.algorithm for run in reading.runs} == {"sound", "linked"}  # links to plain files are followed
    assert {Path(skipped.path).name for skipped in reading.skipped} == {"pipe.csv", "endless.csv", "socket.csv"}
    for name in ("pipe.csv", "endless.csv"):
        with pytest.raises(store.ArchiveRefused, match="a device, a pipe or a socket"):
            read(tmp_path / name)


def test_pipes_as_data_files(tmp_path):
    os.mkfifo(tmp_path / "x.dat")
    (tmp_path / "x.info").write_text("funcId = 1, DIM = 2, Precision = 1e-8, algId = 'A'\n%\nx.dat, 1:1|1.0\n")
    assert named(tmp_path, "x.info", None)


def test_numbers_of_five_thousand_digits(tmp_path):
    number = "9" * 5000
    for folder, (name, content) in {
        "a": (
            "x.info",
            f"funcId = {number}, DIM = {number}, Precision = 1, algId = 'A'\n%\nx.dat, {number}:{number}|1\n",
        ),
        "b": ("x.csv", f"evaluations,value,seed\n{number},{number},{number}\n"),
        "c": ("y.csv", f"name,optimizer_name,loss,budget,dimension\nf,A,1,{number},{number}\n"),
        "d": ("x.json", f'{{"scenarios": {number}, "function_id": {number}}}'),
        "e": ("x.txt", f"# function 0 dim {number}\n1 2 3 4 5\n"),
        "f": (f"{number[:200]}.csv", SOUND[:-4]),
    }.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.dat").write_text(f"% function evaluation\n{number} {number} {number}\n")
        assert named(tmp_path / folder, name, content), name


def test_json_nested_a_hundred_thousand_deep(tmp_path):
    nested = '{"scenarios": ' + "[" * 100_000 + "]" * 100_000 + "}"
    assert "nested too deeply" in named(tmp_path, "x.json", nested)[0]


def test_damaged_parquet_is_named(tmp_path):
    frame = pl.DataFrame({"evaluations": [1, 2], "value": [2.0, 1.0], "algorithm": ["a", "b"]})
    frame.write_parquet(tmp_path / "x.parquet")
    data = (tmp_path / "x.parquet").read_bytes()
    (tmp_path / "x.parquet").unlink()
    for position in range(4, len(data) - 8, 23):
        damaged = data[:position] + b"\xff" * 8 + data[position + 8 :]
        (tmp_path / f"{position}.parquet").write_bytes(damaged)
    (tmp_path / "sound.csv").write_text(SOUND)
    reading = read(tmp_path)
    assert "sound" in {run.key.algorithm for run in reading.runs}
    assert reading.skipped


# Cut files, doubtful bytes, impossible values


def test_a_cut_value_of_nevergrad_is_no_perfect_one(tmp_path):
    whole = "name,optimizer_name,budget,loss\nsphere,A,100,0.0001\nsphere,A,200,0.0001"
    for end in range(len("name,optimizer_name,budget,loss\nsphere,A,100,0.0001\n"), len(whole)):
        path = tmp_path / "x.csv"
        path.write_text(whole[: end + 1])
        reading = read(path)
        assert [run.trajectory.best for run in reading.runs] == [0.0001]
        assert [skipped.line for skipped in reading.skipped] == [3]


def test_nevergrad_rows_with_fewer_fields_or_open_quotes(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('name,optimizer_name,budget,loss\nf,A,100,1\nf,A,7\nf,A,100,2\nf,"A,100,0\nf,A,100,3\n')
    reading = read(path)
    assert [run.trajectory.best for run in reading.runs] == [1, 2, 3]
    assert [skipped.line for skipped in reading.skipped] == [3, 5]


@pytest.mark.parametrize("name", ["x.info", "x.dat", "DE1D2.txt"])
def test_cut_numbers_at_the_end_are_no_data(tmp_path, name):
    files = {
        "x.info": "funcId = 1, DIM = 2, Precision = 1e-8, algId = 'A'\n%\nx.dat, 11:1|1.0e+00, 12:12|2.5e-01\n",
        "x.dat": "% function evaluation | a | b\n1 1.0 1.0\n% function evaluation | a | b\n1 1.0 1.0\n12 0.25 0.25\n",
        "DE1D2.txt": "# function 0 dim 2\n0 -1 -1 5.5 1 -1 0.1 0.25\n1 -1 -1 0.25 2 -1 0.3 0.25\n",
    }
    for other, text in files.items():
        (tmp_path / other).write_text(text)
    whole = {run.key: run.trajectory for run in read(tmp_path).runs}
    assert len(whole) == 3
    for end in range(files[name].index("\n"), len(files[name].rstrip("\n"))):
        (tmp_path / name).write_text(files[name][:end])
        reading = read_data(tmp_path, Options())
        assert reading.skipped
        for run in reading.runs:
            assert run.key in whole
            assert set(run.trajectory.values) <= set(whole[run.key].values)


def test_latin_1_names_stay_apart(tmp_path):
    rows = "name,optimizer_name,budget,loss\nf,M\xfcller,10,1.0\nf,M\xf6ller,10,2.0\n"
    (tmp_path / "x.csv").write_bytes(rows.encode("latin-1"))
    reading = read(tmp_path)
    assert {run.key.algorithm for run in reading.runs} == {"Müller", "Möller"}
    assert "not UTF-8" in reading.skipped[0].why
    info = "funcId = 1, DIM = 2, Precision = 1e-8, algId = '{}'\n%\n{}.dat, 1:1|1.0e+00\n"
    folder = tmp_path / "coco"
    folder.mkdir()
    for letter in ("ü", "ö"):
        data = info.format(f"M{letter}ller", ord(letter)).encode("latin-1")
        (folder / f"{ord(letter)}.info").write_bytes(data)
        (folder / f"{ord(letter)}.dat").write_text("% function evaluation | a | b\n1 1.0 1.0\n")
    reading = read(folder)
    assert {run.key.algorithm for run in reading.runs} == {"Müller", "Möller"}
    assert sum("not UTF-8" in skipped.why for skipped in reading.skipped) == 2
    utf8 = tmp_path / "utf8.csv"
    utf8.write_text(rows, encoding="utf-8")
    assert {run.key.algorithm for run in read(utf8).runs} == {"Müller", "Möller"}


@pytest.mark.parametrize(
    ("dimension", "evaluations", "value", "optimum", "algorithm"),
    [
        ("-3", "1", "1.0", "0.0", "A"),
        ("2", "-5", "1.0", "0.0", "A"),
        ("2", "4000000000000000000", "1.0", "0.0", "A"),
        ("2", "1", "1.0", "inf", "A"),
        ("2", "1", "-1.0", "0.0", "A"),
        ("2", "1", "1.0", "0.0", "A\x1b[31m"),
        ("2", "1", "1.0", "0.0", "A\u202eB"),
    ],
)
def test_impossible_values_are_refused(tmp_path, dimension, evaluations, value, optimum, algorithm):
    head = "suite,function,dimension,instance,algorithm,evaluations,value,optimum"
    rows = f"bbob,1,2,1,sound,1,1.0,0.0\nbbob,1,{dimension},1,{algorithm},{evaluations},{value},{optimum}\n"
    (tmp_path / "x.csv").write_text(f"{head}\n{rows}")
    reading = read(tmp_path)
    assert [run.key.algorithm for run in reading.runs] == ["sound"]
    assert reading.skipped
    assert all(skipped.why.isprintable() for skipped in reading.skipped)


@pytest.mark.parametrize("field", ["reason", "evaluations_spent", "seconds_spent", "message", "invalid_evaluations"])
def test_parts_without_an_outcome_are_refused(tmp_path, field):
    (tmp_path / "x.csv").write_text("evaluations,value\n1,5.0\n")
    store.export(store.read(tmp_path / "x.csv"), tmp_path / "x.parquet", "parquet")
    pl.read_parquet(tmp_path / "x.parquet").with_columns(pl.lit(None).alias(field)).write_parquet(
        tmp_path / "x.parquet"
    )
    (tmp_path / "x.csv").unlink()
    reading = read(tmp_path)
    assert not reading.runs
    assert reading.skipped


def test_coco_values_below_the_optimum_are_refused_but_for_rounding(tmp_path):
    (tmp_path / "x.info").write_text(
        "funcId = 1, DIM = 2, Precision = 1e-8, algId = 'A'\n%\nx.dat, 1:1|-1.0e-13, 2:1|-3.0\n"
    )
    (tmp_path / "x.dat").write_text("% function evaluation\n1 -1e-13 -1e-13\n% function evaluation\n1 -3.0 -3.0\n")
    reading = read(tmp_path)
    assert [run.trajectory.best for run in reading.runs] == [-1e-13]
    assert any("below the optimum" in skipped.why for skipped in reading.skipped)


def test_a_deleted_header_does_not_put_runs_into_another_dimension(tmp_path):
    info = "funcId = 1, DIM = {0}, Precision = 1e-8, algId = 'A'\n%\nx_DIM{0}.dat, 1:1|1.0e+00\n"
    for dimension in (2, 3):
        (tmp_path / f"x_DIM{dimension}.dat").write_text("% function evaluation | a | b\n1 1.0 1.0\n")
    lines = (info.format(2) + info.format(3)).splitlines(keepends=True)
    (tmp_path / "x.info").write_text("".join(lines[:3] + lines[4:]))
    reading = read(tmp_path)
    assert [run.key.instance for run in reading.runs] == ["bbob-f1-i1-d2"]
    assert reading.skipped


# Where reading happens


def test_reading_needs_no_main_guard_and_works_in_daemons_and_threads(tmp_path):
    (tmp_path / "sound.csv").write_text(SOUND)
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing, threading\n"
        "from polarbear import store\n"
        "print(len(store.read('sound.csv')))\n"
        "def show(): print(len(store.read('sound.csv')), flush=True)\n"
        "daemon = multiprocessing.get_context('fork').Process(target=show, daemon=True)\n"
        "daemon.start(); daemon.join(60)\n"
        "thread = threading.Thread(target=show); thread.start(); thread.join(60)\n"
    )
    (tmp_path / "polars.py").write_text("raise SystemExit('imported from the current folder')")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-P", "script.py"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.stdout.split() == ["1", "1", "1"], done.stderr


def test_threads_read_at_the_same_time(tmp_path):
    for number in range(4):
        (tmp_path / f"{number}.csv").write_text(SOUND)
    found = {}
    threads = [
        threading.Thread(target=lambda n=n: found.update({n: store.read(tmp_path / f"{n}.csv")[0]})) for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert {n: run.key.algorithm for n, run in found.items()} == {n: str(n) for n in range(4)}


def test_what_a_process_reads_is_what_is_read_within(tmp_path):
    (tmp_path / "sound.csv").write_text(SOUND + "x,1\n")
    here, there = read_data(tmp_path, Options()), store.read_checked(tmp_path)
    assert there == here
    assert not there.runs[0].trajectory.values.flags.writeable


def test_reading_leaves_no_process_behind(tmp_path):
    (tmp_path / "sound.csv").write_text(SOUND)
    code = (
        f"from polarbear import store; store.read({str(tmp_path / 'sound.csv')!r})\n"
        "from polarbear.store.formats import supervision\n"
        "import os; print(supervision._idle[os.getpid()][0]._process.pid)"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert not Path(f"/proc/{done.stdout.strip()}").exists()


# Importing


def test_a_refused_archive_does_not_keep_others_from_being_imported(tmp_path):
    (tmp_path / "sound.csv").write_text(SOUND)
    with tarfile.open(tmp_path / "bad.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("../x.csv"), io.BytesIO())
    done = store.import_runs([tmp_path / "bad.tar", tmp_path / "sound.csv"], tmp_path / "study")
    assert (done.added, done.algorithms) == (1, ("sound",))
    assert "bad.tar" in done.skipped[0].path


def test_importing_nothing_is_an_error_and_makes_no_study(tmp_path):
    (tmp_path / "x.csv").write_text("evaluations,value\n")
    (tmp_path / "empty").mkdir()
    for paths in ([tmp_path / "x.csv"], [tmp_path / "empty"], []):
        with pytest.raises(ValueError, match=r"nothing was imported|holds no data that polarbear can read"):
            store.import_runs(paths, tmp_path / "study")
    assert not (tmp_path / "study").exists()


def ioh(folder, suite, values="1 2.0\n3 0.5\n", **fields):
    run = {"instance": 1, "evals": 9, "best": {"evals": 3, "y": float(values.split()[-1])}}
    content = {
        "suite": suite, "function_id": 1, "function_name": "f", "maximization": False, "algorithm": {"name": "A"},
        "scenarios": [{"dimension": 4, "path": "x.dat", "runs": [run]}],
    } | fields  # fmt: skip
    folder.mkdir()
    (folder / "x.json").write_text(json.dumps(content))
    (folder / "x.dat").write_text(f"evaluations raw_y\n{values}")
    return folder


def test_data_of_an_unknown_suite_are_named_and_get_their_optima(tmp_path):
    from polarbear.problems import raw_optimum

    unknown = ioh(tmp_path / "a", "unknown_suite")
    (plain,) = store.read(unknown)
    assert (plain.key.instance, plain.optimum) == ("unknown_suite-f1-i1-d4", None)
    done = store.import_runs(unknown, tmp_path / "study", suite="bbob", optimum=raw_optimum)
    assert done.added == 1
    (run,) = store.read(tmp_path / "study")
    assert (run.key.instance, run.optimum) == ("bbob-f1-i1-d4", 0.0)
    onemax = ioh(tmp_path / "b", "unknown_suite", "1 2.0\n3 3.0\n", maximization=True)
    store.import_runs(onemax, tmp_path / "pbo", suite="PBO", optimum=raw_optimum)
    (run,) = store.read(tmp_path / "pbo")
    assert (run.key.instance, run.optimum, run.trajectory.best) == ("pbo-f1-i1-d4", -4.0, -3.0)
    assert (
        store.read(ioh(tmp_path / "c", "PBO"))[0].key.instance == store.read(ioh(tmp_path / "d", "pbo"))[0].key.instance
    )


def test_a_part_of_a_compressed_file(tmp_path):
    """A gzip member whose stated length lies."""
    data = bytearray(gzip.compress(SOUND.encode()))
    data[-4:] = struct.pack("<I", 1 << 31)
    (tmp_path / "x.csv.gz").write_bytes(data)
    reading = read(tmp_path / "x.csv.gz")
    assert len(reading.runs) == 1
    assert reading.skipped
