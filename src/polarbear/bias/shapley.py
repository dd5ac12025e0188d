"""The contribution of each test to a portfolio of tests (Vermetten 2025, section 3.3, equations 3.2 and 3.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import comb

from polarbear.records import FloatArray
from polarbear.validation import whole_number


def contributions(rejected: ArrayLike, *, most: int | None = None) -> FloatArray:
    """The Shapley value of each test: its contribution to the share of rejected samples, averaged over orders.

    A test contributes a sample if it rejects it and no test before it does. If k of t tests reject a sample, one is the
    first of them after i others in a share C(t - k, i) / C(t - 1, i) of the orders; so values are exact, whereas the
    thesis samples orders.

    Args:
        rejected: (t, m) whether each test rejects each sample.
        most: Count contributions only of the first `most` tests of an order, as the thesis does with 10; default all.
            Equation 3.3 has a sum over positions instead of the mean, which is t times as large.

    Returns:
        (t,) values that add up to the share of samples rejected by any test, or by any among the first `most`.

    Raises:
        ValueError: If there is no test or no sample, or `most` is out of range.
    """
    array = np.asarray(rejected, dtype=np.bool_)
    if array.ndim != 2 or not array.size:
        raise ValueError(f"rejected has shape {array.shape}; give (t, m), whether each of t tests rejects m samples")
    tests = len(array)
    positions = np.arange(tests if most is None else whole_number(most, "most", 1, tests))
    counts = np.arange(tests + 1)
    first = np.sum(comb(tests - counts[:, np.newaxis], positions) / comb(tests - 1, positions), axis=1) / tests
    return (array * first[array.sum(axis=0)]).mean(axis=1)
