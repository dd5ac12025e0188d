"""Questions to a knowledge base: templates with fields, and the limits for untrusted SPARQL queries."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from polarbear.descriptions import did_you_mean
from polarbear.knowledge.vocabulary import PREFIXES

SECONDS, ROWS, MEMORY = 30.0, 100_000, 4 * 2**30
"""Limits of a query: wall-clock seconds, rows of the answer, and bytes of memory of its process."""
_STRINGS = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"""|\'\'\'(?:[^\'\\]|\\.|\'(?!\'\'))*\'\'\'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'',
    re.DOTALL,
)
_IRIS, _COMMENTS = re.compile(r"<[^<>\s]*>"), re.compile(r"#[^\n]*")
_NAMES = re.compile(r"[?$]\w+|[\w.-]*:[\w.%:-]*")
"""Variables and prefixed names."""
_BOOT = (
    "import sys; path, rows, *sys.path = sys.argv[1:]; "
    "from polarbear.knowledge.queries import answer_in_process; answer_in_process(path, rows)"
)
_FORMS = ("SELECT", "ASK", "CONSTRUCT")


class NotAllowed(ValueError):  # noqa: N818 - says what is the case
    """A query that is not SELECT, ASK or CONSTRUCT, or that asks other servers."""


class TookTooLong(TimeoutError):  # noqa: N818 - says what is the case
    """A query that was stopped at a limit."""


class Field(NamedTuple):
    """A field of a question.

    Attributes:
        meaning: Meaning of its value.
        kind: Type of its value: "string", "int" or "double".
        default: Default value; None if a value is required.
    """

    meaning: str
    kind: Literal["string", "int", "double"] = "string"
    default: str | int | None = ""


@dataclass(frozen=True, slots=True)
class Template:
    """A question with fields.

    Attributes:
        question: The question in words.
        fields: Fields of the question, by name.
        sparql: Query, in which ``$name`` stands for the value of a field.
    """

    question: str
    fields: Mapping[str, Field]
    sparql: str

    def filled(self, given: Mapping[str, Any]) -> str:
        """The query with values filled in; ValueError if one is missing, unknown, or not a number where required."""
        for name in given:
            if name not in self.fields:
                raise ValueError(f"the question has no field {name!r};{did_you_mean(name, self.fields)}")
        text = self.sparql
        for name, field in self.fields.items():
            value = given.get(name, field.default)
            if value is None:
                raise ValueError(f"{name} is missing: {field.meaning}")
            text = text.replace(f"${name}", _written(name, value, field.kind))
        return text


def _written(name: str, value: Any, kind: str) -> str:
    """A value in SPARQL syntax."""
    if kind == "string":
        return json.dumps(str(value), ensure_ascii=False)
    try:
        return f'"{float(value)!r}"^^xsd:double' if kind == "double" else f'"{int(value)}"^^xsd:int'
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is {value!r}; it must be a {'whole ' * (kind == 'int')}number") from error


_BENCHMARK = """
  ?benchmark pb:algorithm ?algorithm ; pb:suite ?suite ; pb:function ?function ; option:has_dimensionality ?dimension .
  FILTER(($suite = "" || ?suite = $suite) && ($function = "" || ?function = $function))
  FILTER(($dimension = 0 || ?dimension = $dimension) && ($algorithm = "" || ?algorithm = $algorithm))"""
