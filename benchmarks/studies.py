"""The three set-ups of Wurth et al. (2026), section 5.1, over many random truths: what is recovered, at what cost?

python -m benchmarks.studies                    all, 100 truths each: the table for docs/background/synthetic-studies.md
python -m benchmarks.studies SET-UP [truths]    one line of JSON per truth of crossing, winner or equivalence
python -m benchmarks.studies table FILE...      the table from such lines
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.judge import is_explained, rounds_of, with_interval
from polarbear import Race
from polarbear.inference import GaussianProcess, HilbertSpaceGaussianProcess, Model, SparseGaussianProcess
from polarbear.simulate import Truth, prior_truth

ALPHA, EPSILON = 0.99, 0.05
MOST_INSTANCES = 2000
NATURE = GaussianProcess(ell_scale=3.0)
"""Where truths come from: ℓ ~ InvGamma(5, 3). Inference expects InvGamma(5, 2), the models' default."""


@dataclass(frozen=True)
class SetUp:
    """One of the paper's three set-ups."""

    algorithms: int
    timepoints: int
    model: Model

    def truth(self, number: int) -> Truth:
        """A random truth."""
        times = np.arange(1.0, self.timepoints + 1)
        return prior_truth(NATURE, times, self.algorithms, np.random.default_rng([2026, number]))

    def race(self, truth: Truth, seed: int) -> Race:
        """The race, with the paper's settings."""
        return Race(
            truth.names,
            times=truth.times,
            model=self.model,
            alpha=ALPHA,
            epsilon=EPSILON,
            elimination="joint",
            resolution="crossing",
            batch=8,
            smallest_batch=8,
            largest_batch=64,
            seed=seed,
        )


SET_UPS = {
    "crossing": SetUp(5, 20, GaussianProcess()),
    "winner": SetUp(10, 100, HilbertSpaceGaussianProcess()),
    "equivalence": SetUp(10, 50, SparseGaussianProcess(inducing=10)),
}


@dataclass(frozen=True)
class Finding:
    """What one race found.

    Attributes:
        setup: Name of the set-up.
        number: The truth's.
        truth: The true Pareto set.
        found: The recovered one.
        explained: Whether they agree up to ε-equivalents.
        finished: Whether every pair was resolved within the most instances allowed.
        instances: Instances drawn.
        rounds: Rounds.
        runs: Runs.
        evaluations: Evaluations of all runs; one timepoint is one evaluation.
        to_the_end: Evaluations that all algorithms on all instances to the last timepoint would have taken.
        inference_seconds: Wall-clock seconds of all posteriors.
        smallest_ess: Of all posteriors.
        largest_k_hat: Of all posteriors.
    """

    setup: str
    number: int
    truth: tuple[str, ...]
    found: tuple[str, ...]
    explained: bool
    finished: bool
    instances: int
    rounds: int
    runs: int
    evaluations: int
    to_the_end: float
    inference_seconds: float
    smallest_ess: float
    largest_k_hat: float

    @property
    def false_eliminations(self) -> int:
        """True members that were eliminated."""
        return len(set(self.truth) - set(self.found))

    @property
    def kept(self) -> int:
        """Dominated algorithms that were not eliminated."""
        return len(set(self.found) - set(self.truth))


def study(name: str, number: int) -> Finding:
    """One race on one truth."""
    setup = SET_UPS[name]
    truth = setup.truth(number)
    race = setup.race(truth, seed=number)
    rounds = list(rounds_of(race, truth, MOST_INSTANCES))
    result = race.result()
    return Finding(
        setup=name,
        number=number,
        truth=truth.pareto_set,
        found=result.pareto_set,
        explained=is_explained(truth, result.pareto_set, EPSILON),
        finished=result.finished,
        instances=rounds[-1].instances,
        rounds=len(rounds),
        runs=rounds[-1].runs,
        evaluations=result.evaluations,
        to_the_end=result.evaluations_to_the_end,
        inference_seconds=round(sum(this.inference_seconds for this in rounds), 3),
        smallest_ess=round(min(this.smallest_ess for this in rounds)),
        largest_k_hat=round(max(this.largest_k_hat or 0.0 for this in rounds), 2),
    )


def table(findings: Iterable[Finding]) -> str:
    """The findings of each set-up side by side, in Markdown."""
    by_setup: dict[str, list[Finding]] = {}
    for finding in findings:
        by_setup.setdefault(finding.setup, []).append(finding)
    columns = {name: _column(name, of) for name, of in by_setup.items()}
    lines = ["| | " + " | ".join(columns) + " |", "|---|" + "---|" * len(columns)]
    rows = next(iter(columns.values()))
    lines += [f"| {row} | " + " | ".join(column[row] for column in columns.values()) + " |" for row in rows]
    return "\n".join(lines)


def _column(name: str, of: list[Finding]) -> dict[str, str]:
    setup, n = SET_UPS[name], len(of)
    algorithms, timepoints, model = setup.algorithms, setup.timepoints, setup.model
    members = np.array([len(finding.truth) for finding in of])
    wrong = sum(finding.false_eliminations > 0 for finding in of)
    eliminated = sum(algorithms - len(finding.found) for finding in of)
    false = sum(finding.false_eliminations for finding in of)
    kept = sum(finding.kept for finding in of)
    return {
        "algorithms, timepoints, model": f"{algorithms}, {timepoints}, {model.name}",
        "truths; members of the Pareto set": f"{n}; {members.mean():.1f} ({members.min()} to {members.max()})",
        "Pareto set recovered exactly": _share(sum(set(f.truth) == set(f.found) for f in of), n),
        "… up to ε-equivalents": _share(sum(f.explained for f in of), n),
        "races with a false elimination": with_interval(wrong, n),
        "eliminations that were false": f"{false} of {eliminated}",
        "dominated algorithms kept": f"{kept} of {int(sum(algorithms - members))}",
        f"resolved within {MOST_INSTANCES:,} instances": _share(sum(f.finished for f in of), n),
        "instances": _quartiles([f.instances for f in of], ",.0f"),
        "rounds": _quartiles([f.rounds for f in of], ".0f"),
        "runs saved": _quartiles([100 * (1 - f.runs / (f.instances * algorithms)) for f in of], ".0f", " %"),
        "evaluations saved": _quartiles([100 * (1 - f.evaluations / f.to_the_end) for f in of], ".0f", " %"),
        "seconds of inference": _quartiles([f.inference_seconds for f in of], ".1f"),
        "smallest ESS, largest k-hat": f"{min(f.smallest_ess for f in of):,.0f}, {max(f.largest_k_hat for f in of)}",
    }


def _share(count: int, of: int) -> str:
    return f"{count / of:.0%}"


def _quartiles(values: list[float] | list[int], form: str, unit: str = "") -> str:
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return f"{middle:{form}}{unit} ({low:{form}} to {high:{form}})"


def _read(path: str) -> list[Finding]:
    records = [json.loads(line) for line in Path(path).read_text().splitlines()]
    return [
        Finding(**{**record, "truth": tuple(record["truth"]), "found": tuple(record["found"])}) for record in records
    ]


def main(name: str | None = None, *rest: str) -> None:
    """Print findings, or their table."""
    if name is None:
        print(table(study(setup, number) for setup in SET_UPS for number in range(100)))
    elif name == "table":
        print(table(finding for path in rest for finding in _read(path)))
    else:
        for number in range(int(rest[0]) if rest else 100):
            print(json.dumps(asdict(study(name, number))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
