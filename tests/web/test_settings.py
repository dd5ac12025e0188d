"""Settings: what files and addresses may say, and that every view holds to them."""

import json
import re

import numpy as np
import pytest

from polarbear.figures.style import PALETTE, Look, drawn_as, looks
from polarbear.records import Parameters
from polarbear.web import Sources, View
from polarbear.web.identity import attributes, identified, together
from polarbear.web.settings import PRESETS, Settings
from tests.analyzer.recorded import runs
from tests.web.asking import ask

ALL = {
    "colors": {"fast": ["#aa0000", "square"], "='a, b' ü": ["#00aa00", "none"]},
    "beside": ["race"],
    "identity": ["algorithm", "instance"],
    "only": ["fast, instance 1", "slow, instance 2"],
    "quantiles": [0.1, 0.975],
    "digits": 3,
    "preset": "slides",
    "paper": ["#FFF8E7", "#F2F2F2"],
    "line_width": 2.5,
    "legend": "inside lower right",
    "margins": [0.1, 0.05],
    "function_names": {"bbob f1": "the sphere, moved"},
}


def test_are_found_again_in_addresses_and_files():
    settings = Settings.of(ALL)
    assert Settings.at(settings.query) == settings
    assert Settings.read(settings.json()) == settings
    assert json.loads(settings.json()) == ALL
    colors = settings.colors_of(["slow"]).csv()
    assert Settings.read(colors, Settings(digits=4)) == Settings(
        colors=settings.colors | {"slow": Look(PALETTE[0], "")}, digits=4
    )
    assert Settings().query == {}


def test_stand_in_the_address_of_a_view(sources):
    view = View("value-quantiles", "runs", {"budgets": "10"}, Settings.of(ALL))
    assert View.at(view.url) == view
    data = view.data(sources)
    assert [name for name in data.columns if name.startswith("q")] == ["q10", "q97.5"]
    assert {row[0] for row in data.rows} == set(ALL["only"])


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        ({"colors": '{"A": "red"}'}, "the colour of A is 'red'; it must be '#' and six"),
        ({"colors": '{"A": ["#000000", "star"]}'}, "the marker of A is 'star'; it must be one of none, circle"),
        ({"colors": "A=#000000"}, "give a colour for each algorithm"),
        ({"colors": '{"A": []}'}, "the colour of A"),
        ({"colors": '{"A": [["#000000"]]}'}, "the colour of A"),
        ({"colors": "[" * 5000}, "give a colour for each algorithm"),
        ({"quantiles": "0.5,2"}, "levels between 0 and 1"),
        ({"quantiles": "0.5,x"}, "levels between 0 and 1"),
        ({"quantiles": "nan"}, "levels between 0 and 1"),
        ({"digits": "0"}, "digits is 0; it must be a whole number from 1 to 17"),
        ({"digits": "6.5"}, "digits is 6.5"),
        ({"preset": "poster"}, "preset is 'poster'; it must be one of as drawn, one column"),
        ({"paper": "#FFF"}, "'#FFF' is not a colour; it must be '#' and six"),
        ({"paper": "#FFFFFF,#EEEEEE,#EEEEEE"}, "give one colour, or two: for figures and for their panels"),
        ({"paper": "#777777"}, "choose a lighter colour"),
        ({"line_width": "thick"}, "line_width is 'thick'; give a number"),
        ({"line_width": "99"}, "line_width is 99.0; it must be a number of points from 0.2 to 10"),
        ({"legend": "left"}, "legend is 'left'; it must be one of as drawn, above"),
        ({"margins": "0.1,0.1,0.1"}, "give 2 numbers"),
        ({"margins": "0.1,wide"}, "give 2 numbers"),
        ({"margins": "2"}, "give 2 numbers"),
        ({"margins": "2,2"}, "two numbers of inches from 0 to 1"),
        ({"function_names": "sphere"}, "give a name for each function"),
        ({"function_names": '{"bbob f1": 3}'}, "give a name for each function"),
        (
            {"function_names": '{"bbob f1": "f2"}'},
            "the name of bbob f1 is 'f2', which is reserved for function numbers",
        ),
        ({"function_names": '{"bbob f1": "A", "bbob f2": "A"}'}, "bbob f1 and bbob f2 have the same name 'A'"),
        ({"identity": ","}, "give attributes of runs"),
        ({"only": "A"}, "the selection is 'A'; give names"),
        ({"beside": "[3]"}, "the selection is [3]; give names"),
    ],
)
def test_that_are_wrong_are_said(query, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        Settings.at(query)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "the file is not JSON"),
        ('{"colour": {}}', "there is no setting 'colour'; did you mean 'colors'"),
        ("algorithm,color\nA,red\n", "line 2: the colour of A is"),
        ("A\n", "line 1 has 1 cells; give an algorithm, its colour and its marker"),
        ("A,#000000," + "x" * (1 << 20), "settings have at most"),
    ],
)
def test_files_that_are_wrong_are_said(content, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        Settings.read(content)


class TestLooks:
    def test_are_those_chosen_within_alone(self):
        red = Look("#aa0000", "s")
        with drawn_as({"b": red}):
            assert looks(["a", "b"])["b"] == red
            with drawn_as({"a": red}):
                assert set(looks(["a", "b"]).values()) == {red}
        assert looks(["a", "b"])["b"].color == PALETTE[1]

    def test_are_the_same_on_all_pages_and_those_of_the_settings(self, sources):
        kinds = [("convergence", "runs"), ("order", "runs"), ("attainment-ecdf", "race"), ("ratings", "race")]
        for settings in (Settings(), Settings.of({"colors": {"slow": "#123456"}})):
            found = [View(kind, study, {}, settings).figure(sources).looks for kind, study in kinds]
            assert {each["slow"].color for each in found} == {PALETTE[1] if settings == Settings() else "#123456"}
            assert {each["fast"].color for each in found} == {PALETTE[0]}

    def test_stay_when_some_of_the_algorithms_are_chosen(self, sources):
        for kind, params in (("convergence", {}), ("value-grid", {}), ("runtime-distributions", {"dimension": "5"})):
            drawn = View(kind, "runs", params, Settings(only=("slow",))).figure(sources)
            assert drawn.looks["slow"].color == PALETTE[1]
        red = Settings.of({"only": ["slow"], "colors": {"slow": "#aa0000"}})
        assert View("convergence", "runs", {}, red).figure(sources).looks["slow"].color == "#aa0000"

    def test_are_the_same_in_python_and_in_the_file_when_some_are_chosen(self, sources, server, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        view, made = View("convergence", "runs", {}, Settings(only=("slow",))), {}
        exec(compile(view.code(sources), "convergence", "exec"), made)
        assert made["shown"].figure.svg() == view.figure(sources).svg()
        lines = ask(server, "/colors.csv?study=runs&only=%5B%22slow%22%5D")[2].decode().split()
        assert lines[1:] == [f"fast,{PALETTE[0]},none", f"slow,{PALETTE[1]},none"]


@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "as drawn"])
def test_sizes_are_those_of_the_preset(preset, sources, server, tmp_path):
    view = View("runtime-distributions", "runs", {}, Settings(preset=preset))
    figure = view.figure(sources)
    assert figure.width == PRESETS[preset].width
    svg = ask(server, f"/file{view.url}".replace("?", ".svg?", 1))[2].decode()
    assert f'width="{72 * figure.width:g}pt"' in svg.replace(".0pt", "pt")


