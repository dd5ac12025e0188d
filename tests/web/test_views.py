"""Views are values: addresses, numbers, figures and Python that makes the same."""

import gc
import json
import weakref
from dataclasses import replace

import numpy as np
import pytest

from polarbear import store
from polarbear.assess.report import Assessment, compare, subject_of
from polarbear.figures import Figure
from polarbear.records import Parameters
from polarbear.results import load
from polarbear.web import PAGES, Sources, View, views_of
from polarbear.web.kind import KINDS, Shown, alone
from polarbear.web.kind import view as make_view
from tests.analyzer.recorded import runs

CANNOT_BE_SHOWN = {
    "library": "no library is open; give the folder that holds it",
    "parameter": "logged no parameters",
    "average-parameter": "logged no parameters",
    "parameter-over-targets": "logged no parameters",
    "parameters": "logged no parameters",
    "parameters-of-runs": "logged no parameters",
    "parameter-correlation": "logged no parameters",
    "final-positions": "have no final points",
    "noise-assumptions": "the runs logged none of clip_rate",
    "ratings-by-round": "need at least two rounds; the race has completed 1",
    "best-where": "needs at least two algorithms",
    "pairs": "is the only member of the Pareto set; there are no pairs",
    "value-density": "all runs of each algorithm have the same best precision so far at",
}
"""Views that say why they show nothing of these studies."""


def study_for(kind):
    return {"Result": "race", "KnowledgeBase": "known"}.get(KINDS[kind].needs, "runs")


@pytest.fixture(params=[name for name in KINDS if name not in CANNOT_BE_SHOWN])
def view(request):
    return View(request.param, study_for(request.param))


