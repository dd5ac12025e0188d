"""Figures are values: words and numbers that need no drawing, from which every drawing is made."""

import csv
import dataclasses
import inspect
import io
import json
import pickle
import re
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex

from polarbear import figures
from polarbear.assess import (
    Bounds,
    cluster_ranks,
    contributions,
    cumulative_difference,
    deep_ranking,
    glicko2,
    kolmogorov_smirnov,
    robust_ranking,
    target_sensitivity,
    vorobev,
)
from polarbear.figures import Distribution, Figure, Snapshot, marks
from polarbear.figures.marks import (
    Band,
    Bars,
    Cells,
    Edge,
    EndLabel,
    Label,
    Line,
    Mark,
    Markers,
    PointLabel,
    Points,
    Shades,
    Steps,
    Surface,
)
from polarbear.figures.panels import Axis, Bar, Entry, Key, Panel
from polarbear.figures.style import SHADES, looks, pale
from polarbear.racing.relations import relations
from polarbear.simulate import Truth
from tests.figures.marks import assert_readable, drawn, one
from tests.figures.results import TIMES, crossing, posterior, result

BUDGETS = np.array([1.0, 10.0, 100.0])
QUARTILES = {
    "A": [[3.0, 2.0, 1.0], [4.0, 3.0, 2.0], [5.0, 4.0, 3.0]],
    "B": [[6.0, 5.0, 4.0], [7.0, 6.0, 5.0], [8.0, 7.0, 6.0]],
}
ERT = {"A": [10.0, 100.0, 1000.0], "B": [20.0, 300.0, np.inf]}
STEPS = {
    "A": Distribution(np.array([10.0, 20.0]), np.array([0.25, 0.5]), spent=50.0, solved=0.5),
    "B": Distribution(np.array([5.0]), np.array([1.0])),
}
SQUARE = np.arange(9.0).reshape(3, 3)
DIFFERENCE = cumulative_difference([1, 2, 5], [3, 4], rng=np.random.default_rng(1), resamples=20)
SHARE = np.array([[0.0, 0.5], [0.25, 1.0], [0.5, 1.0]])


def belief():
    return posterior(crossing(), names=("A", "B"))


def pairs():
    return figures.relations_over_time(
        relations(belief(), alpha=0.95, epsilon=0.1, joint=False), TIMES, ("A", "B"), alpha=0.95, epsilon=0.1
    )


def recovery():
    ratings = np.exp(crossing()) / np.exp(crossing()).sum(axis=1, keepdims=True)
    return figures.recovery(Truth(TIMES, ratings, ("A", "B")), [Snapshot("at the end", belief())])


SAMPLES = {f"f{k}": {"A": [1.0, 2.0, 3.0], "B": [2.0 + k, 5.0, 6.0], "C": [7.0, 8.0, 9.0 * k]} for k in (1, 2, 3)}
ATTAINED = np.linspace(0, 1, 12).reshape(2, 2, 3)


def robust():
    values = np.linspace(1, 2, 12).reshape(2, 2, 3)
    return robust_ranking(values, times=BUDGETS, rng=np.random.default_rng(1), names=("A", "B"), resamples=20)


