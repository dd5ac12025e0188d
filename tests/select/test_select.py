import itertools
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from polarbear.inference import fit
from polarbear.rankings import choice_counts
from polarbear.select import best, preference_values, preference_weights
from polarbear.select.selection import pool

TIMES = np.array([1.0, 10.0, 100.0, 1000.0])


def posterior(alphas, draws=3000, seed=1, times=TIMES, joint=True):
    """Independent Dirichlet draws at each timepoint."""
    rng = np.random.default_rng(seed)
    ratings = np.stack([rng.dirichlet(alpha, size=draws) for alpha in alphas], axis=1)
    names = tuple("ABCDEFGHIJ"[: ratings.shape[2]])
    return SimpleNamespace(
        draws=ratings, times=times, names=names, joint=joint, honest=joint or len(times) == 1, tally=None
    )


CROSSING = posterior([[80, 10, 10], [60, 25, 15], [25, 65, 10], [10, 80, 10]])


class TestWeights:
    def test_uniform_and_log_uniform_integrate_a_straight_line_exactly(self):
        line = 3.0 + 2.0 * TIMES
        mean_over_time = np.trapezoid(line, TIMES) / (TIMES[-1] - TIMES[0])
        assert preference_weights("uniform", TIMES) @ line == pytest.approx(mean_over_time, rel=1e-14)
        in_log = 3.0 + 2.0 * np.log(TIMES)
        assert preference_weights("log-uniform", TIMES) @ in_log == pytest.approx(3.0 + np.log(1000), rel=1e-14)

    def test_final_is_the_last_timepoint(self):
        assert preference_weights("final", TIMES).tolist() == [0, 0, 0, 1]

    def test_a_budget_distribution_that_is_uniform_is_the_uniform_preference(self):
        budget = stats.uniform(TIMES[0], TIMES[-1] - TIMES[0])
        np.testing.assert_allclose(preference_weights(budget, TIMES), preference_weights("uniform", TIMES))
        np.testing.assert_allclose(
            preference_weights(stats.loguniform(1, 1000), TIMES), preference_weights("log-uniform", TIMES)
        )

    def test_a_budget_beyond_the_timepoints_is_cut(self):
        half = stats.uniform(TIMES[0], 2 * (TIMES[-1] - TIMES[0]))
        np.testing.assert_allclose(preference_weights(half, TIMES), preference_weights("uniform", TIMES))

    def test_single_timepoint(self):
        for name in ("uniform", "log-uniform", "final"):
            assert preference_weights(name, [5.0]).tolist() == [1.0]

    @pytest.mark.parametrize(
        ("preference", "error", "message"),
        [
            ("early", ValueError, "'early' is unknown; choose one of uniform, log-uniform, final"),
            ([1, 2], ValueError, r"shape \(2,\); 4 timepoints need shape \(4,\)"),
            ([0, 0, 0, 0], ValueError, "at least one must be positive"),
            ([1, -1, 1, 1], ValueError, "not negative"),
            ([1, np.nan, 1, 1], ValueError, "finite"),
            (stats.norm(1e9, 1), ValueError, "at least one must be positive"),
            (lambda ratings: ratings, TypeError, "callable"),
            (stats.randint(1, 1000), TypeError, "discrete"),
        ],
    )
    def test_impossible_preferences_are_refused(self, preference, error, message):
        with pytest.raises(error, match=message):
            preference_weights(preference, TIMES)


def test_values_of_a_linear_preference_are_weighted_sums_of_ratings():
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    values = preference_values(CROSSING, weights)
    assert values.shape == (3000, 3)
    expected = sum(weights[t] / 10 * CROSSING.draws[:, t, :] for t in range(4))
    np.testing.assert_allclose(values, expected, rtol=1e-13)
    np.testing.assert_allclose(values.sum(axis=1), 1.0)


def test_a_callable_preference_sees_ratings_over_time_last():
    np.testing.assert_array_equal(preference_values(CROSSING, lambda r: r.min(axis=-1)), CROSSING.draws.min(axis=1))
    with pytest.raises(ValueError, match="must reduce the last axis"):
        preference_values(CROSSING, lambda r: r.min(axis=0))


def test_early_and_late_preferences_choose_different_algorithms():
    assert best(CROSSING, [1, 0, 0, 0]).members == ("A",)
    assert best(CROSSING, "final").members == ("B",)


@pytest.mark.parametrize("criterion", ["p2bb", "expected", "quantile"])
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("preference", ["log-uniform", lambda r: np.min(r, axis=-1)])
def test_the_table_is_equations_33_to_37_spelled_out(criterion, size, preference):
    selection = best(CROSSING, preference, criterion, size, gamma=0.1)
    multisets = list(itertools.combinations_with_replacement(range(3), size))
    ratings = np.stack([CROSSING.draws[:, :, list(members)].sum(axis=2) for members in multisets], axis=2)
    if callable(preference):
        values = preference(np.moveaxis(ratings, 1, 2))
    else:
        values = np.einsum("dtm,t->dm", ratings, preference_weights(preference, TIMES))
    expected = {
        tuple("ABC"[i] for i in members): (
            (values.argmax(axis=1) == column).mean(),
            values[:, column].mean(),
            np.quantile(values[:, column], 0.1),
        )
        for column, members in enumerate(multisets)
    }
    assert len(selection.choices) == len(multisets)
    for choice in selection.choices:
        got = (choice.probability_best, choice.expected, choice.quantile)
        np.testing.assert_allclose(got, expected[choice.members], rtol=1e-9, atol=1e-12)
        assert choice.low <= choice.expected <= choice.high
    column = {"p2bb": 0, "expected": 1, "quantile": 2}[criterion]
    assert expected[selection.members][column] == pytest.approx(max(row[column] for row in expected.values()))
    assert sum(choice.probability_best for choice in selection.choices) == pytest.approx(1.0)
    assert selection.exhaustive


