"""The plugin that repeats statistical tests, in a run of pytest beside this one."""

from pathlib import Path

import pytest

from tests.statistical import FALSE_ALARM, tries

pytest_plugins = ["pytester"]
SEEN = """
import numpy as np
import pytest

DRAWN = []

def draw():
    DRAWN.append(np.random.default_rng(3).random())
    return DRAWN[-1]

@pytest.mark.statistical
def test_rejected_twice():
    draw()
    assert len(set(DRAWN)) == 3

def test_seeds_are_as_before_again():
    assert draw() == DRAWN[0]

@pytest.mark.statistical(rate=0.001)
def test_always_rejected():
    assert draw() is None

def test_of_no_chance():
    assert draw() is None

@pytest.mark.statistical
def test_with_an_error():
    raise ValueError(draw())

def test_of_the_numbers_drawn():
    print("drawn:", len(DRAWN), len(set(DRAWN)), DRAWN[0])
"""


@pytest.fixture
def run(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    pytester.makepyfile(test_seen=SEEN)
    return lambda *options: pytester.runpytest_subprocess("-p", "tests.statistical", "-s", "-ra", *options)


def test_a_rejection_has_to_repeat_itself_on_fresh_replicates(run):
    """Three generators of the first test, one of the second, three of the third, and one each of the last two."""
    found = run()
    found.assert_outcomes(passed=3, failed=3)
    found.stdout.fnmatch_lines(["rejected 2 times, then passed on a fresh replicate: *::test_rejected_twice"])
    found.stdout.fnmatch_lines(["*drawn: 9 3 0.085649*"])
    failed = [line for line in found.outlines if line.startswith("FAILED")]
    assert [line.split("::")[1].split()[0] for line in failed] == [
        "test_always_rejected",
        "test_of_no_chance",
        "test_with_an_error",
    ]


def test_all_seeds_can_be_others(run):
    found = run("--seeds-from", "2")
    found.assert_outcomes(passed=3, failed=3)
    found.stdout.no_fnmatch_line("*drawn: 9 3 0.085649*")


@pytest.mark.parametrize(("rate", "expected"), [(1e-9, 1), (1e-3, 3), (0.01, 4), (0.05, 7)])
def test_it_repeats_itself_until_chance_cannot_be_why(rate, expected):
    assert tries(rate) == expected
    assert rate**expected <= FALSE_ALARM * (1 + 1e-9)
