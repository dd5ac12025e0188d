"""A proposer that evolves the step-size adaptation of a small (μ, λ) evolution strategy."""

from __future__ import annotations

from typing import Annotated, Any

from polarbear.descriptions import FieldError
from polarbear.design.candidates import Candidate
from polarbear.design.expressions import Tree, checked, grown, mutated, paths, printed
from polarbear.design.history import History
from polarbear.validation import Checked, Positive, settings, whole

NAMES = ("march", "step", "success", "spread", "scale")
"""Variables of a rule, defined in `_CODE`. All are about 0 under random selection except scale, which is 1/d."""
_TRIES = 50

_CODE = '''import numpy as np


def quotient(x, y):
    return x / np.sqrt(1 + y * y)


def optimize(problem, rng):
    """A ({mu}, {offspring}) evolution strategy; its step size is multiplied by exp(rule) in each generation."""
    d, side = problem.dimension, problem.upper - problem.lower
    mean, sigma = problem.lower + rng.random(d) * side, 0.3
    path, rate, before = np.zeros(d), {mu_plus_2} / (d + {mu_plus_5}), np.inf
    length = np.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d))
    scale = 1 / d
    while True:
        z = rng.standard_normal(({offspring}, d))
        values = problem(np.clip(mean + sigma * side * z, problem.lower, problem.upper))
        chosen = z[np.argsort(values)[:{mu}]]
        z_mean = chosen.mean(axis=0)
        mean = np.clip(mean + sigma * side * z_mean, problem.lower, problem.upper)
        path = (1 - rate) * path + np.sqrt(rate * (2 - rate) * {mu}) * z_mean
        march = np.linalg.norm(path) / length - 1  # how straight the last steps went
        step = np.sqrt({mu}) * np.linalg.norm(z_mean) / length - 1  # how far the last one went
        success = np.mean(values < before) - 0.5  # how many beat the median of the generation before
        spread = np.mean(chosen**2) - 1  # how far the selected ones lie from the mean
        before = np.median(values)
        rule = {rule}
        sigma = np.clip(sigma * np.exp(np.clip(rule, -1, 1)), 1e-12, 1)
'''


def code_of(tree: Any, *, mu: int = 3, offspring: int = 12) -> str:
    """The Python code of a (μ, λ) evolution strategy with a given rule for its step size.

    Cumulative step-size adaptation is approximately ``["mul", 0.3, "march"]``, the median success rule
    ``["mul", 0.5, "success"]``, and a constant step size ``0``.

    Args:
        tree: Rule, see `polarbear.design.expressions`; its names are those of `NAMES`.
        mu: Number of parents μ.
        offspring: Number of offspring λ.

    Raises:
        ValueError: If the tree is invalid.
    """
    rule = printed(checked(tree, NAMES))
    return _CODE.format(mu=mu, offspring=offspring, mu_plus_2=mu + 2, mu_plus_5=mu + 5, rule=rule)


def _trees(value: Any, name: str) -> tuple[Tree, ...]:
    try:
        return tuple(checked(tree, NAMES) for tree in value)
    except TypeError as error:
        raise ValueError(f"{name} is {value!r}; it must be a list of trees") from error


@settings
class RuleMutation:
    """Mutate the step-size rule of a small (μ, λ) evolution strategy, an expression tree.

    The first generation consists of `start` and random trees; later ones of mutants of the trees in the Pareto set,
    crossovers among them, and some random trees. No tree is proposed twice. Candidates keep their tree in `about`, and
    `code_of` makes their code from it; candidates of other proposers, which have no tree, are ignored.

    Attributes:
        size: Number of candidates per generation.
        start: Trees to start with, at most `size`; by default a constant step size.
        most_nodes: Maximum number of nodes of a tree.
        mu: Number of parents μ.
        offspring: Number of offspring λ, at least μ.
    """

    size: Annotated[int, whole(1)] = 8
    start: Annotated[tuple[Any, ...], Checked(_trees)] = (0.0,)
    most_nodes: Positive = 20
    mu: Positive = 3
    offspring: Annotated[int, whole(2)] = 12

    def __post_init__(self) -> None:
        if self.offspring < self.mu:
            raise FieldError(("offspring",), f"offspring is {self.offspring}; it must be at least mu, {self.mu}")
        if len(self.start) > self.size:
            message = (
                f"start has {len(self.start)} trees; it must have at most size, {self.size}, to fit in a generation"
            )
            raise FieldError(("start",), message)
        for number, tree in enumerate(self.start):
            if (nodes := len(list(paths(tree)))) > self.most_nodes:
                message = f"start[{number}] has {nodes} nodes; it must have at most most_nodes, {self.most_nodes}"
                raise FieldError(("start",), message)

    def __call__(self, history: History) -> list[Candidate]:
        """Propose the next generation."""
        rng = history.rng()
        elites: list[Tree] = [each.candidate.about["tree"] for each in history.elites if "tree" in each.candidate.about]
        begun = any("tree" in each.candidate.about for each in history.verdicts)
        trees: list[Tree] = [] if begun else list(self.start)
        candidates: dict[str, Candidate] = {}
        for _ in range(_TRIES * self.size):
            if trees:
                tree = trees.pop(0)
            elif elites and rng.random() < 0.85:
                parent, other = (elites[int(min(rng.geometric(0.4) - 1, len(elites) - 1))] for _ in range(2))
                tree = mutated(parent, other, NAMES, rng)
            else:
                tree = grown(NAMES, rng, 3)
            if len(list(paths(tree))) > self.most_nodes:
                continue
            code = code_of(tree, mu=self.mu, offspring=self.offspring)
            candidate = Candidate(code=code, about={"rule": printed(tree), "tree": tree})
            if not history.proposed(candidate):
                candidates.setdefault(candidate.name, candidate)
            if len(candidates) == self.size:
                break
        return list(candidates.values())
