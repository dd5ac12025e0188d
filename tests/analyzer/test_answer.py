"""The sentences are right, and claim no more than the posterior does."""

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from polarbear.analyzer import answer
from polarbear.analyzer.answer import ON_REQUEST, SET_ASIDE, Answer
from polarbear.analyzer.words import at_least, probability, spans
from polarbear.descriptions import listed
from polarbear.inference import fit
from polarbear.quantities import amount, duration, plural
from polarbear.racing.forecast import OpenPair
from polarbear.rankings import choice_counts
from tests.figures.results import TIMES, a_round, a_withdrawal, crossing, posterior, raced, result


class TestSingleWinner:
    @pytest.fixture
    def said(self):
        belief = posterior(np.tile([3.0, 0.0, -3.0], (7, 1)))
        dominance = {"A": ("B", 0.0), "B": ("A", 0.9994), "C": ("B", 0.98)}
        rounds = (
            a_round(1, "AB", dominance=dominance, eliminated={"C": "A"}, resolved_pairs=2),
            a_round(2, "A", dominance={"A": ("B", 0.0), "B": ("A", 0.9987)}, eliminated={"B": "A"}, resolved_pairs=3),
        )
        return answer(result(belief, eliminated={"C": "A", "B": "A"}, rounds=rounds))

    def test_headline_names_it(self, said):
        assert said.headline == "A is the whole anytime Pareto set: each of the other 2 algorithms was eliminated."
        assert said.finished
        assert said.pareto_set == ("A",)

    def test_it_is_compared_with_all_algorithms(self, said):
        (member,) = said.members
        assert member.sentence == "most likely the best at every timepoint (P(best) >0.999; best on 95% of instances)."

    def test_eliminations_say_who_when_and_how_surely(self, said):
        first, second = said.eliminated
        assert first.sentence == (
            "C was eliminated by A in round 1, after 8 instances: P(A is better) was at least 0.950 at each timepoint."
        )  # the strongest rival was B, so of A only the threshold is known
        assert second.sentence == (
            "B was eliminated by A in round 2, after 16 instances: P(A is better) was at least 0.998 at each timepoint."
        )

    def test_nothing_is_undecided(self, said):
        assert said.undecided == said.relations == ()


class TestCrossing:
    @pytest.fixture
    def said(self):
        leaning = crossing() + np.array([0.2, 0.0])
        return answer(result(posterior(leaning, spread=0.6), resolution="crossing"))

    def test_headline(self, said):
        assert said.headline == (
            "Both algorithms form the anytime Pareto set: A and B. Which of them is best depends on the budget."
        )

    def test_each_is_told_where_it_leads(self, said):
        early, late = said.members
        assert early.sentence == (
            "most likely the best from 10 to 100 evaluations (P(best) up to >0.999, at 10; best on 55% to 95% of "
            "instances); from 10 to 20 evaluations "
            "with P(best) ≥ 0.95."
        )
        assert late.sentence.startswith("most likely the best from 200 to 1,000 evaluations (P(best) up to ")
        assert late.sentence.endswith("; from 500 to 1,000 evaluations with P(best) ≥ 0.95.")

    def test_the_pair_is_undecided_where_it_crosses(self, said):
        assert said.relations == (
            "A – B: A is better from 10 to 20 evaluations, B is better from 500 to 1,000 evaluations, undecided from "
            "50 to 200 evaluations.",
        )

    def test_leading_where_the_posterior_is_torn_is_not_called_sure(self):
        belief = posterior(np.tile([0.05, 0.0], (7, 1)), spread=0.5)
        first, second = answer(result(belief)).members
        assert "≥" not in first.sentence
        assert "<" not in first.sentence
        assert second.sentence.startswith("never the most likely best (P(best) at most 0.4")


class TestEquivalent:
    def test_said_so(self):
        said = answer(result(posterior(np.zeros((7, 3)), spread=0.02)))
        assert said.headline == (
            "All 3 algorithms form the anytime Pareto set: A, B and C. They are practically equivalent at every "
            "timepoint."
        )
        assert set(said.relations) == {
            f"{pair}: equivalent at every timepoint." for pair in ("A – B", "A – C", "B – C")
        }

    def test_dominance_at_some_budgets_and_equivalence_at_others_is_no_crossing(self):
        belief = posterior(np.array([[0.0, 0.0]] * 3 + [[1.0, 0.0]] * 4), spread=0.02, draws=4000, seed=5)
        said = answer(result(belief))
        assert said.headline.endswith("None of them is known to be better than another at every timepoint.")
        assert said.relations[0].startswith(
            "A – B: A is better from 100 to 1,000 evaluations, equivalent from 10 to 50"
        )


