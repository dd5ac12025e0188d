"""Chances and log scores of selectors beside known truths, intervals that know their clusters, runs as cases."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from polarbear.records import STAY
from polarbear.selectors import (
    Cases,
    SwitchPoints,
    clustered_mean,
    cross_validate,
    forests,
    load,
    reliability,
    save,
    train,
    transfer,
)


def drawn(seed, functions=60, runs=5, signal=2.0):
    """Runs on functions: B is the better the higher x is, C the worse the higher y is; z says nothing.

    Losses are logarithms of exponential variables with rates θ, so that the best of a case is a choice by θ / Σ θ: its
    chances are known.
    """
    rng = np.random.default_rng(seed)
    features = np.repeat(rng.normal(size=(functions, 3)), runs, axis=0) + 0.1 * rng.normal(size=(functions * runs, 3))
    log_rates = np.column_stack([np.zeros(len(features)), signal * features[:, 0], -1 - features[:, 1]])
    losses = np.log(rng.exponential(size=log_rates.shape)) - log_rates
    truth = np.exp(log_rates) / np.exp(log_rates).sum(axis=1, keepdims=True)
    labels = [f"f{i // runs}" for i in range(len(features))]
    return Cases(("A", "B", "C"), losses, ("x", "y", "z"), features, tuple(labels), tuple(labels)), truth


def test_chances_of_ratings_are_the_true_ones():
    training, _ = drawn(1)
    test, truth = drawn(2)
    evaluation = transfer(training, test, ["ratings", "regression forest"])
    said = evaluation.scores["ratings"].chances
    assert np.abs(said - truth).mean() < 0.06
    np.testing.assert_allclose(said.sum(axis=1), 1)
    entropy = -(truth * np.log(truth)).sum(axis=1).mean()
    scores = {kind: score.log_score for kind, score in evaluation.scores.items()}
    assert entropy - 0.08 < scores["ratings"] < entropy + 0.08 < scores["single best"]
    assert scores["ratings"] < scores["regression forest"]
    assert evaluation.beside("ratings", "single best", "log_scores").high < 0
    found = evaluation.reliability("ratings", 5)
    assert found.number.sum() == truth.size
    assert np.abs(found.came - found.said)[found.number > 100].max() < 0.1


def test_without_signal_no_chance_is_better_than_shares_of_the_training():
    cases, _ = drawn(3, functions=40, signal=0.0)
    silent = Cases(cases.algorithms, cases.losses, ("z",), cases.values[:, 2:], cases.functions, cases.instances)
    evaluation = cross_validate(silent, ["ratings"], folds=4)
    assert evaluation.scores["ratings"].log_score < evaluation.scores["single best"].log_score + 0.05
    assert evaluation.scores["ratings"].away.mean() < 0.1


def test_chances_of_forests_are_shares_of_trees():
    cases, _ = drawn(4, functions=20, runs=2)
    new = np.random.default_rng(5).normal(size=(9, 3))
    for separate in (False, True):
        selector = train(cases, "regression forest", separate=separate, seed=7)
        outputs = [cases.losses[:, [i]].ravel() for i in range(3)] if separate else [cases.losses]
        theirs = [RandomForestRegressor(random_state=7).fit(cases.values, output) for output in outputs]
        by_tree = np.concatenate(
            [np.array([tree.predict(new) for tree in each.estimators_]).reshape(100, 9, -1) for each in theirs], axis=2
        )
        np.testing.assert_allclose(forests.ask(selector.arrays, new), by_tree.mean(axis=0), atol=1e-12)
        votes = np.stack([(by_tree.argmin(axis=2) == i).sum(axis=0) for i in range(3)], axis=1)
        np.testing.assert_allclose(selector.chances(new), (votes + 1) / 103)


def test_separate_forests_and_shares_are_plain_files(tmp_path):
    cases, _ = drawn(6, functions=10)
    new = np.random.default_rng(5).normal(size=(5, 3))
    for kind in ("regression forest", "single best"):
        selector = train(cases, kind, separate=True)
        save(selector, tmp_path / "s.npz")
        np.testing.assert_allclose(load(tmp_path / "s.npz").chances(new), selector.chances(new), atol=1e-6)


def tied():
    """Of two functions, the first with one case, the second with three; B ties with A on the first."""
    losses = np.array([[1.0, 1.0, 2.0], [0.0, 3.0, 3.0], [0.0, 3.0, 3.0], [4.0, 3.0, 0.0]])
    return Cases(
        ("A", "B", "C"), losses, ("x",), np.arange(4.0)[:, np.newaxis], ("f", "g", "g", "g"), ("f", "g", "g", "g")
    )


def test_those_that_tie_share_the_best_and_functions_count_alike():
    np.testing.assert_allclose(tied().best, [[0.5, 0.5, 0], [1, 0, 0], [1, 0, 0], [0, 0, 1]])
    shares = np.array([(0.5 + 2 / 3) / 2, 0.25, 1 / 6])
    np.testing.assert_allclose(tied().shares_of_best, shares)
    selector = train(tied(), "single best")
    said = (2 * shares + 1) / 5
    np.testing.assert_allclose(selector.chances([[0.0]]), [said])
    score = transfer(tied(), tied(), ["single best"]).scores["single best"]
    expected = -np.log(said[[0, 0, 0, 2]])
    expected[0] = -(np.log(said[0]) + np.log(said[1])) / 2
    np.testing.assert_allclose(score.log_scores, expected)
    np.testing.assert_allclose(score.regrets, [0, 0, 0, 4])


def test_chances_in_bins_beside_what_came_true():
    found = reliability([0.05, 0.15, 0.18, 1.0], [0, 1, 0.5, 1])
    np.testing.assert_allclose(found.said, [0.05, 0.165, 1.0])
    np.testing.assert_allclose(found.came, [0, 0.75, 1])
    assert found.number.tolist() == [1, 2, 1]
    with pytest.raises(ValueError, match=r"chances contain 1\.5"):
        reliability([1.5], [1])
    with pytest.raises(ValueError, match="they must be equal"):
        reliability([0.5], [1, 1])


def test_intervals_are_as_wide_as_functions_differ():
    rng = np.random.default_rng(8)
    of_function = rng.normal(size=40)
    groups = np.repeat(np.arange(40), 25)
    found = clustered_mean(of_function[groups], groups)
    half = 1.96 * of_function.std() / 40**0.5
    assert found.mean == pytest.approx(of_function.mean())
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.12)
    spread = clustered_mean(rng.normal(size=1000), groups)
    assert (spread.high - spread.low) / 2 == pytest.approx(1.96 / 1000**0.5, rel=0.35)


def test_ratings_know_the_features_that_they_are_given():
    cases, _ = drawn(9, functions=20)
    only, free = (
        cross_validate(cases, ["ratings", "regression forest"], folds=2, rated=each) for each in (["z"], None)
    )
    assert only.scores["ratings"].log_score > free.scores["ratings"].log_score + 0.1
    assert only.scores["regression forest"].log_score == free.scores["regression forest"].log_score
    assert free.scores["ratings"].probability.shape == (100,)
    assert set(free.scores["ratings"].looking) <= {"A", "B", "C"}
    with pytest.raises(ValueError, match="no feature 'w'"):
        cross_validate(cases, folds=3, rated=["w"])


def points(values, precise=True):
    values = np.asarray(values, float)
    labels = tuple(map(str, range(len(values))))
    horizons, known = np.array([50.0, 100.0]), np.arange(len(values))[:, np.newaxis] * 1.0
    at = np.full(len(values), 150)
    return SwitchPoints("A", (STAY, "B"), horizons, values, precise, ("x",), known, at, labels, labels)


def test_points_are_cases_whose_regrets_are_orders_of_magnitude():
    values = np.array([[[[1.0, 10.0], [1e-2, 1e-9]], [[1.0, 1000.0], [1e-2, 0.0]]], np.ones((2, 2, 2))])
    found = points(values).cases(50)
    assert (found.algorithms, found.features, found.functions) == ((STAY, "B"), ("x",), ("0", "1"))
    np.testing.assert_allclose(found.losses, [[0, 2], [0, 0]])
    np.testing.assert_allclose(points(values).cases(100).losses, [[-2, -8], [0, 0]])
    with pytest.raises(ValueError, match="it must be one of 50, 100"):
        points(values).cases(70)
    with pytest.raises(ValueError, match="an optimum is unknown"):
        points(values, precise=False).cases(50)


def test_a_selector_that_was_saved_without_shares_says_so():
    losses = {"a": np.arange(4.0), "b": np.ones(4)}
    cases = Cases.of(losses, {"x": np.arange(4.0)}, functions=range(4))
    selector = replace(train(cases, "single best"), arrays={})
    with pytest.raises(ValueError, match="saved before shares were stored"):
        selector.chances([[1.0]])
