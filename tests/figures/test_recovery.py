"""Posteriors against a known truth: what is drawn is what is true and what was believed."""

import numpy as np
import pytest

from polarbear import figures
from polarbear.figures import Snapshot, captions
from polarbear.figures.style import looks
from polarbear.select import preference_values
from polarbear.simulate import Truth
from tests.figures.results import TIMES, posterior


def drawn(figure, gid):
    """The artists with a gid."""
    return figure.findobj(lambda artist: artist.get_gid() == gid)


@pytest.fixture(scope="module")
def truth():
    """A and B cross, A dominates C."""
    utilities = np.stack([np.linspace(1.0, 0.0, 7), np.linspace(-1.0, 1.0, 7), np.linspace(0.0, -2.0, 7)], axis=1)
    ratings = np.exp(utilities)
    return Truth(TIMES, ratings / ratings.sum(axis=1, keepdims=True), ("A", "B", "C"))


@pytest.fixture(scope="module")
def snapshots(truth):
    utilities = np.log(truth.ratings)
    return [
        Snapshot("round 1", posterior(utilities + 0.2, spread=0.5, seed=2)),
        Snapshot("round 2", posterior(utilities, spread=0.1), eliminated={"C"}),
    ]


def test_the_first_panel_is_the_truth_with_its_pareto_set_in_bold(truth, snapshots):
    first = figures.recovery(truth, snapshots).axes[0]
    lines = {line.get_gid(): line for line in first.lines}
    for column in range(3):
        np.testing.assert_array_equal(lines[f"mean-{column}"].get_ydata(), truth.ratings[:, column])
    weights = {text.get_text(): text.get_fontweight() for text in first.texts if text.get_gid() == "end-label"}
    assert weights == {"A": "bold", "B": "bold", "C": "normal"}
    assert truth.pareto_set == ("A", "B")


def test_the_panels_that_follow_have_means_and_the_truth_on_one_scale(truth, snapshots):
    figure = figures.recovery(truth, snapshots)
    for ax, shot in zip(figure.axes[1:3], snapshots, strict=True):
        lines = {line.get_gid(): line for line in ax.lines}
        assert ax.get_title(loc="left") == shot.title
        assert ax.get_ylim() == figure.axes[0].get_ylim()
        for column in range(3):
            np.testing.assert_array_equal(lines[f"truth-{column}"].get_ydata(), truth.ratings[:, column])
            np.testing.assert_allclose(lines[f"mean-{column}"].get_ydata(), shot.posterior.mean()[:, column])
        assert lines["mean-2"].is_dashed() == ("C" in shot.eliminated)
    assert len(drawn(figure, "band-2")) == 1
    assert len(drawn(figure, "band-1")) == 2


def test_the_last_panel_has_values_at_the_end_and_true_values(truth, snapshots):
    weights = np.array([0, 1, 0, 0, 0, 0, 2.0])
    figure = figures.recovery(truth, snapshots, preference=weights)
    values = preference_values(snapshots[-1].posterior, weights).mean(axis=0)
    for column in range(3):
        (mean,), (true,) = drawn(figure, f"mean-{column}")[-1:], drawn(figure, f"true-value-{column}")
        assert mean.get_xdata()[0] == pytest.approx(values[column])
        expected = (truth.ratings[1, column] + 2 * truth.ratings[6, column]) / 3
        assert true.get_xdata()[0] == pytest.approx(expected)


def test_narrow_figures_stack_their_panels_and_none_is_empty(truth, snapshots):
    for width in (3.5, 7.2):
        figure = figures.recovery(truth, snapshots[1:], width=width)
        figure.draw_without_rendering()
        assert len(figure.axes) == 3
        assert all(ax.has_data() for ax in figure.axes)


def test_snapshots_belong_to_the_truth(truth, snapshots):
    with pytest.raises(ValueError, match="no snapshot to draw"):
        figures.recovery(truth, [])
    other = Truth(truth.times, truth.ratings, ("X", "Y", "Z"))
    with pytest.raises(ValueError, match="snapshot 'round 1' has different algorithms"):
        figures.recovery(other, snapshots)


def test_without_a_truth_each_moment_has_a_panel_on_one_scale(snapshots):
    figure = figures.rating_over_rounds(snapshots)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["round 1", "round 2"]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
    for ax, shot in zip(figure.axes, snapshots, strict=True):
        lines = {line.get_gid(): line for line in ax.lines}
        for column in range(3):
            np.testing.assert_allclose(lines[f"mean-{column}"].get_ydata(), shot.posterior.mean()[:, column])
        assert lines["mean-2"].is_dashed() == ("C" in shot.eliminated)
        np.testing.assert_allclose(lines["even"].get_ydata(), 1 / 3)
    assert "eliminated" in figure.caption
    assert "eliminated" not in figures.rating_over_rounds(snapshots[:1]).caption


def test_moments_may_rate_other_algorithms():
    """A race of many rates those still in it; each keeps its colour."""
    three, two = posterior(np.zeros((7, 3))), posterior(np.zeros((7, 2)), names=("A", "C"))
    figure = figures.rating_over_rounds([Snapshot("round 1", three), Snapshot("round 2", two)])
    first, second = ({text.get_text(): text.get_color() for text in ax.texts} for ax in figure.axes)
    assert set(first) == {"A", "B", "C"}
    assert second == {name: first[name] for name in ("A", "C")}


def test_moments_without_a_truth_are_at_least_one_and_of_the_same_timepoints(snapshots):
    with pytest.raises(ValueError, match="no snapshot to draw"):
        figures.rating_over_rounds([])
    later = posterior(np.zeros((7, 3)), times=2 * TIMES)
    with pytest.raises(ValueError, match=r"'round 1' has different timepoints from .* the last snapshot"):
        figures.rating_over_rounds([snapshots[0], Snapshot("round 9", later)])


def test_ratings_show_the_truth_in_place_of_the_even_line(truth, snapshots):
    belief = snapshots[-1].posterior
    figure = figures.rating_over_time(belief, truth=truth.ratings)
    for column, name in enumerate("ABC"):
        (line,) = drawn(figure, f"truth-{column}")
        np.testing.assert_array_equal(line.get_ydata(), truth.ratings[:, column])
        assert line.get_color() == looks(truth.names)[name].ink
    assert not drawn(figure, "even")
    assert "1/3" not in captions.rating_over_time(3, truth=True)
    assert "1/3" in captions.rating_over_time(3)
    with pytest.raises(ValueError, match=r"truth has shape \(6, 3\); the posterior's ratings have \(7, 3\)"):
        figures.rating_over_time(belief, truth=truth.ratings[1:])