def test_equal_values_are_both_best():
    """Equation 33 says at least as high; the order of the candidates does not matter."""
    share = lambda r: np.mean(r >= 0.3, axis=-1)  # noqa: E731
    for order in (["A", "B"], ["B", "A"]):
        selection = best(CROSSING, share, candidates=order)
        got = {choice.members[0]: choice.probability_best for choice in selection.choices}
        a, b = (share(CROSSING.draws[:, :, i]) for i in (0, 1))
        assert got == {"A": (a >= b).mean(), "B": (b >= a).mean()}
        assert sum(got.values()) > 1


def test_under_a_linear_preference_the_best_portfolio_repeats_the_best_algorithm():
    """Section 4.4: true for expected value and probability of being best."""
    for criterion in ("expected", "p2bb"):
        alone = best(CROSSING, "log-uniform", criterion).members[0]
        assert best(CROSSING, "log-uniform", criterion, size=3).members == (alone,) * 3


def test_under_a_worst_time_preference_a_portfolio_mixes_early_and_late():
    selection = best(CROSSING, lambda r: r.min(axis=-1), "expected", size=2)
    assert selection.members == ("A", "B")
    assert selection.best.label == "A + B"


def test_local_search_finds_what_exhaustive_search_finds():
    many = posterior(np.random.default_rng(3).gamma(2.0, 8.0, size=(4, 8)), draws=400)
    worst = lambda r: r.min(axis=-1)  # noqa: E731
    everything = best(many, worst, "expected", size=4)
    searched = best(many, worst, "expected", size=4, limit=10)
    assert everything.exhaustive
    assert not searched.exhaustive
    assert len(searched.choices) < len(everything.choices)
    assert searched.members == everything.members
    assert searched.best.expected == pytest.approx(everything.best.expected)


def test_the_search_compares_each_multiset_of_the_full_size_once():
    compared, exhaustive = pool(6, 3, lambda members: -sum((m - 2) ** 2 for m in members), limit=5)
    assert not exhaustive
    assert (2, 2, 2) in compared
    assert max(Counter(compared).values()) == 1
    assert all(len(members) == 3 and list(members) == sorted(members) for members in compared)


def test_candidates_narrow_the_choice():
    selection = best(CROSSING, "final", candidates=["A", "C"])
    assert {choice.members for choice in selection.choices} == {("A",), ("C",)}
    with pytest.raises(ValueError, match=r"candidates names \['Z'\]; choose from the posterior's algorithms: A, B, C"):
        best(CROSSING, candidates=["Z"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"criterion": "mean"}, "criterion is 'mean'; choose one of p2bb, expected, quantile"),
        ({"size": 0}, "size is 0"),
        ({"gamma": 1.0}, "gamma is 1.0"),
        ({"candidates": []}, "candidates names no algorithm; choose from"),
    ],
)
def test_impossible_questions_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        best(CROSSING, **arguments)


@pytest.mark.parametrize(
    ("joint", "preference", "sure"),
    [
        (True, "uniform", True),
        (False, "uniform", False),
        (False, "final", True),
        (False, [0, 1, 0, 0], True),
        (False, lambda r: r.min(axis=-1), False),
    ],
)
def test_independent_timepoints_make_preferences_over_several_look_surer_than_they_are(joint, preference, sure):
    """As a posterior that does not know its rankings says it."""
    selection = best(posterior([[8, 1], [1, 8], [1, 8], [1, 8]], joint=joint), preference)
    assert selection.sure == sure
    assert ("rely on the order, not on the certainty" in str(selection)) == (not sure)


@pytest.mark.statistical
@pytest.mark.parametrize("repeated", [True, False])
def test_whether_a_selection_is_sure_is_measured(repeated):
    """The same rankings at ten timepoints tell as much as those of one, fresh ones as much as ten."""
    rng = np.random.default_rng(3)
    values = rng.gumbel(size=(200, 1 if repeated else 10, 3)) + np.array([0.0, 0.1, 0.5])
    belief = fit(choice_counts(np.repeat(values, 10 // values.shape[1], axis=1)), rng=rng)
    selection = best(belief, "uniform")
    assert selection.overconfidence == pytest.approx(10 if repeated else 1, rel=0.4)
    assert selection.sure != repeated
    assert ("times as much as there really is" in str(selection)) == repeated
    assert best(belief, "final").overconfidence is None
    assert best(belief, "final").sure


def test_a_selection_prints_as_a_small_table():
    text = str(best(CROSSING, "uniform", size=2))
    assert text.splitlines()[0] == "best under a uniform preference by p2bb: 2 × B"
    assert "5% quantile" in text
