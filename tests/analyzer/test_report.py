"""The page is well-formed, complete in itself, escapes what is hostile, and its data parse back to the values."""

import base64
import csv
import gzip
import io
import json
import tomllib
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from markdown_it import MarkdownIt

from benchmarks.pages import raced as raced_at_once
from benchmarks.pages import screens
from polarbear import optimizers, problems
from polarbear.analyzer import answer, report
from polarbear.analyzer.page import color_order, render
from polarbear.analyzer.report_tables import rounds
from polarbear.analyzer.settings import as_study_file, as_toml
from polarbear.assess.report.data import Data, Rows
from polarbear.inference import Check
from polarbear.racing import Race
from polarbear.records import Outcome, Reason, Run, RunKey, Trajectory
from polarbear.store import Damage
from polarbear.study import StudyView, read_spec
from tests.figures.results import a_round, crossing, posterior, raced, result

VOID = {"meta", "link", "img", "br", "circle"}
HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=y>', "A & B's")


class Page(HTMLParser):
    """Checks nesting while it reads; keeps tags, texts, ids and links."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.ids, self.texts = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, wanted):
        return [attributes for tag, attributes in self.tags if tag == wanted]

    @property
    def downloads(self):
        files = {}
        for link in self.all("a"):
            if "download" in link:
                name, content = link["download"], base64.b64decode(link["href"].partition(",")[2])
                content = gzip.decompress(content) if name.endswith(".gz") else content
                files[name.removesuffix(".gz")] = content.decode()
        return files


def a_failure(seed, *, algorithm="A", reason=Reason.FAILED, message="ZeroDivisionError: <b>bold</b>", nan=0):
    outcome = Outcome(reason, 12, 0.5, message, f"Traceback\n  <i>{message}</i>" if message else "", nan)
    return Run(RunKey(f"f{seed}", algorithm, seed), Trajectory([1], [0.1], [2.0], outcome))


def a_view(found, **changes):
    fields = {
        "path": Path("some.study"),
        "spec": {"race": {"times": [1.0, 2.5], "precision": None}, "algorithms": {"A": {"optimizer": "x"}}},
        "result": found,
        "failures": (),
        "invalid": (),
        "damaged": (),
    }
    return StudyView(**(fields | changes))


@pytest.fixture(scope="module")
def found():
    utilities = np.random.default_rng(4).normal(size=(7, 4)) + np.array([1, 1, 0, -3])
    return raced(utilities, alpha=0.95, epsilon=0.1, resolution="crossing")


@pytest.fixture(scope="module")
def page(found):
    return Page(render(found))


def test_every_section_and_figure_is_there(page):
    assert {"answer", "deploy", "ratings", "pairs", "race", "allocation", "reliability", "trouble", "settings"} <= set(
        page.ids
    )
    assert len(page.all("img")) == 7  # two of them folded away: ratings on a linear axis, and after each round
    assert len(page.ids) == len(set(page.ids))


def test_page_is_complete_in_itself(page):
    for _, attributes in page.tags:
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            link = attributes.get(name)
            if link is None:
                continue
            assert link.startswith(("data:", "#")), link[:80]
            if link.startswith("#"):
                assert link[1:] in page.ids
    assert not page.all("script")
    style = "".join(page.texts)
    assert "@import" not in style
    assert "url(" not in style


def test_page_is_accessible(page):
    assert page.all("html")[0]["lang"] == "en"
    assert all(len(image["alt"]) > 20 for image in page.all("img"))
    assert len(page.all("caption")) == len(page.all("table"))
    assert len(page.all("figcaption")) == len(page.all("figure"))
    assert {cell["scope"] for cell in page.all("th")} == {"col", "row"}


def test_every_figure_and_table_has_its_data(page):
    paragraphs = [attributes for attributes in page.all("p") if attributes.get("class") == "downloads"]
    assert len(paragraphs) == len(page.all("figure")) + len(page.all("table")) - 1  # not that of earlier rounds


def test_figures_are_svg_that_parses(page):
    for image in page.all("img"):
        kind, _, content = image["src"].partition(";base64,")
        assert kind == "data:image/svg+xml"
        assert ET.fromstring(base64.b64decode(content)).tag.endswith("svg")


def test_embedded_ratings_parse_back_to_the_posterior(page, found):
    rows = list(csv.DictReader(io.StringIO(page.downloads["ratings.csv"])))
    mean, (low, high) = found.posterior.mean(), found.posterior.interval()
    assert len(rows) == mean.size
    for row in rows:
        t, i = (
            np.searchsorted(found.posterior.times, float(row["evaluations"])),
            found.posterior.index(row["algorithm"]),
        )
        assert (float(row["mean"]), float(row["low_95"]), float(row["high_95"])) == (mean[t, i], low[t, i], high[t, i])


def test_files_beside_the_page_hold_the_same_as_those_in_it(tmp_path, page, found):
    report(found, tmp_path / "page.html", data=tmp_path / "data")
    files = {path.name: path.read_bytes().decode() for path in (tmp_path / "data").iterdir()}
    assert page.downloads == {name: text for name, text in files.items() if name.endswith(".csv")}
    names = {name.rpartition(".")[0] for name in files}
    assert {"ratings", "relations", "dominance", "rounds", "horizons", "reach", "evaluations", "values"} <= names
    assert {"value-quantiles", "diagnostics"} <= names
    for name in names:
        header, *rows = csv.reader(io.StringIO(files[f"{name}.csv"]))
        columns = json.loads(files[f"{name}.json"])
        assert list(columns) == header
        assert rows
        for place, column in enumerate(columns.values()):
            assert [row[place] for row in rows] == ["" if cell is None else str(cell) for cell in column]


def test_embedded_relations_reach_and_dominance_are_those_of_the_race(page, found):
    better = found.posterior.pairwise_probabilities()
    for row in csv.DictReader(io.StringIO(page.downloads["relations.csv"])):
        t = np.searchsorted(found.posterior.times, float(row["evaluations"]))
        i, j = found.posterior.index(row["first"]), found.posterior.index(row["second"])
        assert float(row["probability_first_better"]) == better[t, i, j]
        expected = "first" if better[t, i, j] >= 0.95 else "second" if better[t, j, i] >= 0.95 else None
        assert row["relation"] in ([expected] if expected else ["equivalent", "undecided"])
    reach = csv.DictReader(io.StringIO(page.downloads["reach.csv"]))
    assert [int(row["instances"]) for row in reach] == found.reach.ravel().tolist()
    told = {
        (int(row["round"]), row["algorithm"]): row
        for row in csv.DictReader(io.StringIO(page.downloads["dominance.csv"]))
    }
    for this in found.rounds:
        for name, rival in this.dominance.items():
            row = told[this.number, name]
            assert (row["strongest_rival"], float(row["probability_dominated"])) == (rival.name, rival.probability)
            assert row["eliminated_by"] == this.eliminated.get(name, "")


def test_hostile_names_and_messages_are_text():
    belief = posterior(np.tile([1.0, 0.9, -2.0], (7, 1)), names=HOSTILE)
    view = a_view(
        result(belief, eliminated={HOSTILE[2]: HOSTILE[0]}),
        path=Path("<h1>.study"),
        failures=(a_failure(1, algorithm=HOSTILE[0]),),
        damaged=(Damage(Path("runs/<u>.parquet"), "</pre> is odd"),),
        spec={"algorithms": {name: {"note": "</pre><script>"} for name in HOSTILE}},
    )
    page = Page(render(view))
    assert not page.all("script")
    assert not [image for image in page.all("img") if not image["src"].startswith("data:")]
    assert {"b", "i", "u"} & {tag for tag, _ in page.tags} <= {"b"}
    text = "".join(page.texts)
    for name in HOSTILE:
        assert name in text
    assert "ZeroDivisionError: <b>bold</b>" in text
    assert "runs/<u>.parquet" in text


def test_failures_are_grouped_and_their_first_traceback_shown():
    failures = (
        *(a_failure(seed) for seed in range(1, 8)),
        a_failure(9, algorithm="B", reason=Reason.TIMED_OUT, message=""),
    )
    invalid = (a_failure(1, nan=3), a_failure(2, nan=4))
    page = Page(render(a_view(result(posterior(crossing())), failures=failures, invalid=invalid)))
    text = " ".join(page.texts)
    assert "(no message)" in text
    assert "timed out" in text
    assert len([pre for pre in page.all("pre") if "class" not in pre]) == 1  # one traceback
    rows = list(csv.DictReader(io.StringIO(page.downloads["failures.csv"])))
    assert [row["seed"] for row in rows] == [str(run.key.seed) for run in failures]
    assert rows[0]["traceback"] == failures[0].outcome.traceback
    nan = csv.DictReader(io.StringIO(page.downloads["invalid-evaluations.csv"]))
    assert sum(int(row["nan_evaluations"]) for row in nan) == 7


def test_a_clean_study_says_so_and_a_bare_result_does_not_claim_it():
    found = result(posterior(crossing()))
    assert "every run ended as planned" in render(a_view(found))
    assert "every run ended as planned" not in render(found)


def test_caution_about_independent_timepoints_only_where_it_applies():
    utilities = crossing()
    assert "repeat from budget to budget" in render(result(posterior(utilities)))
    assert "repeat from budget to budget" not in render(result(posterior(utilities, joint=True)))


@pytest.mark.parametrize(
    "found",
    [
        result(posterior(np.zeros((7, 2))), rounds=()),
        result(posterior(np.tile([2.0, 0.0], (7, 1))), eliminated={"B": "A"}),
        result(posterior([[0.1, 0.0]], times=np.array([50.0]))),
        result(posterior(crossing()), axis="seconds"),
        pytest.param(result(posterior(np.random.default_rng(1).normal(size=(7, 12)))), marks=pytest.mark.slow),
    ],
    ids=["before the first round", "one member", "one timepoint", "seconds", "twelve"],
)
def test_every_kind_of_race_has_a_report(found):
    page = Page(render(found))
    assert "".join(page.texts).strip()
    assert page.all("h1")


def test_false_eliminations_are_told_where_the_posterior_is_joint():
    for joint in (True, False):
        belief = posterior(np.tile([1.0, 0.0], (7, 1)), joint=joint)
        said = " ".join(Page(render(result(belief, eliminated={"B": "A"}))).texts)
        assert ("this elimination was an error" in said) == joint


def test_the_withdrawn_are_told_from_members_and_from_the_eliminated():
    utilities = np.tile([1.0, 0.5, 0.0, -1.0], (7, 1))
    page = Page(render(result(posterior(utilities), withdrawn="A", eliminated={"D": "A", "C": "B"})))
    told = {row["algorithm"]: row for row in csv.DictReader(io.StringIO(page.downloads["evaluations.csv"]))}
    assert {name: (row["eliminated_by"], row["withdrawn"]) for name, row in told.items()} == {
        "A": ("", "on request"),
        "B": ("", ""),
        "C": ("B", ""),
        "D": ("A", ""),
    }
    text = " ".join(page.texts)
    assert "lines without a band are algorithms eliminated or withdrawn." in text
    assert "neither eliminated nor withdrawn" in text
    assert "the best of all algorithms that were not withdrawn" in text
    fact = page.texts.index("Pareto set")
    assert [word for word in page.texts[fact : fact + 12] if word.strip()][:4] == [
        "Pareto set",
        "1 of 3",
        "withdrawn",
        "1",
    ]


def test_a_race_whose_only_rounds_withdraw_has_a_report():
    race = Race(list("ABC"), times=[10.0, 20.0])
    race.withdraw("C")
    page = Page(render(race.result()))
    text = "".join(page.texts)
    assert "Nothing is known yet about A and B" in text
    assert "C was withdrawn" in text
    assert not page.all("img")


def test_settings_are_toml_that_reads_back():
    spec = {
        "race": {
            "times": list(range(100)),
            "alpha": 0.99,
            "axis": "seconds",
            "precision": None,
            "model": {"model": "x"},
        },
        "algorithms": {'CMA "quoted" ü': {"sigma": 0.2, "active": True, "grid": [0.5, 1.5]}},
        "limits": {"timeout": None},
    }
    back = tomllib.loads(as_toml(spec))
    del spec["race"]["precision"], spec["limits"]["timeout"]
    assert back == spec


def test_data_that_is_not_finite_stays_json():
    data = Data.of("x", ("a", "b"), [(np.float64("nan"), -np.inf), (np.int64(3), 0.1)])
    assert json.loads(data.json()) == {"a": [None, 3], "b": ["-inf", 0.1]}
    assert data.csv().splitlines() == ["a,b", ",-inf", "3,0.1"]


def test_rows_made_when_they_are_looked_at_are_those_of_a_tuple():
    made = []

    def make():
        for number in range(5):
            made.append(number)
            yield (np.int64(number),)

    data, all_at_once = Data.of("x", ("a",), Rows(5, make)), Data.of("x", ("a",), ((number,) for number in range(5)))
    assert not made
    assert (data.rows[:2], made) == (((0,), (1,)), [0, 1])
    ends = (None, -7, -2, 0, 1, 4, 7)
    for at in (0, 4, -1, -5, *(slice(*each) for each in product(ends, ends, (None, 1, 2, -1, -2)))):
        assert data.rows[at] == all_at_once.rows[at]
    assert (len(data.rows), data, data.json()) == (5, all_at_once, all_at_once.json())
    with pytest.raises(IndexError):
        data.rows[5]


MARKUP = r"1*2*3_a_ `x` | <b>&amp;</b> [y](z) \ ~~n~~ # $"


def test_markdown_says_what_the_data_say():
    data = Data.of("x", ("f|1", "ERT"), [(MARKUP, 1 / 3), ("two\nlines", np.inf), (None, -12_345_678.9)])
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(data.markdown())
    cells = ["".join(part.content for part in token.children) for token in tokens if token.type == "inline"]
    assert cells == ["f|1", "ERT", MARKUP, "0.333333", "two lines", "∞", "", "-1.23457e+07"]
    assert {part.type for token in tokens for part in token.children or ()} == {"text"}, "nothing is taken for markup"


def test_latex_aligns_numbers_right_and_text_left():
    data = Data.of("x", ("fast_1", "ERT", "runs"), [("a & b", np.inf, 3), ("50 %", 1 / 3, None)])
    begin, *lines = data.latex().splitlines()[1:]
    assert begin == r"\begin{longtable}{lrr}"
    assert lines[1] == r"fast\_1 & ERT & runs \\"
    assert [line for line in lines if "&" in line][1:] == [r"a \& b & $\infty$ & 3 \\", r"50 \% & 0.333333 &  \\"]


def test_report_is_written_whole_replaces_an_old_one_and_is_the_same_every_time(tmp_path, found):
    target = tmp_path / "new" / "report.html"
    assert report(found, target) == target
    first = target.read_text(encoding="utf-8")
    report(found, target)
    assert target.read_text(encoding="utf-8") == first
    assert [path.name for path in target.parent.iterdir()] == ["report.html"]
    assert first.startswith("<!DOCTYPE html>")


def test_members_alone_have_colours_when_they_run_out():
    few = result(posterior(np.zeros((7, 3))), eliminated={"A": "B"})
    assert color_order(few, answer(few)) == ("A", "B", "C")
    best_first = np.tile(np.arange(10.0), (7, 1))
    many = result(posterior(best_first), eliminated={"A": "B", "C": "B"})
    assert color_order(many, answer(many))[:3] == ("J", "I", "H")
    assert set(color_order(many, answer(many))) == set("BDEFGHIJ")


@pytest.fixture(scope="module")
def eighteen():
    return raced_at_once(18)


@pytest.fixture(scope="module")
def page_of_eighteen(eighteen):
    return render(eighteen)


@pytest.mark.slow
def test_thirty_algorithms_fit_into_three_megabytes_and_twelve_screens():
    page = render(raced_at_once(30))
    assert len(page.encode()) < 3e6
    assert screens(page) < 12


def test_members_stand_in_the_order_of_their_mean_probability_to_be_best(eighteen, page_of_eighteen):
    first = eighteen.posterior.first(eighteen.pareto_set)
    often = (first == first.max(axis=2, keepdims=True)).mean(axis=(0, 1))
    ranked = [eighteen.pareto_set[place] for place in np.argsort(-often)]
    assert [member.name for member in answer(eighteen).members] == ranked
    texts = Page(page_of_eighteen).texts
    places = [texts.index(name) for name in ranked]
    assert places == sorted(places)


def test_the_settings_of_a_report_are_a_study_file_that_races_the_same(tmp_path):
    demo = Path(__file__).parents[2] / "examples/demo.toml"
    asked = study_spec(read_spec(demo))
    (tmp_path / "again.toml").write_text(as_study_file(asked), encoding="utf-8")
    assert study_spec(read_spec(tmp_path / "again.toml")) == asked


def study_spec(spec):
    """What a study made from a study file keeps of it."""
    race, instances = spec.build_race(), spec.build_instances()
    algorithms = {name: optimizers.describe(algorithm) for name, algorithm in race.algorithms.items()}
    return {"race": race.describe(), "instances": problems.describe(instances), "algorithms": algorithms}


def test_a_failed_check_of_the_model_stands_in_the_box_at_the_top(monkeypatch, found):
    failed = Check("first places", "share", 1.0, (0.0, 0.5), 0.005, False, "A is first too often; think again.")
    monkeypatch.setattr("polarbear.analyzer.page.checks", lambda *_, **__: (failed, replace(failed, passed=True)))
    page = render(found)
    box = page[page.index('class="caution"') : page.index("<nav")]
    assert box.count("Failed model check: first places: A is first too often.") == 1


def test_who_wins_where_is_told_by_dimension_and_group_of_functions(eighteen, page_of_eighteen):
    """Draws 0 to 23 are BBOB's functions in two dimensions, the next 24 in five."""
    assert [problem.dimension for problem in eighteen.problems] == [2] * 24 + [5] * (len(eighteen.values) - 24)
    page = Page(page_of_eighteen)
    assert "where" in page.ids
    rows = list(csv.DictReader(io.StringIO(page.downloads["best-by-group.csv"])))
    assert {row["group"].strip() for row in rows} >= {"2-D separable", "2-D weakly structured"}
    assert not any(row["group"].startswith(" 5-D") for row in rows)  # not all members ran there
    first = [row for row in rows if row["group"].strip() == "2-D separable" and row["evaluations"] == "50.0"]
    members = [eighteen.names.index(row["algorithm"]) for row in first]
    best = eighteen.values[:5, 0, members].argmin(axis=1)
    assert [float(row["share_best"]) for row in first] == [np.mean(best == k) for k in range(len(members))]


def test_races_on_one_kind_of_problem_say_nothing_of_groups(found):
    assert "where" not in Page(render(found)).ids


def test_a_round_names_a_few_that_leave_and_counts_the_others():
    left = dict.fromkeys("CDEFG", "A")
    race = (
        a_round(1, "AB", dominance={}, eliminated=left, resolved_pairs=5),
        a_round(2, "A", dominance={}, eliminated={"B": "A"}, resolved_pairs=6),
    )
    raced = result(posterior(np.zeros((7, 7))), eliminated=left | {"B": "A"}, rounds=race)
    assert [row[6] for row in rounds(raced, ()).rows] == ["C (by A); D (by A); E (by A); 2 more", "B (by A)"]
