"""Sets of whole numbers as users write them."""

import numpy as np
import pytest

from polarbear import problems
from polarbear.problems.number_sets import MOST, numbers, plain


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        ("1-5", range(1, 6)),
        ("1-3,4,5-6", range(1, 7)),
        ("1,3,5-7", (1, 3, 5, 6, 7)),
        (" 2 , 4 ", range(2, 5, 2)),
        ("7", (7,)),
        ("7-7", (7,)),
        (3, (3,)),
        (range(2, 11, 3), range(2, 9, 3)),
        (np.arange(1, 4), range(1, 4)),
        ("1-2000000000", range(1, 2_000_000_001)),
    ],
)
def test_sets_are_read_and_written_back(given, chosen):
    read = numbers(given, "n", 1, 2**31 - 1)
    assert read == chosen
    assert type(read) is type(chosen)
    if len(read) < MOST:
        assert numbers(plain(read), "n", 1) == read


@pytest.mark.parametrize(
    ("given", "high", "message"),
    [
        ("1-300000000", 200_000, "^n is 300000000; it must be from 1 to 200000$"),
        ("0-3", 10, "^n is 0; it must be from 1 to 10$"),
        ("2-1000000000", None, "^n is '2-1000000000', which contains more than 1000000 numbers; give fewer$"),
        ("2-" + "9" * 100, None, r"^n is '2-9{57}\.\.\., which contains more than 1000000 numbers"),
        (range(1, 10**30), None, "which contains more than 1000000 numbers"),
        ("1-600000,700000-1300000", 2**31, "which contains more than 1000000 numbers"),
        ("1-4,3", 10, "^n is '1-4,3', which contains 3 twice"),
        ("1,5-3", 10, "^n is '1,5-3', in which '5-3' is an empty range; write 3-5$"),
        ("1-", 10, "write it like"),
        ("", 10, "write it like"),
        ([], 10, "n is empty"),
        (range(3, 3), 10, "n is empty"),
    ],
)
def test_sets_that_are_none_are_refused_without_being_written_out(given, high, message):
    with pytest.raises(ValueError, match=message):
        numbers(given, "n", 1, high)


@pytest.mark.parametrize(
    ("suite", "field"),
    [(problems.BBOB, "dimensions"), (problems.WModel, "neutrality_mu"), (problems.PBO, "dimensions")],
)
def test_suites_refuse_sets_without_an_upper_limit_that_are_too_large(suite, field):
    with pytest.raises(ValueError, match=f"{field} is '2-1000000000', which contains more than 1000000 numbers"):
        suite(**{field: "2-1000000000"})


def test_functions_of_submodular_problems_end_somewhere():
    with pytest.raises(ValueError, match="functions is 1000000000; it must be from 2000 to 2308"):
        problems.Submodular("2000-1000000000")
