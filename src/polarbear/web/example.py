"""Example data: a few optimizers on a few BBOB functions, run on request, and a race on these runs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from polarbear import optimizers, problems, store, study
from polarbear.web.work import say

_FUNCTIONS, _DIMENSIONS, _INSTANCES = (1, 8, 15), (2, 5), (1, 2, 3, 4, 5)
_BUDGET = "100*d"
_TIMES = np.array([30.0, 60.0, 100.0, 200.0])


def make_example(folder: Path) -> tuple[Path, Path]:
    """Run the example, which takes a second or two and gives the same data each time.

    Returns:
        Paths in the folder of the study with all runs and of the study of a race on them.

    Raises:
        OSError: If they cannot be written.
    """
    made, raced = folder / "example.study", folder / "example-race.study"
    say("Running the example …")
    algorithms = [
        optimizers.RandomSearch(),
        optimizers.QuasiRandomSearch(),
        optimizers.CMAES(),
    ]
    suite = problems.BBOB(_FUNCTIONS, _DIMENSIONS, _INSTANCES)
    plan = study.Plan(algorithms, suite, repetitions=1, budget=_BUDGET)
    with ThreadPoolExecutor(1) as threads:
        study.run_plan(plan, made, executor=threads)
    runs = store.read(made)
    say("Racing on the example …")
    race = study.recorded_race(runs, times=_TIMES, alpha=0.95, epsilon=0.1)
    study.replay(race, runs, into=raced)
    return made, raced