class TestEveryView:
    def test_is_found_at_its_address(self, view):
        assert View.at(view.url) == view

    def test_shows_numbers_that_can_be_written(self, view, sources):
        data = view.data(sources)
        assert data.rows or view.kind in {"skipped", "open-pairs"}, "all of it can be read, and nothing is open"
        assert len(json.loads(data.json())) == len(data.columns)

    def test_has_python_that_makes_the_same(self, view, sources, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        saved, made = [], {}
        monkeypatch.setattr(Figure, "save", lambda figure, path: saved.append((figure, path)))
        exec(compile(view.code(sources), view.kind, "exec"), made)
        assert made["shown"].data == view.data(sources)
        figure = view.figure(sources)
        if figure is None:
            assert capsys.readouterr().out == view.data(sources).csv() + "\n"
        else:
            assert saved == [(made["shown"].figure, f"{view.kind}.pdf")]
            np.testing.assert_equal(made["shown"].figure.data, figure.data)
            assert made["shown"].figure.caption == figure.caption


def test_targets_of_a_file_are_those_of_all_views_and_followed(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where its Python saves the figure
    table = tmp_path / "targets.csv"
    table.write_text(View("targets", "runs", {"targets": "bbob"}).data(Sources([folder / "runs.study"])).csv())
    sources = Sources([folder / "runs.study"], targets=table)
    view, made = View("expected-runtime", "runs"), {}
    before = view.data(sources)
    lines = table.read_text().splitlines()
    table.write_text("\n".join(lines[:1] + [line for line in lines if line.endswith((",1.0", ",0.1"))]))
    assert sources.stamp("runs") == table.stat().st_mtime_ns
    assert (len(before.rows), len(view.data(sources).rows)) == (2 * 51, 2 * 2)
    exec(view.code(sources), made)
    assert made["shown"].data == view.data(sources)
    table.write_text("no targets")
    with pytest.raises(ValueError, match="there is no column suite"):
        Sources([folder / "runs.study"], targets=table)


def test_assumptions_of_noisy_runs_are_told(tmp_path):
    noisy, values = runs()[0], {"clip_rate": [0.0, 0.2], "drift": [0.0, 0.1]}
    with store.create(tmp_path / "noisy.study", {"kind": "test"}) as kept:
        kept.append(replace(noisy, parameters=Parameters([1, 2], values)))
        kept.extend(runs()[1:])
    shown = View("noise-assumptions", "noisy").show(Sources([tmp_path / "noisy.study"]))
    assert shown.text == "1 of 1 runs violated at least one assumption."
    ((*_, said),) = shown.data.rows
    assert said.endswith("(clip_rate 0.2, above 0.05)")


def test_scales_of_axes_are_those_of_files_and_python_as_well(sources, monkeypatch):
    view, saved = View("convergence", "runs", scales={"x": "linear"}), []
    assert View.at(view.url) == view
    assert {panel.x.scale for panel in view.figure(sources).panels} == {"linear"}
    monkeypatch.setattr(Figure, "save", lambda figure, _: saved.append(figure))
    exec(compile(view.code(sources), "convergence", "exec"), {})
    assert {panel.x.scale for panel in saved[0].panels} == {"linear"}
    names = View("wins", "runs", scales={"x": "log"}).figure(sources).panels[0]
    assert names.x.scale == "linear", "an axis of names keeps its own"


def test_python_of_a_view_saves_its_figure(sources, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(View("convergence", "runs").code(sources), {})
    assert (tmp_path / "convergence.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("kind", CANNOT_BE_SHOWN)
def test_what_cannot_be_shown_is_said(kind, sources):
    with pytest.raises(ValueError, match=CANNOT_BE_SHOWN[kind]):
        View(kind, study_for(kind)).show(sources)


def test_what_is_computed_of_an_assessment_is_kept_as_long_as_it_is(folder):
    assessment = Assessment(subject_of(store.read(folder / "runs.study")))
    one = alone(assessment, "bbob f1 in 2-D")
    assert alone(assessment, "bbob f1 in 2-D") is one
    assert alone(assessment, "bbob f2 in 2-D") is not one
    gone = weakref.ref(one)
    del assessment, one
    gc.collect()
    assert gone() is None


def test_two_views_of_one_name_are_refused():
    def convergence(assessment: Assessment) -> Shown: ...

    with pytest.raises(ValueError, match="two views 'convergence', on pages fixed-budget and eaf"):
        make_view("eaf", "Another")(convergence)


def test_runs_that_are_left_out_are_counted(sources):
    where = {"problem": "bbob f1 in 5-D", "target": "1e-7"}
    assert "slow (6 of 6)" in View("runtime-histogram", "runs", where).show(sources).text


def test_no_targets_are_the_usual_ones(sources):
    usual = View("runtime-distribution", "runs").data(sources)
    assert View("own-targets", "runs", {"targets": ""}).data(sources).rows == usual.rows


def test_every_view_stands_on_a_page():
    assert [kind for page in PAGES for kind in views_of(page)] != []
    assert {kind.name for page in PAGES for kind in views_of(page)} == set(KINDS)
    assert all(kind.summary.endswith(".") for kind in KINDS.values())


class TestAddresses:
    def test_hold_parameters_of_any_text(self):
        view = View("expected-runtime", "a & b=c/ü", {"problem": "f1 in 5-D?&"})
        assert View.at(view.url) == view

    @pytest.mark.parametrize(
        ("address", "complaint"),
        [
            ("/eaf/attainmet", "there is no view 'attainmet'; did you mean 'attainment'"),
            ("/eaf/attainment?study=runs&algoritm=fast", "no parameter 'algoritm'; did you mean 'algorithm'"),
            ("/eaf/attainment?study=rnus", "no study 'rnus' is open; did you mean 'runs'"),
            ("/eaf/attainment?study=runs&algorithm=medium", "algorithm is 'medium'; it must be one of fast, slow"),
            ("/eaf/attainment?study=../../etc", "no study '../../etc' is open"),
            ("/race/what-if?study=race&alpha=2", "α is '2'; it must be a number from 0.5 to 1"),
            ("/race/what-if?study=race&alpha=nan", "α is 'nan'; it must be a number"),
            ("/race/ratings?study=runs", "runs is not a race; open the study of one, or make one"),
            ("/select/deploy?study=race&size=1.5", "portfolio size is '1.5'; it must be a whole number from 1 to 32"),
            ("/select/deploy?study=race&budget=much", "much"),
            ("/fixed-budget/value-ecdf?study=runs&budget=much", "budget 'much': give numbers"),
            (
                "/fixed-budget/value-ecdf?study=runs&budget=0.5",
                "budget is '0.5'; give a number of evaluations, at least 1",
            ),
            ("/eaf/difference?study=runs&against=fast", "fast is compared with itself"),
            ("/fixed-target/own-targets?study=runs&targets=1,a", "targets '1,a': give numbers, such as"),
            ("/fixed-target/runtime-histogram?study=runs&target=1 2", "target is '1 2'; give a single number"),
            (
                "/fixed-target/runtime-histogram?study=runs&target=1e-9",
                "no run on bbob f1 .* at target precision 1e-09",
            ),
            ("/fixed-target/fixed-probability?study=runs&probability=0", "probability of success is '0'"),
            ("/coco/over-functions?study=runs&chart=radar", "at least 3 columns; there are 2"),
            ("/comparisons/wins?study=runs&compared=rank", "compared is 'rank'; it must be one of area over the curve"),
        ],
    )
    def test_that_are_wrong_are_answered_with_what_is_right(self, address, complaint, sources):
        with pytest.raises(ValueError, match=complaint.replace("?", r"\?")):
            View.at(address).show(sources)


class TestNumbers:
    def test_of_expected_runtimes_are_those_the_runs_were_made_with(self, sources):
        data = View("expected-runtime", "runs", {"problem": "bbob f1 in 5-D"}).data(sources)
        ert = {(row[0], row[1]): row[2] for row in data.rows}
        assert ert["fast", 1.0] == 2 * 5 + 2.5

    def test_of_runtimes_are_those_the_runs_were_made_with(self, sources):
        where = {"problem": "bbob f1 in 5-D", "targets": "1"}
        long = View("runtimes-of-runs", "runs", where).data(sources)
        assert sorted(row[-1] for row in long.rows if row[0] == "fast") == [10, 11, 12, 13, 14, 15]
        wide = View("runtimes-of-runs", "runs", where | {"layout": "a column per run"}).data(sources)
        assert [sorted(row[-6:]) for row in wide.rows if row[0] == "fast"] == [[10, 11, 12, 13, 14, 15]]
        for probability, runtime in (("0.5", 12.5), ("1", 15)):
            data = View("fixed-probability", "runs", {"problem": "bbob f1 in 5-D", "probability": probability}).data(
                sources
            )
            assert {row[0]: row[2] for row in data.rows if row[1] == 1.0}["fast"] == runtime

    def test_of_missed_targets_are_penalized(self, sources):
        data = View("average-runtime", "runs", {"problem": "bbob f1 in 5-D", "penalty": "3"}).data(sources)
        assert {row[0]: row[2] for row in data.rows if row[1] == 1e-8}["slow"] == 3 * 500

    def test_of_histograms_count_every_run(self, sources):
        for kind in ("runtime-histogram", "value-histogram"):
            rows = View(kind, "runs").data(sources).rows
            assert {name: sum(row[3] for row in rows if row[0] == name) for name in ("fast", "slow")} == {
                "fast": 6,
                "slow": 6,
            }

    def test_of_densities_have_an_area_of_one(self, sources):
        rows = [row for row in View("value-density", "runs", {"budget": "20"}).data(sources).rows if row[0] == "fast"]
        at, density = np.array([row[1:] for row in rows], dtype=float).T
        assert np.trapezoid(density, np.log10(at)) == pytest.approx(1, abs=0.02)

    def test_of_values_end_with_every_run(self, sources):
        rows = View("value-ecdf", "runs", {"budget": "20"}).data(sources).rows
        assert [max(row[2] for row in rows if row[0] == name) for name in ("fast", "slow")] == [1, 1]

    def test_of_comparisons_say_who_is_ahead(self, sources):
        assert View("wins", "runs").data(sources).rows == (("fast", 0.0, 4.0), ("slow", 0.0, 0.0))
        assert [row[:2] for row in View("order", "runs").data(sources).rows] == [("fast", "slow")]
        for kind in ("runtime-difference", "value-difference"):
            assert "with probability 1;" in View(kind, "runs").show(sources).text

    def test_of_one_problem_are_those_of_the_comparison_on_all(self, sources, folder):
        whole = compare(Assessment(subject_of(store.read(folder / "runs.study"))), budget=20)
        where = {"problem": "bbob f2 in 2-D", "compared": "values at a budget", "at": "20"}
        tests = View("pair-tests", "runs", where).data(sources).rows
        assert tests == tuple(tuple(row.values()) for row in whole.tests["bbob f2 in 2-D"].rows())

    def test_of_a_problem_that_not_all_ran_on_are_not_compared(self, tmp_path):
        with store.create(tmp_path / "some.study", {"kind": "test"}) as kept:
            for made in runs():
                if (made.key.algorithm, made.problem.function) != ("slow", "1"):
                    kept.append(made)
        with pytest.raises(ValueError, match="slow did not run on bbob f1 in 2-D; choose a problem that all"):
            View("order", "some", {"problem": "bbob f1 in 2-D"}).show(Sources([tmp_path / "some.study"]))

    def test_of_parameters_are_those_logged(self, tmp_path):
        with store.create(tmp_path / "logged.study", {"kind": "test"}) as kept:
            for made in runs():
                at = made.trajectory.evaluations
                kept.append(replace(made, parameters=Parameters(at, {"step": 1 / at, "rate": 2 / at})))
        open_ = Sources([tmp_path / "logged.study"])
        over = View("parameter-over-targets", "logged", {"problem": "bbob f1 in 5-D", "logged": "rate"}).data(open_)
        assert {row[0]: row[2] for row in over.rows}[1.0] == pytest.approx(2 / 13)
        with pytest.raises(ValueError, match="logged no 'speed'; they logged step, rate"):
            View("parameter", "logged", {"logged": "speed"}).show(open_)

    def test_of_tables_are_those_of_the_assessment(self, sources, folder):
        assessment = Assessment(subject_of(store.read(folder / "runs.study")))
        assert View("standings", "runs").data(sources) == assessment.standing_data
        shown = View("runtimes", "runs", {"problem": "bbob f2 in 2-D"}).data(sources)
        assert shown.rows == tuple(r[3:] for r in assessment.runtime_data.rows if r[:3] == ("bbob", "2", 2))

    def test_what_if_nothing_else_leaves_the_pareto_set_of_the_race(self, sources, folder):
        result = load(folder / "race.study")
        view = View("what-if", "race", {"alpha": str(result.settings.alpha), "epsilon": str(result.settings.epsilon)})
        stay = [row[0] for row in view.data(sources).rows if row[3] == "True"]
        assert stay == list(result.pareto_set)

    def test_what_if_certainty_is_asked_for_eliminates_nobody_on_doubt(self, sources):
        rows = View("what-if", "race", {"alpha": "1"}).data(sources).rows
        assert {row[0] for row in rows if row[3] == "True"} >= {row[0] for row in rows if row[2] < 1}

    def test_of_a_race_are_those_of_its_result(self, sources, folder):
        drawn = View("ratings", "race").figure(sources).data
        np.testing.assert_equal(drawn, load(folder / "race.study").plot.ratings().data)


class TestSources:
    def test_of_a_library_lie_within_it(self, folder, tmp_path):
        library = tmp_path / "library"
        library.mkdir()
        (library / "outside.study").symlink_to(folder / "runs.study")
        (library / "within.csv").write_text("x")
        assert Sources([], library).names == ("within.csv",)

    def test_of_one_name_are_told_apart(self, folder, tmp_path):
        from tests.web.studies import recorded

        again = recorded(tmp_path / "runs.study")
        assert Sources([folder / "runs.study", again, again]).names == ("runs", "runs (2)")

    def test_that_do_not_exist_are_refused(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="there is nothing at"):
            Sources([tmp_path / "none.study"])

    def test_are_read_again_when_they_have_grown(self, tmp_path):
        from tests.analyzer.recorded import runs

        with store.create(tmp_path / "grows.study", {"kind": "test"}) as kept:
            kept.append(runs()[0])
            kept.commit()
            open_ = Sources([tmp_path / "grows.study"])
            assert len(open_.get("grows", "Reading").runs) == 1
            kept.append(runs()[1])
            kept.commit()
            assert len(open_.get("grows", "Reading").runs) == 2