class TestUndecided:
    @pytest.fixture
    def found(self):
        return result(posterior(np.tile([0.3, 0.0, -4.0], (7, 1)), spread=0.4), eliminated={"C": "A"})

    def test_headline_says_the_set_may_shrink(self, found):
        assert answer(found).headline == (
            "2 of 3 algorithms are still in the race: A and B. 1 pair is undecided, so the set may yet shrink."
        )
        assert not answer(found).finished

    def test_what_it_would_take(self, found):
        (pair,) = answer(found).undecided
        assert pair.sentence.startswith("A – B is undecided at timepoints between 10 and 1,000 evaluations; it would ")
        assert pair.more_instances >= found.undecided[0].more_instances
        assert f"about {pair.more_instances:.0f} more instances (rough forecast)" in pair.sentence

    def test_no_number_in_sight(self, found):
        hopeless = replace(found, undecided=(OpenPair("A", "B", 50.0, 50.0, np.inf, np.inf),))
        (pair,) = answer(hopeless).undecided
        assert pair.sentence == (
            "A – B is undecided at 50 evaluations; how many more instances it would take cannot be forecast."
        )
        assert pair.more_instances is None


def test_many_open_pairs_are_counted_not_listed():
    said = answer(result(posterior(np.zeros((7, 6)), spread=1.0)))
    assert len(said.undecided) == 15
    assert said.text.count("is undecided") == 10
    assert "… and 5 more pairs." in said.text


def test_before_the_first_round_nothing_is_claimed():
    said = answer(result(posterior(np.zeros((7, 2))), rounds=()))
    assert said.headline == "Nothing is known yet about A and B: no round is complete."
    assert said.members == said.undecided == said.eliminated == ()
    assert said.effort == "Nothing has been spent yet."


class TestWithdrawn:
    def test_they_are_named_with_the_reason(self):
        found = result(posterior(np.zeros((7, 4)), spread=0.02), withdrawn="C")
        silent = a_round(2, "AB", dominance={}, withdrawn="D")
        found = replace(found, pareto_set=("A", "B"), withdrawn=("C", "D"), rounds=(*found.rounds, silent))
        said = answer(found)
        assert said.as_dict()["withdrawn"] == {"C": "on request", "D": "nothing came back"}
        on_request, set_aside = said.cautions
        assert on_request == "C was withdrawn: the Pareto set is that of the others."
        assert set_aside.startswith("D was set aside and not assessed: none of the runs")
        assert said.headline.startswith("Both algorithms not withdrawn form the anytime Pareto set: A and B.")
        assert answer(result(posterior(np.zeros((7, 2))))).withdrawn == {}

    def test_they_count_neither_as_rivals_nor_as_eliminated(self):
        belief = posterior(np.tile([3.0, 0.0, -3.0], (7, 1)))
        said = answer(result(belief, withdrawn="A", eliminated={"C": "B"}))
        assert said.headline == ("B is the whole anytime Pareto set: the other algorithm not withdrawn was eliminated.")
        assert said.members[0].sentence.startswith("most likely the best at every timepoint (P(best) >0.999; ")

    def test_no_more_is_said_of_the_pareto_set_than_is_known(self):
        said = answer(result(posterior(np.tile([3.0, 0.05, 0.0], (7, 1)), spread=0.5), withdrawn="A"))
        assert said.headline.startswith("Both algorithms not withdrawn are still in the race: B and C.")
        assert said.members[1].sentence.endswith(
            "but none of the other algorithms not withdrawn is known to be better at every timepoint."
        )

    def test_one_that_is_left_is_compared_with_nobody(self):
        said = answer(result(posterior(np.tile([3.0, 0.0], (7, 1))), withdrawn="A"))
        assert said.finished
        assert said.headline == "B is the only algorithm not withdrawn."
        assert [member.sentence for member in said.members] == ["no other algorithm is left to compare with."]

    def test_before_the_first_run_nothing_is_claimed(self):
        belief = posterior(np.zeros((7, 3)))
        found = result(belief, withdrawn="C", rounds=(a_withdrawal(1, "AB", "C"),))
        found = replace(found, values=found.values[:0], evaluations_by_algorithm=dict.fromkeys("ABC", 0))
        found = replace(found, evaluations_to_the_end=0.0)
        said = answer(found)
        assert found.saved == 0.0
        assert said.headline == "Nothing is known yet about A and B: no round is complete."
        assert said.effort == "Nothing has been spent yet."
        assert said.members == said.undecided == said.recommendations == ()
        assert said.saved is None
        assert said.withdrawn == {"C": "on request"}
        assert "\nCautions:\n  C was withdrawn: the Pareto set is that of the others.\n" in said.text
        alone = replace(found, pareto_set=("A",), withdrawn=("C", "B"), finished=True)
        assert (
            answer(alone).headline
            == "Nothing is known about A, the only algorithm not withdrawn: nothing has been run."
        )

    def test_an_elimination_is_not_right_because_of_them(self):
        belief = posterior(np.tile([3.0, 0.1, 0.0], (7, 1)), joint=True, spread=0.1)
        said = answer(result(belief, withdrawn="A", eliminated={"C": "B"}))
        b, c = belief.draws[:, :, 1], belief.draws[:, :, 2]
        assert said.false_elimination.probability == 1 - (b > c).all(axis=1).mean() > 0.1
        assert "that is, that none of the other algorithms not withdrawn is better" in said.false_elimination.sentence


