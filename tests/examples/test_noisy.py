"""What the study of noisy optimizers computes, against the paper and other implementations."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

FOLDER = Path(__file__).parents[2] / "examples" / "noisy"


@pytest.fixture(scope="module")
def numbers():
    spec = importlib.util.spec_from_file_location("paper_numbers", FOLDER / "paper_numbers.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["paper_numbers"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["paper_numbers"]


def test_noise_hides_ranks_on_the_functions_that_the_paper_names(numbers):
    """The fifteen functions of table 5, found as figure 4 says; the gap there is 0.145, here it is that of 20 sets."""
    noisy, gap = numbers.noisy_functions(numbers.typical_probes())
    assert noisy == [108, 110, 111, 113, 114, 116, 117, 119, 120, 122, 123, 125, 126, 128, 129]
    assert 0.08 < gap < 0.2


@pytest.mark.parametrize(("wins", "count"), [(0, 7), (3, 9), (40, 40)])
def test_intervals_of_shares_are_those_of_scipy(numbers, wins, count):
    theirs = stats.binomtest(wins, count).proportion_ci(0.95, method="wilson")
    assert numbers.wilson(wins, count) == pytest.approx((theirs.low, theirs.high), abs=1e-6)


def test_the_area_under_the_curve_counts_pairs(numbers):
    rng = np.random.default_rng(1)
    scores, labels = rng.integers(4, size=50) / 4, rng.normal(size=50)
    pairs = [(a > b) + (a == b) / 2 for a in scores[labels > 0] for b in scores[labels <= 0]]
    assert numbers.area_under(scores, labels) == pytest.approx(np.mean(pairs))


def test_thresholds_are_judged_by_what_an_oracle_gains(numbers):
    probe, gain = np.array([0.1, 0.2, 0.3, 0.4]), np.array([-1.0, -0.5, 0.25, 2.0])
    assert numbers.routing(probe, gain, 0.25) == (1.0, 0.0)
    assert numbers.routing(probe, gain, 0.0) == (0.5, 1.5 / 4)
    assert numbers.routing(probe, gain, 0.5) == (0.5, 2.25 / 4)
    assert 0.2 < numbers.best_threshold(probe, gain) <= 0.3


def test_wins_are_counted_by_instance_seed_and_budget(numbers):
    keys = {"function": 101, "dimension": 10, "instance": "1", "seed": 0}
    rows = [
        {"algorithm": name, **keys, "budget": budget, "probe": 0.0, "recommended": value}
        for name, values in (("A", (1.0, 3.0, 2.0)), ("B", (2.0, 3.0, 1.0)))
        for budget, value in zip((20, 50, 100), values, strict=True)
    ]
    gains = numbers.pairs(pl.DataFrame(rows), "A", "B", "recommended")
    assert sorted(gains["gain"]) == [-1.0, 0.0, 1.0]
    assert numbers.counts(gains)[:3] == (1, 1, 1)
    assert numbers.share_of_wins(gains) == (0.5, 0.5, 0.5)
