"""A study as a graph: its design, problems, algorithms and results, in OPTION's terms.

Runs stay in the study; the graph holds aggregates. For each algorithm these are, on each instance, the median precision
(or value) at each budget with its quartiles, and on each function the expected runtime and success rate for each target
and the area over the convergence curve. Each aggregate is the output of an execution that names the keys of its runs.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from polarbear.assess import values_at
from polarbear.assess.functions import function_name
from polarbear.assess.report import Assessment, subject_of
from polarbear.assess.report.subject import Cell
from polarbear.descriptions import did_you_mean
from polarbear.knowledge import vocabulary as words
from polarbear.knowledge.vocabulary import HAS_OUTPUT, HAS_PART, OPTION, OWN, PROV, RDF, RDFS, SCHEMA, SKOS, own
from polarbear.records import Run

BUDGETS = tuple(float(step * 10**power) for power in range(1, 7) for step in (1, 2, 5))
"""Numbers of evaluations at which values are recorded, up to the length of the longest run."""
QUARTILES = (0.25, 0.75)
"""Quantiles recorded beside the median: the smallest value that this share of the runs does not exceed."""
ABOUT = ("citation", "creator", "description", "license", "url")
"""Information that can be stated about a study, in schema.org's terms; a DOI as ``https://doi.org/…`` is a citation."""


class Literal(NamedTuple):
    """A value with its XML Schema type: "string", "int", "double", "boolean" or "dateTime"."""

    value: str
    kind: str = "string"


class Triple(NamedTuple):
    """A statement; subject and predicate are IRIs, and so is an object that is not a `Literal`."""

    subject: str
    predicate: str
    object: str | Literal


class Graph:
    """Statements in the order in which they were first made, without duplicates."""

    def __init__(self) -> None:
        self._triples: dict[Triple, None] = {}

    def __iter__(self) -> Iterator[Triple]:
        return iter(self._triples)

    def __len__(self) -> int:
        return len(self._triples)

    def say(self, subject: str, *, a: str = "", label: str = "", **properties: object) -> str:
        """State the class, label and further properties of a thing; returns the thing.

        Properties are those of `PROPERTIES`; values are numbers, truth values, text, or IRIs.
        """
        if a:
            self.add(subject, f"{RDF}type", a)
        if label:
            self.add(subject, f"{RDFS}label", Literal(label))
        for name, value in properties.items():
            self.add(subject, PROPERTIES[name], value)
        return subject

    def add(self, subject: str, predicate: str, value: object) -> None:
        """Make a single statement."""
        self._triples[Triple(subject, predicate, _object(value))] = None


PROPERTIES = {
    "subclass_of": f"{RDFS}subClassOf",
    "also_called": f"{SKOS}altLabel",
    "part": HAS_PART,
    "input": words.HAS_INPUT,
    "output": HAS_OUTPUT,
    "output_of": words.OUTPUT_OF,
    "about": words.IS_ABOUT,
    "concretizes": words.CONCRETIZES,
    "realizes": words.REALIZES,
    "calculated_using": words.CALCULATED_USING,
    "parameter": words.HAS_PARAMETER,
    "value": f"{OPTION}has_value",
    "text": f"{OPTION}has_value_str",
    "budget": words.AT_BUDGET,
    "target": f"{OPTION}at_fixed_target",
    "dimension": f"{OPTION}has_dimensionality",
    "problem_id": f"{OPTION}problem_id",
    "sample_size": f"{OPTION}calculated_on_sample_size",
    "quantile": f"{OWN}quantile",
    "lower_quartile": f"{OWN}lower_quartile",
    "upper_quartile": f"{OWN}upper_quartile",
    "runs": f"{OWN}number_of_runs",
    "successes": f"{OWN}number_of_successes",
    "run_key": f"{OWN}run_key",
    "seed": f"{OWN}seed",
    "algorithm": f"{OWN}algorithm",
    "instance": f"{OWN}instance",
    "suite": f"{OWN}suite",
    "function": f"{OWN}function",
    "description": f"{SCHEMA}description",
    "name": f"{SCHEMA}name",
    "version": f"{SCHEMA}softwareVersion",
    "used": f"{PROV}used",
    "began": f"{PROV}startedAtTime",
    "derived_from": f"{PROV}wasDerivedFrom",
}


