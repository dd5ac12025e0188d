"""A user's own optimizer, distribution of problems and problem, as dataclasses."""

from dataclasses import dataclass

import numpy as np

import polarbear as pb


@dataclass(frozen=True)
class Steps:
    size: float
    name: str = "steps"

    def __call__(self, problem, rng):
        here = rng.uniform(problem.lower, problem.upper)
        while True:
            problem(here + self.size * rng.normal(size=here.size))


@dataclass(frozen=True)
class Shifted:
    dimension: int
    seed: int = 0
    size = None

    def __getitem__(self, index):
        shift = np.random.default_rng([self.seed, index]).uniform(-1, 1, self.dimension)
        return pb.problems.FunctionProblem(
            lambda x: float(np.sum((x - shift) ** 2)), -2, 2, dimension=self.dimension, name=f"shifted-{index}"
        )
