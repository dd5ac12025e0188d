"""Whole races whose truth is drawn from the model's prior: are declared relations right as often as they claim?

python -m benchmarks.truth [races]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

import numpy as np

from benchmarks.judge import is_explained, rounds_of, with_interval
from polarbear.inference import IndependentDirichlet
from polarbear.racing import Race
from polarbear.simulate import Truth, prior_truth

TIMES = np.array([10.0, 20.0, 40.0, 80.0])
ALGORITHMS = 4
ALPHA, EPSILON = 0.9, 0.05
MOST_INSTANCES = 400


@dataclass
class Tally:
    """What was declared over many races, and how much of it was wrong.

    Attributes:
        first: For each race, whether the first α-dominance it declared at a single timepoint was wrong.
        declared: For each race, how many α-dominances at single timepoints it declared, and how many were wrong.
        eliminated: Over all races: true Pareto members eliminated, and all eliminations.
        believed: The posterior's own estimate, at each elimination, of the probability that it was false.
        unexplained: Races whose recovered set differs from the truth by more than ε-equivalents.
        races: Number of races.
        finished: Races that resolved every pair.
    """

    first: list[bool] = field(default_factory=list)
    declared: list[tuple[int, int]] = field(default_factory=list)
    eliminated: list[bool] = field(default_factory=list)
    believed: list[float] = field(default_factory=list)
    unexplained: int = 0
    races: int = 0
    finished: int = 0


def measure(races: int, *, seed: int = 0) -> Tally:
    """Race `races` truths drawn from the independent Dirichlet prior, with the same model."""
    tally = Tally()
    for number in range(races):
        truth = prior_truth(IndependentDirichlet(), TIMES, ALGORITHMS, np.random.default_rng([seed, number]))
        _race(truth, tally, number)
    return tally


def _race(truth: Truth, tally: Tally, number: int) -> None:
    race = Race(
        list(truth.names), times=TIMES, alpha=ALPHA, epsilon=EPSILON, draws=2000, smallest_batch=4, batch=4, seed=number
    )
    declared = np.zeros((TIMES.size, ALGORITHMS, ALGORITHMS), dtype=bool)
    picker = np.random.default_rng(number)
    for this in rounds_of(race, truth, MOST_INSTANCES):
        new = race.relations().dominates & ~declared
        if new.any() and not declared.any():
            t, i, j = picker.choice(np.argwhere(new))
            tally.first.append(not truth.better[t, i, j])
        declared |= new
        for loser in this.eliminated:
            index = truth.names.index(loser)
            tally.eliminated.append(loser in truth.pareto_set)
            tally.believed.append(1.0 - _dominated(race, index))
    tally.declared.append((int(declared.sum()), int((declared & ~truth.better).sum())))
    tally.unexplained += not is_explained(truth, race.pareto_set, EPSILON)
    tally.finished += race.finished
    tally.races += 1


def _dominated(race: Race, index: int) -> float:
    """P(some other algorithm is better at all timepoints); draws of the independent model are joint draws too."""
    ratings = race.posterior.draws
    better = (ratings > ratings[:, :, [index]]).all(axis=1)
    return float(better.any(axis=1).mean())


def main(races: int) -> None:
    """Print the table for docs/benchmarks.md."""
    tally = measure(races)
    declared, wrong = np.array(tally.declared).sum(axis=0)
    rows = [
        ("races, resolved within " + str(MOST_INSTANCES) + " instances", f"{tally.races}, {tally.finished}"),
        (
            f"first α-dominance of a race wrong (at most {1 - ALPHA:.2f})",
            with_interval(sum(tally.first), len(tally.first)),
        ),
        (f"all α-dominances wrong (at most {1 - ALPHA:.2f})", f"{wrong} of {declared} = {wrong / declared:.3f}"),
        (
            "eliminations of true Pareto members, pointwise",
            with_interval(sum(tally.eliminated), len(tally.eliminated)),
        ),
        ("the posterior's own estimate of that rate", f"{np.mean(tally.believed):.3f}"),
        ("races that differ from the truth by more than ε-equivalents", with_interval(tally.unexplained, tally.races)),
    ]
    print(f"{ALGORITHMS} algorithms, {TIMES.size} timepoints, α = {ALPHA}, ε = {EPSILON}, pointwise, strict\n")
    print("| quantity | measured |\n|---|---|")
    for quantity, measured in rows:
        print(f"| {quantity} | {measured} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