def test_joint_elimination_is_worded_as_such():
    dominance = {"A": ("B", 0.0), "B": ("A", 0.962)}
    rounds = (a_round(1, "A", dominance=dominance, eliminated={"B": "A"}, resolved_pairs=1),)
    found = result(
        posterior(np.tile([1.0, 0.0], (7, 1)), joint=True), eliminated={"B": "A"}, rounds=rounds, elimination="joint"
    )
    (out,) = answer(found).eliminated
    assert out.sentence.endswith("P(A is better at all timepoints at once) was at least 0.962.")


class TestFalseEliminations:
    @staticmethod
    def said(eliminated, joint=True, spread=0.5):
        belief = posterior(np.tile([1.0, 0.0, -0.5], (7, 1)), joint=joint, spread=spread)
        return belief, answer(result(belief, eliminated=eliminated))

    def test_their_probability_is_the_posteriors(self):
        belief, said = self.said({"C": "A", "B": "A"})
        b, c = belief.draws[:, :, 1], belief.draws[:, :, 2]
        a = belief.draws[:, :, 0]
        in_set = ~(a > b).all(axis=1) & ~(c > b).all(axis=1), ~(a > c).all(axis=1) & ~(b > c).all(axis=1)
        exact = (in_set[0] | in_set[1]).mean()
        assert 0.1 < exact < 0.9
        assert said.false_elimination.probability == exact
        assert said.false_elimination.sentence == (
            "The probability that at least one of these 2 eliminations was an error, that is, that no other algorithm "
            f"is better than the eliminated one at all timepoints at once, is {probability(exact)}."
        )
        assert f"\n  {said.false_elimination.sentence}\n" in said.text
        assert said.as_dict()["false_elimination"]["probability"] == exact

    def test_one_alone(self):
        sentence = self.said({"C": "A"}, spread=0.1)[1].false_elimination.sentence
        assert sentence.startswith(
            "The probability that this elimination was an error, that is, that no other algorithm "
        )
        assert sentence.endswith(" at once, is <0.001.")

    def test_nothing_is_said_where_nothing_is_known(self):
        assert self.said({})[1].false_elimination is None
        assert self.said({"C": "A"}, joint=False)[1].false_elimination is None


def test_effort_is_compared_with_running_everything_to_the_end():
    found = result(posterior(np.zeros((7, 2))))
    assert answer(found).effort == (
        "Spent: 3,000 evaluations in 16 runs on 8 instances. Running both algorithms to 1,000 evaluations on the same "
        "instances would have taken 16,000: 81% saved. A fixed plan of equal certainty, had it been known how "
        "many instances that takes, would have used about 4 of these 8 instances (rough estimate): 62% saved."
    )  # a spread of 0.14 may grow to 0.2, at which 95% lie within log(0.6 / 0.4) = 0.4: half the instances do
    assert answer(found).saved == pytest.approx(1 - 3 / 16)
    assert answer(found).saved_against_plan == pytest.approx(1 - 3 / 8)
    timed = answer(result(posterior(np.zeros((7, 2))), axis="seconds"))
    assert timed.saved is None
    assert timed.saved_against_plan is None
    assert timed.effort == "Spent: 1.5 s inside 16 runs on 8 instances (3,000 evaluations)."


