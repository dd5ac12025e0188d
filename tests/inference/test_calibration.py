"""Simulation-based calibration (Talts et al. 2018) of the independent model, by benchmarks/calibration.py.

Ranks of the truth are uniform: one chi-squared test per functional at level 1e-4. 95 % bands hold it: one binomial
count per band within 4 standard deviations.
"""

import pytest

from benchmarks.calibration import of_independent
from polarbear.inference import IndependentDirichlet


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("alpha", "n", "instances"),
    [(1.0, 4, 8), (0.4, 3, 5), (3.0, 6, 2), pytest.param(1.0, 5, 15, marks=pytest.mark.slow)],
)
def test_truths_are_held_as_often_as_they_should(alpha, n, instances):
    found = of_independent(IndependentDirichlet(alpha), 1000, seed=n, algorithms=n, instances=instances)
    assert found.held.shape == (1000, n)
    assert found.ranks.shape == (1000, n + 2)
    assert found.faults() == []


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize(
    ("alpha", "n", "instances"), [(1.0, 2, 3), (1.0, 7, 8), (1.0, 10, 40), (0.2, 5, 12), (1.0, 30, 4)]
)
def test_truths_are_held_as_often_as_they_should_at_length(alpha, n, instances):
    found = of_independent(IndependentDirichlet(alpha), 4000, seed=100 + n, algorithms=n, instances=instances)
    assert found.faults() == []


def test_another_prior_is_noticed_by_ranks_and_by_bands():
    faults = of_independent(IndependentDirichlet(1.0), 1000, seed=0, prior=IndependentDirichlet(0.5)).faults()
    assert any(line.startswith("ranks of functional") for line in faults)
    assert any(line.startswith("band") for line in faults)
