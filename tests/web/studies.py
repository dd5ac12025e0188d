"""Studies to look at: recorded runs whose statistics are known, and a race on them."""

from polarbear import store, study
from tests.analyzer.recorded import runs


def recorded(path):
    """A study of recorded runs."""
    with store.create(path, {"kind": "test"}) as kept:
        for run in runs():
            kept.append(run)
    return path


def raced(path):
    """The study of a race on the same runs."""
    race = study.recorded_race(runs(), times=[10, 50, 100], alpha=0.9, epsilon=0.15)
    study.replay(race, runs(), into=path)
    return path