_WHERE = {
    "suite": Field("the suite, such as bbob; all if empty"),
    "function": Field("the function's number or name; all if empty"),
    "dimension": Field("number of variables; 0 for all", "int", 0),
    "algorithm": Field("the algorithm's name; all if empty"),
}
TEMPLATES: dict[str, Template] = {
    "expected-runtime": Template(
        "The expected runtime of each algorithm to a target precision, fastest first",
        {"target": Field("the target precision, such as 1e-8", "double", None), **_WHERE},
        f"""SELECT ?algorithm ?suite ?function ?dimension ?ert ?successes ?runs WHERE {{
  ?out option:at_fixed_target $target ; a pb:expected_runtime ; option:has_value ?ert .
  ?out pb:number_of_successes ?successes ; pb:number_of_runs ?runs . ?benchmark obo:OBI_0000299 ?out .{_BENCHMARK}
}} ORDER BY ?suite ?dimension ?function ?ert ?algorithm""",
    ),
    "value": Template(
        "The median precision (or value) of each algorithm at a budget, averaged over instances, best first",
        {"budget": Field("evaluations, such as 1000", "int", None), **_WHERE},
        f"""SELECT ?algorithm ?suite ?function ?dimension (AVG(?value) AS ?mean) (COUNT(?value) AS ?instances) WHERE {{
  ?out option:at_fixed_buget $budget ; option:has_value ?value .
  ?execution obo:OBI_0000299 ?out . ?benchmark obo:BFO_0000051 ?execution .{_BENCHMARK}
}} GROUP BY ?algorithm ?suite ?function ?dimension ORDER BY ?suite ?dimension ?function ?mean ?algorithm""",
    ),
    "quartiles": Template(
        "The median and the quartiles of each algorithm's precisions (or values) on each instance at a budget",
        {"budget": Field("evaluations, such as 1000", "int", None), **_WHERE},
        f"""SELECT ?algorithm ?problem ?lower ?median ?upper ?runs WHERE {{
  ?out option:at_fixed_buget $budget ; option:has_value ?median ; pb:lower_quartile ?lower ; pb:upper_quartile ?upper .
  ?execution obo:OBI_0000299 ?out ; obo:OBI_0000293 ?instance ; pb:number_of_runs ?runs .
  ?instance rdfs:label ?problem . ?benchmark obo:BFO_0000051 ?execution .{_BENCHMARK}
}} ORDER BY ?suite ?dimension ?function ?problem ?median ?algorithm""",
    ),
    "area": Template(
        "The area over the convergence curve of each algorithm, largest first",
        _WHERE,
        f"""SELECT ?algorithm ?suite ?function ?dimension ?area ?runs WHERE {{
  ?out a pb:area_over_convergence_curve ; option:has_value ?area ; pb:number_of_runs ?runs .
  ?benchmark obo:OBI_0000299 ?out .{_BENCHMARK}
}} ORDER BY ?suite ?dimension ?function DESC(?area) ?algorithm""",
    ),
    "runs": Template(
        "The keys of the runs behind an algorithm's numbers",
        _WHERE,
        f"""SELECT ?algorithm ?suite ?function ?dimension ?run_key WHERE {{
  ?benchmark obo:BFO_0000051 ?execution . ?execution pb:run_key ?run_key .{_BENCHMARK}
}} ORDER BY ?suite ?dimension ?function ?algorithm ?run_key""",
    ),
    "parameters": Template(
        "The parameters of an algorithm, grouped by the part they belong to",
        {"algorithm": Field("the algorithm's name; all if empty")},
        """SELECT DISTINCT ?algorithm ?part ?parameter ?value WHERE {
  ?itself rdfs:label ?algorithm . ?implementation obo:OBI_0000294 ?itself . ?execution obo:OBI_0000308 ?implementation .
  ?execution obo:BFO_0000051 ?of . ?of a ?kind . ?kind rdfs:label ?part .
  ?of option:OPTION_00000013 ?said . ?said a ?class ; option:has_value ?value . ?class rdfs:label ?parameter .
  FILTER($algorithm = "" || ?algorithm = $algorithm)
} ORDER BY ?algorithm ?part ?parameter""",
    ),
    "studies": Template(
        "The studies: when and on which machine they were started, their seeds, and what is stated about them",
        {"about": Field("text contained in what is stated, such as the title of a paper; all studies if empty")},
        """SELECT ?study ?began ?machine ?seed ?about WHERE {
  { SELECT ?study ?began ?machine ?seed (GROUP_CONCAT(DISTINCT COALESCE(?said, ""); separator="; ") AS ?about) WHERE {
    ?it a option:optimization_algorithm_benchmark_study_design_execution ; schema:name ?study .
    OPTIONAL { ?it prov:startedAtTime ?began } OPTIONAL { ?it pb:seed ?seed }
    OPTIONAL { ?it prov:used ?where . ?where a pb:machine ; rdfs:label ?machine }
    OPTIONAL { ?it schema:citation|schema:creator|schema:description|schema:license|schema:url ?stated
      BIND(STR(?stated) AS ?said) }
  } GROUP BY ?study ?began ?machine ?seed }
  FILTER(CONTAINS(LCASE(?about), LCASE($about)))
} ORDER BY ?study""",
    ),
    "software": Template(
        "The software used in each study, with versions",
        {"study": Field("the study's name; all if empty")},
        """SELECT ?study ?software ?version WHERE {
  ?it a option:optimization_algorithm_benchmark_study_design_execution ; schema:name ?study ; prov:used ?what .
  ?what a schema:SoftwareApplication ; schema:name ?software ; schema:softwareVersion ?version .
  FILTER($study = "" || ?study = $study)
} ORDER BY ?study ?software""",
    ),
    "features": Template(
        "The landscape features of problem instances",
        {"problem": Field("the instance's name, such as bbob-f1-i1-d5; all if empty")},
        """SELECT ?problem ?feature ?value ?sample_size WHERE {
  ?said obo:IAO_0000136 ?instance ; a ?class ; option:has_value ?value ; option:calculated_on_sample_size ?sample_size .
  ?instance rdfs:label ?problem . BIND(STRAFTER(STR(?class), STR(option:)) AS ?feature)
  FILTER($problem = "" || ?problem = $problem)
} ORDER BY ?problem ?feature""",
    ),
}
"""Questions by name."""
_DISTINCT = "SELECT DISTINCT ?value WHERE {{ ?thing {} ?value }} ORDER BY ?value"
CHOICES = {
    "suite": _DISTINCT.format("pb:suite"),
    "function": "SELECT DISTINCT ?value WHERE { ?thing pb:function ?value } ORDER BY xsd:integer(?value) ?value",
    "dimension": "SELECT DISTINCT ?value WHERE { ?thing pb:algorithm ?of ; option:has_dimensionality ?value } "
    "ORDER BY ?value",
    "algorithm": _DISTINCT.format("pb:algorithm"),
    "target": "SELECT DISTINCT ?value WHERE { ?thing option:at_fixed_target ?value } ORDER BY DESC(?value)",
    "budget": _DISTINCT.format("option:at_fixed_buget"),
    "problem": "SELECT DISTINCT ?value WHERE { ?said obo:IAO_0000136 ?of . ?of rdfs:label ?value } ORDER BY ?value",
    "study": "SELECT ?value WHERE { ?it a option:optimization_algorithm_benchmark_study_design_execution ; "
    "schema:name ?value } ORDER BY ?value",
}
"""Queries for the known values of a field."""
OF_STUDIES = """SELECT ?algorithm ?suite ?function ?dimension (SAMPLE(?study) AS ?first) WHERE {
  ?it obo:BFO_0000051 ?benchmark ; schema:name ?study .
  ?benchmark pb:algorithm ?algorithm ; pb:suite ?suite ; pb:function ?function ; option:has_dimensionality ?dimension
} GROUP BY ?algorithm ?suite ?function ?dimension"""
"""Query for a study that has runs of each algorithm on each function."""


