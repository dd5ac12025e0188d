"""What is drawn is what is believed: lines, bands, marks and scales against the values they show."""

import gc
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex

from polarbear import figures
from polarbear.figures.scales import stretch, unstretch
from polarbear.figures.style import looks
from polarbear.racing import Rival
from polarbear.racing.relations import relations
from polarbear.select import best
from tests.figures.results import TIMES, a_round, a_withdrawal, crossing, posterior, raced, result


def drawn(figure, gid):
    """The artists with a gid."""
    return figure.findobj(lambda artist: artist.get_gid() == gid)


def one(figure, gid):
    (artist,) = drawn(figure, gid)
    return artist


@pytest.fixture(scope="module")
def three():
    rng = np.random.default_rng(3)
    return posterior(rng.normal(0, 1, (7, 3)))


class TestRatings:
    def test_lines_are_means_and_bands_are_intervals(self, three):
        figure = figures.rating_over_time(three, eliminated={"C"}, level=0.9)
        low, high = three.interval(0.9)
        for column in range(3):
            np.testing.assert_allclose(one(figure, f"mean-{column}").get_ydata(), three.mean()[:, column])
            np.testing.assert_allclose(one(figure, f"mean-{column}").get_xdata(), TIMES)
        for column in range(2):
            corners = one(figure, f"band-{column}").get_paths()[0].vertices
            for t, time in enumerate(TIMES):
                heights = corners[corners[:, 0] == time, 1]
                assert heights.min() == pytest.approx(low[t, column])
                assert heights.max() == pytest.approx(high[t, column])
        assert not drawn(figure, "band-2")

    def test_eliminated_lines_are_dashed_and_paler(self, three):
        figure = figures.rating_over_time(three, eliminated={"B"})
        out, stays = one(figure, "mean-1"), one(figure, "mean-0")
        assert out.is_dashed()
        assert not stays.is_dashed()
        assert to_hex(out.get_color()) != looks(three.names)["B"].color.lower()
        labels = {label.get_text(): label.get_fontweight() for label in drawn(figure, "end-label")}
        assert labels == {"A": "bold", "B": "normal", "C": "bold"}

    def test_axis_follows_the_spacing_of_the_timepoints(self, three):
        assert figures.rating_over_time(three).axes[0].get_xscale() == "log"
        assert figures.rating_over_time(three, spacing="linear").axes[0].get_xscale() == "linear"
        even = posterior(np.zeros((7, 2)), times=np.linspace(0.1, 30, 7))
        figure = figures.rating_over_time(even, axis="seconds")
        assert figure.axes[0].get_xscale() == "linear"
        assert figure.axes[0].get_xlabel() == "budget (seconds)"

    def test_reference_line_is_that_of_equal_algorithms(self, three):
        assert set(one(figures.rating_over_time(three), "even").get_ydata()) == {1 / 3}

    def test_shows_some_algorithms_in_their_own_colours(self, three):
        figure = figures.rating_over_time(three, algorithms=["C", "A"])
        assert not drawn(figure, "mean-1")
        assert one(figure, "mean-2").get_color() == looks(three.names)["C"].color
        with pytest.raises(ValueError, match=r"algorithms \['Z'\] are unknown; choose from A, B, C"):
            figures.rating_over_time(three, algorithms=["Z"])

    def test_one_timepoint_becomes_points_with_error_bars(self):
        single = posterior([[0.0, 1.0]], times=np.array([100.0]))
        marks = drawn(figures.rating_over_time(single), "mean-1")
        dot = next(mark for mark in marks if mark.get_marker() == "o")
        assert dot.get_ydata()[0] == pytest.approx(single.mean()[0, 1])
        bar = next(mark for mark in marks if hasattr(mark, "get_segments"))
        np.testing.assert_allclose(bar.get_segments()[0][:, 1], single.interval()[:, 0, 1])

    def test_labels_of_many_algorithms_do_not_overlap(self):
        crowd = posterior(np.zeros((7, 12)))
        figure = figures.rating_over_time(crowd)
        figure.draw_without_rendering()
        boxes = sorted((label.get_window_extent() for label in drawn(figure, "end-label")), key=lambda box: box.y0)
        assert len(boxes) == 12
        assert np.diff([box.y0 for box in boxes]).min() > 0.9 * 7.5 / 72 * figure.dpi


