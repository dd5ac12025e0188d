"""Mutations of sound files: reading never breaks, and never gives fewer runs or better values without a word."""

import gzip
import json
import re
import shutil
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from polarbear.store.formats.reading import UNFORESEEN, Options, read_data

NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?inf", re.IGNORECASE)
TOKENS = [
    *(b"", b"\n", b",", b" ", b'"', b"'", b"%", b"=", b"\xff", b"\x00"),
    *(b"0", b"-1", b"nan", b"1e400", b"[", b"{}", b"9" * 30),
]
REFUSED = re.compile(r"holds no data|more than one run of|damaged|holds|decompresses|leads out")


def coco(folder):
    header = "funcId = {0}, DIM = {1}, Precision = 1e-8, algId = 'CMA'\n%\ndata/f{0}_DIM{1}.dat, {2}\n"
    names = "% function evaluation | noise-free fitness - Fopt (7.9e+01) | best noise-free fitness - Fopt | x1"
    (folder / "data").mkdir()
    for dimension in (2, 3):
        runs = {1: [(1, 50.5), (4, 3.25), (9, 1e-9)], 2: [(1, 20.5), (3, 0.25)], 3: [(1, 7.5), (30, 0.125)]}
        rows = "".join(
            f"{names}\n" + "".join(f"{at} {value!r} {value!r} +1.5000e+00\n" for at, value in run)
            for run in runs.values()
        )
        for ending in ("dat", "tdat"):
            (folder / "data" / f"f1_DIM{dimension}.{ending}").write_text(rows)
        listed = ", ".join(f"{i}:{run[-1][0]}|{run[-1][1]:.1e}" for i, run in runs.items())
        with (folder / "f1.info").open("a") as info:
            info.write(header.format(1, dimension, listed))


def iohprofiler(folder):
    runs = [
        {"instance": i, "evals": 40, "best": {"evals": at, "y": best}} for i, at, best in [(1, 7, 0.5), (2, 9, 0.25)]
    ]
    content = {
        "suite": "x", "function_id": 1, "function_name": "f", "maximization": False, "algorithm": {"name": "A"},
        "scenarios": [{"dimension": 4, "path": "f1.dat", "runs": runs}],
    }  # fmt: skip
    (folder / "f1.json").write_text(json.dumps(content, indent=1))
    head = "evaluations raw_y sigma\n"
    (folder / "f1.dat").write_text(f"{head}1 8.5 1.5\n7 0.5 0.5\n{head}1 4.5 1.5\n9 0.25 0.75\n")


def first_layout(folder):
    header = '"function evaluation" "current f(x)" "best-so-far f(x)" "l"\n'
    (folder / "f1_DIM9.dat").write_text((header + "1 3.5 3.5 1\n2 2.5 2.5 2\n5 1.5 1.5 3\n") * 2)
    (folder / "f1.info").write_text("funcId = one, DIM = 9, algId = 'EA'\n%\nf1_DIM9.dat, 1:50|1.5, 2:60|1.5\n")


def nevergrad(folder):
    rows = "".join(f"sphere,{name},{budget},{budget / 7},2\n" for name in "AB" for budget in (100, 200))
    (folder / "x.csv").write_text(f"name,optimizer_name,budget,loss,dimension\n{rows}")


def sos(folder):
    for name in "AB":
        rows = "".join(f"{i} -1 -1 {9.5 / i} {i * i} -1 0.5 0.25\n" for i in range(1, 6))
        (folder / f"{name}D2.txt").write_text(f"# function 0 dim 2 F 0.5\n{rows}")


def r_data(folder):
    shutil.copy(Path(__file__).parents[1] / "store" / "formats" / "rds" / "two.rds", folder / "two.rds")


def archive(folder):
    inner = folder / "inner"
    inner.mkdir()
    coco(inner)
    with tarfile.open(folder / "x.tar", "w") as packed:
        packed.add(inner, "inner")
    shutil.rmtree(inner)


def compressed(folder):
    nevergrad(folder)
    (folder / "x.csv.gz").write_bytes(gzip.compress((folder / "x.csv").read_bytes(), mtime=0))
    (folder / "x.csv").unlink()


SOURCES = [coco, iohprofiler, first_layout, nevergrad, sos, r_data, archive, compressed]


def mutated(data, rng):
    """A file cut, with bits flipped, with lines or bytes gone, twice there, inserted or exchanged; and how."""
    lines = data.splitlines(keepends=True)
    at, line = int(rng.integers(len(data))), int(rng.integers(len(lines)))
    how = str(rng.choice(["cut", "flip", "delete", "duplicate", "insert", "replace", "swap", "remove"]))
    if how == "cut":
        return data[:at], how
    if how == "flip":
        return data[:at] + bytes([data[at] ^ (1 << rng.integers(8))]) + data[at + 1 :], how
    if how == "delete":
        del lines[line]
    elif how == "duplicate":
        lines.insert(line, lines[line])
    elif how == "swap":
        other = int(rng.integers(len(lines)))
        lines[line], lines[other] = lines[other], lines[line]
    else:
        gone = 0 if how == "insert" else int(rng.integers(1, 9))
        token = b"" if how == "remove" else TOKENS[rng.integers(len(TOKENS))]
        return data[:at] + token + data[at + gone :], how
    return b"".join(lines), how


def numbers(folder):
    """All numbers that stand in text files."""
    text = b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    return {float(number) for number in NUMBER.findall(text)} | {np.inf}


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
@pytest.mark.parametrize("trials", [60, pytest.param(2000, marks=pytest.mark.slow)])
def test_mutated_files_never_lose_runs_or_gain_values_in_silence(tmp_path, source, trials):
    rng = np.random.default_rng([trials, SOURCES.index(source)])
    sound = tmp_path / "sound"
    sound.mkdir()
    source(sound)
    whole = {run.key: run for run in read_data(sound, Options()).runs}
    outcomes = Counter()
    for trial in range(trials):
        damaged = tmp_path / "damaged"
        shutil.rmtree(damaged, ignore_errors=True)
        shutil.copytree(sound, damaged)
        files = sorted(path for path in damaged.rglob("*") if path.is_file())
        path = files[rng.integers(len(files))]
        data, how = mutated(path.read_bytes(), rng)
        path.write_bytes(data)
        what = f"trial {trial}: {how} in {path.name}: {data!r}"
        try:
            reading = read_data(damaged, Options())
        except ValueError as error:
            if not REFUSED.search(str(error)):
                raise AssertionError(what) from error
            outcomes["refused"] += 1
            continue
        assert not any(UNFORESEEN in skipped.why for skipped in reading.skipped), (what, reading.skipped)
        outcomes["named" if reading.skipped else "silent"] += 1
        if reading.skipped:
            continue
        # A row of nevergrad is all there is of a run: nothing tells that a whole one is gone.
        rows = source in (nevergrad, compressed) and (how not in {"cut", "flip", "insert"} or data.endswith(b"\n"))
        assert rows or len(reading.runs) >= len(whole), what
        if source not in (r_data, archive, compressed):
            known = numbers(damaged)
            assert all(run.trajectory.best in known for run in reading.runs), what
        for run in reading.runs if how in {"cut", "delete"} else ():
            assert how == "delete" or run.key in whole, what  # JSON may have lost a line that names the problem
            if run.key in whole and source is not nevergrad:
                best = whole[run.key].trajectory.value_at(run.trajectory.evaluations)
                assert not (run.trajectory.values < best).any(), what
    assert outcomes["named"] + outcomes["refused"] > 0