LIMITS = {"times": Bounds(1, 100, log=True), "values": Bounds(0.5, 9, log=True)}
CURVES = {"A": [[np.array([[1.0, 5.0], [9.0, 1.0]])]], "B": [[np.array([[1.0, 8.0], [50.0, 0.7]])]]}
SENSITIVITY = target_sensitivity(CURVES, counts=(2, 5), steps=20, **LIMITS)
VOROBEV = vorobev(CURVES["A"][0], **LIMITS)
EXAMPLES = {
    "across_columns": lambda: figures.across_columns(ERT, ["f1", "f2", "f3"], label="ERT"),
    "clustered_ranks": lambda: figures.clustered_ranks(cluster_ranks(deep_ranking(SAMPLES))),
    "contributions": lambda: figures.contributions(contributions(ATTAINED, times=BUDGETS, names=("A", "B"))),
    "final_positions": lambda: figures.final_positions({"A": [[1.0, 2.0, 0.5]], "B": [[0.0, 1.0, 2.0]]}),
    "p_values": lambda: figures.p_values(kolmogorov_smirnov(SAMPLES["f1"])),
    "radar": lambda: figures.radar(ERT, ["f1", "f2", "f3"], label="ERT"),
    "rank_chart": lambda: figures.rank_chart({"A": [1, 2], "B": [2, 1]}, ["f1", "f2"]),
    "rating_candlesticks": lambda: figures.rating_candlesticks(glicko2(SAMPLES, rng=np.random.default_rng(1))),
    "robust_ranks_over_time": lambda: figures.robust_ranks_over_time(robust()),
    "allocation": lambda: figures.allocation(result(belief())),
    "attainment": lambda: figures.attainment(BUDGETS, [0.1, 1.0], SHARE),
    "attainment_difference": lambda: figures.attainment_difference(BUDGETS, [0.1, 1.0], SHARE - 0.5, ("A", "B")),
    "attainment_ecdf": lambda: figures.attainment_ecdf(BUDGETS, {"A": SHARE[:, 0], "B": SHARE[:, 1]}),
    "convergence": lambda: figures.convergence(BUDGETS, QUARTILES),
    "cumulative_difference": lambda: figures.cumulative_difference(DIFFERENCE, ("A", "B")),
    "data_profiles": lambda: figures.data_profiles(STEPS),
    "dominance_over_rounds": lambda: figures.dominance_over_rounds(result(belief()).rounds, alpha=0.95),
    "effects_over_time": lambda: figures.effects_over_time(
        BUDGETS, {"active": {"True": [[0.1, 0.2, 0.3], [0.0, 0.1, 0.2], [0.2, 0.3, 0.4]]}}
    ),
    "embedding": lambda: figures.embedding([[0.0, 1.0], [1.0, 0.0], [5.0, 5.0]], ["f1", "f1", "f2"]),
    "ert_over_dimension": lambda: figures.ert_over_dimension([2, 3, 5], ERT),
    "ert_over_targets": lambda: figures.ert_over_targets([1, 0.1, 0.01], ERT),
    "fixed_budget_curves": lambda: figures.fixed_budget_curves(
        BUDGETS, {"A": [3.0, 2.0, 1.0]}, bands={"A": [[2.0, 1.0, 0.5], [4.0, 3.0, 2.0]]}, band="mean ± 1"
    ),
    "fixed_target_curves": lambda: figures.fixed_target_curves(
        [0.01, 0.1, 1.0], ERT, runs={"B": [[9.0, 5.0, np.inf]]}, budgets={"A": 900.0}, statistic="PAR-1"
    ),
    "grid": lambda: figures.grid({"f1": EXAMPLES["convergence"](), "f2": EXAMPLES["convergence"]()}),
    "heat_map": lambda: figures.heat_map([[1.0, 2.0], [3.0, np.nan]], ["A", "B"], ["f1", "f2"], label="ERT"),
    "histograms": lambda: figures.histograms([1, 2, 3], {"A": [4, 1], "B": [0, 2]}),
    "mean_landscapes": lambda: figures.mean_landscapes({"f1": 10 ** np.eye(3), "f2": np.exp(SQUARE)}, [-5, 0], [5, 1]),
    "module_importance": lambda: figures.module_importance({"active": [[0.6], [0.5], [0.7]]}, ["100 evaluations"]),
    "optima": lambda: figures.optima({"f1": [[0.0, 1.0, 2.0]], "f2": [[-1.0, 0.0, 3.0]]}, [-5] * 3, [5] * 3),
    "initial_gains": lambda: figures.initial_gains({"without": [0.1, -0.2, 0.0], "with": [-0.5, 0.4]}),
    "parallel_coordinates": lambda: figures.parallel_coordinates(
        [[0.0, 0.2], [1.0, np.nan]], {"active": {"False": 0.0, "True": 1.0}, "c1": {"0": 0.0, "1": 1.0}}, [0.1, 0.9]
    ),
    "parameter_over_targets": lambda: figures.parameter_over_targets([0.01, 0.1, 1.0], QUARTILES, "step size"),
    "parameter_over_time": lambda: figures.parameter_over_time(BUDGETS, QUARTILES, "step size"),
    "partial_order": lambda: figures.partial_order([["A"], ["B"]], [("A", "B")]),
    "performance_profiles": lambda: figures.performance_profiles(STEPS),
    "preference_values": lambda: figures.preference_values(belief()),
    "rating_over_rounds": lambda: figures.rating_over_rounds([Snapshot("round 1", belief())]),
    "rating_over_time": lambda: figures.rating_over_time(belief()),
    "recovery": recovery,
    "relations_over_time": pairs,
    "runtime_densities": lambda: figures.runtime_densities({"A": ([1.0, 2.0], [0.5, 0.5])}, runs={"A": [1.5, np.inf]}),
    "runtime_distributions": lambda: figures.runtime_distributions(STEPS),
    "structural_bias": lambda: figures.structural_bias([[0.1, 0.2], [0.5, 0.9]], [[True, False]] * 2, ["KS", "AD"]),
    "target_sensitivity": lambda: figures.target_sensitivity(SENSITIVITY),
    "vorobev_expectation": lambda: figures.vorobev_expectation(BUDGETS, {"A": VOROBEV}, runs={"A": [[5.0, 2.0, 1.0]]}),
    "value_densities": lambda: figures.value_densities({"A": ([1.0, 2.0], [0.5, 0.5]), "B": ([1.0, 3.0], [0.2, 0.9])}),
    "value_distributions": lambda: figures.value_distributions(STEPS, budget="10 evaluations"),
}  # fmt: skip
DRAWING = [name for name in figures.__all__ if inspect.isfunction(getattr(figures, name)) and name != "svg"]


