"""Reference algorithms of COCO as cocopp reads them."""

import math
import tarfile

import numpy as np
import pytest

from polarbear import store

ARCHIVES = ["best2009-bbob", "best09-16-bbob", "best2009-bbob-noisy", "best2016-bbob-biobj", "best2019-bbob-largescale"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", ["best2009-bbob", *(pytest.param(name, marks=pytest.mark.slow) for name in ARCHIVES[1:])]
)
def test_expected_runtimes_are_those_of_cocopp(shared, tmp_path, name, capsys):
    from cocopp import bestalg, testbedsettings

    path = shared("coco_refalgs", f"{name}.tar.gz")
    ours = store.read_reference(path)
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path, filter="data")
    testbedsettings.current_testbed = None
    (folder,) = tmp_path.iterdir()
    theirs = bestalg.load_reference_algorithm(str(folder), force=True, relative_load=False)
    capsys.readouterr()
    assert {(int(function), dimension) for function, dimension in ours} == {(f, d) for d, f in theirs}
    for (dimension, function), one in theirs.items():
        kept = one.target > 1e-11  # below, cocopp misplaces targets: it takes 1e-12 off before it aligns them
        np.testing.assert_array_equal(ours[str(function), dimension].at(one.target[kept]), one.ert[kept])


def test_an_archive_of_2009(shared):
    reference = store.read_reference(shared("coco_refalgs", "bestalgentries2009.tar.gz"))
    assert len(reference) == 324
    one = reference["105", 5]
    assert (one.suite, one.targets[0], one.ert[:3].tolist()) == ("bbob-noisy", 2.511886431509582e4, [1.0, 2.0, 6.0])
    assert one.algorithms[0] == ""


def test_what_is_told_of_the_best_algorithms(shared):
    one = store.read_reference(shared("coco_refalgs", "best2009-bbob.tar.gz"))["4", 2]
    assert (one.name, one.suite) == ("best2009-bbob", "bbob")
    assert one.algorithms[:2] == ("MCS_huyer_noiseless.tgz", "DIRECT_posik_noiseless.tgz")
    assert (one.successes[1], one.runs[1]) == (5, 5)
    assert (np.diff(one.targets) < 0).all()
    assert (np.diff(one.ert) >= 0).all()
    assert one.at([1000.0, 100.0, 1e-8, 1e-9]).tolist() == [1.0, 1.0, 569.0, math.inf]
    assert one.at(50.0) == one.at(one.targets[2])


def test_runs_and_references_are_not_taken_for_each_other(shared, coco, two_runs):
    with pytest.raises(ValueError, match="holds no COCO reference algorithm"):
        store.read_reference(coco(two_runs))
    with pytest.raises(ValueError, match="read them with read_reference"):
        store.read(shared("coco_refalgs", "best2009-bbob.tar.gz"))


def test_damage_is_an_error(tmp_path):
    (tmp_path / "a.info").write_text("funcId = 1, DIM = 2, algId = 'best', Precision = 1e-8\n% c\na.dat, 0:144|1e-09\n")
    with pytest.raises(ValueError, match=r"a\.info, line 3: a\.dat is missing"):
        store.read_reference(tmp_path)
    (tmp_path / "a.dat").write_text("%% Artificial instance\n1 10.0 10.0\nx 1.0 1.0\n")
    with pytest.raises(ValueError, match=r"a\.dat, line 3: expected a runtime and a target"):
        store.read_reference(tmp_path)
