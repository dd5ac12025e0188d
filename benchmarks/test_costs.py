"""Processor time of the tests, including the processes that they start.

``python -m benchmarks.test_costs [pytest options]``
"""

from __future__ import annotations

import sys
from collections import Counter

import psutil
import pytest

SHOWN = 25


class Costs:
    """Seconds of each file, as a plugin of pytest."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.tests: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item):
        before, name = spent(), item.nodeid.partition("::")[0]
        result = yield
        self.seconds[name] += spent() - before
        self.tests[name] += 1
        return result


def spent() -> float:
    """Processor seconds of this process, those it started, and those that these have seen end."""
    this, total = psutil.Process(), 0.0
    for one in (this, *this.children(recursive=True)):
        try:
            total += sum(one.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue
    return total


def main() -> None:
    costs = Costs()
    code = pytest.main(["-q", *sys.argv[1:]], plugins=[costs])
    print("| file | tests | processor seconds |\n|---|---|---|")
    for name, seconds in costs.seconds.most_common(SHOWN):
        print(f"| `{name}` | {costs.tests[name]} | {seconds:.0f} |")
    print(f"| all | {costs.tests.total():,} | {spent():.0f} |")
    sys.exit(code)


if __name__ == "__main__":
    main()