def all_marks(figure):
    behind = (panel.behind for panel in figure.panels if panel.behind)
    return [mark for panel in (*figure.panels, *behind) for mark in panel.marks]


def test_every_figure_has_an_example():
    assert sorted(EXAMPLES) == sorted(DRAWING)


@pytest.mark.parametrize("name", EXAMPLES)
class TestEveryFigure:
    def test_is_words_and_marks_before_anything_is_drawn(self, name):
        figure = EXAMPLES[name]()
        assert isinstance(figure, Figure)
        assert figure.title
        assert figure.title[0].isupper() or name.startswith("parameter")
        for text in (figure.alt, figure.caption):
            assert text.endswith(".")
            assert "None" not in text
        assert len(figure.caption) > len(figure.alt)
        kinds = {getattr(marks, kind) for kind in dir(marks) if isinstance(getattr(marks, kind), type)}
        assert {type(mark) for mark in all_marks(figure)} <= kinds
        assert "_drawn" not in vars(figure)
        assert {mark.algorithm for mark in all_marks(figure)} - {""} <= set(figure.looks)

    def test_has_its_data_as_a_table(self, name):
        figure = EXAMPLES[name]()
        rows = list(csv.DictReader(io.StringIO(figure.data.csv())))
        assert {row["mark"] for row in rows} == {mark.name for mark in all_marks(figure) if mark.name and mark.data()}
        assert json.loads(figure.data.json()).keys() == set(figure.data.columns)

    def test_what_is_drawn_is_found_by_its_name(self, name):
        figure = EXAMPLES[name]()
        assert {mark.name for mark in all_marks(figure)} - {"cell", ""} <= {
            artist.get_gid() for artist in figure.findobj(lambda _: True)
        }

    def test_survives_pickling_and_is_drawn_the_same(self, name):
        figure = EXAMPLES[name]()
        assert pickle.loads(pickle.dumps(figure)).svg() == figure.svg()


