"""The study of adaptive configurations: its codes, its switches, and all of it at a hundredth of its size."""

import numpy as np
import pytest

import polarbear as pb
from benchmarks import adaptive_configurations as study
from benchmarks.adaptive_published import TwoStage
from polarbear.assess import Policy


def test_codes_tell_configurations():
    drawn = study.space().sample(np.random.default_rng(5), 20)
    assert [study.decoded(study.code(each)) for each in drawn] == drawn
    assert study.optimizer_of("IPOP-100000010").restart_strategy == "IPOP"
    assert study.optimizer_of("100000010").active


def test_a_pair_switches_at_its_precision_on_each_instance(tmp_path, monkeypatch):
    switches = {}

    def keep(path, function, entrants, runs, seed, workers, instances):
        switches[instances[0]] = entrants["000000000-to-100000000-at--2.0"]
        return []

    monkeypatch.setattr(study, "record", keep)
    study.record_three(tmp_path, 10, [Policy(("000000000", "100000000"), (0.01,))], ["000000000"], 1, 1)
    for instance, switch in switches.items():
        optimum = pb.problems.BBOBProblem(function=10, instance=instance, dimension=5).build().optimum
        assert switch.value - optimum == pytest.approx(0.01, abs=1e-9)
        assert (switch.first.active, switch.second.active) == (False, True)
    assert len(switches) == 5


@pytest.mark.slow
def test_a_second_call_makes_no_run_and_tells_the_same(tmp_path, monkeypatch):
    first = study.studied(tmp_path, 10, study.QUICK, 1)
    monkeypatch.setattr(pb.study.Plan, "task", None)  # whoever wants to make a run fails
    second = study.studied(tmp_path, 10, study.QUICK, 1)
    assert first.notes == second.notes
    for stage in ("one", "two"):
        np.testing.assert_array_equal(first.stages[stage].gains, second.stages[stage].gains)
    elsewhere = TwoStage([], np.array([1.0]), np.array([100.0]), np.array([150.0]))
    free, costly = (study.report([first], each) for each in ({}, {1: elsewhere}))
    assert not free["one"]["after handovers"]
    for way, factor in (("shrunk", 1.0), ("after handovers", 1.5)):
        (promise,) = costly["one"][way][10]
        np.testing.assert_allclose(1 - promise.told, factor * (1 - first.stages["one"].gains[:, 0]))
    study.draw(costly, tmp_path)
    assert (tmp_path / "adaptive-gains.png").exists()
