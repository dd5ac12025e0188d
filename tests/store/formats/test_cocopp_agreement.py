"""Published COCO archives give the numbers that cocopp computes from them."""

import csv
import gzip
from collections import defaultdict

import numpy as np
import pytest

from polarbear import store
from polarbear.records import Instance

ARCHIVES = {
    "DIRECT": "bbob__2009__DIRECT_posik_noiseless.tgz",
    "LHD-2x": "bbob__2015-GECCO__LHD-2xDefault-MATSuMoTo_Brockhoff.tgz",
    "RAND-2x": "bbob__2015-GECCO__RAND-2xDefault-MATSuMoTo_Brockhoff.tgz",
    "OrdN": "bbob__2017__Ord-N-DTS-CMA-ES_Pitra.tgz",
}


def by_problem(runs):
    groups = defaultdict(list)
    for run in runs:
        one = Instance.parse(run.key.instance)
        groups[one.function, one.dimension].append(run)
    return groups


def runtime(run, target):
    hit = np.flatnonzero(run.trajectory.values <= target)
    return float(run.trajectory.evaluations[hit[0]]) if hit.size else np.inf


@pytest.mark.parametrize("name", ARCHIVES)
def test_expected_runtimes_of_published_archives(shared, name):
    """ERT, successes, runs, instances and median evaluations of every function, dimension and target."""
    with gzip.open(shared("cocopp_reference", "ert.csv.gz"), "rt") as file:
        rows = [row for row in csv.DictReader(file) if row["dataset"] == name]
    groups = by_problem(store.read(shared("coco_archive", ARCHIVES[name])))
    assert len(rows) == 9 * len(groups)
    for row in rows:
        runs = groups[row["function"], int(row["dimension"])]
        numbers = sorted(int(Instance.parse(run.key.instance).instance) for run in runs)
        assert (len(runs), numbers) == (int(row["n_runs"]), sorted(map(int, row["instances"].split())))
        hits = np.array([runtime(run, float(row["target"])) for run in runs])
        ends = np.array([min(runtime(run, run.target), run.outcome.evaluations) for run in runs])
        hit = np.isfinite(hits)
        assert hit.sum() == int(row["n_success"])
        assert np.median(ends) == float(row["median_maxevals"])
        if hit.any():
            expected = (hits[hit].sum() + ends[~hit].sum()) / hit.sum()
            assert expected == pytest.approx(float(row["ert"]), rel=1e-9, abs=0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", ["bbob-biobj__2016__MAT-SMS_Al-Dujaili_bbob-biobj.tgz", "bbob-biobj__2016__RS-100.tgz", ARCHIVES["DIRECT"]]
)
def test_every_hitting_time_is_that_of_cocopp(shared, tmp_path, name, capsys):
    """All targets of COCO's grid, all runs, and the evaluations spent, against cocopp itself."""
    import tarfile

    import cocopp
    from cocopp import genericsettings, testbedsettings

    genericsettings.verbose = False
    testbedsettings.current_testbed = None
    path = shared("coco_archive", name)
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path, filter="data")
    groups = by_problem(store.read(path))
    data = cocopp.load(str(tmp_path))
    capsys.readouterr()
    assert len(data) == len(groups)
    for one in data:
        runs = groups[str(one.funcId), one.dim]
        for target, *evaluations in one._evals:
            hits = sorted(runtime(run, target) for run in runs)
            assert hits == sorted(np.where(np.isnan(evaluations), np.inf, evaluations).tolist())
        solved = [1e-8 if run.target is None else run.target for run in runs]
        ends = [min(runtime(run, at), run.outcome.evaluations) for run, at in zip(runs, solved, strict=True)]
        assert sorted(ends) == sorted(one._maxevals.tolist())
