"""The third case study of Wurth et al. 2026 (section 5.3): different models race on the same runs.

polarbear run examples/gp_bbob_whole.toml --into gp_bbob_whole.study --workers 2
python examples/gp_bbob.py gp_bbob_whole.study [folder]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

import polarbear as pb
from polarbear import figures, inference
from polarbear.figures import Figure

MODELS = {
    "b-spline": inference.BSpline(),
    "instance-bootstrap": inference.InstanceBootstrap(),
    "b-spline-as-published": inference.BSpline(repeated="as published"),
}
TIMES = np.linspace(0.1, 3.0, 30)
"""Seconds, a tenth of the paper's."""


def race(runs: Sequence[pb.Run], model: inference.Model) -> pb.study.Replay:
    """A race with the settings of section 5.3, in which recorded runs answer."""
    settings = {"alpha": 0.99, "epsilon": 0.05, "elimination": "joint", "resolution": "crossing"}
    contest = pb.study.recorded_race(runs, times=TIMES, model=model, axis="seconds", seed=1, **settings)
    return pb.study.replay(contest, runs)


def tell(model: str, found: pb.study.Replay) -> None:
    """Print what a race came to, who was eliminated when, and who is worth most where any budget is as likely."""
    result = found.result
    print(f"\n{model}: {len(result.rounds)} rounds\n{found}")
    for this in result.rounds:
        print(f"  {this.instances:4} instances: eliminated {', '.join(this.eliminated) or 'none'}")
    for pair in result.undecided:
        print(f"  undecided: {pair.first} and {pair.second}; about {pair.more_instances:.0f} more instances needed")
    values = result.posterior.draws.mean(axis=1)
    for name, value in sorted(zip(result.posterior.names, values.T, strict=True), key=lambda each: -each[1].mean()):
        low, high = np.quantile(value, [0.025, 0.975])
        print(f"  {name:14} {value.mean():.3f} ({low:.3f} to {high:.3f})")


def draw(model: str, result: pb.RaceResult, order: Sequence[str]) -> dict[str, Figure]:
    """Ratings and values (figure 11) and dominance over the rounds (figure 12)."""
    posterior, out = result.posterior, tuple(result.eliminated)
    return {
        f"ratings-{model}": figures.rating_over_time(posterior, eliminated=out, axis="seconds"),
        f"values-{model}": figures.preference_values(posterior, algorithms=result.pareto_set),
        f"dominance-{model}": figures.dominance_over_rounds(result.rounds, alpha=result.settings.alpha, names=order),
    }


def save(pictures: dict[str, Figure], folder: Path) -> None:
    """Write figures as small PNG files."""
    folder.mkdir(parents=True, exist_ok=True)
    for what, figure in pictures.items():
        path = folder / f"gp-bbob-{what}.png"
        figure.savefig(path, dpi=110)
        Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)
        print(path)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    runs, folder = pb.store.read(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else ".")
    for name, model in MODELS.items():
        found = race(runs, model)
        tell(name, found)
        save(draw(name, found.result, found.result.posterior.names), folder)