class TestDominance:
    ROUNDS = (
        a_round(1, "ABC", dominance={"A": ("B", 0.1), "B": ("A", 0.5), "C": ("A", 0.97), "D": ("A", 1.0)},
                eliminated={"D": "A"}, resolved_pairs=3),
        a_round(2, "AB", dominance={"A": ("B", 0.05), "B": ("A", 0.3), "C": ("A", 0.995)},
                eliminated={"C": "A"}, settled=(), resolved_pairs=5),
        a_round(3, "AB", dominance={"A": ("B", 0.01), "B": ("A", 0.02)}, settled=("A", "B"), resolved_pairs=6),
    )  # fmt: skip

    @pytest.fixture
    def figure(self):
        return figures.dominance_over_rounds(self.ROUNDS, alpha=0.99, names=tuple("ABCD"))

    def test_lines_follow_the_strongest_rival(self, figure):
        for index, (instances, heights) in enumerate(
            [([8, 16, 24], [0.1, 0.05, 0.01]), ([8, 16, 24], [0.5, 0.3, 0.02]), ([8, 16], [0.97, 0.995])]
        ):
            line = one(figure, f"dominated-{index}")
            np.testing.assert_allclose(line.get_xdata(), instances)
            np.testing.assert_allclose(line.get_ydata(), heights)

    def test_marks_eliminations_and_settled_members_once(self, figure):
        crosses = [index for index in range(4) if drawn(figure, f"out-{index}")]
        diamonds = [index for index in range(4) if drawn(figure, f"settled-{index}")]
        assert (crosses, diamonds) == ([2, 3], [0, 1])
        assert one(figure, "out-2").get_marker() == "X"
        assert list(one(figure, "out-2").get_xdata()) == [16]
        assert list(one(figure, "settled-0").get_xdata()) == [24]
        assert one(figure, "settled-0").get_marker() == "D"

    def test_marks_that_meet_stand_side_by_side(self, figure):
        places = [
            one(figure, f"settled-{index}").get_transform().transform((24, 0.01 * (index + 1)))[0] for index in (0, 1)
        ]
        assert abs(places[0] - places[1]) == pytest.approx(9 / 72 * figure.dpi)

    def test_certainty_is_drawn_at_the_top_of_the_axis(self, figure):
        top = figure.axes[0].get_ylim()[1]
        assert top == pytest.approx(0.9999)
        assert one(figure, "out-3").get_ydata()[0] == pytest.approx(top)

    def test_axis_is_linear_to_nine_tenths_then_logarithmic_without_a_kink(self):
        np.testing.assert_allclose(stretch(np.array([0.0, 0.3, 0.9])), [0.0, 0.3, 0.9])
        nines = stretch(1 - 10.0 ** -np.arange(1, 6))
        np.testing.assert_allclose(np.diff(nines), np.diff(nines)[0])
        assert (stretch(np.array(0.9 + 1e-6)) - 0.9) / 1e-6 == pytest.approx(1.0, abs=1e-4)
        p = np.linspace(0, 0.99999, 1001)
        np.testing.assert_allclose(unstretch(stretch(p)), p, atol=1e-12)
        assert (np.diff(stretch(p)) > 0).all()

    def test_threshold_and_resolved_share(self, figure):
        assert set(one(figure, "alpha").get_ydata()) == {0.99}
        steps = one(figure, "resolved")
        np.testing.assert_allclose(steps.get_ydata(), [0, 3 / 6, 5 / 6, 1])
        assert figure.axes[1].get_ylim() == (0, 1)

    def test_long_races_have_a_log_axis_of_instances(self):
        rounds = [a_round(k, "AB", dominance={"A": ("B", 0.1), "B": ("A", 0.2)}) for k in (1, 2, 4, 8, 16)]
        assert figures.dominance_over_rounds(rounds, alpha=0.99).axes[0].get_xscale() == "log"
        assert figures.dominance_over_rounds(rounds[:3], alpha=0.99).axes[0].get_xscale() == "linear"

    def test_one_that_is_withdrawn_ends_in_a_cross_and_one_that_returns_goes_on_after_a_gap(self):
        first = a_round(
            1,
            "A",
            dominance={"A": ("B", 0.1), "B": ("A", 0.995), "C": ("A", 0.999)},
            eliminated={"B": "A", "C": "A"},
            settled="A",
            resolved_pairs=3,
        )
        rounds = (
            first,
            a_withdrawal(2, "BC", "A", after=first, resolved_pairs=2),
            a_round(2, "BC", dominance={"B": ("C", 0.2), "C": ("B", 0.3)}, resolved_pairs=2),
            a_round(3, "B", dominance={"B": ("C", 0.1), "C": ("B", 0.99)}, eliminated={"C": "B"}, resolved_pairs=3),
        )  # fmt: skip
        rounds = (*rounds, a_withdrawal(5, "B", "C", after=rounds[-1]))
        figure = figures.dominance_over_rounds(rounds, alpha=0.99, names=tuple("ABC"))
        cross, diamond = one(figure, "out-0"), one(figure, "settled-0")
        for mark in (cross, diamond):
            assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (8, 0.1)
        beside = [mark.get_transform().transform((8, 0.1))[0] for mark in (diamond, cross)]
        assert beside[1] - beside[0] == pytest.approx(9 / 72 * figure.dpi)
        assert [list(one(figure, gid).get_xdata()) for gid in ("out-1", "out-2", "out-2-2")] == [[8], [8], [24]]
        line = one(figure, "dominated-2")
        np.testing.assert_allclose(line.get_ydata(), [0.999, np.nan, 0.3, 0.99])
        assert line.get_markevery() == [2]
        assert not drawn(figure, "out-2-3")
        assert one(figure, "dominated-0").get_markevery() == [0]

    def test_what_was_withdrawn_before_the_first_run_is_not_drawn(self):
        before = a_withdrawal(1, "AB", "C", dominance={"A": Rival("C", 0.6)}, resolved_pairs=2)
        after = [a_round(k, "AB", dominance={"A": ("B", 0.1), "B": ("A", 0.2)}, resolved_pairs=2) for k in (1, 2, 16)]
        figure = figures.dominance_over_rounds([before, *after], alpha=0.99, names=tuple("ABC"))
        assert figure.axes[0].get_xscale() == "log"
        assert not drawn(figure, "out-2")
        np.testing.assert_allclose(one(figure, "dominated-0").get_xdata(), [8, 16, 128])
        steps = one(figure, "resolved")
        np.testing.assert_allclose(steps.get_ydata(), [0, 2 / 3, 2 / 3, 2 / 3, 2 / 3])
        assert min(steps.get_xdata()) > 0
        figures.svg(figure)
        with pytest.raises(ValueError, match="no round to draw"):
            figures.dominance_over_rounds((before,), alpha=0.99)

    def test_no_round_is_an_error(self):
        with pytest.raises(ValueError, match="no round to draw"):
            figures.dominance_over_rounds((), alpha=0.99)


