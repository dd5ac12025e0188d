"""What results, posteriors, studies, tables and views show in notebooks."""

import re
from html.parser import HTMLParser

import pytest

from polarbear import store
from polarbear.assess.report.data import Data
from polarbear.results import load
from polarbear.web import View


class Balanced(HTMLParser):
    """Notes elements that are not closed, and the text of cells."""

    def __init__(self):
        super().__init__()
        self.open, self.cells = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "td" in self.open:
            self.cells[-1] += data


def cells(thing):
    found = Balanced()
    found.feed(re.sub(r"<svg.*?</svg>", "", thing._repr_html_(), flags=re.DOTALL))
    assert found.open == []
    return found.cells


def test_a_table_shows_its_cells_as_text():
    data = Data.of("data", ("name", "value"), [["<script>", 0.5], ["a & b", None]] + [["more", 1]] * 100)
    assert cells(data)[:4] == ["<script>", "0.5", "a & b", ""]
    assert "The first 100 of 102 rows." in data._repr_html_()


def test_a_posterior_shows_ratings_and_who_is_best(folder):
    posterior = load(folder / "race.study").posterior
    shown = cells(posterior)
    columns = len(shown) // len(posterior.names)
    assert tuple(shown[::columns]) == posterior.names
    best = [float(shown[columns * row + 2]) for row in range(len(posterior.names))]
    assert best == pytest.approx(posterior.probability_best()[0], abs=5e-4)
    ratings = [float(shown[columns * row + 1].split()[0]) for row in range(len(posterior.names))]
    assert ratings == pytest.approx(posterior.mean()[0], abs=5e-4)


def test_a_view_shows_its_words_its_figure_and_its_numbers(sources):
    made = View("runtime-difference", "runs").show(sources)
    html = made._repr_html_()
    assert html.index("with probability 1;") < html.index("<svg") < html.index("<table")
    assert len(cells(made)) == len(made.data.columns) * min(100, len(made.data.rows))


@pytest.mark.parametrize("study", ["race", "runs"])
def test_results_and_studies_show_themselves(folder, study):
    found = load(folder / f"{study}.study")
    assert "fast" in found._repr_html_()
    assert cells(found) or "<svg" in found._repr_html_()


def test_an_open_study_shows_its_runs_by_algorithm(folder):
    with store.open(folder / "runs.study") as study:
        shown = cells(study)
        assert dict(zip(shown[::2], shown[1::2], strict=True)) == {
            name: str(len(study.find(algorithm=name))) for name in {key.algorithm for key in study}
        }
