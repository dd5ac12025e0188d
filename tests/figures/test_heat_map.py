"""Cells have the shade and the text of their numbers."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from polarbear import figures
from polarbear.figures.style import brief
from tests.figures.marks import assert_readable, crowd, drawn, one

TABLE = np.array([[1.0, 20.0, np.nan], [3.0, np.inf, 500.0]])


def draw(table=TABLE, **options):
    rows, columns = np.shape(table)
    return figures.heat_map(
        table, [f"row {r}" for r in range(rows)], [f"f{c}" for c in range(columns)], **{"label": "ratio", **options}
    )


def lightness(figure, row, column):
    return float(np.dot(to_rgb(one(figure, f"cell-{row}-{column}").get_facecolor()), [0.299, 0.587, 0.114]))


def test_texts_are_the_numbers_and_missing_cells_are_hatched_without_one():
    figure = draw()
    texts = {gid: one(figure, f"number-{gid}").get_text() for gid in ("0-0", "0-1", "1-0", "1-1", "1-2")}
    assert texts == {"0-0": "1.0", "0-1": "20", "1-0": "3.0", "1-1": "∞", "1-2": "500"}
    assert not drawn(figure, "number-0-2")
    assert one(figure, "cell-0-2").get_hatch()
    assert not one(figure, "cell-0-0").get_hatch()


@pytest.mark.parametrize("spacing", ["linear", "log"])
def test_larger_is_darker_and_reversed_lighter(spacing):
    numbers = np.array([[1.0, 2.0, 5.0, 40.0]])
    shades = [lightness(draw(numbers, spacing=spacing), 0, c) for c in range(4)]
    assert shades == sorted(shades, reverse=True)
    assert len(set(shades)) == 4
    shades = [lightness(draw(numbers, spacing=spacing, reverse=True), 0, c) for c in range(4)]
    assert shades == sorted(shades)


def test_limits_fix_the_shades_whatever_the_numbers():
    all_equal = draw(np.array([[0.0, 0.0]]), limits=(0, 5))
    ends = draw(np.array([[0.0, 5.0]]))
    assert lightness(all_equal, 0, 0) == lightness(ends, 0, 0)
    half = draw(np.array([[2.5, 0.0]]), limits=(0, 5))
    assert lightness(ends, 0, 1) < lightness(half, 0, 0) < lightness(ends, 0, 0)


def test_log_shades_are_equally_far_apart_for_equal_ratios():
    figure = draw(np.array([[1.0, 10.0, 100.0, 0.0]]), spacing="log")
    colors = [to_rgb(one(figure, f"cell-0-{c}").get_facecolor()) for c in range(4)]
    middle = draw(np.array([[0.0, 0.5, 1.0]]))
    np.testing.assert_allclose(colors[1], to_rgb(one(middle, "cell-0-1").get_facecolor()), atol=0.01)
    assert colors[3] == colors[0], "0 has the shade of the smallest positive number"


def test_a_centre_divides_the_colours():
    figure = draw(np.array([[-2.0, 0.0, 1.0]]), center=0)
    left, middle, right = (to_rgb(one(figure, f"cell-0-{c}").get_facecolor()) for c in range(3))
    assert left[2] > left[0]
    assert right[0] > right[2]
    np.testing.assert_allclose(middle, 0xF7 / 255, atol=0.01)
    ratios = draw(np.array([[0.1, 1.0, 10.0]]), center=1, spacing="log")
    np.testing.assert_allclose(to_rgb(one(ratios, "cell-0-1").get_facecolor()), 0xF7 / 255, atol=0.02)
    with pytest.raises(ValueError, match="-2 has no shade on a log scale"):
        draw(np.array([[-2.0, 1.0]]), center=1, spacing="log")


def test_the_best_of_every_column_is_bold():
    table = np.array([[1.0, np.nan, 5.0], [2.0, np.inf, 5.0]])
    weights = {r_c: one(draw(table, best="lowest"), f"number-{r_c}").get_fontweight() for r_c in ("0-0", "1-0", "1-1")}
    assert weights == {"0-0": "bold", "1-0": "normal", "1-1": "normal"}
    figure = draw(table, best="highest")
    assert [one(figure, f"number-{r}-2").get_fontweight() for r in (0, 1)] == ["bold", "bold"]
    assert one(figure, "number-1-0").get_fontweight() == "bold"


def test_texts_may_be_given_in_place_of_numbers():
    figure = draw(np.array([[0.2, 0.0001]]), texts=[["", "***"]], reverse=True)
    assert one(figure, "number-0-1").get_text() == "***"


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (0.831, "0.83"), (0.99, "0.99"), (0.999, "1.0"), (1.24, "1.2"), (9.97, "10"), (123.4, "123"),
     (999.6, "1e3"), (32_000, "3e4"), (0.00012, "1e−4"), (-0.5, "−0.50"), (np.inf, "∞"), (-np.inf, "−∞")],
)  # fmt: skip
def test_numbers_are_brief(number, text):
    assert brief(number) == text


@pytest.mark.parametrize(("rows", "columns", "width"), [(1, 24, 7.2), (20, 24, 7.2), (1, 1, 3.5), (5, 24, 3.5)])
def test_texts_fit_into_their_cells(rows, columns, width):
    rng = np.random.default_rng(rows)
    table = 10 ** rng.uniform(-3, 5, (rows, columns))
    figure = figures.heat_map(
        table, crowd(rows), [f"f{c + 1}" for c in range(columns)], label="ERT ratio", width=width, best="lowest"
    )
    assert_readable(figure)
    cell = one(figure, "cell-0-0").get_window_extent()
    numbers = figure.findobj(lambda artist: (artist.get_gid() or "").startswith("number-"))
    assert all(text.get_window_extent().width <= cell.width for text in numbers)
    assert len(numbers) == (rows * columns if width > 5 or columns == 1 else 0)


def test_long_names_of_columns_stand_upright():
    figure = figures.heat_map(np.ones((8, 8)), crowd(8), crowd(8), label="p-value")
    assert_readable(figure)
    assert {label.get_rotation() for label in figure.axes[0].get_xticklabels()} == {90.0}


@pytest.mark.parametrize("table", [[[np.nan]], [[np.inf]], [[0.0]], [[5.0, 5.0]]])
@pytest.mark.parametrize("spacing", ["linear", "log"])
def test_tables_without_a_range(table, spacing):
    figures.svg(draw(np.array(table), spacing=spacing))


def test_wrong_input_is_named():
    with pytest.raises(ValueError, match=r"shape \(2, 3\); expected \(1, 3\), with at least one row"):
        figures.heat_map(TABLE, ["a"], ["x", "y", "z"], label="")
    with pytest.raises(ValueError, match=r"texts have rows of lengths \[1\]"):
        draw(texts=[["*"]])
    with pytest.raises(ValueError, match="-1 cannot be drawn on a log axis"):
        draw(np.array([[-1.0, 2.0]]), spacing="log")
