"""The type of bias by the forest."""

import numpy as np
import pytest

from polarbear import bias
from polarbear.bias.kinds import FOREST, kind_probabilities
from polarbear.bias.null import null_distribution
from polarbear.bias.scenarios import KINDS, Scenario, per_dimension
from polarbear.bias.uniformity import uniformity_statistics


def test_a_forest_written_as_arrays_answers_as_the_one_that_was_trained():
    """A small forest of scikit-learn, packed as the command packs it."""
    ensemble = pytest.importorskip("sklearn.ensemble")
    from benchmarks.bias_kinds import packed

    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 5, (500, 36)), rng.choice(list("abc"), 500)
    trained = ensemble.RandomForestClassifier(5, max_leaf_nodes=20, random_state=1).fit(x, y)
    p = np.array([1.0, 0.05, 0.005, 0.0005, 0.00005])[x[:40].T]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("polarbear.bias.kinds._forest", lambda: {"kinds": trained.classes_, **packed(trained)})
        found = [kind_probabilities(p[:, [k]]) for k in range(40)]
        mean = kind_probabilities(p)
    expected = trained.predict_proba(x[:40])
    values = np.array([[each[name] for name in "abc"] for each in found])
    np.testing.assert_allclose(values, expected, atol=0.01)  # shares are kept in 255ths
    np.testing.assert_allclose([mean[name] for name in "abc"], values.mean(axis=0))


def test_the_type_of_fresh_samples_is_told_as_often_as_the_documentation_says():
    """Macro F1 over five types, of samples that the forest was not trained on, single dimensions of 100 values."""
    null, rng = null_distribution(100, 20_000), np.random.default_rng(2)
    truth, told = [], []
    for scenario in per_dimension()[1:]:
        p = null.p_values_of(uniformity_statistics(np.ascontiguousarray(scenario.sample(100, 6, rng).T)))
        for column in p.T[(p <= 0.01).any(axis=0)]:
            truth.append(scenario.kind)
            told.append(next(iter(kind_probabilities(column[:, np.newaxis]))))
    f1 = [
        2 * sum(t == g == kind for t, g in zip(truth, told, strict=True)) / (truth.count(kind) + told.count(kind))
        for kind in set(KINDS.values())
    ]
    assert np.mean(f1) > 0.7


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario("normal", {"mu": 0.5, "sigma": 0.1}),
        Scenario("inverse normal", {"mu": 0.5, "sigma": 0.1}),
        Scenario("spikes", {"steps": 25}),
        Scenario("clusters", {"centres": 3, "sigma": 0.02}),
    ],
)
def test_clear_bias_in_several_dimensions_is_named(scenario):
    found = bias.judge(scenario.sample(100, 5, np.random.default_rng(3)), samples=20_000)
    assert found.kind == scenario.kind
    assert sum(found.probabilities.values()) == pytest.approx(1)
    assert "The bias looks most like " in found.sentence


def test_unbiased_points_have_no_type():
    found = bias.judge(np.random.default_rng(4).random((50, 4)), samples=20_000)
    assert (found.biased, found.kind, found.probabilities) == (False, "", {})


def test_wrong_p_values_are_named():
    with pytest.raises(ValueError, match=r"p_values have shape \(36, 0\); give \(36, d\)"):
        kind_probabilities(np.ones((36, 0)))


def test_the_forest_is_small_plain_data():
    assert FOREST.stat().st_size < 300_000
    with np.load(FOREST, allow_pickle=False) as arrays:
        assert set(arrays["kinds"]) == set(KINDS.values())
