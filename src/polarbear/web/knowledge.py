"""The findings of many studies: questions to a knowledge base, whose answers open as views."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from polarbear.assess.functions import function_label
from polarbear.assess.report.data import Data
from polarbear.knowledge import KnowledgeBase
from polarbear.knowledge.queries import OF_STUDIES
from polarbear.quantities import plural
from polarbear.web.kind import Choice, Shown, Text, view

_ALL = "all"
_KEY = ("algorithm", "suite", "function", "dimension")
_SECONDS, _ROWS = 10.0, 10_000
"""Limits of user-written queries: seconds, and rows of the answer."""
_EXAMPLE = (
    "SELECT ?algorithm (COUNT(?out) AS ?numbers) WHERE { ?benchmark pb:algorithm ?algorithm ; obo:OBI_0000299 ?out } "
    "GROUP BY ?algorithm ORDER BY ?algorithm"
)


def _field(label: str, field: str, *, needed: bool = False) -> Choice:
    """A drop-down of the values of a field in a knowledge base, preceded by "all" unless a value is needed."""

    def choices(base: KnowledgeBase) -> list[str]:
        return [*(() if needed else (_ALL,)), *base.choices(field)]

    return Choice(label, choices)


Target = Annotated[str, _field("target", "target", needed=True)]
Budget = Annotated[str, _field("budget", "budget", needed=True)]
Suite = Annotated[str, _field("suite", "suite")]
Function = Annotated[str, _field("function", "function")]
Dimension = Annotated[str, _field("dimension", "dimension")]
Algorithm = Annotated[str, _field("algorithm", "algorithm")]
Problem = Annotated[str, _field("instance", "problem")]


@view("knowledge", "Which is fastest")
def known_runtimes(
    base: KnowledgeBase, target: Target, suite: Suite, function: Function, dimension: Dimension, algorithm: Algorithm
) -> Shown:
    """Expected runtime of each algorithm to a target precision, fastest first."""
    where = _where(suite, function, dimension, algorithm)
    return _answer(base, "expected-runtime", {"target": target, **where}, "fixed-target/expected-runtime")


@view("knowledge", "Which is best after a budget")
def known_values(
    base: KnowledgeBase, budget: Budget, suite: Suite, function: Function, dimension: Dimension, algorithm: Algorithm
) -> Shown:
    """Median precision (or value) of each algorithm at a budget, averaged over instances, best first."""
    where = _where(suite, function, dimension, algorithm)
    return _answer(base, "value", {"budget": budget, **where}, "fixed-budget/convergence")


@view("knowledge", "Quartiles by instance")
def known_quartiles(
    base: KnowledgeBase, budget: Budget, suite: Suite, function: Function, dimension: Dimension, algorithm: Algorithm
) -> Shown:
    """Median and quartiles of each algorithm's precisions (or values) on each instance at a budget."""
    where = _where(suite, function, dimension, algorithm)
    return _answer(base, "quartiles", {"budget": budget, **where})


@view("knowledge", "Which has the largest area")
def known_areas(
    base: KnowledgeBase, suite: Suite, function: Function, dimension: Dimension, algorithm: Algorithm
) -> Shown:
    """Area over the convergence curve of each algorithm, largest first."""
    return _answer(base, "area", _where(suite, function, dimension, algorithm), "fixed-budget/areas")


@view("knowledge", "Runs behind the numbers")
def known_runs(
    base: KnowledgeBase, suite: Suite, function: Function, dimension: Dimension, algorithm: Algorithm
) -> Shown:
    """Keys of the runs: instance, algorithm and seed."""
    return _answer(base, "runs", _where(suite, function, dimension, algorithm), "fixed-budget/values-of-runs")


@view("knowledge", "Parameters of algorithms")
def known_parameters(base: KnowledgeBase, algorithm: Algorithm) -> Shown:
    """Parameters of algorithms, by component."""
    return _answer(base, "parameters", {"algorithm": algorithm})


@view("knowledge", "Landscape features")
def known_features(base: KnowledgeBase, problem: Problem) -> Shown:
    """Landscape features of problem instances."""
    return _answer(base, "features", {"problem": problem})


@view("knowledge", "Studies")
def known_studies(base: KnowledgeBase, about: Annotated[str, Text("containing the words", "")]) -> Shown:
    """When and on which machine studies were started, their seeds, and what is stated about them."""
    return _answer(base, "studies", {"about": about})


@view("knowledge", "Software of studies")
def known_software(base: KnowledgeBase, of_study: Annotated[str, _field("used for", "study")]) -> Shown:
    """Software versions used for studies."""
    return _answer(base, "software", {"study": of_study})


@view("knowledge", "SPARQL")
def sparql(base: KnowledgeBase, query: Annotated[str, Text("query", _EXAMPLE)]) -> Shown:
    """A query of your own: SELECT, ASK or CONSTRUCT, for at most ten seconds; prefixes need not be declared."""
    answer = base.query(query, seconds=_SECONDS, rows=_ROWS)
    if isinstance(answer, bool):
        return Shown(Data.of("sparql", ("answer",), [(answer,)]), text="Yes." if answer else "No.")
    return Shown(Data.of("sparql", answer.columns, answer.rows()), text=f"{plural(len(answer), 'row')}.")


def _where(suite: str, function: str, dimension: str, algorithm: str) -> dict[str, str]:
    return {"suite": suite, "function": function, "dimension": dimension, "algorithm": algorithm}


def _answer(base: KnowledgeBase, question: str, fields: Mapping[str, str], opens: str = "") -> Shown:
    """The answer to a question; each row with the address of a view in a study that has such runs."""
    given = {name: text for name, text in fields.items() if text != _ALL}
    answer = base.ask(question, **given)
    columns, rows = answer.columns, answer.rows()
    if opens and rows:
        studies, at = _studies(base), [columns.index(name) for name in _KEY]
        columns = [*columns, "view"]
        rows = [(*row, _address(opens, studies, *(row[i] for i in at))) for row in rows]
    return Shown(Data.of(question, columns, rows), text="" if rows else "Nothing is known about that.")


def _studies(base: KnowledgeBase) -> dict[tuple[Any, ...], str]:
    """For each algorithm and function, a study that has runs of the one on the other."""
    answer = base.select(OF_STUDIES)
    return {tuple(key): study for *key, study in answer.rows()}


def _address(opens: str, studies: Mapping[tuple[Any, ...], str], *key: Any) -> str | None:
    """The address of a view of an algorithm, suite, function and dimension; None if no study has such runs."""
    _, suite, function, dimension = key
    study = studies.get(key)
    suffix = f" in {dimension}-D" if dimension else ""
    problem = f"{suite} {function_label(function)}{suffix}".strip()
    return study and f"/{opens}?{urlencode({'study': study, 'problem': problem}, quote_via=quote)}"
