"""What a result says, draws and hands on is what the rooms compute."""

import math
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pytest
from scipy import stats

import polarbear as pb
from polarbear.inference import RandomWalk
from polarbear.results import FRAMES, Result
from tests.figures.results import crossing, raced

THREE = np.column_stack([crossing(), np.full(7, 0.3)])


@pytest.fixture(scope="module")
def result():
    return Result.of(raced(THREE))


def test_it_is_a_race_result_with_all_its_values(result):
    raw = raced(THREE)
    assert isinstance(result, pb.racing.RaceResult)
    np.testing.assert_array_equal(result.posterior.draws, raw.posterior.draws)
    assert result.pareto_set == raw.pareto_set
    assert result.study is None
    assert result.dimension is None


def test_it_prints_one_line(result):
    for text in (str(result), repr(result)):
        assert "\n" not in text
        for name in result.pareto_set:
            assert name in text
        assert f"{len(result.pareto_set)} of {len(result.names)}" in text
    assert repr(result) == f"<{result}>"


def test_a_notebook_shows_the_answer_the_members_and_the_ratings(result):
    page = ET.fromstring(f"<div>{result._repr_html_()}</div>".replace("&nbsp;", " "))
    assert page.find("p").text == result.answer.headline
    assert [row.find("th").text for row in page.iter("tr")] == [member.name for member in result.answer.members]
    assert page.find("{http://www.w3.org/2000/svg}svg") is not None


def test_the_best_is_that_of_select(result):
    assert (
        result.best().choices == pb.select.best(result.posterior, "log-uniform", candidates=result.pareto_set).choices
    )
    for risk, criterion, gamma in ((None, "p2bb", 0.05), ("expected", "expected", 0.05), (0.2, "quantile", 0.2)):
        chosen = result.best(budget=(20, 500), size=2, risk=risk)
        there = pb.select.best(result.posterior, (20, 500), criterion, 2, candidates=result.pareto_set, gamma=gamma)
        assert chosen.choices == there.choices
    everybody = {choice.members[0] for choice in result.best("final", everybody=True).choices}
    assert everybody == set(result.posterior.names)
    assert str(result.best(100)).startswith("best at a budget of 100 by p2bb: ")
    assert str(result.best(stats.norm(100, 9))).startswith("best under a norm(100, 9) preference by p2bb: ")
    with pytest.raises(ValueError, match="needs one dimension"):
        result.best("10*d")
    for risk, message in ((2, "^risk is 2"), ("bold", "^risk is 'bold'; choose one of p2bb"), ([1], "^risk is")):
        with pytest.raises(ValueError, match=message):
            result.best(risk=risk)


def test_a_model_over_time_answers_at_any_budget():
    walk = Result.of(raced(THREE, model=RandomWalk(time_scale="log")))
    there = walk.posterior.at(37.0, rng=np.random.default_rng(walk.settings.seed)).mean()[0]
    values = {choice.members[0]: choice.expected for choice in walk.best(37, everybody=True).choices}
    assert values == pytest.approx(dict(zip(walk.posterior.names, there, strict=True)))


def test_every_data_frame_has_its_rows(result):
    frames = {name: result.frame(name) for name in FRAMES}
    assert all(isinstance(frame, pl.DataFrame) and frame.height for frame in frames.values())
    timepoints, n = result.posterior.mean().shape
    assert frames["ratings"].height == timepoints * n
    np.testing.assert_array_equal(frames["ratings"]["mean"].to_numpy(), result.posterior.mean().ravel())
    assert frames["relations"].height == timepoints * math.comb(n, 2)
    observed = frames["observed"]
    assert observed.height == np.count_nonzero(~np.isnan(result.values))
    last = observed.row(observed.height - 1)
    assert last[3] == result.values[last[0], list(result.posterior.times).index(last[1]), result.names.index(last[2])]
    assert frames["evaluations"]["evaluations"].sum() == result.evaluations
    pandas = pytest.importorskip("pandas")
    assert isinstance(frames["rounds"].to_pandas(use_pyarrow_extension_array=False), pandas.DataFrame)
    with pytest.raises(ValueError, match="no data frame 'rating'; did you mean 'ratings'"):
        result.frame("rating")


