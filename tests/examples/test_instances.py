"""The study of BBOB's instances, small."""

import runpy
import sys
from pathlib import Path


def test_it_runs_and_goes_on(tmp_path, monkeypatch, capsys):
    script = Path(__file__).parents[2] / "examples" / "instances.py"
    size = ["--functions", "1,5", "--dimension", "2", "--instances", "3", "--designs", "4", "--points", "60"]
    monkeypatch.setattr(sys, "argv", [str(script), str(tmp_path), *size])
    runpy.run_path(str(script), run_name="__main__")
    first = capsys.readouterr().out
    assert "by function:  F1" in first
    assert len(list((tmp_path / "designs").glob("*.npz"))) == 4
    assert (tmp_path / "rejections.png").stat().st_size > 0
    assert len((tmp_path / "embedding.csv").read_text().splitlines()) == 1 + 6
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out == first
