"""How often statistical tests reject under other seeds: ``python -m benchmarks.false_alarms [seeds] [pytest options]``.

Every test that states a false-alarm rate (see tests/statistical.py) is run with this many sets of seeds, by default 20,
none of them those of ``make test``. A first rejection is one that fresh replicates did not confirm; a failure is one
that they did. ``-m statistical`` adds the slow tests, ``-k`` selects tests, ``-n 2`` runs two at a time.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from scipy.stats import binom

from tests.statistical import RATE, REJECTIONS, tries

SEEDS = 20
TESTS = Path(__file__).parents[1] / "tests"


@dataclass
class Found:
    """What became of one test: under how many seeds it was run, first rejected, and failed."""

    rate: float
    seeds: int = 0
    rejected: int = 0
    failed: int = 0


def results(seeds: int, options: list[str]) -> Iterator[tuple[str, float, int]]:
    """Name, stated rate and rejections of each test under one set of seeds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.xml"
        files = [file for file in sorted(TESTS.rglob("test_*.py")) if "pytest.mark.statistical" in file.read_text()]
        command = [sys.executable, "-m", "pytest", "-q", "-m", "statistical and not slow", f"--seeds-from={seeds}"]
        subprocess.run([*command, f"--junitxml={path}", *options, *files], stdout=sys.stderr)
        for case in ElementTree.parse(path).iter("testcase"):
            properties = {one.attrib["name"]: one.attrib["value"] for one in case.iter("property")}
            if RATE in properties:
                name = f"{case.attrib['classname'].removeprefix('tests.')}::{case.attrib['name']}"
                yield name, float(properties[RATE]), int(properties.get(REJECTIONS, 0))


def main() -> None:
    arguments = sys.argv[1:]
    seeds = int(arguments.pop(0)) if arguments and arguments[0].isdigit() else SEEDS
    every: dict[str, Found] = {}
    for number in range(1, seeds + 1):
        for name, rate, rejections in results(number, arguments):
            found = every.setdefault(name, Found(rate))
            found.seeds += 1
            found.rejected += rejections > 0
            found.failed += rejections >= tries(rate)
    groups: dict[float, list[Found]] = defaultdict(list)
    for found in every.values():
        groups[found.rate].append(found)
    print("| stated rate | tests | tried | first rejections | largest number by chance (99.9 %) | failures |", end="")
    print("\n|---|---|---|---|---|---|")
    for rate, some in sorted(groups.items()):
        runs, rejected, failed = (sum(getattr(one, what) for one in some) for what in ("seeds", "rejected", "failed"))
        print(f"| {rate:g} | {len(some)} | {runs:,} | {rejected} | {binom.isf(1e-3, runs, rate):.0f} | {failed} |")
    print(f"\nAll together, by the stated rates: {sum(one.rate ** tries(one.rate) for one in every.values()):.1e}.\n")
    print("| test | seeds | first rejections | failures | stated rate |\n|---|---|---|---|---|")
    for name, one in sorted(every.items(), key=lambda item: -item[1].rejected):
        if one.rejected:
            print(f"| `{name}` | {one.seeds} | {one.rejected} | {one.failed} | {one.rate:g} |")


if __name__ == "__main__":
    main()
