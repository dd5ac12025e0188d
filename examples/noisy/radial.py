"""Figure 11 of Wang and Lu (2026): noise that is absent where a run starts, and how two probes deal with it.

python examples/noisy/radial.py radial.study [figure.png [dimensions, such as 80,160,320]]

Six functions with three instances each, 200 evaluations per variable, by default only in 80 variables, which takes a
minute of processor time; with 160 and 320 variables as in the paper, it takes eight.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from own_noise import RADIAL, RadialNoise
from scipy import stats

import polarbear as pb
from polarbear.figures import Figure
from polarbear.figures.marks import Line, Points
from polarbear.figures.panels import Axis, Panel
from polarbear.figures.style import FAINT, WIDE
from polarbear.optimizers.noisy import CMAES
from polarbear.study import read_plan

THRESHOLD = 0.12
PROBES = {"ranks": "#D55E00", "variance at the mean": "#0072B2"}


def algorithms() -> dict[str, Any]:
    """Probe and switch of paper.toml, by each probe."""
    ours: CMAES = read_plan(Path(__file__).parent / "paper.toml").algorithms["probe and switch"]
    selection: Any = ours.selection
    return {by: replace(ours, selection=replace(selection, by=by), name=by) for by in PROBES}


def problems(dimensions: Sequence[int]) -> list[RadialNoise]:
    """Six functions, three instances each."""
    return [RadialNoise(base, instance, d) for d in dimensions for base in RADIAL for instance in (1, 2, 3)]


def statistic(problem: RadialNoise, optimizer: CMAES) -> float:
    """What the probe finds in the first generation."""
    built = problem.build()
    trial, seed = built.trial(np.random.default_rng([problem.base, problem.instance])), problem.instance
    with pb.optimizers.AskTell(optimizer, built.lower, built.upper, np.random.default_rng(seed)) as stepped:
        stepped.tell(trial.batch(np.asarray(stepped.ask()))[0])
        stepped.ask()
        return float(stepped.parameters["probe"])


def gains(study: str, chosen: Sequence[RadialNoise]) -> np.ndarray:
    """(n,) by how much the probe of ranks leads to better recommendations than that of the variance, in log10."""
    watch = pb.experiment.Watch(per_decade=4, parameters=(), recommendations=True)
    plan = pb.study.Plan(algorithms(), chosen, budget="200*d", seed=1, watch=watch)
    pb.study.run_plan(plan, study)
    left: dict[tuple[str, str], float] = {}
    for run in pb.store.read(study):
        end = float(run.recommended_at(run.outcome.evaluations)) - run.optimum
        left[run.key.instance, run.key.algorithm] = float(np.log10(max(end, 1e-12)))
    ranks, variance = PROBES
    return np.array([left[p.name, variance] - left[p.name, ranks] for p in chosen])


def main(study: str, path: str = "noisy-radial.png", dimensions: str = "80") -> None:
    """Probe, run, print and draw."""
    chosen = problems([int(d) for d in dimensions.split(",")])
    found = {by: np.array([statistic(each, optimizer) for each in chosen]) for by, optimizer in algorithms().items()}
    for by, values in found.items():
        above = int((values >= THRESHOLD).sum())
        print(f"{by}: above {THRESHOLD} on {above} of {len(values)} problems, at most {values.max():.3g}")
    gained = np.sort(gains(study, chosen))
    won, lost = int((gained > 0).sum()), int((gained < 0).sum())
    p = stats.binomtest(won, won + lost).pvalue if won + lost else 1.0
    print(f"the rank probe is better on {won} of {len(gained)} problems, worse on {lost}; sign test p = {p:.2g}")
    order = np.argsort(found["ranks"])
    x = np.arange(1.0, len(order) + 1)
    probes = Panel(
        x=Axis(label="problems in the order of P"),
        y=Axis(label="statistic of the probe", low=-0.02, high=0.5, grid=True),
        marks=(
            Line(x=x[[0, -1]], y=np.full(2, THRESHOLD), color=FAINT, width=1.0),
            *(Points(name=by, x=x, y=found[by][order], color=color, size=3.0) for by, color in PROBES.items()),
        ),
        title="Two probes",
    )
    drawn = Panel(
        x=Axis(label="problems in the order of the gain"),
        y=Axis(label="gain of the rank probe in log10", grid=True),
        marks=(
            Line(x=np.array([1.0, float(len(gained))]), y=np.zeros(2), color=FAINT, width=1.0),
            Points(name="gain", x=np.arange(1.0, len(gained) + 1), y=gained, color="#D55E00", size=3.0),
        ),
        title="Effect on the results",
    )
    Figure(
        title="Noise that vanishes at the start",
        alt="Statistics of two probes under noise that is absent at the start, and the gain of the rank probe.",
        caption="Left: how much ranks disagree (orange) and the share of the variance at the mean (blue), "
        "with the threshold. Right: gain of the rank probe over the other one.",
        width=WIDE,
        height=3.0,
        panels=(probes, drawn),
        columns=2,
    ).save(path)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
