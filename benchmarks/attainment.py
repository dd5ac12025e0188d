"""EAF, EAF-based ECDF and AOCC of 200 data sets of 15 runs: ``python -m benchmarks.attainment``.

Runs are synthetic: 10^5 evaluations with 300 to 600 improvements down to a precision of 1e-8. All results are exact,
from all improvements. López-Ibáñez et al. 2024, section III-B, needed 432 s for 1,295 data sets reduced to 50 budgets,
which corresponds to 67 s for 200. Times are seconds of one core (processor time). References are measured on the same
runs: `moocore` alone for the EAF; for the AOCC `iohinspector` on the first data sets, scaled up.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polarbear import Outcome, Reason, Trajectory
from polarbear.assess.aocc import aocc, attainment_ecdf
from polarbear.assess.attainment import eaf, eaf_difference, eaf_grid, level_curves
from polarbear.assess.step_functions import Bounds, values_at
from polarbear.assess.vorobev import vorobev

DATA_SETS, RUNS, BUDGET = 200, 15, 100_000
SAMPLE = 10
"""Data sets on which slow references are measured."""
ALLOWED = 20.0
"""Seconds for EAF, EAF-based ECDF and AOCC of all data sets together."""
TIMES, VALUES = Bounds(1, BUDGET, log=True), Bounds(1e-8, 100, log=True)

DataSet = list[Trajectory]


def synthetic(rng: np.random.Generator) -> Trajectory:
    """A run that improves at log-uniform evaluations, by log-uniform steps."""
    wanted = int(rng.integers(300, 601))
    evaluations = np.unique(np.rint(BUDGET ** rng.random(4 * wanted)).astype(np.int64))
    evaluations = np.sort(rng.choice(evaluations, min(wanted, evaluations.size), replace=False))
    evaluations[0] = 1
    steps = rng.exponential(size=evaluations.size)
    values = 10 ** (2.5 - rng.uniform(3, 11) * np.cumsum(steps) / steps.sum())
    return Trajectory(evaluations, evaluations * 1e-5, values, Outcome(Reason.BUDGET, BUDGET, 1.0))


def seconds(function: Callable[[DataSet], Any], data: Sequence[DataSet]) -> float:
    """Processor seconds of a function over data sets, after one call to warm up; scaled to all data sets."""
    function(data[0])
    begun = time.process_time()
    for runs in data:
        function(runs)
    return (time.process_time() - begun) * DATA_SETS / len(data)


def moocore_alone(runs: DataSet) -> Any:
    """The EAF of the bare points."""
    import moocore

    points = np.concatenate([np.column_stack((run.evaluations, run.values)) for run in runs])
    return moocore.eaf(points, np.repeat(np.arange(len(runs)), [run.values.size for run in runs]))


def iohinspector_aocc(runs: DataSet) -> Any:
    """The AOCC of `iohinspector`, from a data frame of improvements."""
    import polars
    from iohinspector import metrics

    columns = {
        "evaluations": np.concatenate([run.evaluations for run in runs]),
        "raw_y": np.concatenate([run.values for run in runs]),
        "data_id": np.repeat(np.arange(len(runs)), [run.values.size for run in runs]),
    }
    frame = polars.DataFrame(columns).with_columns(function_name=polars.lit("f"), algorithm_name=polars.lit("A"))
    scaled = metrics.transform_fval(frame, lb=1e-8, ub=100)
    return metrics.get_aocc(scaled, eval_max=BUDGET, scale_eval_log=True)


def main() -> None:
    """Measure and print."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    data = [[synthetic(rng) for _ in range(RUNS)] for _ in range(DATA_SETS)]
    improvements = np.mean([run.values.size for runs in data for run in runs])
    moocore, inspector = seconds(moocore_alone, data), seconds(iohinspector_aocc, data[:SAMPLE])
    budgets, targets = TIMES.spaced(50), VALUES.spaced(51)
    measured = {
        "EAF, exact": (seconds(eaf, data), moocore),
        "EAF-based ECDF, exact": (seconds(lambda runs: attainment_ecdf(runs, values=VALUES), data), None),
        "AOCC per run": (seconds(lambda runs: aocc(runs, times=TIMES, values=VALUES), data), inspector),
        "EAF on 50 × 51 points": (seconds(lambda runs: eaf_grid(values_at(runs, budgets), targets), data), moocore),
        "best, median and worst curve": (seconds(level_curves, data), moocore),
        "Vorob'ev expectation and deviation": (seconds(lambda r: vorobev(r, times=TIMES, values=VALUES), data), None),
        "EAF difference of two": (seconds(lambda runs: eaf_difference(runs, data[0]), data[1 : SAMPLE + 1]), None),
    }
    print(f"{DATA_SETS} data sets × {RUNS} runs × {improvements:.0f} improvements, one core\n")
    print("| | seconds | reference | its seconds | ratio |\n|---|---:|---|---:|---:|")
    names = {moocore: "`moocore.eaf`", inspector: "`iohinspector` AOCC", None: "–"}
    for name, (own, reference) in measured.items():
        ratio = f"{reference:.2f} | {reference / own:.1f}" if reference else "– | –"
        print(f"| {name} | {own:.2f} | {names[reference]} | {ratio} |")
    total = sum(own for own, _ in list(measured.values())[:3])
    print(f"\nEAF, EAF-based ECDF and AOCC together: {total:.1f} s; allowed: {ALLOWED:.0f} s")


if __name__ == "__main__":
    main()
