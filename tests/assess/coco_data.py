"""Runs of published COCO data for the tests, as `Run`s; skips where the data are not there."""

import csv
import functools
import gzip
import os
import tarfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from polarbear.assess.trials import group_trials
from polarbear.records import Outcome, Reason, Reference, Run, RunKey, Trajectory

SHARED = Path(os.environ.get("POLARBEAR_SHARED", "../shared")).resolve() / "data"


def shared(name):
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"published data are not at {path}; set POLARBEAR_SHARED")
    return path


def make_run(name, hits, evaluations, *, algorithm="A", seed=0, optimum=0.0, reason=Reason.STOPPED):
    """A run that found hits[evaluation] = value."""
    at = sorted(hits)
    trajectory = Trajectory(at, [0.1 * each for each in at], [hits[each] for each in at],
                            Outcome(reason, evaluations, 0.1 * evaluations))  # fmt: skip
    return Run(RunKey(name, algorithm, seed), trajectory, optimum=optimum)


@functools.cache
def hits_of(algorithm):
    """The published hitting times of one algorithm, one frame per function and dimension."""
    frame = pl.read_csv(shared(f"coco_runs/{algorithm}_hits.csv.gz"))
    return dict(frame.group_by(["function", "dimension"], maintain_order=True))


def published_runs(algorithm, function, dimension):
    """Runs that pass through the published hits and end at the published final precision."""
    runs = []
    frame = hits_of(algorithm)[function, dimension]
    for (instance, number), rows in frame.group_by(["instance", "run"], maintain_order=True):
        end, final = int(rows["maxevals"][0]), float(rows["final_precision"][0])
        reached = rows.drop_nulls("evals_to_target")
        hits = dict(zip(reached["evals_to_target"].cast(pl.Int64), reached["target_precision"], strict=True))
        if final < min(hits.values(), default=np.inf):
            hits[end] = final
        runs.append(make_run(f"bbob-f{function}-i{instance}-d{dimension}", hits, end, algorithm=algorithm, seed=number))
    return runs


def published_reference(function, dimension, archive="best2009-bbob"):
    """The ERTs of a published reference algorithm, as printed in its archive."""
    lines = data_files(archive)[f"{archive}/bbob-bestalg_f{function:02d}_d{dimension:02d}.dat"]
    erts, targets, _, algorithms, successes, trials = zip(*lines, strict=True)
    return Reference(
        np.array(targets, dtype=float), np.array(erts, dtype=float), algorithms,
        np.array(successes, dtype=int), np.array(trials, dtype=int),
    )  # fmt: skip


@functools.cache
def data_files(archive):
    """The rows of an archive's .dat files, in columns."""
    files = {}
    with tarfile.open(shared(f"coco_refalgs/{archive}.tar.gz")) as tar:
        for member in tar:
            if member.name.endswith(".dat"):
                rows = tar.extractfile(member).read().decode().splitlines()
                files[member.name] = [row.split() for row in rows if row and not row.startswith("%")]
    return files


@functools.cache
def archived_trials(archive):
    """The trials of a published archive by function and dimension."""
    from polarbear import store

    runs = store.read(shared(f"coco_archive/{archive}.tgz"))
    return {(one.function, one.dimension): one for one in group_trials(runs)}


def computed_by_cocopp(table):
    """The rows of a table made by cocopp, grouped by data set (or pair), function and dimension."""
    with gzip.open(shared(f"cocopp_reference/{table}.csv.gz"), "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    groups = {}
    for row in rows:
        name = row.get("dataset") or (row["A"], row["B"])
        groups.setdefault((name, row["function"], int(row["dimension"])), []).append(row)
    return groups


ARCHIVES = {
    "DIRECT": "bbob__2009__DIRECT_posik_noiseless",
    "LHD-2x": "bbob__2015-GECCO__LHD-2xDefault-MATSuMoTo_Brockhoff",
    "RAND-2x": "bbob__2015-GECCO__RAND-2xDefault-MATSuMoTo_Brockhoff",
    "OrdN": "bbob__2017__Ord-N-DTS-CMA-ES_Pitra",
}
"""The archives whose tables cocopp made, by the names it gives them."""
