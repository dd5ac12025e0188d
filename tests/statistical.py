"""Statistical tests under any seeds: a pytest plugin (see CONTRIBUTING.md).

``@pytest.mark.statistical(rate=0.01)`` states how often a test rejects what is right, over all seeds. Seeds that are
written down do not decide this: processors round differently, and a Markov chain then takes another path. So a
rejection has to repeat itself on fresh replicates, as often as makes a false alarm less likely than `FALSE_ALARM`.
Other tests fail at once. A replicate is fresh because every generator that tests and benchmarks make by
``np.random.default_rng(seed)`` also depends on the replicate's number; at 0, it is the one that is written.
``--seeds-from N`` begins further on, for all tests (see benchmarks/false_alarms.py).
"""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
import pytest

FALSE_ALARM = 1e-8
"""Of one test; a thousand of them stay below 1e-5."""
MOST_TRIES = 100
"""That one run of a test may have; the next run's replicates begin so much further."""
SEEDED = ("tests.", "benchmarks.", "test_")
"""How the names of modules begin whose generators are fresh; the package's own derive from seeds that it is given."""
RATE, REJECTIONS = "rate", "rejections"
"""Properties of a test's report: the rate that it states, and how many of its replicates were rejected."""
replicate = 0
_default_rng = np.random.default_rng


def _fresh_rng(seed: object = None) -> np.random.Generator:
    """`numpy.random.default_rng`, but that seeds of tests and benchmarks go with the replicate's number."""
    fresh = replicate and sys._getframe(1).f_globals["__name__"].startswith(SEEDED)
    if fresh and isinstance(seed, int | np.integer | list | tuple):
        return _default_rng([*np.ravel(seed).tolist(), replicate])
    return _default_rng(seed)


def tries(rate: float) -> int:
    """How often in a row a test with such a rate of false alarms has to reject."""
    return math.ceil(math.log(FALSE_ALARM) / math.log(rate) - 1e-9)


def pytest_addoption(parser):
    parser.addoption("--seeds-from", type=int, default=0, metavar="N", help="other seeds, for all tests")


def pytest_configure(config):
    global replicate
    config.addinivalue_line("markers", "statistical(rate=0.01): rejects what is right at this rate, over all seeds")
    replicate = MOST_TRIES * config.getoption("--seeds-from")
    np.random.default_rng = _fresh_rng


def pytest_unconfigure():
    np.random.default_rng = _default_rng


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Run a statistical test again, on a fresh replicate, where it rejects."""
    marker = pyfuncitem.get_closest_marker("statistical")
    if marker is None:
        return None
    global replicate
    first, rate = replicate, marker.kwargs.get("rate", 0.01)
    pyfuncitem.user_properties.append((RATE, rate))
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    try:
        for rejections in itertools.count(1):
            try:
                pyfuncitem.obj(**arguments)
                return True
            except AssertionError:
                pyfuncitem.user_properties[1:] = [(REJECTIONS, rejections)]
                if rejections == tries(rate):
                    raise
            replicate += 1
    finally:
        replicate = first


def pytest_terminal_summary(terminalreporter):
    """Say which tests passed on a fresh replicate alone."""
    for report in terminalreporter.stats.get("passed", []):
        for count in [value for name, value in report.user_properties if name == REJECTIONS]:
            terminalreporter.write_line(f"rejected {count} times, then passed on a fresh replicate: {report.nodeid}")
