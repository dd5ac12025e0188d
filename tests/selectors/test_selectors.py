"""Selectors: right where features decide, at the safe choice where they do not; forests equal to scikit-learn's."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from polarbear.selectors import Cases, cross_validate, forests, load, save, shift_probability, train, transfer


def made(seed, functions=60, instances=3, signal=1.0, missing=0.0):
    """Two algorithms, of which a feature decides the better one; a third is always worse; two features say nothing."""
    rng = np.random.default_rng(seed)
    z = np.repeat(rng.normal(size=(functions, 3)), instances, axis=0)
    z += 0.05 * rng.normal(size=z.shape)  # near twins
    noise = 0.05 * rng.normal(size=(functions * instances, 3))
    losses = np.column_stack([np.full(len(z), 0.45), 0.5 - signal * 0.3 * z[:, 0], np.full(len(z), 0.9)]) + noise
    z[rng.random(z.shape) < missing] = np.nan
    return Cases(
        ("safe", "special", "poor"),
        losses,
        ("x", "y", "z"),
        z,
        tuple(f"f{i // instances}" for i in range(len(z))),
        tuple(f"f{i // instances}-i{i % instances}" for i in range(len(z))),
    )


def test_ratings_choose_by_the_feature_that_decides():
    selector = train(made(1))
    assert selector.default == "safe"
    special, safe, novel = selector.choose([[2.0, 0.0, 0.0], [-2.0, 0.0, 0.0], [9.0, 9.0, -9.0]])
    assert special.algorithm == "special"
    assert special.probability > 0.95
    assert safe.algorithm == safe.best_looking == "safe"
    assert not special.novel
    assert novel.novel


@pytest.mark.parametrize("kind", ["ratings", "cautious forest", "single best"])
def test_of_no_problem_nothing_is_said(kind):
    selector = train(made(1, functions=10), kind)
    assert selector.choose(np.empty((0, 3))) == []
    assert selector.chances(np.empty((0, 3))).shape == (0, 3)


def test_ratings_tell_which_feature_decides():
    shares = train(made(1)).ratings.importance()
    assert shares["x"].low > 0.8
    assert shares["x"].positive > 0.99
    assert max(shares["y"].high, shares["z"].high) < 0.2
    with pytest.raises(ValueError, match="of kind 'single best'; only kind 'ratings' has a posterior"):
        train(made(1), "single best").ratings  # noqa: B018 - it is a property


def test_beyond_the_training_the_nearest_that_was_seen_counts():
    """A parabola would turn back there."""
    cases = made(11)
    selector, most = train(cases), float(cases.values[:, 0].max())
    at, beyond = selector.choose([[most, 0.0, 0.0], [most + 5, 0.0, 0.0]])
    assert at.algorithm == beyond.algorithm == "special"
    assert at.probability == beyond.probability
    assert beyond.novel


def test_a_forest_evaluated_with_a_cautious_one_is_the_forest_by_itself():
    cases, test = made(3, functions=12), made(4, functions=4)
    for evaluate in (partial(cross_validate, cases, folds=2), partial(transfer, cases, test)):
        alone, together = evaluate(["regression forest"]), evaluate(["cautious forest", "regression forest"])
        ours, theirs = (each.scores["regression forest"] for each in (alone, together))
        assert ours.chosen == theirs.chosen
        np.testing.assert_array_equal(ours.chances, theirs.chances)
        assert np.isnan(theirs.probability).all()
        assert not np.isnan(together.scores["cautious forest"].probability).any()


def test_without_signal_careful_selectors_stay_with_the_single_best_and_forests_do_not():
    evaluation = cross_validate(made(2, signal=0.0), ["ratings", "cautious forest", "classification forest"], folds=2)
    for kind in ("ratings", "cautious forest"):
        assert evaluation.scores[kind].away.mean() < 0.1
        assert evaluation.scores[kind].regret <= evaluation.scores["single best"].regret + 0.005
        assert evaluation.scores["classification forest"].regret > evaluation.scores[kind].regret


@pytest.mark.parametrize("gaining", [4, 6, 20])
def test_a_cautious_forest_leaves_only_what_many_functions_speak_against(gaining):
    """Of 40 functions some have another feature and another best algorithm: too few of them could be chance."""
    special = np.repeat(np.arange(40) < gaining, 2)
    losses = np.column_stack([np.where(special, 1.0, 0.0), np.where(special, 0.0, 1.0)])
    losses[:, 1] += 2.0 * (gaining > 19) * ~special  # the first one remains the single best
    functions = [f"f{i // 2}" for i in range(80)]
    cases = Cases.of({"safe": losses[:, 0], "other": losses[:, 1]}, {"x": special * 1.0}, functions=functions)
    selector = train(cases, "cautious forest")
    assert selector.arrays["pays"] == pytest.approx(1 - selector.arrays["gains"].size * 0.5**gaining)
    there, elsewhere = selector.choose([[1.0], [0.0]])
    assert there.best_looking == "other"
    assert there.algorithm == ("other" if gaining > 4 else "safe")
    assert (elsewhere.algorithm, elsewhere.probability) == ("safe", 1.0)


@pytest.mark.slow
@pytest.mark.statistical(rate=0.001)
def test_cautious_forests_leave_for_nothing_in_at_most_a_twentieth_of_all_cases():
    left = 0
    for seed in range(60):
        rng = np.random.default_rng([7, seed])
        losses, z = rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
        cases = Cases.of(dict(zip("ab", losses.T, strict=True)), dict(zip("xy", z.T, strict=True)), functions=range(40))
        left += (train(cases, "cautious forest", seed=seed).arrays["pays"] >= 0.95).any()
    assert left <= binom.isf(0.001, 60, 0.05)


def test_with_signal_all_but_shuffled_labels_close_the_gap():
    evaluation = cross_validate(made(3), folds=2)
    for kind in ("ratings", "cautious forest", "regression forest", "classification forest"):
        assert evaluation.gap_closed(kind) > 0.7
        assert evaluation.scores[kind].beside_single_best[2] < 0
    assert evaluation.gap_closed("shuffled labels") < evaluation.gap_closed("ratings") - 0.3
    assert evaluation.gap_closed("single best") == 0
    assert evaluation.shift is evaluation.warning is None


def test_no_gap_is_closed_where_the_single_best_is_the_best_everywhere():
    cases = Cases.of({"a": np.zeros(3), "b": np.ones(3)}, {"x": np.arange(3.0)}, functions=range(3))
    evaluation = cross_validate(cases, ["shuffled labels"], folds=3)
    assert np.isnan([evaluation.gap_closed(kind) for kind in evaluation.scores]).all()
    assert {each["gap closed"] for each in evaluation.as_dict()["scores"].values()} == {None}


def test_twins_in_the_training_tell_more_than_is_known_of_a_new_function():
    """Losses are a random effect of each function: nothing is known of a new one, and all from a twin."""
    rng = np.random.default_rng(4)
    cases = made(4, signal=0.0)
    of_function = np.repeat(rng.normal(size=60), 3)
    losses = cases.losses + 0.3 * np.column_stack([np.zeros(180), of_function, np.zeros(180)])
    cases = Cases(cases.algorithms, losses, cases.features, cases.values, cases.functions, cases.instances)
    by_function, by_case = (
        cross_validate(cases, ["classification forest"], folds=3, split=split).gap_closed("classification forest")
        for split in ("function", "case")
    )
    assert by_function < 0.3
    assert by_case > 0.6


@pytest.mark.parametrize("classify", [True, False])
def test_forests_say_what_scikit_learn_says(classify):
    cases = made(5)
    forest = forests.grow(cases.values, cases.losses, classify=classify, seed=7)
    new = np.random.default_rng(0).normal(size=(50, 3))
    if classify:
        theirs = RandomForestClassifier(random_state=7).fit(cases.values, cases.losses.argmin(axis=1))
        expected = np.zeros((50, 3))
        expected[:, theirs.classes_] = theirs.predict_proba(new)
    else:
        expected = RandomForestRegressor(random_state=7).fit(cases.values, cases.losses).predict(new)
    np.testing.assert_allclose(forests.ask(forest, new), expected, atol=1e-12)


@pytest.mark.parametrize("kind", ["regression forest", "classification forest"])
def test_a_forest_chooses_what_scikit_learn_would(kind):
    """Also by a feature that is 0 on most problems, whose far values are moved for ratings alone."""
    cases = made(13)
    rare = np.zeros(180)
    rare[:4], rare[4:8] = 1.0, 2.0
    values, losses = np.column_stack([cases.values[:, 0], rare]), cases.losses.copy()
    losses[:4, 2], losses[4:8, 1] = -1.0, -1.0
    cases = replace(cases, losses=losses, values=values, features=("x", "rare"))
    new = np.column_stack([np.random.default_rng(2).normal(size=60), np.repeat([0.0, 1.0, 2.0], 20)])
    if kind == "regression forest":
        expected = RandomForestRegressor(random_state=7).fit(cases.values, cases.losses).predict(new).argmin(axis=1)
    else:
        expected = RandomForestClassifier(random_state=7).fit(cases.values, cases.losses.argmin(axis=1)).predict(new)
    chosen = [advice.algorithm for advice in train(cases, kind, seed=7).choose(new)]
    assert chosen == [cases.algorithms[i] for i in expected]


@pytest.mark.parametrize("kind", ["ratings", "cautious forest", "regression forest", "single best"])
def test_a_selector_that_is_read_says_the_same(kind, tmp_path):
    cases = made(6, missing=0.1)
    selector = train(cases, kind, source="made")
    save(selector, tmp_path / "s.npz")
    again = load(tmp_path / "s.npz")
    assert again.trained_on == selector.trained_on
    assert again.trained_on["cases"] == 180
    new = np.random.default_rng(1).normal(size=(20, 3))
    new[0, 0] = np.nan
    for one, other in zip(selector.choose(new), again.choose(new), strict=True):
        assert (one.algorithm, one.familiar) == (other.algorithm, pytest.approx(other.familiar))


def test_a_shift_between_sets_is_noticed_and_none_is_not():
    first, second = made(7), made(8)
    assert transfer(first, second, ["single best"]).warning is None
    moved = Cases(
        second.algorithms, second.losses, second.features, second.values + 1, second.functions, second.instances
    )
    evaluation = transfer(first, moved, ["single best"])
    assert evaluation.shift < 0.01
    assert "differ from those of the training" in evaluation.warning


@pytest.mark.statistical(rate=0.001)
def test_p_values_of_a_shift_are_uniform_where_there_is_none():
    rng = np.random.default_rng(9)
    found = [
        shift_probability(
            np.repeat(rng.normal(size=(12, 2)), 3, axis=0),
            np.repeat(np.arange(12), 3),
            rng.normal(size=(15, 2)),
            np.arange(15),
            rng,
        )
        for _ in range(50)
    ]
    assert 0 <= np.mean(np.array(found) <= 0.1) <= 0.26


def test_asking_spends_what_it_says():
    import polarbear as pb
    from polarbear.landscape import by_box, instances

    suite = pb.problems.BBOB(functions="1,8,21,24", dimensions=2, instances="1-2").grid()
    sampling = {"sets": ["ela_meta", "nbc"], "points_per_variable": 20}
    found = [instances(box, designs=1, points=40, sets=sampling["sets"]) for box in by_box(suite)]
    names = found[0].names
    cases = Cases(
        ("a", "b"),
        np.array([[0.1, 0.5]] * 4 + [[0.6, 0.2]] * 4),
        names,
        found[0].values.mean(axis=1),
        found[0].functions,
        found[0].instances,
    )
    selector = train(cases, sampling=sampling)
    calls = []

    def function(x):
        calls.append(1)
        return float((x**2).sum())

    advice = selector.ask((function, [-5.0, -5.0], [5.0, 5.0]))
    assert advice.evaluations == len(calls) == 40
    with pytest.raises(ValueError, match="does not know how to compute its features"):
        train(cases).ask((function, [-5.0], [5.0]))


def test_tables_are_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("function,instance,loss:a,loss:b,x\nf1,1,0.5,0.25,\nf2,1,1,2,3\n")
    cases = Cases.of_table(path)
    assert cases.algorithms == ("a", "b")
    assert cases.features == ("x",)
    np.testing.assert_array_equal(cases.values[:, 0], [np.nan, 3])
    path.write_text("function,loss:a,x\nf1,many,1\n")
    with pytest.raises(ValueError, match="row 2: loss:a is 'many'"):
        Cases.of_table(path)
    path.write_text("loss:a,x\n1,1\n")
    with pytest.raises(ValueError, match="needs a column function"):
        Cases.of_table(path)
    for table, message in (
        ("function,loss:a,loss:a,x\nf1,1,2,3\n", "has 2 columns named 'loss:a'"),
        ("function,loss:a,x\nf1,1,2\n,1,2\n", "row 3: function is empty"),
        ('function,instance,loss:a,x\nf1,"",1,2\n', "row 2: instance is empty"),
        ("function,loss:a,x\nf1,1,2\nf2,1,inf\n", "feature 'x' of 1 is inf"),
    ):
        path.write_text(table)
        with pytest.raises(ValueError, match=message):
            Cases.of_table(path)


def test_columns_are_of_all_cases_and_features_may_be_none():
    losses = {"a": [0.0, 1.0], "b": [1.0, 0.0]}
    selector = train(Cases.of(losses, {}, functions=range(2)), "single best")
    assert selector.choose(np.empty((3, 0)))[0].algorithm == "a"
    with pytest.raises(ValueError, match=r"column 'x' of features has shape \(3,\); it must be \(2,\) for 2 functions"):
        Cases.of(losses, {"x": np.ones(3)}, functions=range(2))
    with pytest.raises(ValueError, match=r"column 'b' of losses has shape \(1,\)"):
        Cases.of(losses | {"b": [1.0]}, {}, functions=range(2))


def test_what_is_no_selector_of_this_version_is_refused(tmp_path):
    path = tmp_path / "s.npz"
    save(train(made(10, functions=4), "single best"), path)
    with np.load(path) as file:
        arrays = dict(file)
    said = json.loads(str(arrays["said"]))
    for wrong, message in (
        (said | {"format": 2}, "is a selector of format 2; this version reads format 1"),
        (said | {"kind": "tree"}, "of kind 'tree'; it must be one of ratings, cautious forest"),
        (said | {"algorithms": 3}, "is not a valid selector: algorithms is 3; train it again"),
        ({name: value for name, value in said.items() if name != "default"}, "it lacks 'default'; train it again"),
        ([1], "is not a selector .its description is not a table"),
    ):
        np.savez(path, **arrays | {"said": np.array(json.dumps(wrong))})
        with pytest.raises(ValueError, match=message):
            load(path)
    (tmp_path / "no.npz").write_text("no")
    np.save(tmp_path / "a.npy", np.ones(3))
    for name in ("no.npz", "a.npy"):
        with pytest.raises(
            ValueError, match=r"is not a selector \(File is not a zip file\); create one with polarbear selector train"
        ):
            load(tmp_path / name)


def test_faults_are_named():
    cases = made(10, functions=4)
    with pytest.raises(ValueError, match="kind is 'tree'"):
        train(cases, "tree")
    with pytest.raises(ValueError, match="confidence is 2"):
        train(cases, confidence=2)
    with pytest.raises(ValueError, match="folds is 10; it must be at least 2 and at most 4, the number of functions"):
        cross_validate(cases)
    for count, mend in ((2, "use cases of"), (3, "use 3 folds, or cases of")):
        few = cases.among(np.arange(12) < 3 * count)
        with pytest.raises(ValueError, match=f"folds is 2; one of them leaves a single function .*; {mend} more"):
            cross_validate(few, folds=2)
    with pytest.raises(ValueError, match="algorithms and 1 function; a selector needs at least two of each"):
        train(cases.among(np.arange(12) < 3))
    with pytest.raises(ValueError, match="no value of feature 'x'"):
        train(cases, "single best").choose({})
    bad = np.array(cases.losses)
    bad[2, 1] = np.nan
    with pytest.raises(ValueError, match="loss of 'special' on f0-i2 is nan"):
        Cases(cases.algorithms, bad, cases.features, cases.values, cases.functions, cases.instances)