class TestAllocation:
    def test_bars_cover_the_budget_and_name_their_instances(self):
        found = result(posterior(np.zeros((7, 3))), eliminated={"A": "B"})
        figure = figures.allocation(found)
        cells = drawn(figure, "cell")
        assert len(cells) == 4  # B whole, C in two, A whole
        row_of_c = [cell for cell in cells if cell.get_y() + 0.4 == pytest.approx(1)]
        assert [cell.get_x() + cell.get_width() for cell in row_of_c] == pytest.approx([200, 1000])
        numbers = {text.get_text() for text in figure.axes[0].texts}
        assert {"8", "4"} <= numbers
        assert [text.get_text() for text in drawn(figure, "spent")] == ["2,000 (33%)", "3,000 (50%)", "1,000 (17%)"]
        assert {"B", "C", "A  ×"} <= numbers

    def test_never_run_is_blank(self):
        found = result(posterior(np.zeros((7, 2))))
        found.values[:, 3:, 1] = np.nan
        cells = [cell for cell in drawn(figures.allocation(found), "cell") if cell.get_y() > 0.5]
        assert [cell.get_x() + cell.get_width() for cell in cells] == pytest.approx([50.0])


class TestValues:
    def test_dots_intervals_and_p2bb_are_those_of_the_selection(self, three):
        figure = figures.preference_values(three, ("uniform", "final"), algorithms=("A", "C"))
        for panel, preference in enumerate(("uniform", "final")):
            for choice in best(three, preference, candidates=("A", "C")).choices:
                column = three.names.index(choice.members[0])
                inside = [artist for artist in drawn(figure, f"mean-{column}") if artist.axes is figure.axes[panel]]
                assert inside[0].get_xdata()[0] == pytest.approx(choice.expected)
                inside = [artist for artist in drawn(figure, f"interval-{column}") if artist.axes is figure.axes[panel]]
                np.testing.assert_allclose(inside[0].get_xdata(), [choice.low, choice.high])
        assert not drawn(figure, "mean-1")

    def test_p2bb_is_never_a_bare_zero_or_one(self):
        figure = figures.preference_values(posterior(crossing()), ("uniform", "final"))
        texts = {text.get_text() for column in (0, 1) for text in drawn(figure, f"p2bb-{column}")}
        assert texts & {"0%", "100%"} == set()
        assert {"<1%", ">99%"} <= texts

    def test_constant_values_are_drawn(self):
        certain = posterior(np.zeros((7, 2)), spread=0.0)
        figures.svg(figures.preference_values(certain))

    def test_narrow_figures_stack_their_panels(self, three):
        assert len({ax.get_position().x0 for ax in figures.preference_values(three, width=3.5).axes}) == 1


