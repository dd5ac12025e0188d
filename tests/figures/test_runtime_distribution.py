"""Runtime distributions and profiles show the steps, crosses and dots that they were given."""

import matplotlib as mpl
import numpy as np
import pytest

from polarbear import figures
from polarbear.figures import Distribution
from polarbear.figures.style import looks
from tests.figures.marks import assert_readable, crowd, drawn, names_shown, one, step_values

STEPS = Distribution(np.array([10.0, 20.0, 400.0]), np.array([0.25, 0.5, 0.75]), spent=100.0, solved=0.75)


def distributions(n, *, size=3000, seed=1):
    """As large as 24 functions by 51 targets by some runs."""
    rng = np.random.default_rng(seed)
    found = {}
    for name in crowd(n):
        at = np.sort(10 ** rng.normal(rng.uniform(2, 4), 1.2, size))
        share = np.arange(1, size + 1) / size * rng.uniform(0.4, 1)
        found[name] = Distribution(at, share, spent=10 ** rng.uniform(3, 5), solved=float(share[-1]))
    return found


class TestDistribution:
    def test_the_height_is_right_continuous(self):
        budgets = [9.9, 10, 19.9, 20, 399, 400, 1e9]
        assert [STEPS.height(b) for b in budgets] == [0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75]
        assert Distribution(np.empty(0), np.empty(0)).height(5) == 0

    @pytest.mark.parametrize(
        ("at", "share", "complaint"),
        [
            ([1.0, 2.0], [0.5], r"shapes \(2,\) and \(1,\)"),
            ([2.0, 1.0], [0.1, 0.2], "never decrease; leave out"),
            ([1.0, np.inf], [0.1, 0.2], "must be finite"),
            ([1.0, 2.0], [0.2, 0.1], "shares of a distribution"),
            ([1.0, 2.0], [0.2, 1.1], "lie between 0 and 1"),
            ([1.0], [np.nan], "lie between 0 and 1"),
        ],
    )
    def test_refuses_what_is_no_distribution(self, at, share, complaint):
        with pytest.raises(ValueError, match=complaint):
            Distribution(np.array(at), np.array(share))

    def test_comes_from_the_assessment(self):
        assess = pytest.importorskip("polarbear.assess.distributions")
        found = assess.RuntimeDistribution(
            np.array([10.0, 20.0]), np.array([0.25, 0.5]), np.zeros(2, dtype=bool), np.array([40.0, 60.0, 90.0]), 4
        )
        curve = Distribution.of(found)
        assert (curve.spent, curve.solved) == (60.0, 0.5)
        np.testing.assert_array_equal(curve.at, [10, 20])
        np.testing.assert_array_equal(curve.share, [0.25, 0.5])


