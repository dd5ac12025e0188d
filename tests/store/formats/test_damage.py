"""Whatever bytes are damaged: reading gives sound runs and a list, or says why there are none. It never breaks."""

import re
import shutil

import numpy as np
import pytest

from polarbear import store

TOKENS = [
    *(b"1e30", b"nan", b"inf", b"-1", b"0", b"", b"\n", b"%", b'"', b"'", b",", b"[", b"null", b"{}", b"\xff", b"\x00"),
    *(b"99999999999999999999", b"1e400", b"true", b"-0.5", b"../"),
]


@pytest.fixture
def sources(coco, two_runs, run, tmp_path):
    """Folders in COCO's layouts and IOHprofiler's."""
    old = coco(two_runs, folder=tmp_path / "old")
    new = store.export(store.read(old), tmp_path / "new", "coco")
    json = store.export([run(seed, instance="bbob-f1-i1-d2") for seed in range(3)], tmp_path / "json", "iohprofiler")
    first = tmp_path / "first"
    first.mkdir()
    header = '"function evaluation" "current f(x)" "best-so-far f(x)" "l"\n'
    (first / "x.dat").write_text((header + "1 3.0 3.0 1\n2 2.0 2.0 2\n5 1.5 1.5 3\n") * 2)
    (first / "f1.info").write_text("funcId = one, DIM = 9, algId = 'EA'\n%\nx.dat, 1:50|1.5, 1:60|1.5\n")
    return [old, new, json, first]


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_damaged_bytes_never_break_reading(sources, tmp_path, seed):
    rng = np.random.default_rng(seed)
    noticed = 0
    for trial in range(300 if seed == 1 else 5000):
        damaged = tmp_path / "damaged"
        shutil.rmtree(damaged, ignore_errors=True)
        shutil.copytree(sources[trial % len(sources)], damaged)
        files = sorted(path for path in damaged.rglob("*") if path.is_file())
        for _ in range(rng.integers(1, 5)):
            file = files[rng.integers(len(files))]
            data = bytearray(file.read_bytes())
            start = int(rng.integers(len(data) + 1))
            data[start : start + int(rng.integers(9))] = TOKENS[rng.integers(len(TOKENS))]
            file.write_bytes(data)
        try:
            noticed += bool(store.read_checked(damaged).skipped)
        except ValueError as error:
            if not re.search(r"holds no data that polarbear can read|more than one run of", str(error)):
                raise
            noticed += 1
    assert noticed > trial / 2  # the rest hit what is not read, such as coordinates, or made other numbers
