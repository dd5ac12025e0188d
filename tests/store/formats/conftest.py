"""Data to read: small files of our own making, and published ones where they are at hand."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("POLARBEAR_SHARED", "../shared")).resolve() / "data"

OLD_COLUMNS = (
    "% function evaluation | noise-free fitness - Fopt (7.948e+01) | best noise-free fitness - Fopt | "
    "measured fitness | best measured fitness | x1 | x2..."
)
NEW_COLUMNS = (
    "% f evaluations | g evaluations | best noise-free fitness - Fopt (7.948e+01) + sum g_i+ | measured fitness | "
    "best measured fitness or single-digit g-values | x1 | x2..."
)


@pytest.fixture
def shared():
    """A published file or folder: ``shared("coco_archive", "bbob__2009…tgz")``."""

    def find(*names):
        path = SHARED.joinpath(*names)
        if not path.exists():
            pytest.skip(f"published data are not at {path}; set POLARBEAR_SHARED")
        return path

    return find


def old_rows(rows, dimension=2):
    """Rows of the first COCO layout: current and best precision, measured and best measured value, the point."""
    best, lines = float("inf"), [OLD_COLUMNS]
    for at, value in rows:
        best = min(best, value)
        point = " ".join(["+1.0000e+00"] * dimension)
        lines.append(f"{at} {value!r} {best!r} {value + 79.48!r} {best + 79.48!r} {point}")
    return lines


@pytest.fixture
def coco(tmp_path):
    """Write a data set in COCO's first layout: ``coco({(1, 2): [(instance, dat, tdat, spent), …]})``."""

    def write(problems, algorithm="CMA", folder=None, header="", precision="1.000e-008"):
        root = folder or tmp_path / "data"
        for (function, dimension), runs in problems.items():
            data = root / f"data_f{function}"
            data.mkdir(parents=True, exist_ok=True)
            stem = f"bbobexp_f{function}_DIM{dimension}"
            for ending, column in (("dat", 1), ("tdat", 2)):
                lines = [line for run in runs for line in old_rows(run[column], dimension)]
                (data / f"{stem}.{ending}").write_text("\n".join(lines) + "\n")
            listed = ", ".join(f"{run[0]}:{run[3]}|{run[1][-1][1] - 1e-8:.1e}" for run in runs)
            with (root / f"bbobexp_f{function}.info").open("a") as info:
                info.write(
                    f"funcId = {function}, DIM = {dimension}, Precision = {precision}, algId = '{algorithm}'{header}\n"
                    f"% a comment\ndata_f{function}\\{stem}.dat, {listed}\n"
                )
        return root

    return write


@pytest.fixture
def two_runs():
    """Two runs on function 1 in dimension 2: their targets hit, their values at chosen evaluations, their ends."""
    return {
        (1, 2): [
            (1, [(1, 50.0), (4, 3.5), (9, 1e-13)], [(1, 50.0), (2, 70.0), (3, 40.5), (4, 3.5), (12, 8.0)], 12),
            (2, [(1, 20.0), (3, 0.25)], [(1, 20.0), (2, 90.0), (3, 0.25), (30, 0.5)], 30),
        ]
    }