class TestRuntimeDistributions:
    def test_lines_are_the_steps_from_edge_to_edge(self):
        figure = figures.runtime_distributions({"A": STEPS}, limits=(1.0, 1e4))
        line = one(figure, "share-0")
        x, y = step_values(line)
        np.testing.assert_array_equal(x, [1, 10, 20, 400, 1e4])
        np.testing.assert_array_equal(y, [0, 0.25, 0.5, 0.75, 0.75])
        assert line.get_drawstyle() == "steps-post"
        assert figure.axes[0].get_xlim() == (1, 1e4)

    def test_crosses_lie_on_the_line_and_dots_at_the_right_edge(self):
        figure = figures.runtime_distributions({"A": STEPS, "B": Distribution(STEPS.at * 2, STEPS.share)})
        assert [float(v[0]) for v in step_values(one(figure, "cross-0"))] == [100.0, 0.5]
        assert [float(v[0]) for v in step_values(one(figure, "dot-0"))] == [800.0, 0.75]
        assert not drawn(figure, "cross-1")
        assert not drawn(figure, "dot-1")
        (key,) = [ax.get_legend() for ax in figure.axes]
        assert [text.get_text() for text in key.get_texts()] == [
            "median budget of unsuccessful runs",
            "solved at least once",
        ]

    def test_without_crosses_there_is_no_key(self):
        figure = figures.runtime_distributions({"A": Distribution(STEPS.at, STEPS.share)})
        assert figure.axes[0].get_legend() is None

    def test_a_cross_out_of_sight_is_not_moved_into_it(self):
        assert not drawn(figures.runtime_distributions({"A": STEPS}, limits=(1, 50)), "cross-0")

    def test_reference_and_background_lie_behind_and_only_the_reference_is_named(self):
        figure = figures.runtime_distributions(
            {"A": STEPS}, reference=("best 2009", Distribution(STEPS.at / 2, STEPS.share)), background=[STEPS, STEPS]
        )
        reference, line = one(figure, "reference"), one(figure, "share-0")
        assert reference.get_linewidth() > 2 * line.get_linewidth()
        assert drawn(figure, "background-0")[0].get_zorder() < reference.get_zorder() < line.get_zorder()
        assert sorted(names_shown(figure)) == ["A", "best 2009"]
        assert figure.axes[0].get_xlim() == (5.0, 400.0)

    def test_colours_follow_the_order_of_the_report(self):
        figure = figures.runtime_distributions({"C": STEPS}, order=["A", "B", "C"])
        assert one(figure, "share-0").get_color() == looks("ABC")["C"].color

    def test_names_at_one_height_stand_with_the_fastest_on_top(self):
        full = np.array([0.5, 1.0])
        given = {name: Distribution(np.array([1.0, 10.0]) * speed, full) for name, speed in zip("ABC", (5, 1, 3))}  # noqa: B905
        assert names_shown(figures.runtime_distributions(given)) == ["B", "C", "A"]

    def test_nothing_solved_is_a_line_at_zero_with_its_cross(self):
        nothing = Distribution(np.empty(0), np.empty(0), spent=1000.0, solved=0.0)
        figure = figures.runtime_distributions({"A": STEPS, "none": nothing})
        assert set(step_values(one(figure, "share-1"))[1]) == {0.0}
        assert float(step_values(one(figure, "cross-1"))[1][0]) == 0.0
        figures.svg(figures.runtime_distributions({"none": nothing}))

    def test_the_axis_reaches_from_the_smallest_to_the_largest_finite_budget(self):
        curve = Distribution(np.array([3.0, 10.0]), np.array([0.5, 1.0]), spent=np.inf)
        assert figures.runtime_distributions({"A": curve}).panels[0].x.ends == (3, 10)

    def test_wrong_input_is_named(self):
        with pytest.raises(ValueError, match="there is no distribution to draw"):
            figures.runtime_distributions({}, limits=(1, 10))
        with pytest.raises(ValueError, match="budget 0 cannot be drawn on a log axis"):
            figures.runtime_distributions({"A": Distribution(np.array([0.0, 1.0]), np.array([0.5, 1.0]))})
        with pytest.raises(ValueError, match="no budget is given"):
            figures.runtime_distributions({"A": Distribution(np.empty(0), np.empty(0))})
        with pytest.raises(ValueError, match="budget -1 cannot be drawn on a log axis"):
            figures.runtime_distributions({"A": STEPS}, limits=(-1, 10))
        with pytest.raises(ValueError, match=r"order is \['B'\]; it must name every algorithm, but lacks \['A'\]"):
            figures.runtime_distributions({"A": STEPS}, order=["B"])

    @pytest.mark.parametrize(("n", "width"), [(1, 7.2), (1, 3.5), (5, 7.2), (5, 3.5), (20, 7.2), (20, 3.5)])
    def test_labels_can_be_read(self, n, width):
        figure = figures.runtime_distributions(distributions(n), reference=("best 2009", STEPS), width=width)
        assert_readable(figure)
        assert len(drawn(figure, "end-label")) == n + 1

    def test_svg_is_the_same_every_time_and_small(self):
        first, second = (figures.svg(figures.runtime_distributions(distributions(20))) for _ in range(2))
        assert first == second
        assert 'id="share-19"' in first
        assert len(first) < 1_000_000

    def test_no_setting_is_left_behind(self):
        before = dict(mpl.rcParams.items())
        figures.runtime_distributions({"A": STEPS}).matplotlib()
        assert dict(mpl.rcParams.items()) == before


class TestProfiles:
    def test_performance_profiles_begin_at_the_ratio_of_the_best(self):
        curve = Distribution(np.array([1.0, 2.0, 8.0]), np.array([0.5, 0.75, 1.0]))
        figure = figures.performance_profiles({"A": curve, "B": Distribution(np.array([3.0]), np.array([0.25]))})
        assert figure.axes[0].get_xlim() == (1.0, 8.0)
        np.testing.assert_array_equal(step_values(one(figure, "share-0"))[0], [1, 2, 8, 8])
        np.testing.assert_array_equal(step_values(one(figure, "share-1"))[1], [0, 0.25, 0.25])
        assert figure.axes[0].get_xlabel() == "runtime / runtime of the best algorithm"

    def test_data_profiles_begin_at_no_evaluation(self):
        figure = figures.data_profiles({"A": STEPS})
        assert figure.axes[0].get_xlim() == (0.0, 400.0)
        assert "dimension + 1" in figure.axes[0].get_xlabel()
        assert figures.data_profiles({"A": STEPS}, spacing="log").axes[0].get_xlim()[0] == 10.0

    @pytest.mark.parametrize("draw", [figures.performance_profiles, figures.data_profiles])
    def test_one_point_is_enough(self, draw):
        figures.svg(draw({"A": Distribution(np.array([1.0]), np.array([1.0]))}))
