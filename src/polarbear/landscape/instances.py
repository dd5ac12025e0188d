"""Similarity of a function's instances: features on common designs (Vermetten 2025, section 3.2)."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from polarbear.assess.functions import function_of
from polarbear.extras import optional
from polarbear.landscape.design import Design
from polarbear.landscape.exploration import latin_hypercube
from polarbear.landscape.features import SETS, feature_names, features
from polarbear.landscape.two_samples import rejections
from polarbear.protocols import Problem, ProblemSpec, identity_of, traits_of
from polarbear.quantities import plural
from polarbear.records import FloatArray
from polarbear.store.atomic import make_directory, write_atomically

if TYPE_CHECKING:
    import polars as pl

Embedding = Literal["t-sne", "umap"]
INTERCEPT = "ela_meta.lin_simple.intercept"
"""Feature left out of embeddings, since it is not invariant to the scale of values and differs most (figure 3.12)."""
_FEWEST = 4
"""Minimum number of instances for an embedding."""


@dataclass(frozen=True, eq=False)
class InstanceFeatures:
    """Features of instances on common designs.

    Attributes:
        functions: (k,) suite, function and dimension of each problem, such as ``"bbob-f1-d5"``.
        instances: (k,) names of the problems.
        names: (m,) names of the features.
        values: (k, designs, m) values of the features.
    """

    functions: tuple[str, ...]
    instances: tuple[str, ...]
    names: tuple[str, ...]
    values: FloatArray

    def of(self, function: str) -> FloatArray:
        """(instances, designs, m) features of a function's instances."""
        return self.values[[i for i, name in enumerate(self.functions) if name == function]]

    def rejection_rates(self, *, alpha: float = 0.05) -> tuple[tuple[str, ...], FloatArray]:
        """The functions, and the share of pairs of instances whose features differ, (functions, m) (figure 3.11).

        Kolmogorov–Smirnov tests of all pairs, Benjamini–Hochberg corrected by function and feature; NaN for features
        that some instance lacks.

        Raises:
            ValueError: If a function has fewer than two instances.
            ExtraMissing: If numba is not installed.
        """
        functions = tuple(dict.fromkeys(self.functions))
        rates = np.full((len(functions), len(self.names)), np.nan)
        for row, function in zip(rates, functions, strict=True):
            samples = self.of(function)
            if len(samples) < 2:
                raise ValueError(f"{function} has one instance; a comparison needs two")
            for j in np.flatnonzero(np.isfinite(samples).all(axis=(0, 1))):
                row[j] = rejections(samples[:, :, j], alpha=alpha).mean()
        return functions, rates

    def embedding(self, method: Embedding = "t-sne", *, seed: int = 0, neighbours: float = 30.0) -> FloatArray:
        """(k, 2) t-SNE or UMAP of the instances by their mean features, standardized, without the intercept.

        Features that are constant, or that some instance lacks, are left out (figure 3.12).

        Args:
            method: "t-sne" by scikit-learn, or "umap" by umap-learn.
            seed: Seed of the method.
            neighbours: Approximate number of neighbours considered: the perplexity of t-SNE, lowered for few instances.

        Raises:
            ValueError: If there are fewer than four instances, or fewer than two features that distinguish them.
            ExtraMissing: If scikit-learn or umap-learn is not installed.
        """
        chosen = self._standardized()
        if not self.embeddable:
            raise ValueError(
                f"{plural(chosen, 'instance')} with {plural(chosen.shape[1], 'varying feature')} cannot be embedded; "
                f"give at least {_FEWEST} instances and 2 varying features"
            )
        what, few = f"the embedding of instances by {method}", min(neighbours, (len(chosen) - 1) / 3)
        if method == "umap":
            fitted = optional("umap", "umap", what).UMAP(n_neighbors=max(int(few), 2), random_state=seed)
        else:
            fitted = optional("sklearn.manifold", "landscape", what).TSNE(perplexity=few, random_state=seed)
        return np.asarray(fitted.fit_transform(chosen), dtype=np.float64)

    @property
    def embeddable(self) -> bool:
        """Whether there are enough instances, and features that distinguish them."""
        instances, features = self._standardized().shape
        return instances >= _FEWEST and features >= 2

    def _standardized(self) -> FloatArray:
        """(k, s) standardized mean features, without the intercept, constant features and those that some lack."""
        means = self.values.mean(axis=1)
        chosen = means[:, np.isfinite(means).all(axis=0) & [name != INTERCEPT for name in self.names]]
        chosen = chosen[:, chosen.std(axis=0) > 0]
        return (chosen - chosen.mean(axis=0)) / chosen.std(axis=0)

    def frame(self) -> pl.DataFrame:
        """A table with one row per instance and design: function, instance, design, and the features."""
        import polars as pl

        k, designs, _ = self.values.shape
        columns: dict[str, Any] = {
            "function": np.repeat(self.functions, designs),
            "instance": np.repeat(self.instances, designs),
            "design": [*range(designs)] * k,
        }
        columns |= {name: self.values[:, :, j].ravel() for j, name in enumerate(self.names)}
        return pl.DataFrame(columns, nan_to_null=True)


