"""Training and test data of selectors: features of problems, and the losses of algorithms there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.assess import Bounds, aocc, step_functions
from polarbear.descriptions import did_you_mean
from polarbear.landscape import InstanceFeatures, changed_by
from polarbear.rankings.rankings import checked_names
from polarbear.records import FloatArray, Run

PRECISIONS = Bounds(1e-8, 100.0, log=True)
"""Range of precisions for the area over the convergence curve (Vermetten 2025, section 2.4)."""

_LOSS = "loss:"
"""Prefix of the names of loss columns."""


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """Features and losses of P cases; a case is a problem, or a repetition on it.

    Attributes:
        algorithms: Names of the n algorithms.
        losses: (P, n) loss of each algorithm, to be minimized.
        features: Names of the m features.
        values: (P, m) values of the features; NaN where unknown.
        functions: (P,) function of each case; cases of the same function are not independent.
        instances: (P,) instance of each case.

    Raises:
        ValueError: If shapes do not match, names repeat, a loss is not finite, or a feature is infinite.
    """

    algorithms: tuple[str, ...]
    losses: FloatArray
    features: tuple[str, ...]
    values: FloatArray
    functions: tuple[str, ...]
    instances: tuple[str, ...]

    def __post_init__(self) -> None:
        if np.ndim(self.losses) != 2 or np.ndim(self.values) != 2 or not len(self.losses):
            raise ValueError(
                f"losses have shape {np.shape(self.losses)} and values have shape {np.shape(self.values)}; "
                "they must be (P, n) and (P, m), with P at least 1"
            )
        checked_names(self.algorithms, self.losses.shape[1])
        checked_names(self.features, self.values.shape[1])
        sizes = {"values": len(self.values), "functions": len(self.functions), "instances": len(self.instances)}
        for name, size in sizes.items():
            if size != len(self.losses):
                raise ValueError(f"{name} has {size} entries for {len(self.losses)} cases; it must have one for each")
        if not np.isfinite(self.losses).all():
            row, column = (int(i) for i in np.argwhere(~np.isfinite(self.losses))[0])
            raise ValueError(
                f"the loss of {self.algorithms[column]!r} on {self.instances[row]} is {self.losses[row, column]}; "
                "leave the case out, or give a finite loss for a failed algorithm"
            )
        if np.isinf(self.values).any():
            row, column = (int(i) for i in np.argwhere(np.isinf(self.values))[0])
            raise ValueError(
                f"feature {self.features[column]!r} of {self.instances[row]} is {self.values[row, column]}; "
                "it must be finite, or NaN where unknown"
            )

    @classmethod
    def of(
        cls,
        losses: Mapping[str, ArrayLike],
        features: Mapping[str, ArrayLike],
        *,
        functions: Sequence[object],
        instances: Sequence[object] | None = None,
    ) -> Cases:
        """Make cases from columns by name; by default, all instances are different.

        Raises:
            ValueError: If the length of a column is not that of `functions`, or as in the class.
        """
        return cls(
            tuple(losses),
            _columns("losses", losses, len(functions)),
            tuple(features),
            _columns("features", features, len(functions)),
            tuple(map(str, functions)),
            tuple(map(str, range(len(functions)) if instances is None else instances)),
        )

    @classmethod
    def of_runs(cls, features: Iterable[InstanceFeatures], runs: Iterable[Run], budget: float) -> Cases:
        """Make cases from features of instances, averaged over designs, and recorded runs on them.

        Features that change when values are shifted or scaled are left out, since both are arbitrary. The loss is 1
        minus the mean normalized area over the convergence curve of an algorithm's runs up to the budget, for
        precisions from 1e2 to 1e-8 on a logarithmic scale.

        Args:
            features: Features of each box, as returned by `polarbear.landscape.instances`.
            runs: Runs of every algorithm on every instance, with known optima.
            budget: Number of evaluations.

        Raises:
            ValueError: If an algorithm has no run on some instance, or an optimum is unknown.
        """
        where: dict[str, tuple[str, FloatArray, tuple[str, ...]]] = {}
        for found in features:
            for function, instance, values in zip(found.functions, found.instances, found.values, strict=True):
                where[instance] = function, values.mean(axis=0), found.names
        areas: dict[tuple[str, str], list[float]] = {}
        for run in runs:
            if run.key.instance not in where:
                continue
            curve = step_functions([run], precision=True)
            area = float(aocc(curve, times=Bounds(1, budget + 1), values=PRECISIONS)[0])
            areas.setdefault((run.key.instance, run.key.algorithm), []).append(area)
        instances = tuple(name for name in where if any(key[0] == name for key in areas))
        algorithms = tuple(dict.fromkeys(algorithm for _, algorithm in areas))
        for instance in instances:
            for algorithm in algorithms:
                if (instance, algorithm) not in areas:
                    raise ValueError(
                        f"{algorithm!r} has no run on {instance}; a selector needs runs of all algorithms on it"
                    )
        if not instances:
            raise ValueError("none of the runs is on an instance whose features are known")
        names = where[instances[0]][2]
        kept = np.array([changed_by(name) is None for name in names])
        return cls(
            algorithms,
            np.array([[1 - float(np.mean(areas[name, each])) for each in algorithms] for name in instances]),
            tuple(name for name, keep in zip(names, kept, strict=True) if keep),
            np.stack([where[name][1][kept] for name in instances]),
            tuple(where[name][0] for name in instances),
            instances,
        )

    @classmethod
    def of_table(cls, path: str | Path) -> Cases:
        """Read a CSV file with ``function``, optionally ``instance``, ``loss:NAME`` of each algorithm, and features.

        Empty cells of features are unknown values.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If a column is missing or duplicated, a function or instance is empty, or a cell is not a
                number.
        """
        import polars as pl

        try:
            table = pl.read_csv(path, infer_schema=False)
        except pl.exceptions.PolarsError as error:
            raise ValueError(f"{path} is not a table: {error}") from error
        header = pl.read_csv(path, infer_schema=False, has_header=False, n_rows=1).row(0)
        if twice := [name for name in header if header.count(name) > 1]:
            raise ValueError(
                f"{path} has {header.count(twice[0])} columns named {twice[0] or ''!r}; names must be unique"
            )
        losses = [name for name in table.columns if name.startswith(_LOSS)]
        features = [name for name in table.columns if name not in {*losses, "function", "instance"}]
        if "function" not in table.columns or not losses:
            raise ValueError(f"{path} needs a column function, and a column loss:NAME for each algorithm")

        def numbers(name: str) -> FloatArray:
            column = table[name].cast(pl.Float64, strict=False)
            if (wrong := column.is_null() & table[name].is_not_null()).any():
                row = int(wrong.arg_true()[0])
                raise ValueError(f"{path}, row {row + 2}: {name} is {table[name][row]!r}; it must be a number")
            return column.fill_null(float("nan")).to_numpy()

        for name in {"function", "instance"}.intersection(table.columns):
            if (empty := table[name].fill_null("") == "").any():
                row = int(empty.arg_true()[0])
                raise ValueError(f"{path}, row {row + 2}: {name} is empty; give its name")
        return cls.of(
            {name.removeprefix(_LOSS): numbers(name) for name in losses},
            {name: numbers(name) for name in features},
            functions=table["function"].to_list(),
            instances=table["instance"].to_list() if "instance" in table.columns else None,
        )

    def among(self, some: NDArray[np.bool_]) -> Cases:
        """The cases selected by the mask (P,)."""
        return Cases(
            self.algorithms,
            self.losses[some],
            self.features,
            self.values[some],
            tuple(np.array(self.functions)[some].tolist()),
            tuple(np.array(self.instances)[some].tolist()),
        )

    def knowing(self, features: Sequence[str]) -> Cases:
        """The cases with only these features.

        Raises:
            ValueError: If there is no such feature.
        """
        if missing := [name for name in features if name not in self.features]:
            raise ValueError(f"there is no feature {missing[0]!r};{did_you_mean(missing[0], self.features)}")
        columns = [self.features.index(name) for name in features]
        return replace(self, features=tuple(features), values=self.values[:, columns])

    @property
    def best(self) -> FloatArray:
        """(P, n) 1 for the best algorithm of each case, else 0; ties share the 1."""
        least = self.losses == self.losses.min(axis=1, keepdims=True)
        return least / least.sum(axis=1, keepdims=True)

    @property
    def groups(self) -> NDArray[np.intp]:
        """(P,) indices of the functions, from 0."""
        return np.unique(np.array(self.functions), return_inverse=True)[1].reshape(-1)

    @property
    def single_best(self) -> str:
        """The algorithm with the least mean loss, all functions having equal weight."""
        return self.algorithms[int((self._weights @ self.losses).argmin())]

    @property
    def shares_of_best(self) -> FloatArray:
        """(n,) share of cases in which each algorithm is the best, all functions having equal weight."""
        return self._weights @ self.best

    @property
    def _weights(self) -> FloatArray:
        """(P,) weights of the cases that sum to 1 and give all functions equal weight."""
        groups = self.groups
        sizes = np.bincount(groups)
        return 1 / (sizes.size * sizes[groups])


def _columns(what: str, columns: Mapping[str, ArrayLike], cases: int) -> FloatArray:
    """(P, c) array from columns of P numbers."""
    arrays = {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}
    for name, array in arrays.items():
        if array.shape != (cases,):
            raise ValueError(
                f"column {name!r} of {what} has shape {array.shape}; it must be {(cases,)} for {cases} functions"
            )
    return np.stack(list(arrays.values()), axis=1) if arrays else np.empty((cases, 0))
