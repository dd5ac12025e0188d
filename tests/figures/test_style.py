"""Colours, numbers and places of labels."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from polarbear.figures.allocation import stretches
from polarbear.figures.pairs import cell_edges
from polarbear.figures.render.matplotlib_marks import spread
from polarbear.figures.style import MARKERS, PALETTE, compact, literal, looks, readable, shown, spacing_of

# What people with each kind of colour blindness see, on linear RGB (Machado, Oliveira and Fernandes 2009, severity 1).
SIGHT = {
    "normal": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(color):
    rgb = np.array(to_rgb(color))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(light):
    xyz = TO_XYZ @ np.clip(light, 0, 1) / np.array([0.9505, 1.0, 1.089])
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("sight", SIGHT)
def test_any_two_colours_differ_under_every_kind_of_colour_blindness(sight):
    seen = [lab(np.array(SIGHT[sight]) @ linear(color)) for color in PALETTE]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) >= 16


@pytest.mark.parametrize("color", PALETTE)
def test_text_in_every_colour_is_readable_on_white(color):
    assert 1.05 / (0.05 + TO_XYZ[1] @ linear(readable(color))) >= 4.5


def test_looks_are_stable_and_distinct():
    names = [f"algorithm {k}" for k in range(len(PALETTE) * len(MARKERS))]
    dealt = looks(names)
    assert len({(look.color, look.marker) for look in dealt.values()}) == len(names)
    assert [dealt[name].marker for name in names[:8]] == [""] * 8
    assert looks(names) == dealt


@given(st.lists(st.floats(0, 1), max_size=25), st.floats(0.001, 0.2))
def test_labels_keep_their_order_their_distance_and_their_room(wanted, gap):
    placed = spread(wanted, gap, 0.0, 1.0)
    order = np.argsort(wanted, kind="stable")
    apart = min(gap, 1 / max(len(wanted) - 1, 1))
    assert (np.diff(placed[order]) >= apart - 1e-9).all()
    assert ((placed >= -1e-9) & (placed <= 1 + 1e-9)).all()


def test_labels_with_room_stay_where_they_are_wanted():
    np.testing.assert_allclose(spread([0.9, 0.1, 0.5], 0.05, 0, 1), [0.9, 0.1, 0.5])
    np.testing.assert_allclose(spread([0.5, 0.5], 0.1, 0, 1), [0.45, 0.55])


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (50, "50"), (4500, "4,500"), (99_999, "99,999"), (250_000, "250k"), (1.25e6, "1.25M"), (0.25, "0.25")],
)
def test_compact_numbers(number, text):
    assert compact(number) == text


def test_long_names_lose_their_middle_and_dollars_their_meaning():
    assert shown("short") == "short"
    cut = shown("a-very-long-name-with-many-options=3", longest=20)
    assert len(cut) == 20
    assert cut.startswith("a-very-long")
    assert cut.endswith("tions=3")
    assert literal("$x$") == r"\$x\$"


def test_spacing_is_read_off_the_timepoints():
    assert spacing_of(np.geomspace(50, 10_000, 20)) == "log"
    assert spacing_of(np.linspace(0.1, 30, 20)) == "linear"
    assert spacing_of([1.0, 2.0]) == "linear"


def test_runs_of_equal_counts_cover_what_was_run_and_no_more():
    reach = np.array([8, 8, 8, 4, 4, 1, 0, 0])
    assert list(stretches(reach)) == [(0, 3, 8), (3, 5, 4), (5, 6, 1)]
    assert list(stretches(np.array([0, 0]))) == []


def test_cells_meet_halfway_between_timepoints():
    np.testing.assert_allclose(cell_edges(np.array([1.0, 3.0, 7.0]), "linear"), [1, 2, 5, 7])
    np.testing.assert_allclose(cell_edges(np.array([1.0, 100.0]), "log"), [1, 10, 100])
