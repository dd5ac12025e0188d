"""The page of knowledge: answers that say what statistics of the runs say, and open as views of them."""

import pytest

from polarbear.knowledge import KnowledgeBase
from polarbear.web import Sources, View
from tests.web import studies


def test_answers_are_those_of_the_assessment_and_open_it(sources):
    data = View("known-runtimes", "known", {"target": "1", "dimension": "5", "function": "1"}).data(sources)
    found = [dict(zip(data.columns, row, strict=True)) for row in data.rows]
    assert [row["algorithm"] for row in found] == ["fast", "slow"]
    opened = View.at(found[0]["view"])
    assert (opened.kind, opened.study, opened.params["problem"]) == ("expected-runtime", "runs", "bbob f1 in 5-D")
    shown = {(name, target): ert for name, target, ert, *_ in opened.data(sources).rows}
    assert found[0]["ert"] == shown["fast", 1.0]


def test_choices_are_what_is_known(sources):
    kind = View("known-values", "known").of_kind
    known = {name: control.choices(sources.get("known", "KnowledgeBase")) for name, control in kind.controls.items()}
    assert known["algorithm"] == ["all", "fast", "slow"]
    assert known["dimension"] == ["all", "2", "5"]
    assert known["budget"][:3] == ["10", "20", "50"]
    with pytest.raises(ValueError, match="algorithm is 'medium'; it must be one of all, fast, slow"):
        View("known-values", "known", {"algorithm": "medium"}).show(sources)


def test_a_query_of_anybodys_is_answered_and_what_does_more_is_not(sources):
    told = View("sparql", "known", {"query": "SELECT DISTINCT ?a WHERE { ?b pb:algorithm ?a } ORDER BY ?a"})
    assert told.data(sources).rows == (("fast",), ("slow",))
    assert View("sparql", "known", {"query": "ASK { ?a ?b ?c }"}).show(sources).text == "Yes."
    for query, complaint in [("DROP ALL", "must be one of SELECT, ASK, CONSTRUCT"), ("SELECT", "not valid SPARQL")]:
        with pytest.raises(ValueError, match=complaint):
            View("sparql", "known", {"query": query}).show(sources)


def test_a_study_can_be_asked_alone_and_a_base_has_no_runs(sources):
    one, all_of_it = (View("known-areas", name).data(sources) for name in ("runs", "known"))
    assert [row[:5] for row in one.rows] == [row[:5] for row in all_of_it.rows]
    with pytest.raises(ValueError, match="known is a knowledge base, which has no runs"):
        View("convergence", "known").show(sources)


def test_a_study_of_many_runs_is_sent_to_a_base_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("polarbear.web.sources._MOST_KNOWN", 3)
    studies.recorded(tmp_path / "many.study")
    with pytest.raises(ValueError, match=r"many.study has \d+ runs, .*: polarbear knowledge add many.study"):
        View("known-areas", "many").data(Sources([tmp_path / "many.study"]))


def test_what_is_added_while_it_is_looked_at_is_seen(tmp_path):
    studies.known(tmp_path / "growing.base")
    sources = Sources([tmp_path / "growing.base"])
    view = View("known-studies", "growing.base")
    assert [row[0] for row in view.data(sources).rows] == ["runs"]
    more = KnowledgeBase(tmp_path / "growing.base")
    studies.recorded(tmp_path / "more.study")
    more.add(tmp_path / "more.study")
    del more
    assert [row[0] for row in view.data(sources).rows] == ["more", "runs"]