def _object(value: object) -> str | Literal:
    if isinstance(value, Literal):
        return value
    if isinstance(value, bool):
        return Literal(str(value).lower(), "boolean")
    if isinstance(value, int):
        return Literal(str(value), "int")
    if isinstance(value, float):
        return Literal(_number(value), "double")
    text = str(value)
    return text if text.startswith(("urn:", "http://", "https://")) else Literal(text)


def _number(value: float) -> str:
    """A double in the canonical form of XML Schema, which is the same after writing and reading."""
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "INF" if value > 0 else "-INF"
    return repr(value)


def graph_of(
    runs: Iterable[Run],
    *,
    name: str,
    spec: Mapping[str, Any] | None = None,
    origin: Mapping[str, Any] | None = None,
    about: Mapping[str, str] | None = None,
    budgets: Sequence[float] = BUDGETS,
    targets: Sequence[float] = (),
) -> Graph:
    """Make the graph of recorded runs.

    Args:
        runs: Recorded runs.
        name: Name of the study, which distinguishes its things from those of other studies.
        spec: Settings of the study, from which the parameters of algorithms are taken.
        origin: Where and with what the study was begun, as in its ``study.json``.
        about: Further information on the study, by the names of `ABOUT`.
        budgets: Numbers of evaluations at which values are recorded.
        targets: Target precisions; default those of `polarbear.assess.report.subject_of`.

    Raises:
        ValueError: If there are no runs to assess, the optima that target precisions require are unknown, or `about`
            has an unknown name.
    """
    assessment = Assessment(subject_of(runs, targets=targets))
    graph = Graph()
    for iri, (label, parent) in words.SUBCLASSES.items():
        graph.say(iri, label=label, subclass_of=parent)
    study = graph.say(own("study", name), a=f"{OPTION}optimization_algorithm_benchmark_study_design_execution")
    graph.say(study, label=name, name=name)
    _say_about(graph, study, about or {})
    if spec:
        _design(graph, study, name, spec)
    if origin:
        _say_origin(graph, study, origin)
    subject = assessment.subject
    executions = {each: _algorithm(graph, name, each, spec or {}, origin or {}) for each in subject.algorithms}
    for cell in subject.cells:
        for algorithm, trials in cell.trials.items():
            benchmark = own("benchmark", name, algorithm, cell.suite, cell.function, cell.dimension)
            graph.say(benchmark, a=f"{OPTION}optimization_algorithm_benchmark_execution", part=executions[algorithm])
            graph.say(study, part=benchmark)
            graph.say(
                benchmark, algorithm=Literal(algorithm), suite=Literal(cell.suite), function=Literal(cell.function)
            )
            graph.say(benchmark, dimension=cell.dimension, runs=len(trials.runs))
            _on_function(graph, assessment, cell, algorithm, benchmark)
            _on_instances(graph, cell, algorithm, benchmark, budgets)
    return graph


def _say_about(graph: Graph, study: str, about: Mapping[str, str]) -> None:
    for name, value in about.items():
        if name not in ABOUT:
            raise ValueError(f"about has no field {name!r};{did_you_mean(name, ABOUT)}")
        graph.add(study, f"{SCHEMA}{name}", value)


def _design(graph: Graph, study: str, name: str, spec: Mapping[str, Any]) -> None:
    """The study's design, and its seed."""
    design = graph.say(own("design", name), a=f"{OPTION}benchmark_optimization_study_design", label=f"design of {name}")
    graph.say(study, concretizes=design)
    graph.say(study, a=f"{PROV}Activity", used=design)
    if "seed" in (settings := {**spec, **spec.get("plan", {}), **spec.get("race", {})}):
        graph.say(study, seed=settings["seed"])


def _say_origin(graph: Graph, study: str, origin: Mapping[str, Any]) -> None:
    """State when a study was begun, on what kind of machine, and with which software."""
    graph.say(study, a=f"{PROV}Activity")
    if "time" in origin:
        graph.say(study, began=Literal(str(origin["time"]).replace("+00:00", "Z"), "dateTime"))
    if "machine" in origin:
        machine = graph.say(own("machine", origin["machine"]), a=f"{OWN}machine", label=str(origin["machine"]))
        graph.say(study, used=machine)
    for name in _versions(origin):
        graph.say(study, used=_software(graph, name, origin))


