"""A study's model against others, and the checks, as a user of a finished study gets them."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest

from polarbear.analyzer import examine
from polarbear.analyzer.examination import REPLICATES, checks, doubts, label
from polarbear.inference import Check, GaussianProcess, IndependentDirichlet, RandomWalk, fit, leave_one_out
from polarbear.rankings import choice_counts
from tests.analyzer.test_report import Page, render
from tests.figures.results import raced


@pytest.fixture(scope="module")
def found():
    """Four algorithms whose ratings do not change, on timepoints spaced by factors."""
    return raced(np.tile([1.0, 0.8, 0.6, -0.5], (7, 1)), alpha=0.95, epsilon=0.1, instances=40)


@pytest.fixture(scope="module")
def examined(found):
    return examine(found)


def test_the_studys_model_is_compared_with_a_smooth_one(examined):
    assert examined.model == "instance-bootstrap"
    best, other = examined.comparison.models
    assert best.name == "random-walk (time_scale=log)"
    assert other.name == "instance-bootstrap"
    assert other.verdict.startswith("random-walk (time_scale=log) ")
    assert set(examined.overconfidence) == {best.name, other.name}
    assert 0.3 < examined.overconfidence["instance-bootstrap"] < 1.5


def test_scores_are_those_of_leave_one_out(found, examined):
    rng = np.random.default_rng(3)
    posterior = fit(choice_counts(found.values), model=IndependentDirichlet(), draws=500, rng=rng)
    score = leave_one_out(posterior, found.values, rng=rng)
    theirs = next(one for one in examined.comparison.models if one.name == "instance-bootstrap")
    assert theirs.elpd == pytest.approx(score.elpd, abs=1.0)


def test_it_is_json_and_the_same_every_time(found, examined):
    told = json.loads(json.dumps(examined.as_dict()))
    assert [one["name"] for one in told["checks"]] == [one.name for one in examined.checks]
    assert told["comparison"]["models"][0]["behind"] == 0
    assert checks(found) == examined.checks


def test_models_can_be_named(found):
    named = examine(found, ["random-walk", "b-spline"])
    assert {one.name for one in named.comparison.models} == {
        "instance-bootstrap",
        "random-walk (time_scale=log)",
        "b-spline (time_scale=log)",
    }
    with pytest.raises(ValueError, match="there is no model 'spline'"):
        examine(found, ["spline"])
    with pytest.raises(ValueError, match="does not say which model"):
        examine(replace(found, posterior=replace(found.posterior, model=None)))


def test_labels_tell_models_apart():
    assert label(IndependentDirichlet()) == "independent-dirichlet"
    assert label(IndependentDirichlet(0.5)) == "independent-dirichlet (alpha=0.5)"
    assert label(GaussianProcess("matern-5/2", time_scale="log")) == (
        "gaussian-process (time_scale=log, kernel=matern-5/2)"
    )
    assert label(RandomWalk()) == "random-walk"


def test_doubts_are_of_failed_checks_and_not_of_what_the_posterior_takes_into_account(found):
    said = "MSR is 1.5 times as often first as at 3. A portfolio is worth less."
    failed = Check("first places", "share", 1.0, (0.0, 0.5), 0.005, False, said)
    repeated = replace(failed, name="independent timepoints", verdict="The rankings repeat each other; 3 of 50.")
    every = (replace(failed, passed=True), failed, repeated, replace(failed, passed=None))
    assert doubts(every, found) == ["first places: MSR is 1.5 times as often first as at 3."]
    published = replace(found, posterior=replace(found.posterior, joint=False))
    assert doubts(every, published)[1:] == ["independent timepoints: The rankings repeat each other."]


def test_the_report_has_the_checks(found):
    page = Page(render(found))
    told = checks(found, replicates=REPLICATES)
    assert all(any(one.verdict in text for text in page.texts) for one in told)
    assert [row["p_value"] for row in csv.DictReader(io.StringIO(page.downloads["checks.csv"]))] == [
        "" if one.p_value is None else str(one.p_value) for one in told
    ]
