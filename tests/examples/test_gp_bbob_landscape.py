"""The picture of a GP-BBOB function shows what the function says."""

import runpy
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(ROOT / "examples" / "gp_bbob_landscape.py"))


def test_it_shows_all_components_with_weight_the_sparsity_and_the_landscape(example, monkeypatch):
    monkeypatch.setitem(example["grid"].__globals__, "SIDE", 60)
    spec = example["STREAM"][4]
    left, right = example["landscape"](spec).subfigs
    mixture, points = spec.mixture(), example["grid"]()
    weights = mixture.weights(points)
    shown = [i for i in range(24) if weights[:, i].max() > 0.001]
    panels = [panel for panel in left.axes if panel.get_title("left")]
    assert [panel.get_title("left").split()[0] for panel in panels] == [f"f{i + 1}" for i in shown]
    for panel, i in zip(panels, shown, strict=True):
        drawn = panel.images[0].get_array()
        np.testing.assert_array_equal(drawn.filled(0).ravel(), weights[:, i])
        assert panel.images[0].origin == "lower"
    sparsity, landscape = (panel.images[0].get_array().ravel() for panel in right.axes[:3] if panel.images)
    np.testing.assert_array_equal(sparsity, mixture.sparsity(points))
    values = mixture.batch(points)
    above = landscape > landscape.min()
    assert above.mean() > 0.99
    np.testing.assert_allclose(landscape[above], (values - values.min())[above])


def test_the_command_draws(example, tmp_path, capsys):
    path = tmp_path / "picture.png"
    example["draw"](example["INDEX"], path)
    assert "gp-bbob-d2-s13-34: T 0.36" in capsys.readouterr().out
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size < 150_000


def test_the_grid_covers_the_box_row_by_row(example):
    points = example["grid"]()
    assert points.shape == (example["SIDE"] ** 2, 2)
    np.testing.assert_array_equal(points[[0, -1]], [[-5, -5], [5, 5]])
    assert points[1, 0] > -5
    assert points[1, 1] == -5
