"""Races and plans of noisy optimizers, judged by what they recommend."""

from __future__ import annotations

import numpy as np
import pytest

import polarbear as pb

TIMES = [50, 120, 400]
OPTIMIZERS = [pb.optimizers.noisy.CMAES(), pb.optimizers.noisy.RBPEM.published()]


def test_a_race_judged_by_recommendations_ranks_the_points_that_would_be_returned(tmp_path):
    suite = pb.problems.BBOBNoisy(functions=(107,), dimensions=(5,), instances=(1, 2, 3, 4))
    race = pb.Race(OPTIMIZERS, times=TIMES, judged_by="recommendation", seed=4, smallest_batch=4, batch=4)
    result = pb.study.race(race, suite, tmp_path / "noisy.study", stop=pb.study.StopRules(instances=4))
    assert pb.study.load(tmp_path / "noisy.study").result.settings.judged_by == "recommendation"
    for run in pb.store.read(tmp_path / "noisy.study"):
        assert run.parameters.evaluations.tolist() == TIMES
        column = result.values[:, :, result.posterior.names.index(run.key.algorithm)]
        assert (column == run.recommended_at(TIMES)).all(axis=1).sum() == 1
    assert not (np.diff(result.values, axis=1) <= 0).all()  # unlike best-so-far values they may rise


def test_the_clock_does_not_go_with_recommendations():
    with pytest.raises(ValueError, match='use axis = "evaluations"'):
        pb.Race(OPTIMIZERS, times=[0.1, 1.0], axis="seconds", judged_by="recommendation")
