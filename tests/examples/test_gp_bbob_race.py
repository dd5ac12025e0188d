"""The race on GP-BBOB is the paper's third case study at reduced size, and the command line races it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import polarbear as pb
from polarbear.inference import BSpline
from polarbear.optimizers import ModularCMAES, RandomSearch
from polarbear.problems import GPBBOB
from polarbear.records import Reason
from polarbear.study import read_spec

STUDY = Path(__file__).parents[2] / "examples" / "gp_bbob.toml"

# Table 2 of Wurth et al. (2026), and the names that `modcma` gives these mechanisms.
TABLE_2 = {
    "COV": "COVARIANCE",
    "SEP": "SEPARABLE",
    "MAT": "MATRIX",
    "CHO": "CHOLESKY",
    "CMSA": "CMSA",
    "NAT": "NATURAL_GRADIENT",
    "NONE": "NONE",
}


def test_it_races_table_2_and_random_search_by_the_clock_as_section_5_3_does():
    spec = read_spec(STUDY)
    race = spec.build_race()
    cmaes = {
        name: ModularCMAES.anytime(matrix_adaptation=matrix, step_size_adaptation="CSA", name=name)
        for name, matrix in TABLE_2.items()
    }
    assert dict(race.algorithms) == cmaes | {"random search": RandomSearch(name="random search")}
    settings = race.settings
    assert (settings.axis, settings.elimination, settings.resolution) == ("seconds", "joint", "crossing")
    assert race.model == BSpline()
    np.testing.assert_allclose(np.diff(race.times), np.diff(race.times)[0])
    assert spec.build_instances() == GPBBOB(dimension="Trunc(N(80, 10); [40, 120])")


@pytest.mark.slow
def test_the_command_line_races_by_the_clock_and_random_search_does_not_last(tmp_path):
    """From 0.3 s on, when a busy machine too has made more than a few generations; who else remains depends on it."""
    text = STUDY.read_text()
    for old, new in (("first = 0.2, last = 1.4, count = 13", "first = 0.3, last = 0.7, count = 5"), ("= 300", "= 600")):
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "race.toml").write_text(text.replace("[limits]", "[limits]\ninstances = 24"))
    command = [sys.executable, "-c", "from polarbear.cli import main; main()", "race", "race.toml", "--workers", "2"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=500, capture_output=True)
    runs, found = pb.store.read(tmp_path / "race.study"), pb.study.load(tmp_path / "race.study")
    assert found.spec["race"]["axis"] == "seconds"
    assert {run.key.algorithm for run in runs} == {*TABLE_2, "random search"}
    assert {run.outcome.reason for run in runs} == {Reason.BUDGET}
    assert min(run.outcome.seconds for run in runs) >= 0.3  # as far as the horizon of an algorithm
    assert found.result.pareto_set
    assert set(found.result.pareto_set) <= set(TABLE_2)
