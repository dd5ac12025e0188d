"""Posteriors and race results made by hand or by racing known truths."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from polarbear.inference import Diagnostics, Posterior
from polarbear.racing import Race, RaceResult, RaceSettings, Rival, Round
from polarbear.racing.forecast import open_pairs
from polarbear.racing.relations import relations, resolved_now
from polarbear.rankings import Rankings
from polarbear.simulate import Truth

TIMES = np.array([10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0])


def posterior(utilities, *, spread=0.1, times=TIMES, names=None, draws=2000, joint=False, seed=1):
    """Normal log-ratings around `utilities` (T, n), of instances whose luck is the same at all timepoints."""
    utilities = np.asarray(utilities, dtype=float)
    timepoints, n = utilities.shape
    rng = np.random.default_rng(seed)
    noise = rng.normal(0.0, spread, (draws, timepoints, n))
    ratings = np.exp(utilities + noise)
    diagnostics = Diagnostics(
        ("importance sampling",) * timepoints,
        np.full(timepoints, 1900.0),
        np.full(timepoints, 0.2),
        np.full(timepoints, np.nan),
    )
    names = names or tuple("ABCDEFGHIJKLMNOPQRST"[:n])
    ratings /= ratings.sum(axis=2, keepdims=True)
    found = Posterior(ratings, times, tuple(names), joint, diagnostics)
    tally = SimpleNamespace(
        instances=Rankings.of(-(utilities + rng.gumbel(size=(600, 1, n)))),
        first=lambda among: ratings[..., among] / ratings[..., among].sum(axis=2, keepdims=True),
        pairwise_probabilities=found.pairwise_probabilities,
    )
    return replace(found, tally=tally)


def a_round(number, candidates, *, dominance, eliminated=None, withdrawn=(), settled=(), resolved_pairs=0, failures=0):
    """One round of eight instances."""
    return Round(
        number=number,
        batch=8,
        instances=8 * number,
        runs=8 * number * len(dominance),
        failures=failures,
        evaluations=8000 * number * len(dominance),
        seconds=1.5 * number,
        horizon=dict.fromkeys(dominance, 1000.0),
        dominance={name: Rival(*rival) for name, rival in dominance.items()},
        eliminated=eliminated or {},
        withdrawn=tuple(withdrawn),
        candidates=tuple(candidates),
        settled=tuple(settled),
        resolved_pairs=resolved_pairs,
        resolved_share=0.5,
        next_batch=8,
        smallest_ess=1900.0,
        largest_k_hat=0.2,
        inference_seconds=0.01,
    )


def a_withdrawal(number, candidates, withdrawn, *, after=None, **fields):
    """A round that records only what was withdrawn after the round `after`; None: before the first."""
    before = after or replace(a_round(0, candidates, dominance={}), runs=0)
    fields = {"dominance": {}, "eliminated": {}, "settled": (), "horizon": {}} | fields
    return replace(before, number=number, batch=0, candidates=tuple(candidates), withdrawn=tuple(withdrawn), **fields)


def result(belief, *, eliminated=None, withdrawn=(), rounds=None, alpha=0.95, epsilon=0.1, **settings):
    """The result that fits `belief`: a pair is resolved where the posterior decides it."""
    eliminated = eliminated or {}
    settings = RaceSettings(alpha=alpha, epsilon=epsilon, **settings)
    names = belief.names
    found = relations(belief, alpha=alpha, epsilon=epsilon, joint=False)
    resolved = resolved_now(found, use_crossing=settings.resolution == "crossing")
    for name in (*eliminated, *withdrawn):
        resolved[:, names.index(name), :] = resolved[:, :, names.index(name)] = True
    candidates = tuple(name for name in names if name not in eliminated and name not in withdrawn)
    if rounds is None:
        dominance = {name: (eliminated.get(name, names[0]), 0.97 if name in eliminated else 0.2) for name in names}
        pairs = int(np.triu(resolved.all(axis=0), k=1).sum())
        rounds = (a_round(1, candidates, dominance=dominance, eliminated=eliminated, resolved_pairs=pairs),)
        if withdrawn:
            rounds = (*rounds, a_withdrawal(2, candidates, withdrawn, after=rounds[0]))
    values = np.zeros((8, len(belief.times), len(names)))
    values[4:, max(1, len(belief.times) - 2) :, -1] = np.nan
    return RaceResult(
        pareto_set=candidates,
        posterior=belief,
        rounds=tuple(rounds),
        eliminated=eliminated,
        withdrawn=tuple(withdrawn),
        undecided=open_pairs(
            belief,
            belief.names,
            belief.times,
            resolved,
            np.full(resolved.shape, 8.0 * len(rounds)),
            alpha=alpha,
            epsilon=epsilon,
            use_crossing=settings.resolution == "crossing",
        ),
        finished=bool(resolved.all()),
        settings=settings,
        values=values,
        evaluations_by_algorithm={name: 1000 * (place + 1) for place, name in enumerate(names)},
        evaluations_to_the_end=8.0 * 1000 * len(names) if settings.axis == "evaluations" else float("nan"),
    )


def raced(utilities, *, times=TIMES, names=None, instances=64, **settings):
    """A real race on rankings drawn from known ratings."""
    ratings = np.exp(np.asarray(utilities, dtype=float))
    names = tuple(names or "ABCDEFGHIJKLMNOPQRST"[: ratings.shape[1]])
    truth = Truth(np.asarray(times, dtype=float), ratings / ratings.sum(axis=1, keepdims=True), names)
    race = Race(names, times=times, draws=500, **settings)
    while requests := race.ask(instances):
        race.tell([truth.run(request.key, request.until, race.settings.axis) for request in requests])
    return race.result()


def crossing(steps=7, height=1.5):
    """(T, 2) utilities that cross in the middle: A leads early, B late."""
    slope = np.linspace(height, -height, steps)
    return np.stack([slope, -slope], axis=1)