class TestFigure:
    def test_is_frozen(self):
        figure = EXAMPLES["convergence"]()
        with pytest.raises(dataclasses.FrozenInstanceError):
            figure.title = "another"
        with pytest.raises(dataclasses.FrozenInstanceError):
            figure.panels[0].marks[0].algorithm = "B"

    @pytest.mark.parametrize("name", ["heat_map", "recovery", "p_values"])
    def test_is_the_svg_that_matplotlib_saves_and_stays_as_it_was(self, name):
        figure, same, theirs = EXAMPLES[name]().matplotlib(), EXAMPLES[name](), io.StringIO()
        before = figure.get_layout_engine(), figure.canvas, figure.dpi
        ours = figures.svg(figure)
        assert (figure.get_layout_engine(), figure.canvas, figure.dpi) == before
        assert ours == figures.svg(EXAMPLES[name]())
        with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": "polarbear"}):
            same.savefig(theirs, format="svg", metadata={"Date": None, "Creator": None})
        paths, theirs = (re.findall(r' (?:d|x|y|id|transform)="[^"]*"', text) for text in (ours, theirs.getvalue()))
        assert paths == [re.sub(r"(\.\d\d)\d+", r"\1", path) if path[1] == "d" else path for path in theirs]

    def test_behaves_as_the_matplotlib_figure_it_was(self, tmp_path):
        figure = EXAMPLES["convergence"]()
        figure.axes[0].set_title("mine")
        figure.savefig(tmp_path / "a.png", dpi=50)
        figure.save(tmp_path / "b.svg")
        assert figure.axes[0].get_title() == "mine"
        assert figure.matplotlib() is figure.matplotlib()
        assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
        assert (tmp_path / "b.svg").read_text().count("<use") > EXAMPLES["convergence"]().svg().count("<use")
        with pytest.raises(AttributeError, match="no attribute 'colour'"):
            figure.colour  # noqa: B018

    def test_saves_in_the_format_of_the_ending(self, tmp_path):
        figure = EXAMPLES["partial_order"]()
        figure.save(tmp_path / "a.pdf")
        assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
        with pytest.raises(ValueError, match="xyz"):
            figure.save(tmp_path / "a.xyz")

    def test_data_are_those_given(self):
        data = EXAMPLES["convergence"]().data
        rows = [dict(zip(data.columns, row, strict=True)) for row in data.rows]
        middle = [(row["x"], row["y"]) for row in rows if (row["mark"], row["algorithm"]) == ("middle-1", "B")]
        assert middle == list(zip(BUDGETS.tolist(), QUARTILES["B"][1], strict=True))

    def test_unknown_numbers_are_empty_and_infinite_ones_said(self):
        data = EXAMPLES["heat_map"]().data
        assert [row[data.columns.index("value")] for row in data.rows] == [1.0, 2.0, 3.0, None]

    def test_shares_of_a_surface_are_those_of_the_grid(self):
        data = EXAMPLES["attainment"]().data
        place = [data.columns.index(name) for name in ("x", "y", "value")]
        found = {tuple(row[at] for at in place) for row in data.rows}
        assert found == {(b, v, SHARE[i, j]) for i, b in enumerate(BUDGETS) for j, v in enumerate((0.1, 1.0))}


def test_to_describe_figures_loads_no_drawing():
    code = "import sys, polarbear.figures; print('matplotlib.figure' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "False\n"


