"""Charts over functions, ratings, ranks, contributions and final points as they are drawn."""

import numpy as np
import pytest

from polarbear import assess, figures
from tests.figures.marks import assert_readable, crowd, drawn, names_shown, one, step_values
from tests.figures.test_values import SAMPLES

COLUMNS = ["f1", "f2", "f3", "f4"]


def ranking(**options):
    values = np.array([[[1.0, 9.0], [2.0, 9.0], [1.0, 9.0]], [[5.0, 1.0], [6.0, 2.0], [7.0, 1.0]]])
    return assess.robust_ranking(values, times=[1, 10], rng=np.random.default_rng(1), names=("A", "B"), **options)


class TestColumns:
    def test_infinite_numbers_have_no_dot(self):
        figure = figures.across_columns({"A": [1.0, np.inf, 3.0, 4.0]}, COLUMNS, label="ERT")
        np.testing.assert_array_equal(step_values(one(figure, "line-0"))[1], [1, np.nan, 3, 4])

    def test_first_rank_is_on_top(self):
        figure = figures.rank_chart({"A": [1, 2], "B": [2, 1]}, ["ECDF", "EAF"])
        low, high = figure.axes[0].get_ylim()
        assert low > high
        assert names_shown(figure) == ["B", "A"]
        with pytest.raises(ValueError, match=r"ranks of 'A' are \[0\.0, 1\.0\]; they must be finite and count from 1"):
            figures.rank_chart({"A": [0, 1]}, ["ECDF", "EAF"])

    @pytest.mark.parametrize("best", ["lowest", "highest"])
    def test_the_best_lies_furthest_out(self, best):
        figure = figures.radar({"A": [1.0, 10, 100, np.inf]}, COLUMNS, label="ERT", best=best)
        out = np.hypot(*step_values(one(figure, "line-0")))
        np.testing.assert_allclose(out[[0, -1]], out[0])
        assert out[3] == pytest.approx(0)
        order = out[:3] if best == "highest" else out[2::-1]
        assert (np.diff(order) > 0.2).all()

    def test_a_radar_chart_needs_three_spokes(self):
        with pytest.raises(ValueError, match="at least 3 columns; there are 2"):
            figures.radar({"A": [1.0, 2.0]}, ["f1", "f2"], label="ERT")

    def test_points_lie_between_the_bounds_of_the_domain(self):
        figure = figures.final_positions({"A": [[-5.0, 0.0], [5.0, 2.5]]}, lower=-5, upper=[5, 5])
        assert step_values(one(figure, "run-0-1"))[1].tolist() == [1, 0.75]
        with pytest.raises(ValueError, match="give both lower and upper"):
            figures.final_positions({"A": [[1.0, 2.0]]}, lower=0)
        with pytest.raises(ValueError, match=r"shapes \[\(1, 2\), \(1, 3\)\]"):
            figures.final_positions({"A": np.ones((1, 2)), "B": np.ones((1, 3))})

    @pytest.mark.parametrize(("n", "width"), [(1, 7.2), (6, 7.2), (4, 4.0)])
    def test_labels_can_be_read(self, n, width):
        values = {name: np.arange(1.0, 25) * (k + 1) for k, name in enumerate(crowd(n))}
        columns = [f"f{k} a function" for k in range(24)]
        assert_readable(figures.across_columns(values, columns, label="ERT", width=width))
        assert_readable(figures.rank_chart(values, columns, width=width))
        assert_readable(figures.final_positions({name: [[1.0] * 5] for name in values}, width=width))
        short = {name: each[:9] for name, each in values.items()}
        assert_readable(figures.radar(short, [f"f{k}" for k in range(9)], label="ERT", width=width))


class TestComparisons:
    def test_significant_p_values_are_bold(self):
        tests = assess.kolmogorov_smirnov({"A": np.arange(15), "B": 100 + np.arange(15)})
        figure = figures.p_values(tests)
        (cells,) = figure.panels[0].marks
        assert cells.bold == (False, True, False, False)
        np.testing.assert_array_equal(cells.value, tests.adjusted.ravel())

    def test_ratings_stand_from_best_to_worst_with_their_deviations(self):
        ratings = assess.glicko2(SAMPLES, rng=np.random.default_rng(2))
        figure = figures.rating_candlesticks(ratings, order=("C", "B", "A"))
        best = int(np.argmax(ratings.rating))
        x, y = step_values(one(figure, f"deviation-2-{best}"))
        assert y.tolist() == [0, 0]
        np.testing.assert_allclose(x.mean(), ratings.rating[best])
        np.testing.assert_allclose(np.ptp(x), 4 * ratings.deviation[best])
        assert_readable(figure)

    def test_expected_ranks_are_those_of_the_bootstrap(self):
        found = ranking(resamples=100)
        figure = figures.robust_ranks_over_time(found)
        np.testing.assert_allclose(step_values(one(figure, "rank-0"))[1], [1, 2])
        np.testing.assert_allclose(step_values(one(figure, "best-1"))[1], [np.nan, 1])
        assert_readable(figure)

    def test_bars_are_shapley_values(self):
        attained = np.array([[[0.0, 1, 1]], [[0.0, 0.0, 1]], [[0.0, 0.5, 1]]])
        found = assess.contributions(attained, times=[1, 10, 100], names=("A", "B", "C"))
        figure = figures.contributions(found)
        for index, value in enumerate(found.shapley):
            assert one(figure, f"shapley-{index}").get_paths()[0].vertices[:, 0].max() == pytest.approx(value)
        assert not drawn(figure, "error-0")
        assert_readable(figure)

    def test_rows_and_columns_are_those_of_the_trees(self):
        found = assess.cluster_ranks(assess.deep_ranking(SAMPLES))
        figure = figures.clustered_ranks(found)
        np.testing.assert_array_equal(figure.panels[0].marks[0].value, found.ranks.ravel())
        assert len(drawn(figure, "algorithms-1")) == len(drawn(figure, "functions-1")) == 1
        assert_readable(figure)
