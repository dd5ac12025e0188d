"""A race whose pairs are not resolved: what is open and why, how much is left; preferences that are put together."""

import json

import numpy as np
import pytest

from polarbear import study
from polarbear.results import load
from polarbear.web import Sources, View
from tests.analyzer.recorded import run


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Of two algorithms each is better on every other instance; a third loses to both."""
    path = tmp_path_factory.mktemp("open") / "open.study"
    quick, late, poor = np.arange(2, 8), np.arange(20, 26), np.arange(60, 66)
    every = [
        made
        for seed in range(12)
        for made in (
            run("A", 1, 2, seed, quick if seed % 2 else late, 100),
            run("B", 1, 2, seed, late if seed % 2 else quick, 100),
            run("C", 1, 2, seed, poor, 100),
        )
    ]
    race = study.recorded_race(every, times=[10, 30, 100], alpha=0.95, epsilon=0.05)
    study.replay(race, every, into=path)
    return Sources([path])


def test_what_is_open_says_why(sources):
    shown = View("open-pairs", "open").show(sources)
    result = load(sources.path("open"))
    open_ = [(pair.first, pair.second) for pair in result.undecided]
    assert [row[:2] for row in shown.data.rows] == open_
    why = shown.data.rows[open_.index(("A", "B"))][-1]
    assert "not resolved: P(" in why
    assert "< α = 0.95" in why
    assert "more instance" in shown.text or "cannot be forecast" in shown.text


def test_a_pointer_finds_the_reason_at_every_timepoint(sources):
    figure = View("pairs", "open").figure(sources)
    drawn = json.loads(json.dumps(figure.plotly().to_plotly_json(), default=list))
    hints = [text for trace in drawn["data"] for text in trace.get("text") or [] if "A – B at" in text]
    assert len(hints) == 3
    assert "not resolved: P(" in hints[0]
    assert "&lt; α = 0.95" in hints[0]


def deployed(sources, kind, **params):
    return View(kind, "open", params).show(sources)


def test_preferences_of_all_kinds_choose_as_their_texts_do(sources):
    for params, budget in (
        ({"shape": "one budget", "middle": "1"}, "100"),
        ({"shape": "range", "middle": "0", "upper": "1"}, "10..100"),
        ({"shape": "final"}, "final"),
        ({"shape": "weights by hand", "weights": "0 0 1"}, "final"),
        ({"shape": "normal", "middle": "1", "spread": "0.1"}, "normal(100, 9)"),
    ):
        assert deployed(sources, "preference", **params).data == deployed(sources, "deploy", budget=budget).data
    said = deployed(sources, "preference", shape="worst").text
    assert said.startswith("Deploy ")
    assert "with probability 0." in said


def test_weights_can_be_copied_and_typed_in(sources):
    shown = deployed(sources, "preference-table", shape="lognormal", middle="0.3")
    typed = shown.text.rpartition("As weights: ")[2]
    again = deployed(sources, "preference-table", shape="weights by hand", weights=typed)
    np.testing.assert_allclose([row[1] for row in again.data.rows], [row[1] for row in shown.data.rows], rtol=5e-3)


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"shape": "weights by hand", "weights": "1 2"}, "give 3 weights, one for each timepoint: 10, 30, 100"),
        ({"shape": "range", "middle": "0.5", "upper": "0.5"}, "is empty; move its end"),
        ({"shape": "ranges"}, "preference is 'ranges'"),
        ({"middle": "2"}, "it must be a number from 0 to 1"),
    ],
)
def test_what_is_wrong_with_a_preference_is_said(sources, params, complaint):
    with pytest.raises(ValueError, match=complaint):
        deployed(sources, "preference", **params)


def test_models_are_compared_in_words(sources):
    shown = View("models", "open").show(sources)
    assert any(row[0].startswith("random-walk") for row in shown.data.rows)
    assert "own model is" in shown.text