def test_python_of_a_view_holds_to_them(sources, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = Settings.of(ALL | {"colors": {"fast, instance 1": ["#aa0000", "square"]}})
    view, made = View("convergence", "runs", {}, settings), {}
    exec(compile(view.code(sources), "convergence", "exec"), made)
    sized = settings.laid_out(made["shown"].figure)
    assert sized.svg() == view.figure(sources).svg()
    assert "#aa0000" in sized.svg()


class TestFunctionNames:
    NAMED = Settings(function_names={"bbob f1": "my sphere", "pbo f1": "another suite's"})

    def test_stand_in_titles_panels_and_axes(self, sources):
        def shown(kind, **params):
            return View(kind, "runs", params, self.NAMED).show(sources)

        for kind in ("convergence", "runtime-distribution", "value-ecdf", "values-ecdf", "pair-tests", "attainment"):
            assert "bbob my sphere in 5-D" in shown(kind, problem="bbob f1 in 5-D").figure.title, kind
            assert "f2" in shown(kind, problem="bbob f2 in 5-D").figure.title, kind
        assert "bbob my sphere" in shown("scaling", function="bbob f1").figure.title
        assert "bbob my sphere" in shown("runtimes-over-dimensions", function="bbob f1").figure.title
        assert [panel.title for panel in shown("value-grid").figure.panels] == ["my sphere", "f2"]
        for kind in ("expected-runtimes", "values-over-functions"):
            made = shown(kind)
            assert made.data.columns[1] == "my sphere", kind
            assert "my sphere" in made.figure.panels[0].x.texts, kind
        assert {row[1] for row in shown("loaded").data.rows} == {"1", "2"}, "numbers in tables stay"

    def test_are_those_of_one_visitor_alone(self, sources):
        View("value-grid", "runs", {}, self.NAMED).show(sources)
        assert [panel.title for panel in View("value-grid", "runs").figure(sources).panels] == ["f1", "f2"]

    def test_are_in_the_python(self, sources):
        made, view = {}, View("value-grid", "runs", {}, self.NAMED)
        exec(compile(view.code(sources).rpartition("shown.figure")[0], "grid", "exec"), made)
        assert made["shown"].figure.svg() == view.figure(sources).svg()


def test_a_layout_holds_for_every_figure(sources):
    settings = Settings.of({"paper": "#FFF8E7", "line_width": 3, "legend": "below", "margins": [0.1, 0.1]})
    for kind in ("convergence", "value-grid", "runtime-distributions", "expected-runtimes", "attainment"):
        figure = View(kind, "runs", {}, settings).figure(sources)
        assert (figure.paper, figure.margins) == (("#FFF8E7", "#FFF8E7"), (0.1, 0.1))
        assert "#fff8e7" in figure.svg()
        assert figure.plotly().layout.paper_bgcolor == "#FFF8E7"


class TestIdentity:
    def test_is_made_of_what_a_run_is_and_what_it_logged_and_never_changed(self):
        from dataclasses import replace

        made = [
            replace(
                run, parameters=Parameters([1, 2], {"lambda": np.array([np.nan, 4 + run.key.seed]), "step": [1, 2]})
            )
            for run in runs()
        ]
        assert attributes(made)[-1] == "lambda"
        named = identified(made, ["algorithm", "lambda"])
        assert named[0].key.algorithm == f"{made[0].key.algorithm}, lambda {4 + made[0].key.seed}"
        assert [run.trajectory for run in named] == [run.trajectory for run in made]

    def test_that_makes_two_runs_one_is_refused(self):
        with pytest.raises(ValueError, match="would belong to one algorithm; add 'algorithm'"):
            identified(runs(), ["dimension"])

    def test_of_what_runs_have_not_is_refused(self, sources):
        with pytest.raises(ValueError, match="has no 'sigma'"):
            View("convergence", "runs", {}, Settings(identity=("algorithm", "sigma"))).show(sources)


class TestRuns:
    def test_of_several_studies_are_told_apart_where_they_share_a_name(self):
        (run, *_), every = runs(), together({"one": runs(), "two": runs(), "three": runs()[:1]})
        assert len(every) == 2 * len(runs()) + 1
        assert {each.key.algorithm for each in every} == {
            *("fast", "slow", "fast (two)", "slow (two)", f"{run.key.algorithm} (three)")
        }
        assert every[-1].problem == run.problem

    def test_of_another_study_stand_beside_the_study_s_own(self, sources):
        settings = Settings(beside=("race",), only=("fast", "slow (race)"))
        view = View("areas", "runs", {"problem": "bbob f2 in 2-D"}, settings)
        assert {row[0] for row in view.data(sources).rows} == {"fast", "slow (race)"}
        made = {}
        exec(view.code(sources), made)
        assert made["shown"].data == view.data(sources)

    def test_that_are_not_there_are_said(self, sources):
        for settings, complaint in (
            (Settings(only=("fats",)), "fats"),
            (Settings(beside=("rice",)), "no study 'rice' is open; did you mean 'race'"),
        ):
            with pytest.raises(ValueError, match=complaint):
                View("convergence", "runs", {}, settings).show(sources)


class TestFiles:
    def test_hold_what_the_address_says(self, server):
        query = View("loaded", "runs", {}, Settings.of(ALL)).url.partition("?")[2]
        assert json.loads(ask(server, f"/settings.json?{query}")[2]) == ALL
        lines = ask(server, "/colors.csv?study=runs&colors=%7B%22fast%22%3A%22%23aa0000%22%7D")[2].decode().split()
        assert lines == ["algorithm,color,marker", "fast,#aa0000,none", "slow,#D55E00,none"]

    def test_of_numbers_have_so_many_digits(self, server):
        path = "/file/fixed-budget/values.{}?study=runs&digits=2"
        assert "835.0" in ask(server, path.format("csv"))[2].decode()
        assert "835" not in ask(server, path.format("md"))[2].decode()

    def test_that_cannot_be_made_are_said(self, server):
        status, _, content = ask(server, "/colors.csv?study=nothing")
        assert (status, b"no study 'nothing' is open" in content) == (404, True)
        assert b"digits is 99" in ask(server, "/settings.json?digits=99")[2]


def test_two_visitors_have_settings_of_their_own(folder):
    sources = Sources([folder / "runs.study"])
    red = View("convergence", "runs", {}, Settings.of({"colors": {"fast": "#aa0000"}}))
    usual = View("convergence", "runs")
    assert red.figure(sources).looks["fast"].color == "#aa0000"
    assert usual.figure(sources).looks["fast"].color == PALETTE[0]
