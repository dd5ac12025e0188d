"""Figures 7 and 10 of Wang and Lu (2026): disagreement of ranks moves the mean, and bounds all other disagreement.

python examples/noisy/mechanism.py [noisy-mechanism.png]

Takes seconds; single generations, no runs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from paper_numbers import FUNCTIONS
from scipy import stats

import polarbear as pb
from polarbear.figures import Figure
from polarbear.figures.marks import Line, Points
from polarbear.figures.panels import Axis, Panel
from polarbear.figures.style import FAINT, WIDE
from polarbear.optimizers.noisy import CMAES
from polarbear.optimizers.noisy.probe import rank_disagreement
from polarbear.optimizers.noisy.selection import rank
from polarbear.optimizers.noisy.strategy import Parameters
from polarbear.records import FloatArray

DIMENSION = 40
NOISE, SETS, DRAWS = 1.0, 200, 256
"""Of figure 7: the standard deviation of the noise, candidate sets, and observations of each set."""
GENERATIONS = 25
"""Of figure 10, on each function."""


def updates() -> FloatArray:
    """(sets, 4) of λ = 16 standard normal candidates of f(x) = ‖x‖² / 2: figure 7.

    Returns:
        P, ‖Δm(a) - Δm(b)‖², E f(Δm) - f(E Δm), and Var(Δm), each of the update Δm of the mean from 0.
    """
    weights = Parameters(DIMENSION, 16).rank_weights[0]
    found: list[list[float]] = []
    for k in range(SETS):
        rng = np.random.default_rng([7, k])
        points = rng.standard_normal((16, DIMENSION))
        values = np.square(points).sum(axis=1) / 2 + NOISE * rng.standard_normal((DRAWS, 16))
        moves = np.array([weights[rank(observed)] for observed in values]) @ points
        apart = float(np.square(moves[0] - moves[1]).sum())
        gap = np.square(moves).sum(axis=1).mean() / 2 - np.square(moves.mean(axis=0)).sum() / 2
        found.append([rank_disagreement(values[0], values[1]), apart, float(gap), float(moves.var(axis=0).sum())])
    return np.array(found)


def disagreements() -> Iterator[tuple[float, float, float]]:
    """P, the share of pairs in another order, and that of the best μ replaced, as CMA-ES goes along: figure 10."""
    for function in FUNCTIONS:
        built = pb.problems.BBOBNoisyProblem(function, 1, DIMENSION).build()
        trial, rng = built.trial(np.random.default_rng([10, function])), np.random.default_rng([11, function])
        with pb.optimizers.AskTell(CMAES(start="center"), built.lower, built.upper, rng) as search:
            for _ in range(GENERATIONS):
                points = np.asarray(search.ask())
                first, second = trial.batch(points)[0], trial.batch(points)[0]
                mu = len(points) // 2
                discordant = (1 - float(stats.kendalltau(first, second).statistic)) / 2
                moved = float(((rank(first) < mu) & (rank(second) >= mu)).sum()) / mu
                yield rank_disagreement(first, second), discordant, moved
                search.tell(first)


def main(path: str = "noisy-mechanism.png") -> None:
    """Print and draw."""
    disagreement, apart, gap, variance = updates().T
    together = stats.pearsonr(disagreement, apart).statistic
    print(f"figure 7a: correlation of P with the squared distance of updates {together:.2f}")
    print(f"figure 7b: slope {stats.linregress(variance / 2, gap).slope:.6f}")
    probed, discordant, moved = np.array(list(disagreements())).T
    count = Parameters(DIMENSION, 15).population
    low, high = count / (count - 1) * probed, 2 * count / (count - 1) * probed
    outside = int(((discordant < low - 1e-12) | (discordant > high + 1e-12)).sum())
    beyond = int((moved > count**2 / (2 * (count // 2)) * probed + 1e-12).sum())
    print(f"figure 10: {outside} and {beyond} of {len(probed)} sets are outside the bounds of equation 59")
    span = np.array([0.0, 0.5])
    panels = (
        Panel(
            x=Axis(label="P", low=0.0, high=0.2),
            y=Axis(label="squared distance of updates", grid=True),
            marks=(Points(name="apart", x=disagreement, y=apart, color="#0072B2", size=2.5),),
            title="Updates from two rankings",
        ),
        Panel(
            x=Axis(label="variance of the update / 2"),
            y=Axis(label="Jensen gap", grid=True),
            marks=(
                Line(x=np.sort(variance / 2)[[0, -1]], y=np.sort(variance / 2)[[0, -1]], color=FAINT, width=1.0),
                Points(name="gap", x=variance / 2, y=gap, color="#0072B2", size=2.5),
            ),
            title="What the variance costs",
        ),
        Panel(
            x=Axis(label="P", low=0.0, high=0.5),
            y=Axis(label="share of reversed pairs", low=0.0, high=1.0, grid=True),
            marks=(
                Line(x=span, y=count / (count - 1) * span, color=FAINT, width=1.0),
                Line(x=span, y=2 * count / (count - 1) * span, color=FAINT, width=1.0),
                Points(name="discordant", x=probed, y=discordant, color="#D55E00", size=2.0),
            ),
            title="Pairs",
        ),
        Panel(
            x=Axis(label="P", low=0.0, high=0.5),
            y=Axis(label="share of the best 7 replaced", low=0.0, high=1.0, grid=True),
            marks=(
                Line(x=span, y=count**2 / (2 * (count // 2)) * span, color=FAINT, width=1.0),
                Points(name="moved", x=probed, y=moved, color="#D55E00", size=2.0),
            ),
            title="The best",
        ),
    )
    Figure(
        title="What follows when ranks disagree",
        alt="Distances of updates and Jensen gaps on a quadratic, and two further measures of how much ranks disagree, "
        "with their bounds.",
        caption=f"Above: {SETS} sets of 16 candidates of a quadratic in {DIMENSION} variables; grey, equality. Below: "
        f"{GENERATIONS} generations on each of the 30 noisy functions, observed twice; grey, the bounds of eq. 59.",
        width=WIDE,
        height=5.2,
        panels=panels,
        columns=2,
    ).save(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
