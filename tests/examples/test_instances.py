"""The study of BBOB's instances, small."""

import runpy
import sys
from pathlib import Path

import pytest

import polarbear as pb


@pytest.mark.slow
def test_it_runs_and_goes_on(tmp_path, monkeypatch, capsys):
    script = Path(__file__).parents[2] / "examples" / "instances.py"
    size = ["--functions", "1,5", "--dimension", "2", "--instances", "3", "--designs", "4", "--points", "60"]
    size += ["--functions-raced", "1", "--raced", "2", "--repetitions", "3", "--budget", "20"]
    monkeypatch.setattr(sys, "argv", [str(script), str(tmp_path), *size])
    runpy.run_path(str(script), run_name="__main__")
    first = capsys.readouterr().out
    assert "by function:  f1" in first
    assert len(list((tmp_path / "designs-2").glob("*.npz"))) == 4
    for figure in ("rejections", "embedding", "optima", "mean_landscapes"):
        assert (tmp_path / f"{figure}.png").stat().st_size > 0
    assert "after 20 evaluations" in (tmp_path / "index.html").read_text()
    assert len(pb.store.read(tmp_path / "performance.study")) == 7 * 2 * 3
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out == first