def filled(template: str, fields: Mapping[str, Any]) -> str:
    """The query of a template with values filled in; ValueError if the template is unknown, or a field is invalid."""
    if template not in TEMPLATES:
        raise ValueError(f"there is no question {template!r};{did_you_mean(template, TEMPLATES)}")
    return TEMPLATES[template].filled(fields)


def check_allowed(sparql: str) -> None:
    """Raise NotAllowed unless a query only reads, and only from this knowledge base."""
    bare = _NAMES.sub(" ", _COMMENTS.sub(" ", _IRIS.sub(" ", _STRINGS.sub(' "" ', sparql))))
    word = next(
        iter(
            re.findall(
                r"\b(SELECT|ASK|CONSTRUCT|DESCRIBE|INSERT|DELETE|LOAD|CLEAR|DROP|CREATE|ADD|MOVE|COPY|WITH)\b",
                bare,
                re.IGNORECASE,
            )
        ),
        "",
    )
    if word.upper() not in _FORMS:
        raise NotAllowed(f"the query is {word.upper() or 'of unknown form'}; it must be one of {', '.join(_FORMS)}")
    if re.search(r"\bSERVICE\b", bare, re.IGNORECASE):
        raise NotAllowed("the query calls another server (SERVICE); query this knowledge base only")


