"""Whole races with joint elimination: are eliminations right as often as they claim, and what if assumptions fail?

python -m benchmarks.joint                  all cases, 100 races each: the table for docs/benchmarks.md
python -m benchmarks.joint CASE [races]     one line of JSON per race of one case
python -m benchmarks.joint table FILE...    the table from such lines
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from benchmarks.judge import dominates, is_explained, rounds_of
from polarbear import Race
from polarbear.inference import GaussianProcess, Model, RandomWalk
from polarbear.inference.events import false_elimination
from polarbear.simulate import Noise, prior_truth

ALGORITHMS = 4
ALPHA, EPSILON = 0.9, 0.05
MOST_INSTANCES = 400
DRAWS = 2000


@dataclass(frozen=True)
class Case:
    """Where truths and rankings come from, and who races on them."""

    says: str
    model: Model
    nature: Model
    noise: Noise = "gumbel"
    timepoints: int = 10


PROCESS, WALK = GaussianProcess(repeated="as published"), RandomWalk(repeated="as published")
CASES = {
    "process": Case("Gaussian process; all as assumed", PROCESS, PROCESS),
    "shorter": Case("… true ℓ a third of the expected ℓ", PROCESS, replace(PROCESS, ell_scale=2.0 / 3.0)),
    "longer": Case("… true ℓ three times the expected ℓ", PROCESS, replace(PROCESS, ell_scale=6.0)),
    "walk-truth": Case("… truth is a random walk", PROCESS, WALK),
    "reversed": Case("… reversed Gumbel noise", PROCESS, PROCESS, "reversed-gumbel"),
    "normal": Case("… normal noise", PROCESS, PROCESS, "normal"),
    "lasting": Case("… persistent luck within a run", PROCESS, PROCESS, "lasting-gumbel"),
    "lasting-40": Case("… persistent luck within a run, 40 timepoints", PROCESS, PROCESS, "lasting-gumbel", 40),
    "walk": Case("random walk; all as assumed", WALK, WALK),
    "walk-smooth": Case("… truth is a Gaussian process", WALK, PROCESS),
    "walk-normal": Case("… normal noise", WALK, WALK, "normal"),
    "walk-lasting": Case("… persistent luck within a run", WALK, WALK, "lasting-gumbel"),
}


@dataclass(frozen=True)
class Outcome:
    """What one race decided, and what of it was right.

    Attributes:
        case: Name of the case.
        number: The truth's.
        wrong: For each elimination, in order, whether the winner does not truly dominate the loser.
        believed: The posterior's probability of that, when it eliminated.
        first_wrong: Whether the first elimination was wrong, one of those of the same round picked at random; None
            if there was none.
        false: Whether a true member of the Pareto set was eliminated.
        believed_false: The last posterior's probability that one was.
        explained: Whether the set found is the true one up to ε-equivalents.
        finished: Whether all pairs were resolved.
        instances: Instances drawn.
        inference_seconds: Of all rounds.
    """

    case: str
    number: int
    wrong: tuple[bool, ...]
    believed: tuple[float, ...]
    first_wrong: bool | None
    false: bool
    believed_false: float
    explained: bool
    finished: bool
    instances: int
    inference_seconds: float


def race(name: str, number: int) -> Outcome:
    """One race on one truth."""
    case = CASES[name]
    times = np.arange(1.0, case.timepoints + 1)
    truth = prior_truth(case.nature, times, ALGORITHMS, np.random.default_rng([5, number]))
    this = Race(
        truth.names,
        times=times,
        model=case.model,
        alpha=ALPHA,
        epsilon=EPSILON,
        elimination="joint",
        resolution="crossing",
        draws=DRAWS,
        seed=number,
    )
    truly = dominates(truth)
    wrong: list[bool] = []
    believed: list[float] = []
    first: int | None = None
    picker = np.random.default_rng(number)
    for done in rounds_of(this, truth, MOST_INSTANCES, case.noise):
        for loser, winner in done.eliminated.items():
            wrong.append(not truly[truth.names.index(winner), truth.names.index(loser)])
            believed.append(round(1.0 - this.posterior.probability_dominates(winner, loser), 4))
        if done.eliminated and first is None:
            first = int(picker.integers(len(done.eliminated)))
    result = this.result()
    return Outcome(
        case=name,
        number=number,
        wrong=tuple(wrong),
        believed=tuple(believed),
        first_wrong=None if first is None else wrong[first],
        false=any(name in result.eliminated for name in truth.pareto_set),
        believed_false=result.posterior.probability(false_elimination(result.eliminated)),
        explained=is_explained(truth, result.pareto_set, EPSILON),
        finished=result.finished,
        instances=this.state.instances,
        inference_seconds=round(sum(done.inference_seconds for done in result.rounds), 3),
    )


def table(outcomes: Iterable[Outcome]) -> str:
    """One row for each case, in Markdown."""
    by_case: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_case.setdefault(outcome.case, []).append(outcome)
    rows = [_row(CASES[name].says, of) for name, of in by_case.items()]
    head = [
        "model and truth",
        "races",
        "first elimination wrong",
        "all eliminations wrong",
        "… by the posterior",
        "races with a false elimination",
        "… by the posterior",
        "off by more than ε",
        "resolved",
        "instances (median)",
    ]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows))


def _row(says: str, of: list[Outcome]) -> list[str]:
    first = [outcome.first_wrong for outcome in of if outcome.first_wrong is not None]
    wrong = [one for outcome in of for one in outcome.wrong]
    believed = [one for outcome in of for one in outcome.believed]
    return [
        says,
        f"{len(of)}",
        _with_interval(sum(first), len(first)),
        f"{sum(wrong)} of {len(wrong)} = {np.mean(wrong):.3f}",
        f"{np.mean(believed):.3f}",
        _with_interval(sum(outcome.false for outcome in of), len(of)),
        f"{np.mean([outcome.believed_false for outcome in of]):.3f}",
        f"{np.mean([not outcome.explained for outcome in of]):.3f}",
        f"{np.mean([outcome.finished for outcome in of]):.0%}",
        f"{np.median([outcome.instances for outcome in of]):.0f}",
    ]


def _with_interval(count: int, of: int) -> str:
    interval = binomtest(count, of).proportion_ci()
    return f"{count / of:.3f} ({interval.low:.3f} to {interval.high:.3f})"


def _read(path: str) -> list[Outcome]:
    records = [json.loads(line) for line in Path(path).read_text().splitlines()]
    return [
        Outcome(**{**record, "wrong": tuple(record["wrong"]), "believed": tuple(record["believed"])})
        for record in records
    ]


def main(name: str | None = None, *rest: str) -> None:
    """Print outcomes, or their table."""
    if name is None:
        print(table(race(case, number) for case in CASES for number in range(100)))
    elif name == "table":
        print(table(outcome for path in rest for outcome in _read(path)))
    else:
        for number in range(int(rest[0]) if rest else 100):
            print(json.dumps(asdict(race(name, number))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