def test_failures_and_doubtful_draws_are_cautioned_about():
    belief = posterior(np.zeros((7, 2)))
    rounds = (a_round(1, "AB", dominance={"A": ("B", 0.1), "B": ("A", 0.1)}, failures=1),)
    k_hat = np.array([0.1, 0.1, 0.9, 0.9, 0.1, 0.1, 0.1])
    doubted = replace(belief, diagnostics=replace(belief.diagnostics, k_hat=k_hat))
    failed, doubtful = answer(result(doubted, rounds=rounds)).cautions
    assert failed.startswith("1 of 16 runs failed, timed out or was killed.")
    assert doubtful == "The posterior is unreliable from 50 to 100 evaluations: use more draws."
    assert answer(result(belief)).cautions == ()


def test_recommendations_tell_whether_their_certainty_can_be_taken_at_face_value():
    utilities = crossing(height=2.0)
    independent = {one.preference: one for one in answer(result(posterior(utilities))).recommendations}
    assert {name: one.sure for name, one in independent.items()} == {
        "uniform": False,
        "log-uniform": False,
        "final": True,
    }
    joint = answer(result(posterior(utilities, joint=True))).recommendations
    assert all(one.sure for one in joint)
    assert independent["final"].likeliest.members == ("B",)
    assert independent["final"].condition == "only the budget 1,000 evaluations matters"


def test_the_answer_of_a_real_race_is_json_and_text():
    said = answer(raced(np.random.default_rng(4).normal(size=(7, 4)), alpha=0.95, epsilon=0.1, resolution="crossing"))
    back = json.loads(json.dumps(said.as_dict(), allow_nan=False))
    assert back["pareto_set"] == list(said.pareto_set)
    assert {one["name"] for one in back["members"]} == set(said.pareto_set)
    assert said.text.startswith(said.headline)
    assert str(said) == said.text
    for sentence in [one.sentence for one in (*said.members, *said.eliminated, *said.undecided)] + [said.effort]:
        assert sentence in said.text


def test_every_field_of_the_answer_is_documented():
    page = (Path(__file__).parents[2] / "docs/reference/cli.md").read_text()
    assert [one.name for one in fields(Answer) if f"`{one.name}`" not in page] == []
    assert all(f'`"{why}"`' in page for why in (ON_REQUEST, SET_ASIDE))


class TestWords:
    @pytest.mark.parametrize(
        ("p", "text"),
        [(0.0, "<0.001"), (1.0, ">0.999"), (0.5, "0.50"), (0.9955, "0.996"), (0.004, "0.004"), (0.9995, ">0.999")],
    )
    def test_probabilities_are_never_a_bare_zero_or_one(self, p, text):
        assert probability(p) == text

    def test_lower_bounds_round_down(self):
        assert at_least(0.9968) == "at least 0.996"
        assert at_least(0.99) == "at least 0.990"
        assert at_least(1.0) == "more than 0.999"

    @pytest.mark.parametrize(
        ("mask", "text"),
        [
            ("1111111", "at every timepoint"),
            ("0000000", "at no timepoint"),
            ("1110000", "from 10 to 50 evaluations"),
            ("0001000", "at 100 evaluations"),
            ("1100011", "from 10 to 20 and from 500 to 1,000 evaluations"),
            ("1010101", "at 10, at 50 and at 200 evaluations (and at 1 more timepoint)"),
        ],
    )
    def test_spans(self, mask, text):
        assert spans(TIMES, np.array([bit == "1" for bit in mask]), "evaluations") == text

    def test_numbers(self):
        assert [amount(n) for n in (8660, 640_000, 15_400_000, 1.2e12)] == [
            "8,660",
            "640,000",
            "15.4 million",
            "1.2 trillion",
        ]
        assert [duration(s) for s in (0.25, 600, 10_000)] == ["0.25 s", "10 min", "2 h 47 min"]
        assert [plural(n, "pair") for n in (0, np.int64(1), 2000)] == ["0 pairs", "1 pair", "2,000 pairs"]
        assert [listed(words) for words in ([], ["A"], ["A", "B"], ["A", "B", "C"])] == [
            "none",
            "A",
            "A and B",
            "A, B and C",
        ]


@pytest.mark.statistical
def test_algorithms_that_beat_each_other_in_a_circle_are_named():
    values = np.repeat(np.tile([[0.0, 1.0, 2.0], [1.0, 2.0, 0.0], [2.0, 0.0, 1.0]], (60, 1))[:, np.newaxis], 7, axis=1)
    values[:, 5:] = [0.0, 1.0, 2.0]
    belief = fit(choice_counts(values), times=TIMES, names=["A", "B", "C"], rng=np.random.default_rng(0))
    (caution,) = answer(result(belief)).cautions
    assert caution == (
        "A beats B, B beats C and C beats A, each on most instances, from 10 to 200 evaluations: no ratings fit this."
    )
