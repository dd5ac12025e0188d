"""Figures of the second case study of Wurth et al. 2026 (section 5.2): the race, and full runs of all seven.

polarbear race examples/ma_bbob.toml --into ma_bbob.study --workers 2
polarbear run examples/ma_bbob_whole.toml --into ma_bbob_whole.study --workers 2
python examples/ma_bbob.py ma_bbob.study ma_bbob_whole.study [folder]
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from PIL import Image

import polarbear as pb
from polarbear import assess, figures
from polarbear.figures import Figure

VALUES = assess.Bounds(1e-8, 1e2, log=True)
"""Of the value less the optimum, which is 0 on every instance (section 5.2)."""
PAIRS = (("MXNES", "LPXNES"), ("XNES", "MSR"), ("CSA", "TPA"))
TARGETS = np.geomspace(VALUES.low, VALUES.high, 101)


def of_rounds(path: Path) -> dict[str, Figure]:
    """What was believed after each round in which an algorithm was eliminated, and the last (figure 8)."""
    *earlier, last = pb.study.load(path).result.rounds
    snapshots: list[figures.Snapshot] = []
    for this in (*(each for each in earlier if each.eliminated), last):
        result = pb.study.load(path, after=this.number).result
        title = f"round {this.number}, {this.instances} instances"
        snapshots.append(figures.Snapshot(title, result.posterior, tuple(result.eliminated)))
    return {"rounds": figures.rating_over_rounds(snapshots)}


def of_race(result: pb.RaceResult) -> dict[str, Figure]:
    """Ratings (figure 9a), values (9c and d) and allocation (10)."""
    print(f"{', '.join(result.pareto_set)} after {len(result.values)} instances,", end=" ")
    print(f"{result.evaluations:,} evaluations, {result.saved:.0%} saved; eliminated {result.eliminated}")
    return {
        "ratings": figures.rating_over_time(result.posterior, eliminated=tuple(result.eliminated)),
        "values": figures.preference_values(result.posterior, algorithms=result.pareto_set),
        "allocation": figures.allocation(result),
    }


def of_plan(found: Iterable[pb.Run], posterior: pb.inference.Posterior) -> dict[str, Figure]:
    """ECDF and AOCC (figure 6), and differences of attainment (figure 7)."""
    runs: dict[str, list[pb.Run]] = defaultdict(list)
    for run in found:
        runs[run.key.algorithm].append(run)
    order, budgets, rng = posterior.names, posterior.times, np.random.default_rng(1)
    span = assess.Bounds(1, budgets[-1])
    best = {name: assess.values_at(runs[name], budgets) for name in order}
    share = {name: assess.values_at(assess.attained_share(runs[name], values=VALUES), budgets) for name in order}
    bands = {name: assess.bootstrap_band(share[name], rng=rng) for name in order}
    area = {name: assess.aocc(runs[name], times=span, values=VALUES) for name in order}
    for name in sorted(order, key=lambda name: -area[name].mean()):
        low, middle, high = np.quantile(area[name], [0.25, 0.5, 0.75])
        print(f"{name:14} {len(runs[name])} runs, AOCC {area[name].mean():.3f}: {low:.3f} {middle:.3f} {high:.3f}")
    drawn = {
        "ecdf": figures.attainment_ecdf(
            budgets,
            {name: band.estimate for name, band in bands.items()},
            area={name: float(each.mean()) for name, each in area.items()},
            bands={name: np.stack([band.lower, band.upper]) for name, band in bands.items()},
        )
    }
    for pair in PAIRS:
        first, second = (best[name] for name in pair)
        difference = assess.eaf_difference_grid(first, [second], TARGETS)
        drawn["-".join(pair)] = figures.attainment_difference(
            budgets, TARGETS, difference, pair, order=order, value="value minus the optimum"
        )
    return drawn


def save(pictures: dict[str, Figure], folder: Path) -> None:
    """Write figures as small PNG files."""
    for what, figure in pictures.items():
        path = folder / f"ma-bbob-{what}.png"
        figure.savefig(path, dpi=110)
        Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)
        print(path)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    race, plan, folder = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3] if len(sys.argv) > 3 else ".")
    folder.mkdir(parents=True, exist_ok=True)
    result = pb.study.load(race).result
    save(of_race(result) | of_rounds(race), folder)
    save(of_plan(pb.store.read(plan), result.posterior), folder)