class TestPairs:
    def test_areas_reach_as_far_as_the_probability_and_are_full_where_decided(self):
        belief = posterior(crossing(), spread=0.8)
        found = relations(belief, alpha=0.95, epsilon=0.1, joint=False)
        figure = figures.relations_over_time(found, belief.times, belief.names)
        look = looks(belief.names)["A"]
        first = drawn(figure, "better-0")
        full = next(patch for patch in first if to_hex(patch.get_facecolor()) == look.color.lower())
        part = next(patch for patch in first if patch is not full)
        p, sure = found.better[:, 0, 1], found.dominates[:, 0, 1]
        assert 0 < sure.sum() < (p > 0.5).sum()
        np.testing.assert_allclose(full.get_data().values, np.where(sure, p, np.nan))
        np.testing.assert_allclose(part.get_data().values, np.where(~sure & (p > 0.5), p, np.nan))

    def test_equivalence_is_a_bar(self):
        belief = posterior(np.zeros((7, 2)), spread=0.01)
        found = relations(belief, alpha=0.95, epsilon=0.1, joint=False)
        assert found.equivalent[:, 0, 1].all()
        bar = one(figures.relations_over_time(found, belief.times, belief.names), "equivalent")
        assert (bar.get_data().values > bar.get_data().baseline).all()

    @pytest.mark.parametrize("n", [2, 5, 6, pytest.param(10, marks=pytest.mark.slow)])
    def test_one_strip_per_pair(self, n):
        belief = posterior(np.zeros((7, n)), draws=50)
        found = relations(belief, alpha=0.95, epsilon=0.1, joint=False)
        figure = figures.relations_over_time(found, belief.times, belief.names)
        assert len(drawn(figure, "equivalent")) == n * (n - 1) // 2
        figures.svg(figure)

    def test_one_algorithm_has_no_relations(self, three):
        found = relations(three, alpha=0.95, epsilon=0.1, joint=False)
        with pytest.raises(ValueError, match="only B is shown"):
            figures.relations_over_time(found, three.times, three.names, algorithms=["B"])


def every_figure(found):
    settings, belief = found.settings, found.posterior
    pairs = relations(belief, alpha=settings.alpha, epsilon=settings.epsilon, joint=False)
    for width in (7.2, 3.5):
        yield figures.rating_over_time(belief, eliminated=found.eliminated, width=width)
        yield figures.dominance_over_rounds(found.rounds, alpha=settings.alpha, names=belief.names, width=width)
        yield figures.allocation(found, width=width)
        yield figures.preference_values(belief, algorithms=found.pareto_set, width=width)
        yield figures.relations_over_time(pairs, belief.times, belief.names, width=width)


@pytest.mark.parametrize("n", [2, 4, pytest.param(9, marks=pytest.mark.slow)])
def test_every_figure_of_a_real_race_draws_without_a_warning(n):
    utilities = np.random.default_rng(n).normal(0, 1, n) * np.linspace(0.2, 1, 7)[:, np.newaxis]
    names = ["_hidden", "$x^2$ and $", "a-very-long-name-with-many-options=3", *"DEFGHI"][:n]
    for figure in every_figure(raced(utilities, names=names, alpha=0.95, epsilon=0.1)):
        assert figures.svg(figure).count("<path") > 5


@pytest.mark.parametrize("times", [[100.0], [100.0, 101.0], [1e-3, 1.0, 5.0, 1e6]])
def test_every_figure_of_unusual_timepoints(times):
    belief = posterior(np.zeros((len(times), 2)), times=np.array(times))
    for figure in every_figure(result(belief)):
        figures.svg(figure)


def test_names_are_shown_as_they_are_not_as_mathematics(three):
    odd = posterior(np.zeros((7, 3)), names=("$x^2$", "_under", r"\alpha"))
    figure = figures.rating_over_time(odd)
    shown = [label.get_text().replace(r"\$", "$") for label in drawn(figure, "end-label")]
    assert sorted(shown) == sorted(odd.names)
    figures.svg(figure)


def test_no_backend_is_chosen_and_no_setting_is_left_behind(three):
    before = dict(mpl.rcParams.items())
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "black"}):
        figure = figures.rating_over_time(three).matplotlib()
        assert mpl.rcParams["font.size"] == 30
    assert to_hex(figure.axes[0].get_facecolor()) == "#ffffff"
    assert dict(mpl.rcParams.items()) == before
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()
    del figure
    gc.collect()


def test_svg_is_the_same_every_time(three):
    first, second = (figures.svg(figures.rating_over_time(three)) for _ in range(2))
    assert first == second
    assert "<text" not in first