def by_box(problems: Sequence[ProblemSpec]) -> list[tuple[ProblemSpec, ...]]:
    """Group problems by their box, so that features of a group can be computed on common designs.

    Raises:
        ValueError: If a problem is noisy, or has integer variables or several objectives.
    """
    groups: dict[bytes, list[ProblemSpec]] = {}
    for spec in problems:
        groups.setdefault(_box(spec.build()), []).append(spec)
    return [tuple(group) for group in groups.values()]


def _box(problem: Problem) -> bytes:
    traits = traits_of(problem)
    if traits.noisy or traits.objectives > 1 or traits.integer_mask is not None:
        raise ValueError(
            f"{problem.name} is noisy, or has integer variables or several objectives; features need one noise-free "
            "objective of continuous variables"
        )
    return problem.lower.tobytes() + problem.upper.tobytes()


def instances(
    problems: Sequence[ProblemSpec],
    *,
    designs: int = 100,
    points: int = 1000,
    sets: Sequence[str] = tuple(SETS),
    path: str | Path | None = None,
    executor: Executor | None = None,
    seed: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> InstanceFeatures:
    """Compute features of problems on common Latin hypercube designs.

    Args:
        problems: Instances with a common box, such as
            ``BBOB(functions="1-24", dimensions=5, instances="1-50").grid()``.
        designs: Number of designs.
        points: Number of points per design.
        sets: Names of sets of features.
        path: Directory that keeps the features of each design, so that an interrupted call can be resumed.
        executor: Executor for running designs in other processes, such as `polarbear.experiment.WorkerPool`; default
            this process.
        seed: Seed of the first design; the others count up from it.
        progress: Function called with the number of designs done, and of all designs.

    Raises:
        ValueError: If the problems do not share a box, or the directory holds features of something else.
    """
    specs = tuple(problems)
    calls = ((i, (specs, points, tuple(sets), seed + i)) for i in range(designs))
    parts: dict[int, FloatArray] = {}
    for i, part in _results(calls, None if path is None else Path(path), executor):
        parts[i] = part
        if progress:
            progress(len(parts), designs)
    return InstanceFeatures(
        tuple(function_of(identity_of(spec)) for spec in specs),
        tuple(spec.name for spec in specs),
        feature_names(sets),
        np.stack([parts[i] for i in range(designs)], axis=1),
    )


_Call = tuple[tuple[ProblemSpec, ...], int, tuple[str, ...], int]


def _results(
    calls: Iterator[tuple[int, _Call]], folder: Path | None, executor: Executor | None
) -> Iterator[tuple[int, FloatArray]]:
    """Number and features of each design, in order of completion; read from the folder if present, else kept there."""
    waiting: dict[Any, tuple[int, _Call]] = {}
    for i, call in calls:
        if folder and (file := folder / f"design-{call[-1]:05}.npz").exists():
            yield i, _read(file, call)
        elif executor:
            waiting[executor.submit(features_on_design, *call)] = i, call
        else:
            yield i, _kept(folder, call, features_on_design(*call))
    for future in as_completed(waiting):
        i, call = waiting[future]
        yield i, _kept(folder, call, future.result())


def _read(file: Path, call: _Call) -> FloatArray:
    with np.load(file) as held:
        if held["made_of"].item() != _made_of(call):
            raise ValueError(f"{file} holds features of other problems, points or sets; choose another directory")
        return held["values"]


def _kept(folder: Path | None, call: _Call, values: FloatArray) -> FloatArray:
    if folder:
        make_directory(folder)
        content = io.BytesIO()
        np.savez_compressed(content, values=values, made_of=np.array(_made_of(call)))
        write_atomically(folder / f"design-{call[-1]:05}.npz", content.getvalue())
    return values


def _made_of(call: _Call) -> str:
    specs, points, sets, _ = call
    return " ".join([*(spec.name for spec in specs), f"{points} points", *sets])


def features_on_design(specs: Sequence[ProblemSpec], points: int, sets: Sequence[str], seed: int) -> FloatArray:
    """(k, m) features of k problems on one design."""
    problems = [spec.build() for spec in specs]
    lower, upper = problems[0].lower, problems[0].upper
    for problem in problems:
        if _box(problem) != _box(problems[0]):
            raise ValueError(
                f"{problem.name} and {problems[0].name} differ in their boxes; compare problems of the same box"
            )
    sample = latin_hypercube(lower, upper, points, seed)
    values = np.array([problem(sample) if problem.minimize else -problem(sample) for problem in problems])
    return features(Design(sample, lower, upper), values, sets).array()
