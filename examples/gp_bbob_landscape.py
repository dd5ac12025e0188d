"""A GP-BBOB function of two variables: its weights, its sparsity, its landscape (Wurth et al. 2026, figure 13).

python examples/gp_bbob_landscape.py [index [picture.png]]       index in the stream GPBBOB(dimension=2, seed=13)
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.colors import BoundaryNorm, LinearSegmentedColormap, LogNorm, PowerNorm
from matplotlib.figure import Figure

from polarbear.figures import style
from polarbear.figures.render.matplotlib import blank, styled
from polarbear.figures.style import SMALL
from polarbear.problems import GPBBOB, GPBBOBProblem

INDEX = 34
SHADES = LinearSegmentedColormap.from_list("shades", list(style.SHADES))
STREAM = GPBBOB(dimension=2, seed=13)
NAMES = (
    "sphere", "ellipsoid", "Rastrigin", "Büche-Rastrigin", "linear slope", "attractive sector", "step ellipsoid",
    "Rosenbrock", "Rosenbrock, rotated", "ellipsoid, rotated", "discus", "bent cigar", "sharp ridge",
    "different powers", "Rastrigin, rotated", "Weierstrass", "Schaffers F7", "Schaffers F7, ill-cond.",
    "Griewank-Rosenbrock", "Schwefel", "Gallagher, 101 peaks", "Gallagher, 21 peaks", "Katsuura", "Lunacek",
)  # fmt: skip
SIDE = 241
"""Points along each side of the grid."""
COLUMNS = 3


def grid() -> np.ndarray:
    """(SIDE², 2) points that cover the box."""
    along = np.linspace(-5, 5, SIDE)
    return np.stack(np.meshgrid(along, along), axis=-1).reshape(-1, 2)


@styled
def landscape(spec: GPBBOBProblem) -> Figure:
    """Weights of all components that exceed 0.001 anywhere, k(x), and the values above the least seen."""
    mixture = spec.mixture()
    points = grid()
    weights, sparsity, values = mixture.weights(points), mixture.sparsity(points), mixture.batch(points)
    shown = np.flatnonzero(weights.max(axis=0) > 0.001)
    rows = max(-(-len(shown) // COLUMNS), 4)
    figure = blank(7.2, max(0.5 + 1.25 * rows, 5.6))
    left, right = figure.subfigures(1, 2, width_ratios=(1.25, 1))
    panels = left.subplots(rows, COLUMNS, sharex=True, sharey=True).ravel()
    for panel, i in zip(panels, shown, strict=False):
        positive = np.ma.masked_equal(weights[:, i], 0)
        picture = panel.imshow(_square(positive), cmap=SHADES, norm=PowerNorm(0.5, 0, 1), **_PLACE)
        panel.set_title(f"f{i + 1} {NAMES[i]}", fontsize=6, fontweight="normal", pad=2)
        panel.spines[:].set_visible(True)
    for panel in panels[len(shown) :]:
        panel.set_axis_off()
    for panel in panels:
        panel.set(xticks=(-5, 0, 5), yticks=(-5, 0, 5))
    left.suptitle("(a) weights w(x), white where 0", fontsize=SMALL, fontweight="bold", x=0.04, ha="left")
    left.colorbar(
        picture, ax=panels, location="bottom", fraction=0.02, pad=0.01, aspect=40, ticks=(0.01, 0.1, 0.25, 0.5, 1)
    )

    above, below = right.subplots(2, 1)
    counts = np.arange(sparsity.min(), sparsity.max() + 2)
    colors = SHADES.resampled(len(counts) - 1)
    drawn = above.imshow(_square(sparsity), cmap=colors, norm=BoundaryNorm(counts - 0.5, colors.N), **_PLACE)
    right.colorbar(drawn, ax=above, ticks=counts[:-1], shrink=0.8)
    above.set_title("(b) active components k(x)", fontsize=SMALL)
    excess = values - values.min()
    floor = np.quantile(excess, 0.001)  # the minimum is 0, which has no logarithm
    drawn = below.imshow(_square(np.maximum(excess, floor)), cmap="viridis", norm=LogNorm(), **_PLACE)
    right.colorbar(drawn, ax=below, shrink=0.8)
    below.plot(*points[values.argmin()], marker="+", color="#D55E00", markersize=8, markeredgewidth=1.5)
    below.set_title("(c) f(x) − f_min, f_min at the cross", fontsize=SMALL)
    for panel in (above, below):
        panel.set(xticks=(-5, 0, 5), yticks=(-5, 0, 5))
    return figure


_PLACE: dict[str, Any] = {"origin": "lower", "extent": (-5, 5, -5, 5), "interpolation": "nearest"}


def _square(values: np.ndarray) -> np.ndarray:
    return values.reshape(SIDE, SIDE)


def draw(index: int, path: Path) -> None:
    """Draw one function of the stream, and print its parameters."""
    spec = STREAM[index]
    print(f"{spec.name}: T {spec.temperature:.2f}, ℓ {spec.lengthscale:.2f}, σ {spec.amplitude:.2f}, ", end="")
    print(f"ℓ_k {spec.sparsity_lengthscale:.2f}, σ_k {spec.sparsity_amplitude:.2f}, y_0 {spec.offset:.0f}")
    landscape(spec).savefig(path, dpi=130)
    print(path)


if __name__ == "__main__":
    mpl.use("agg")
    given = sys.argv[1:]
    draw(int(given[0]) if given else INDEX, Path(given[1] if len(given) > 1 else "gp-bbob.png"))
