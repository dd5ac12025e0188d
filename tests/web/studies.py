"""Studies to look at: recorded runs whose statistics are known, and a race on them."""

from polarbear import knowledge, store, study
from polarbear.store.origin import origin
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


def known(path):
    """A knowledge base of the same runs under the name of their study, with something of everything."""
    base = knowledge.KnowledgeBase(path)
    spec = {"algorithms": {"fast": {"optimizer": "modular-cmaes"}}}
    facts = {"spec": spec, "origin": origin(), "about": {"creator": "Ada"}}
    base.add(knowledge.graph_of(runs(), name="runs", **facts), name="runs")
    base.add_features(runs()[0].key.instance, {"disp.ratio_mean_02": 0.5}, sample_size=50)
    return path
