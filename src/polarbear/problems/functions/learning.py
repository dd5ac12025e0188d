"""Training and tuning of classifiers on small data sets of scikit-learn, with random observations.

Data sets and numbers of variables are those of Wang and Lu (2026); what they leave open is stated here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from polarbear.extras import Extra, optional
from polarbear.problems.functions.control import perceptron
from polarbear.records import FloatArray

IntArray = NDArray[np.int64]

SKLEARN = Extra("sklearn", "learning")
RUNS = 16
"""Number of training runs over which the noise-free value is averaged."""


@cache
def data(name: Literal["breast_cancer", "digits"]) -> tuple[FloatArray, FloatArray]:
    """(n, k) standardized features and (n,) labels 0 or 1; for digits, whether the digit is above 4."""
    loaded = getattr(optional("sklearn.datasets", SKLEARN.name, f"the task {name}"), f"load_{name}")()
    features = np.asarray(loaded.data, dtype=np.float64)
    spread = features.std(axis=0)
    standardized = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    labels = np.asarray(loaded.target)
    return standardized, (labels > 4 if name == "digits" else labels).astype(np.float64)


def log_loss(scores: FloatArray, labels: FloatArray) -> FloatArray:
    """The log loss -log P(label) with P(1) = 1 / (1 + exp(-score))."""
    return np.logaddexp(0.0, scores) - labels * scores


@dataclass(frozen=True)
class LogisticRegression:
    """Hyperparameters of a logistic regression: the log loss on a held-out third after 60 stochastic gradient steps.

    The five variables, each from -1 to 1, are log₁₀ of the learning rate (from -3 to 1), of the L2 penalty (from -6 to
    0) and of the L1 penalty (from -6 to 0), the momentum (from 0 to 0.99), and log₂ of the batch size (from 3 to 7).
    The split of 400 rows, the order of the batches and the initial weights are random.

    Attributes:
        name: The data set.
    """

    name: Literal["breast_cancer", "digits"]
    rows: ClassVar[int] = 400
    steps: ClassVar[int] = 60
    dimension: ClassVar[int] = 5
    half_width: ClassVar[float] = 1.0
    worst: ClassVar[float] = 100.0

    def evaluate(self, points: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """(m,) the loss of a training run with each of the settings (m, 5), and (m,) its mean over `RUNS` runs.

        The latter use the same random numbers for all settings.
        """
        losses = np.array([self._losses(point, rng) for point in points])
        return losses[:, 0], losses[:, 1:].mean(axis=1)

    def _losses(self, point: FloatArray, rng: np.random.Generator) -> FloatArray:
        """(1 + `RUNS`,) the losses of training runs in parallel, of which only the first one depends on `rng`."""
        features, labels = data(self.name)
        share = (np.clip(point, -1.0, 1.0) + 1) / 2
        rate, ridge, lasso = 10 ** (4 * share[0] - 3), 10 ** (6 * share[1] - 6), 10 ** (6 * share[2] - 6)
        momentum, batch = 0.99 * share[3], int(2 ** (3 + 4 * share[4]))
        own, fixed = self._chance(1, batch, rng), self._chance(RUNS, batch, np.random.default_rng(0))
        held, weights = np.concatenate([own[0], fixed[0]]), np.concatenate([own[1], fixed[1]])
        batches = np.concatenate([own[2], fixed[2]])
        offset = np.zeros((len(weights), 1, 1))
        velocity, drift = np.zeros_like(weights), np.zeros_like(offset)
        with np.errstate(over="ignore", invalid="ignore"):
            for step in range(self.steps):
                rows = batches[:, step]
                x = features[rows]
                error = 1 / (1 + np.exp(-(x @ weights + offset))) - labels[rows][..., None]
                gradient = np.swapaxes(x, 1, 2) @ error / batch + ridge * weights + lasso * np.sign(weights)
                velocity = momentum * velocity - rate * gradient
                drift = momentum * drift - rate * error.mean(axis=1, keepdims=True)
                weights, offset = weights + velocity, offset + drift
            scores = (features[held] @ weights + offset)[..., 0]
            loss = log_loss(scores, labels[held]).mean(axis=1)
        return np.where(loss < self.worst, loss, self.worst)

    def _chance(self, runs: int, batch: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray, IntArray]:
        """Held-out rows (r, n), initial weights (r, k, 1) and rows of each batch (r, steps, b) of r training runs."""
        features = data(self.name)[0]
        order = rng.permuted(np.tile(np.arange(len(features)), (runs, 1)), axis=1)
        held, train = order[:, : self.rows // 3], order[:, self.rows // 3 : self.rows]
        weights = 0.01 * rng.standard_normal((runs, features.shape[1], 1))
        drawn = rng.integers(train.shape[1], size=(self.steps, runs, batch)).swapaxes(0, 1)
        return held, weights, np.take_along_axis(train[:, None], drawn, axis=2)


@dataclass(frozen=True)
class Perceptron:
    """Weights of a perceptron of 64, 4 and 1 units that tells the digit 0 from others: the log loss on a mini-batch.

    Attributes:
        batch: Number of rows, of 256, in a batch, drawn anew for each observation.
    """

    batch: int = 16
    rows: ClassVar[int] = 256
    hidden: ClassVar[int] = 4
    dimension: ClassVar[int] = 64 * hidden + 2 * hidden + 1
    half_width: ClassVar[float] = 5.0

    def evaluate(self, points: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """The results of `observe`, (m,), and `value`, (m,)."""
        return self.observe(points, rng), self.value(points)

    def observe(self, points: FloatArray, rng: np.random.Generator) -> FloatArray:
        """(m,) the loss of weights (m, 265), each on its own batch."""
        batches = rng.permuted(np.broadcast_to(np.arange(self.rows), (len(points), self.rows)), axis=1)[:, : self.batch]
        features, labels = _zeros(self.rows)
        scores = perceptron(points, features[batches], self.hidden)
        return log_loss(scores, labels[batches]).mean(axis=1)

    def value(self, points: FloatArray) -> FloatArray:
        """(m,) the loss on all rows."""
        features, labels = _zeros(self.rows)
        repeated = np.broadcast_to(features, (len(points), *features.shape))
        return log_loss(perceptron(points, repeated, self.hidden), labels).mean(axis=1)


@cache
def _zeros(rows: int) -> tuple[FloatArray, FloatArray]:
    """The first rows of the digits data, with features from 0 to 1, and whether each is the digit 0."""
    loaded = optional("sklearn.datasets", SKLEARN.name, "the task mlp").load_digits()
    return np.asarray(loaded.data[:rows], dtype=np.float64) / 16, (loaded.target[:rows] == 0).astype(np.float64)
