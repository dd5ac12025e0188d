"""A library is searched by source, suite, algorithm, function and dimension, and what is found opens."""

import shutil

import pytest

from polarbear import store
from polarbear.store.library import Library
from polarbear.web import Sources, View
from tests.analyzer.recorded import runs


@pytest.fixture(scope="module")
def library(folder, tmp_path_factory):
    """A folder that `Library` keeps, with a file, a damaged archive and a link out of it beside its data sets."""
    path = tmp_path_factory.mktemp("library")
    Library(path).add("first", [folder / "runs.study"])
    store.export([run for run in runs() if run.key.algorithm == "slow"], path / "slow.csv", "csv")
    shutil.copytree(folder / "race.study", path / "race.study")
    (path / "damaged.tgz").write_bytes(b"\x1f\x8b\x08\x00damaged")
    (path / "etc").symlink_to("/etc")
    return path


def test_a_data_set_given_by_itself_goes_by_its_name(library):
    assert Sources([Library(library).get("first").path]).names == ("first@1",)


def search(library, **params):
    return View("library", "", params).data(Sources([], library)).rows


def test_lists_what_lies_in_it_and_says_what_cannot_be_read(library):
    sources = Sources([], library)
    assert set(sources.names) == {"first@1", "slow.csv", "damaged.tgz", "race"}
    shown = View("library", "").show(sources)
    first = ("first@1", "table", "bbob", "fast", "1, 2", "2, 5", 24)
    assert {row for row in shown.data.rows if row[0] != "race"} == {
        first,
        (*first[:3], "slow", *first[4:]),
        ("slow.csv", "table", "bbob", "slow", *first[4:]),
    }
    assert shown.text.startswith(f"3 of 3 data sets in {library}.\ndamaged.tgz cannot be read: ")
    assert shown.opens == "data set"
    made = View("loaded", "first@1").show(sources)
    assert made.text.startswith("48 runs of 2 algorithms")


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"algorithms": "FAS"}, {("first@1", "fast"), ("race", "fast")}),
        ({"source": "race"}, {("race", "fast"), ("race", "slow")}),
        ({"suite": "bbob", "algorithms": "slow", "source": "table"}, {("first@1", "slow"), ("slow.csv", "slow")}),
        ({"functions": "2, 7", "algorithms": "fast", "source": "table"}, {("first@1", "fast")}),
        ({"functions": "7"}, set()),
        ({"dimensions": "3 5", "algorithms": "fast", "source": "table"}, {("first@1", "fast")}),
        ({"dimensions": "3"}, set()),
    ],
)
def test_is_searched(library, params, found):
    assert {(row[0], row[3]) for row in search(library, **params)} == found


def test_counts_the_runs_that_are_looked_for_alone(library):
    assert search(library, source="table", algorithms="fast", functions="2", dimensions="5") == (
        ("first@1", "table", "bbob", "fast", "2", "5", 6),
    )


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"source": "memory"}, "source is 'memory'; it must be one of all, race, table"),
        ({"dimensions": "many"}, "dimensions 'many': give numbers"),
    ],
)
def test_what_is_wrong_is_said(library, params, complaint):
    with pytest.raises(ValueError, match=complaint):
        search(library, **params)


def test_has_python_that_makes_the_same(library, capsys):
    view, made = View("library", "", {"algorithms": "fast"}), {}
    sources = Sources([], library)
    exec(compile(view.code(sources), "library", "exec"), made)
    assert made["shown"].data == view.data(sources)