def _versions(origin: Mapping[str, Any]) -> dict[str, str]:
    """The versions of software by name."""
    return {name: origin[name] for name in ("polarbear", "python") if name in origin} | dict(origin.get("packages", {}))


def _software(graph: Graph, name: str, origin: Mapping[str, Any]) -> str:
    version = str(_versions(origin)[name])
    return graph.say(
        own("software", name, version), a=f"{SCHEMA}SoftwareApplication", name=Literal(name), version=Literal(version)
    )


def _algorithm(graph: Graph, study: str, name: str, spec: Mapping[str, Any], origin: Mapping[str, Any]) -> str:
    """State an algorithm, its implementation with software and its execution with parameters; return the execution."""
    described: Mapping[str, Any] = spec.get("algorithms", {}).get(name, {})
    kind, fields, package = _family(described)
    itself, implemented, executed, modules = words.MODULAR.get(kind, (0, 0, 0, {}))
    algorithm, implementation = own("algorithm", study, name), own("implementation", study, name)
    execution = own("execution", study, name)
    graph.say(algorithm, a=words.modular_class(itself, "optimization_algorithm"), label=name)
    graph.say(implementation, a=words.modular_class(implemented, "optimization_algorithm_implementation"))
    graph.say(implementation, concretizes=algorithm)
    if package in _versions(origin):
        graph.say(implementation, derived_from=_software(graph, package, origin))
    graph.say(execution, a=words.modular_class(executed, "optimization_algorithm_execution"), realizes=implementation)
    for field, value in sorted(fields.items()):
        number, parameter = modules.get(field, (0, field))
        _parameter(graph, execution, field, value, number, parameter)
    return execution


def _parameter(graph: Graph, execution: str, field: str, value: object, number: int, parameter: int | str) -> None:
    """State a parameter of the part of an execution that it belongs to."""
    part_class = words.modular_class(number or 3)
    part = f"{execution}:{number or 'settings'}"
    label = words.LABELS[parameter] if isinstance(parameter, int) else parameter
    kind = words.modular_class(parameter) if isinstance(parameter, int) else own("parameter", parameter)
    graph.say(part_class, label=words.LABELS.get(number, "optimization algorithm execution part"))
    graph.say(kind, label=label, subclass_of=words.modular_class(12))
    graph.say(execution, part=graph.say(part, a=part_class))
    said = graph.say(
        f"{execution}:parameter:{field}", a=kind, value=value if isinstance(value, int | float) else Literal(str(value))
    )
    graph.say(part, parameter=said)


def _family(described: Mapping[str, Any]) -> tuple[str, dict[str, Any], str]:
    """The class of an optimizer, all its settings including defaults, and its package; "" if unknown."""
    from polarbear import optimizers

    family = described.get("optimizer")
    if not isinstance(family, str) or family not in optimizers.families():
        return "", {key: value for key, value in described.items() if key != "optimizer"}, ""
    known = optimizers.family_parameters(family)
    fields = {**known, **described}
    settings = {key: value for key, value in fields.items() if key not in {"optimizer", "name"} and value is not None}
    made_by = optimizers.family_class(family)
    room, _, module = made_by.__module__.rpartition(".")
    ours = "polarbear" if room.startswith("polarbear.") else room.partition(".")[0]
    return made_by.__name__, settings, module if room.endswith(".adapters") else ours


def _on_function(graph: Graph, assessment: Assessment, cell: Cell, algorithm: str, benchmark: str) -> None:
    """State expected runtimes, success rates and the area over the convergence curve over all instances."""
    summary = assessment.runtimes[cell, algorithm]
    targets: list[float] = [] if cell.targets is None else cell.targets.tolist()
    for target, ert, successes in zip(
        targets, summary.ert, summary.successes, strict=False
    ):  # no targets where optima are unknown
        named = f"{target:.6g}"  # so that it is found by the number that people write
        out = own("ert", _digest(benchmark), named)
        graph.say(out, a=f"{OWN}expected_runtime", target=float(named), value=float(ert))
        graph.say(benchmark, output=graph.say(out, successes=int(successes), runs=summary.runs))
    area = graph.say(own("area", _digest(benchmark)), a=f"{OWN}area_over_convergence_curve")
    graph.say(benchmark, output=graph.say(area, value=assessment.area(cell, algorithm), runs=summary.runs))