Rows = tuple[list[str], list[list[Any]]]


def run_limited(path: Path, sparql: str, seconds: float, rows: int) -> Rows | bool:
    """Answer a query in a separate process, which is killed at the limits.

    Raises:
        NotAllowed: If the query does more than ask.
        TookTooLong: If the query exceeded the limits of time, memory or rows.
        ValueError: If the query is not valid SPARQL.
    """
    check_allowed(sparql)
    command = [sys.executable, "-P", "-c", _BOOT, str(path), str(rows), *filter(None, sys.path)]
    try:
        done = subprocess.run(command, input=sparql, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        message = f"the query took longer than {seconds:g} s and was stopped; narrow it, or raise the limit"
        raise TookTooLong(message) from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        memory = f"the limit is {MEMORY / 2**30:.0f} GB of memory"
        raise TookTooLong(
            f"the query's process ended with status {done.returncode} ({last}); {memory}; narrow the query"
        )
    kind, answer = json.loads(done.stdout)
    if kind == "wrong":
        raise ValueError(f"the query is not valid SPARQL: {answer}")
    if kind == "many":
        raise TookTooLong(f"the answer has more than {rows:,} rows; add a LIMIT clause, or raise the limit")
    return answer


def answer_in_process(path: str, rows: str) -> None:
    """Answer the query on standard input to standard output, in this process, with limited memory."""
    from pyoxigraph import Store

    with suppress(ImportError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        answer = "answer", answered(Store.read_only(path), sys.stdin.read(), int(rows))
    except SyntaxError as error:
        answer = "wrong", str(error)
    except OverflowError:
        answer = "many", None
    sys.stdout.write(json.dumps(answer))


def answered(store: Any, sparql: str, rows: int) -> Rows | bool:
    """Columns and rows of plain values, or a truth value; OverflowError if there are too many rows."""
    from pyoxigraph import QueryBoolean, QuerySolutions

    answer = store.query(sparql, prefixes=PREFIXES, use_default_graph_as_union=True)
    if isinstance(answer, QueryBoolean):
        return bool(answer)
    if isinstance(answer, QuerySolutions):
        columns = [variable.value for variable in answer.variables]
        read = ([_plain(solution[name]) for name in columns] for solution in answer)
    else:
        columns = ["subject", "predicate", "object"]
        read = ([_plain(part) for part in (triple.subject, triple.predicate, triple.object)] for triple in answer)
    table: list[list[Any]] = []
    for row in read:
        if len(table) == rows:
            raise OverflowError
        table.append(row)
    return columns, table


_NUMBERS = {"int": int, "integer": int, "double": float, "decimal": float, "float": float}


def _plain(term: Any) -> Any:
    """A term as a number, a truth value or text."""
    if term is None:
        return None
    datatype = getattr(term, "datatype", None)
    kind = datatype.value.rpartition("#")[2] if datatype is not None else ""
    if kind == "boolean":
        return term.value in {"true", "1"}
    return _NUMBERS[kind](term.value) if kind in _NUMBERS else getattr(term, "value", str(term))
