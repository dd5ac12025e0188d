"""Expressions as trees of plain data: numbers, names, and ``[operation, tree, ...]``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from polarbear.descriptions import did_you_mean, shortened

Tree = float | str | list[Any]
"""For example ``["add", ["mul", 0.3, "march"], "success"]``, which is 0.3 * march + success."""
Path = tuple[int, ...]
"""Position of a subtree: the number of the child, from 1, at each level."""

OPERATIONS = {
    "add": "({} + {})",
    "sub": "({} - {})",
    "mul": "({} * {})",
    "div": "quotient({}, {})",
    "max": "max({}, {})",
    "min": "min({}, {})",
    "neg": "(-{})",
    "tanh": "np.tanh({})",
}
"""Python code of the operations, by name; ``quotient(x, y)`` is x / √(1 + y²), which has no poles."""
_DEEPEST = 50


def checked(tree: Any, names: Sequence[str], depth: int = 0) -> Tree:
    """Validate a tree from an untrusted source.

    Raises:
        ValueError: If it is not a valid tree: an operation or name is unknown, the number of operands is wrong, a
            number is not finite, or the nesting is too deep.
    """
    if depth > _DEEPEST:
        raise ValueError(f"the tree is nested more than {_DEEPEST} levels deep")
    if isinstance(tree, str):
        if tree not in names:
            raise ValueError(f"the tree has an unknown name {tree!r};{did_you_mean(tree, names)}")
        return tree
    if isinstance(tree, (int, float)) and not isinstance(tree, bool):
        if not math.isfinite(tree):
            raise ValueError(f"the tree has the number {tree!r}; numbers must be finite")
        return float(tree)
    if not isinstance(tree, (list, tuple)) or not tree or not isinstance(cast("list[Any]", tree)[0], str):
        raise ValueError(
            f"{shortened(cast('object', tree))} is not a tree; it must be a number, a name, or [operation, tree, ...]"
        )
    operation, *operands = cast("list[Any]", tree)
    if operation not in OPERATIONS:
        raise ValueError(f"the tree has an unknown operation {operation!r};{did_you_mean(operation, OPERATIONS)}")
    if len(operands) != arity(operation):
        raise ValueError(f"{operation} has {len(operands)} operands in the tree; it takes {arity(operation)}")
    return [operation, *(checked(each, names, depth + 1) for each in operands)]


def arity(operation: str) -> int:
    """Number of operands of an operation."""
    return OPERATIONS[operation].count("{}")


def printed(tree: Tree) -> str:
    """The tree as a Python expression."""
    if not isinstance(tree, list):
        return tree if isinstance(tree, str) else f"{tree:.4g}"
    return OPERATIONS[tree[0]].format(*map(printed, tree[1:]))


def paths(tree: Tree) -> Iterator[Path]:
    """The paths of all subtrees, beginning with that of the whole tree, ()."""
    yield ()
    if isinstance(tree, list):
        for number, child in enumerate(tree[1:], start=1):
            yield from ((number, *path) for path in paths(child))


def at(tree: Tree, path: Path) -> Tree:
    """The subtree at a path."""
    for number in path:
        tree = cast("list[Any]", tree)[number]
    return tree


def replaced(tree: Tree, path: Path, by: Tree) -> Tree:
    """The tree with the subtree at a path replaced."""
    if not path:
        return by
    changed = list(cast("list[Any]", tree))
    changed[path[0]] = replaced(changed[path[0]], path[1:], by)
    return changed


def grown(names: Sequence[str], rng: np.random.Generator, depth: int) -> Tree:
    """A random tree of at most this depth; leaves, of which a third are numbers, have probability 0.3 at each level."""
    if depth == 0 or rng.random() < 0.3:
        return round(float(rng.normal()), 3) if rng.random() < 1 / 3 else str(rng.choice(list(names)))
    operation = str(rng.choice(list(OPERATIONS)))
    return [operation, *(grown(names, rng, depth - 1) for _ in range(arity(operation)))]


def mutated(tree: Tree, other: Tree, names: Sequence[str], rng: np.random.Generator) -> Tree:
    """A tree changed in one place (Koza 1992, chapter 6; Poli, Langdon and McPhee 2008, section 5.2).

    One of five changes replaces a random subtree, with equal probabilities: by a random tree; by a subtree of `other`
    (crossover); by one of its own children; by its product with a random number, or, if it is a number, that number
    times a random factor; by the same operands under another operation. A leaf has no children or operation and becomes
    a random tree instead.
    """
    where = list(paths(tree))
    path = where[int(rng.integers(len(where)))]
    old = at(tree, path)
    kind = int(rng.integers(5))
    if kind == 1:
        theirs = list(paths(other))
        return replaced(tree, path, at(other, theirs[int(rng.integers(len(theirs)))]))
    if kind == 2 and isinstance(old, list):
        return replaced(tree, path, old[1 + int(rng.integers(len(old) - 1))])
    if kind == 3:
        factor = round(float(rng.normal()), 3)
        rescaled = round(old * float(np.exp(rng.normal())), 4) if isinstance(old, float) else ["mul", factor, old]
        return replaced(tree, path, rescaled)
    if kind == 4 and isinstance(old, list):
        alike = [operation for operation in OPERATIONS if arity(operation) == arity(old[0])]
        return replaced(tree, path, [str(rng.choice(alike)), *old[1:]])
    return replaced(tree, path, grown(names, rng, 2))