def _on_instances(graph: Graph, cell: Cell, algorithm: str, benchmark: str, budgets: Sequence[float]) -> None:
    """State medians over the runs on each instance, at budgets that each run reached or had no need to reach."""
    by_instance: defaultdict[str, list[Run]] = defaultdict(list)
    for run in cell.trials[algorithm].runs:
        by_instance[run.key.instance].append(run)
    measure = f"{OPTION}precision" if cell.knows_optima else f"{OPTION}measured_fitness"
    curves = dict(zip((run.key for run in cell.trials[algorithm].runs), cell.curves(algorithm), strict=True))
    within = [budget for budget in budgets if budget <= cell.longest]
    for instance, runs in by_instance.items():
        execution = f"{benchmark}:on:{own('', instance)[len(OWN) + 1 :]}"
        graph.say(execution, a=f"{OPTION}optimization_algorithm_benchmark_execution_on_single_problem_instance")
        graph.say(execution, input=_problem(graph, cell, runs[0]), runs=len(runs))
        graph.say(benchmark, part=execution)
        for run in runs:
            graph.say(execution, run_key=Literal(f"{run.key.instance} {run.key.algorithm} {run.key.seed}"))
        values = values_at([curves[run.key] for run in runs], within)
        medians: list[float] = np.median(values, axis=0).tolist()
        quartiles: list[list[float]] = np.quantile(values, QUARTILES, axis=0, method="inverted_cdf").T.tolist()
        for budget, value, (lower, upper) in zip(within, medians, quartiles, strict=True):
            if np.isfinite(value):
                out = own("value", _digest(execution), f"{budget:g}")
                graph.say(out, a=measure, budget=int(budget), value=value, quantile=0.5)
                graph.say(execution, output=graph.say(out, lower_quartile=lower, upper_quartile=upper))


def _problem(graph: Graph, cell: Cell, run: Run) -> str:
    """State the instance of a run, its function (a class of benchmark problems), suite and alternative names."""
    instance = run.key.instance
    function, suite = own("function", cell.suite, cell.function), own("suite", cell.suite)
    graph.say(suite, a=f"{OPTION}benchmark_problem_suite", label=cell.suite or "unknown suite")
    graph.say(function, label=function_name(cell.suite, cell.function), subclass_of=f"{OPTION}benchmark_problem")
    for alias in words.ALIASES.get((cell.suite, cell.function), ()):
        graph.say(function, also_called=Literal(alias))
    problem = graph.say(own("problem", instance), a=function, label=instance, problem_id=Literal(cell.function))
    if cell.dimension:
        graph.say(problem, dimension=cell.dimension)
    graph.say(suite, part=problem)
    for kind in words.transformations(cell.suite, cell.function, run.problem.instance):
        made_by = graph.say(own("transformation", instance, kind.rpartition("/")[2].rpartition(":")[2]), a=kind)
        graph.say(made_by, input=function, output=problem)
        graph.say(problem, a=f"{OPTION}transformed_benchmark_problem", output_of=made_by)
    return problem


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def add_features(
    graph: Graph, instance: str, features: Mapping[str, float], *, sample_size: int, technique: str = "LatinHypercube"
) -> None:
    """State landscape features of a problem instance, by flacco's names such as ``"ela_meta.lin_simple.adj_r2"``."""
    problem = own("problem", instance)
    sampling = graph.say(f"{OPTION}{technique}", a="http://scai.fraunhofer.de/HuPSON#SCAIVPH_00000220", label=technique)
    for name, value in features.items():
        if not np.isfinite(value):
            continue
        group, _, short = name.partition(".")
        group = f"{OPTION}{words.FEATURE_GROUPS.get(group, group)}"
        kind = f"{OPTION}{short or name}"
        graph.say(group, subclass_of=f"{OPTION}ELA_feature")
        graph.say(kind, subclass_of=group)
        feature = own("feature", instance, sample_size, technique, name)
        graph.say(
            feature, a=kind, about=problem, sample_size=int(sample_size), value=float(value), calculated_using=sampling
        )
