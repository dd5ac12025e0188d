"""Published features of BBOB functions at one design, computed by another program."""

import csv
import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from polarbear.problems import BBOBProblem

SHARED = Path(os.environ.get("POLARBEAR_SHARED", "../shared")) / "data"
FUNCTIONS = range(1, 25)


def rows(file):
    path = SHARED / file
    if not path.exists():
        pytest.skip(f"published features are not at {path}; set POLARBEAR_SHARED")
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        return list(csv.DictReader(lines))


def published(file, dimension):
    """Columns (24,) by name, function by function."""
    chosen = {int(row["fid"]): row for row in rows(f"ela/{file}") if int(row["dim"]) == dimension}
    return {name: np.array([float(chosen[f][name] or "nan") for f in FUNCTIONS]) for name in chosen[1]}


def sample(dimension):
    """50 · d points and the (24, 50 · d) values of instance 1."""
    points = np.array([[float(x) for x in row.values()] for row in rows("ela/init_sample.csv")])
    points = points[: 50 * dimension, :dimension]
    return points, np.array([BBOBProblem(f, 1, dimension).build()(points) for f in FUNCTIONS])