def own_figure(**options):
    """A figure with every kind of mark, as another package would make it."""
    x, y = np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.0, 3.0])
    shades = Shades(SHADES, 0, 2)
    curves = (
        Line(name="line", x=x, y=y, algorithm="A", dash=(2, 1), markers=Markers("o", at=(1,))),
        Points(name="points", x=x, y=y, algorithm="B", strength=0.5),
        Bars(name="bars", x=x, low=y - 0.5, high=y + 0.5, color="#123456"),
        Band(name="band", x=x, low=y - 0.5, high=y + 0.5, algorithm="A"),
        Steps(name="steps", edges=np.array([1.0, 2.0, 3.0]), y=np.array([1.0, 2.0]), algorithm="B", ink=True),
        Edge(name="edge", points=np.array([(1, 1), (1.5, 1), (2, 1), (2.5, 3), (3, 3.0)]), algorithm="A"),
        Label(name="label", text="$ at the left", y=2, left=True, ends=True, shift=(-30, 0)),
        PointLabel(name="point-label", x=2, y=1, text="here", algorithm="B", ink=True),
        EndLabel(x=2.5, y=3, text="A$", algorithm="A", bold=True),
        EndLabel(x=4, y=3, text="B", algorithm="B"),
    )
    cells = Cells(
        name="cell", x=x - 0.5, x_end=x + 0.5, y=np.zeros(3), value=np.array([0, np.nan, np.inf]), text=("0", "", "∞"),
        shades=shades,
    )  # fmt: skip
    surface = Surface(
        name="surface", x=x, y=y[1:], z=np.eye(3)[:, 1:], edges=np.array([0.0, 0.5, 1.5]), colors=("#ffffff", "#000000")
    )
    panels = (
        Panel(x=Axis(label="x", low=0, high=4, grid=True), y=Axis(low=0, high=4), marks=curves, title="curves"),
        Panel(x=Axis(low=0, high=4), y=Axis(low=-1, high=1), marks=(cells,), bar=Bar(label="n", shades=shades)),
        Panel(x=Axis(low=1, high=9, scale="log"), y=Axis(low=1, high=4, scale="log"), marks=(surface,)),
    )
    given = {"title": "Own", "alt": "An own figure.", "caption": "All marks there are.", "width": 7.2, "height": 6.0}
    key = Key(entries=(Entry(text="_A", algorithm="A", width=1.5), Entry(text="B", symbol="o")), columns=2, size=7)
    return Figure(**given, panels=panels, looks=looks("AB"), key=key, **options)


class TestOwnFigure:
    def test_has_every_kind_of_mark(self):
        kinds = {kind for kind in vars(marks).values() if isinstance(kind, type) and issubclass(kind, Mark)} - {Mark}
        assert {type(mark) for mark in all_marks(own_figure())} == kinds

    def test_is_drawn_with_its_data_in_the_colours_of_its_algorithms(self):
        figure = own_figure(columns=2)
        assert_readable(figure)
        look = looks("AB")
        line, points = one(figure, "line"), one(figure, "points")
        np.testing.assert_array_equal([line.get_xdata(), line.get_ydata()], [[1, 2, 3], [2, 1, 3]])
        assert (line.get_color(), line.get_markevery()) == (look["A"].color, [1])
        assert points.get_markerfacecolor() == pale(look["B"].color, 0.5)
        assert to_hex(one(figure, "steps").get_facecolor()) == look["B"].ink
        assert to_hex(one(figure, "bars").get_colors()[0]) == "#123456"
        assert [label.get_text() for label in drawn(figure, "end-label")] == [r"A\$", "B"]
        (key,) = figure.legends
        assert [text.get_text() for text in key.get_texts()] == ["_A", "B"]
        assert [cell.get_hatch() for cell in drawn(figure, "cell")] == [None, "/////", None]
        assert len(drawn(figure, "lead")) == 1, "only from the line that ends early"
        assert len(figure.axes) == 4

    def test_of_a_kind_of_mark_that_no_renderer_knows_is_refused(self):
        class Blob(Mark):
            pass

        panel = Panel(x=Axis(), y=Axis(), marks=(Blob(name="mine"),))
        figure = dataclasses.replace(own_figure(), panels=(panel,))
        with pytest.raises(
            TypeError, match=r"mark 'mine' is a Blob; figures consist of the marks in polarbear.figures.marks"
        ):
            figure.matplotlib()
