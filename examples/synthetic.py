"""The three synthetic studies of Wurth et al. (2026, section 5.1): a race on a known truth, and two pictures of it.

python examples/synthetic.py crossing [folder]       5 algorithms, 20 timepoints: two that cross, three dominated
python examples/synthetic.py winner [folder]         10 algorithms, 100 timepoints: one dominates all others
python examples/synthetic.py equivalence [folder]    10 algorithms, 50 timepoints: four members, two near-equivalents
python examples/synthetic.py search STUDY [seeds]    how the truths were chosen

Ratings come from a Matérn-3/2 process with σ ~ LogNormal(0, 0.5) and ℓ ~ InvGamma(5, 3). Inference assumes
ℓ ~ InvGamma(5, 2), i.e. ratings that change faster than they do. The paper does not print its truths; these are draws
of the same character, found by `search`, with algorithms named so that the Pareto sets have the paper's names.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

import polarbear as pb
from polarbear.inference import GaussianProcess, HilbertSpaceGaussianProcess, Model, SparseGaussianProcess
from polarbear.simulate import Truth, prior_truth

NATURE = GaussianProcess(ell_scale=3.0)
ALPHA, EPSILON = 0.99, 0.05


@dataclass(frozen=True)
class Study:
    """One study: its truth, its model, and what the truth was chosen for.

    Attributes:
        names: Of the algorithms, in the order in which the truth was drawn.
        timepoints: Their number.
        model: With which to race.
        seed: Of the truth.
        character: Whether a truth is such as the study needs.
    """

    names: str
    timepoints: int
    model: Model
    seed: int
    character: Callable[[Truth], bool]

    def truth(self, seed: int) -> Truth:
        """The truth of a seed, algorithms in alphabetical order; one timepoint is one evaluation."""
        times = np.arange(1.0, self.timepoints + 1)
        drawn = prior_truth(NATURE, times, tuple(self.names), np.random.default_rng(seed))
        return Truth(times, drawn.ratings[:, np.argsort(drawn.names)], tuple(sorted(drawn.names)))


def advantage(truth: Truth) -> np.ndarray:
    """(n, n) the smallest win probability of i against j over time, less ½: positive if i dominates j."""
    ratings = truth.ratings
    win = ratings[:, :, np.newaxis] / (ratings[:, :, np.newaxis] + ratings[:, np.newaxis, :])
    return win.min(axis=0) - 0.5


def crosses(truth: Truth) -> bool:
    """Two members; one dominates the three others, one of them barely, and the other member leads by little."""
    found, lead = advantage(truth), -advantage(truth)
    members = [truth.names.index(name) for name in truth.pareto_set]
    if len(members) != 2:
        return False
    for a, b in (members, members[::-1]):
        others = sorted(np.delete(found[a], members))
        if 0.06 < others[0] < 0.11 and others[1] > 0.2 and 0.07 < lead[a, b] < 0.13:
            return True
    return False


def wins(truth: Truth) -> bool:
    """One member; the others are far behind but for one that comes close at the end."""
    if len(truth.pareto_set) != 1:
        return False
    (a,) = (truth.names.index(name) for name in truth.pareto_set)
    found = np.where(np.arange(len(truth.names)) == a, 1.0, advantage(truth)[a])
    closest = np.argmin(found)
    ratio = truth.ratings[:, closest] / truth.ratings[:, a]
    return 0.05 < found[closest] < 0.12 and np.sort(found)[1] > 0.2 and np.argmax(ratio) > 0.85 * truth.times.size


def ties(truth: Truth) -> bool:
    """Four members that cross clearly; two that one of them dominates, by less than ε at some time; four far behind."""
    members = [truth.names.index(name) for name in truth.pareto_set]
    if len(members) != 4:
        return False
    found = advantage(truth)
    most, others = found.max(axis=0), np.delete(np.arange(len(truth.names)), members)
    near = [j for j in others if most[j] < 0.04]
    far = [j for j in others if most[j] > 0.15]
    clear = all(found[i, j] < -0.08 for i in members for j in members if i != j)
    return clear and len(near) == 2 and len(far) == 4 and len({np.argmax(found[:, j]) for j in near}) == 1


STUDIES = {
    "crossing": Study("BCDAE", 20, GaussianProcess(), 2867, crosses),
    "winner": Study("CDEFBGHAIJ", 100, HilbertSpaceGaussianProcess(), 292, wins),
    "equivalence": Study("BGCEJFADHI", 50, SparseGaussianProcess(inducing=10), 4422, ties),
}


def race(study: Study) -> tuple[pb.Race, Truth, list[pb.figures.Snapshot]]:
    """Race with the paper's settings, and keep what was believed after every round."""
    truth = study.truth(study.seed)
    running = pb.Race(
        truth.names,
        times=truth.times,
        model=study.model,
        alpha=ALPHA,
        epsilon=EPSILON,
        elimination="joint",
        resolution="crossing",
        batch=8,
        smallest_batch=8,
        largest_batch=64,
    )
    believed: list[pb.figures.Snapshot] = []
    while requests := running.ask():
        this = running.tell(truth.run(request.key, request.until) for request in requests)
        title = f"round {this.number}, {this.instances} instances"
        believed.append(pb.figures.Snapshot(title, running.posterior, tuple(running.state.eliminated)))
        settled = f"settled {', '.join(this.settled)}" if this.settled else ""
        out = f"eliminated {', '.join(this.eliminated)}" if this.eliminated else ""
        print(f"{title:>26}  {out:40} {settled}")
    return running, truth, believed


def show(name: str, folder: Path) -> None:
    """Race, print what happened, and draw the counterparts of the paper's figures 2 to 5."""
    folder.mkdir(parents=True, exist_ok=True)
    running, truth, believed = race(STUDIES[name])
    print(f"true Pareto set {', '.join(truth.pareto_set)}; recovered {', '.join(running.pareto_set)}")
    rounds = np.unique(np.linspace(0, len(believed) - 1, 4).round().astype(int))
    pictures = {
        "recovery": pb.figures.recovery(truth, [believed[index] for index in rounds]),
        "dominance": pb.figures.dominance_over_rounds(running.rounds, alpha=ALPHA, names=truth.names),
    }
    for what, figure in pictures.items():
        path = folder / f"{name}-{what}.png"
        figure.savefig(path, dpi=130)
        Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)  # to a third of the size
        print(path)


def search(name: str, seeds: int) -> None:
    """Print the seeds below `seeds` whose truths have the study's character; names are those of the study."""
    study = STUDIES[name]
    for seed in range(seeds):
        truth = study.truth(seed)
        if study.character(truth):
            print(seed, "Pareto set", ", ".join(truth.pareto_set), flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["search", name, *seeds]:
            search(name, int(seeds[0]) if seeds else 3000)
        case [name, *where] if name in STUDIES:
            show(name, Path(where[0] if where else "."))
        case _:
            sys.exit(__doc__)
