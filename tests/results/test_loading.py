"""What is loaded of plans, imports and archives."""

import numpy as np
import pytest

import polarbear as pb
from polarbear import store, study
from polarbear.results import RecordedRuns, Result
from tests.study.entrants import crawl, descend, guess, sphere


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """A plan of three algorithms on four problems."""
    path = tmp_path_factory.mktemp("plan") / "plan.study"
    problems = [pb.problems.FunctionProblem(sphere, -1, 1, 2, name=f"sphere-{i}", optimum=0.0) for i in range(4)]
    plan = study.Plan([guess, crawl, descend], problems, repetitions=3, budget=60)
    study.run_plan(plan, path)
    return path


def test_a_plan_gives_its_runs(planned):
    loaded = pb.load(planned)
    assert isinstance(loaded, RecordedRuns)
    assert loaded.runs == tuple(store.read(planned))
    assert loaded.algorithms == ("crawl", "descend", "guess")
    assert str(loaded) == f"36 runs of 3 algorithms on 4 instances ({planned})"
    assert "\n" not in repr(loaded)
    assert "<th>crawl</th><td>12</td>" in loaded._repr_html_()
    assert "plan" in loaded.spec


def test_its_data_frames_are_the_runs_and_the_tables_of_the_assessment(planned):
    loaded = pb.load(planned)
    runs = loaded.frame()
    assert runs.height == 36
    assert runs["best"].to_list() == [run.trajectory.best for run in loaded.runs]
    tables = {data.name: len(data.rows) for data in loaded.assessment.data}
    assert loaded.frames == ("runs", *tables)
    assert {name: loaded.frame(name).height for name in tables} == tables
    with pytest.raises(ValueError, match="no data frame 'run'; did you mean 'runs'"):
        loaded.frame("run")


def test_it_is_raced_as_by_replay(planned):
    loaded = pb.load(planned)
    result = loaded.race((5, 50), alpha=0.9, epsilon=0.15)
    race = study.recorded_race(loaded.runs, spec=loaded.spec, times=pb.log_times(5, 50, 50), alpha=0.9, epsilon=0.15)
    there = study.replay(race, loaded.runs).result
    assert isinstance(result, Result)
    np.testing.assert_array_equal(result.posterior.draws, there.posterior.draws)
    assert result.pareto_set == there.pareto_set


@pytest.mark.parametrize("progress", [True, False])
def test_its_report_is_the_assessment(planned, tmp_path, progress):
    page = pb.load(planned).report(tmp_path / "assessment", progress=progress)
    assert page.parent == tmp_path / "assessment"
    assert "guess" in page.read_text()


def test_an_archive_is_loaded_like_a_plan(planned, tmp_path):
    runs = pb.load(planned).runs
    store.export(runs, tmp_path / "runs.csv", "csv")
    archive = pb.load(tmp_path / "runs.csv")
    assert [run.trajectory.best for run in archive.runs] == [run.trajectory.best for run in runs]
    assert archive.spec == {}


def test_what_cannot_be_loaded_is_refused(tmp_path):
    with pytest.raises(store.StudyNotFound):
        pb.load(tmp_path / "none.study")
    with pytest.raises(TypeError, match="path is a list; give the directory of a study"):
        pb.load([])