def test_infinite_numbers_stay_numbers_in_data_frames():
    data = pb.assess.report.data.Data.of("x", ("a", "b", "c"), [(1.0, "inf", np.inf), (np.inf, "z", np.nan)])
    frame = data.frame()
    assert frame["a"].to_list() == [1.0, math.inf]
    assert frame["b"].to_list() == ["inf", "z"]
    assert frame["c"].to_list() == [math.inf, None]


@pytest.mark.parametrize("figure", ["ratings", "values", "relations", "dominance", "allocation"])
def test_every_figure_is_drawn_alone_and_on_axes_of_the_user(figure):
    result = Result.of(raced(crossing()))
    alone = getattr(result.plot, figure)()
    assert ET.fromstring(alone.svg()).tag.endswith("svg")
    picture, axes = plt.subplots(1, len(alone.panels), squeeze=False)
    there = getattr(result.plot, figure)(ax=axes[0])
    assert there.data == alone.data
    for mine, panel in zip(axes[0], alone.matplotlib().axes, strict=False):
        for one, other in zip(mine.lines, panel.lines, strict=True):  # lines to labels are as long as there is room
            np.testing.assert_array_equal(one.get_ydata(), other.get_ydata())
        assert len(mine.texts) == len(panel.texts)
        assert mine.get_ylim() == panel.get_ylim()
        assert mine.get_xlabel() == panel.get_xlabel()
    plt.close(picture)


def test_axes_that_do_not_fit_are_refused(result):
    with pytest.raises(TypeError, match="ax is a str; give Matplotlib axes"):
        result.plot.ratings(ax="here")
    picture, axes = plt.subplots(1, 2)
    with pytest.raises(ValueError, match="ax holds 2 axes, but the figure has 1 panel;"):
        result.plot.ratings(ax=axes)
    plt.close(picture)


def test_before_the_first_round_nothing_is_made_up():
    result = Result.of(pb.Race(["a", "b"], times=[1, 2]).result())
    assert str(result) == "race of 2 algorithms: no round is complete yet"
    assert result._repr_html_() == f"<p>{result}</p>"
    for ask in (result.best, result.frame, result.plot.ratings):
        with pytest.raises(ValueError, match=r"no round|not completed a round"):
            ask()
    with pytest.raises(ValueError, match="ratings round by round need at least two rounds; the race has completed 0"):
        result.plot.rounds()


def test_ratings_round_by_round_and_by_group_are_drawn_alone_too():
    entrants, stop = ["random-search", "scipy-COBYLA"], pb.study.StopRules(instances=16)
    suite = pb.problems.BBOB(functions=(1, 15), dimensions=(2, 3))
    race = pb.race(entrants, suite, times=(20, 60, 100), stop=stop, progress=False, batch=8)
    assert len(race.plot.rounds().panels) == len(race.rounds) == 2
    picture, axes = plt.subplots()
    groups = race.plot.groups(ax=axes)
    assert groups.title == "Who is best where"
    assert {label.get_text() for label in axes.get_xticklabels()} == {
        "2-D separable", "3-D separable", "2-D multi-modal", "3-D multi-modal"
    }  # fmt: skip
    plt.close(picture)
    with pytest.raises(
        ValueError, match="who is best where needs at least two algorithms, and instances of at least two"
    ):
        Result.of(raced(crossing())).plot.groups()


def test_the_report_is_that_of_the_analyzer(result, tmp_path):
    page = result.report(tmp_path / "mine.html")
    assert page.read_text() == pb.analyzer.report(result, tmp_path / "other.html").read_text()
