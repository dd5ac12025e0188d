"""A convolutional network on sorted samples, compared with the random forest that predicts the type of a bias.

Run with ``python -m benchmarks.bias_network [sizes]``; it needs the extras ``nuts`` (JAX, and with it optax) and
``landscape`` (scikit-learn), and takes some minutes on one core for each size, by default 30, 50 and 100. Samples,
types and the split are those of `benchmarks.bias_kinds`, size by size. The network has the architecture of DEEP-BIAS
(van Stein et al. 2023; Vermetten 2025, figure 3.22): sorted sample, two convolutions of width three, max-pooling of
width two, dropout, one dense layer. Mirrored samples have the same type, so every batch is randomly mirrored, and
predictions are means over both.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from benchmarks.bias_kinds import SMALL, forest_for, rejected_of

FILTERS, EPOCHS, BATCH, DROPOUT = (32, 64), 30, 256, 0.3


def initial(n: int, classes: int, key: Any) -> dict[str, Any]:
    """Weights of the network for samples of n values."""
    first, second = FILTERS
    keys = jax.random.split(key, 3)
    normal = jax.nn.initializers.he_normal()
    return {
        "first": (normal(keys[0], (3, 1, first)), jnp.zeros(first)),
        "second": (normal(keys[1], (3, first, second)), jnp.zeros(second)),
        "dense": (normal(keys[2], (n // 2 * second, classes)), jnp.zeros(classes)),
    }


def logits(weights: dict[str, Any], x: Any, key: Any = None) -> Any:
    """(m, classes) of (m, n) sorted samples; with a key, some values are dropped."""
    hidden = (x[..., None] - 0.5) * 12**0.5
    for layer in ("first", "second"):
        kernel, shift = weights[layer]
        hidden = jax.lax.conv_general_dilated(hidden, kernel, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))
        hidden = jax.nn.relu(hidden + shift)
    hidden = jax.lax.reduce_window(hidden, -jnp.inf, jax.lax.max, (1, 2, 1), (1, 2, 1), "VALID")
    hidden = hidden.reshape(len(x), -1)
    if key is not None:
        hidden = jnp.where(jax.random.bernoulli(key, 1 - DROPOUT, hidden.shape), hidden / (1 - DROPOUT), 0.0)
    return hidden @ weights["dense"][0] + weights["dense"][1]


def trained(x: np.ndarray, y: np.ndarray, classes: int) -> dict[str, Any]:
    """The weights after so many epochs with balanced classes."""
    weights = initial(x.shape[1], classes, jax.random.key(1))
    balance = jnp.array(len(y) / (classes * np.bincount(y, minlength=classes)))
    steps = EPOCHS * (len(y) // BATCH)
    optimizer = optax.adam(optax.cosine_decay_schedule(1e-3, steps))

    def loss(weights: dict[str, Any], x: Any, y: Any, key: Any) -> Any:
        losses = optax.softmax_cross_entropy_with_integer_labels(logits(weights, x, key), y)
        return (balance[y] * losses).mean()

    @jax.jit
    def step(weights: dict[str, Any], state: Any, x: Any, y: Any, key: Any) -> Any:
        turn, drop = jax.random.split(key)
        mirrored = jax.random.bernoulli(turn, 0.5, (len(x), 1))
        slope = jax.grad(loss)(weights, jnp.where(mirrored, 1 - x[:, ::-1], x), y, drop)
        updates, state = optimizer.update(slope, state)
        return optax.apply_updates(weights, updates), state

    state, rng, key = optimizer.init(weights), np.random.default_rng(1), jax.random.key(2)
    for _ in range(EPOCHS):
        for batch in np.split(rng.permutation(len(y))[: len(y) // BATCH * BATCH], len(y) // BATCH):
            key, own = jax.random.split(key)
            weights, state = step(weights, state, x[batch], y[batch], own)
    return weights


def told(weights: dict[str, Any], x: np.ndarray) -> np.ndarray:
    """(m,) the classes that the network finds most likely."""
    both = jax.jit(lambda x: jax.nn.softmax(logits(weights, x)) + jax.nn.softmax(logits(weights, 1 - x[:, ::-1])))
    parts = np.array_split(x, -(-len(x) // 1000))
    return np.concatenate([np.asarray(both(part)).argmax(axis=1) for part in parts])


def main() -> None:
    """Print F1 of both, and how many numbers each holds."""
    print("| n | samples | forest: 100 full trees | the small forest | network | its weights | seconds |")
    print("|---|---|---|---|---|---|---|")
    for n in map(int, sys.argv[1:] or ("30", "50", "100")):
        values, found, _, names = rejected_of(n)
        _, full, full_weighted = forest_for(found, names, n_estimators=100)
        _, small, small_weighted = forest_for(found, names, **SMALL)
        kinds, y = np.unique(names, return_inverse=True)
        x = np.sort(values, axis=1).astype(np.float32)
        train_x, test_x, train_y, test_y = train_test_split(x, y, test_size=0.2, random_state=1, stratify=names)
        began = time.perf_counter()
        weights = trained(train_x, train_y, len(kinds))
        took, guessed = time.perf_counter() - began, told(weights, test_x)
        macro, weighted = (f1_score(test_y, guessed, average=way) for way in ("macro", "weighted"))
        size = sum(leaf.size for leaf in jax.tree.leaves(weights))
        forests = f"{full:.3f}, {full_weighted:.3f} | {small:.3f}, {small_weighted:.3f}"
        print(f"| {n} | {len(y):,} | {forests} | {macro:.3f}, {weighted:.3f} | {size:,} | {took:.0f} |", flush=True)


if __name__ == "__main__":
    main()
