"""Knowledge bases: what they hold is what `assess` says, survives export, and answers nobody's harmful question."""

import os
from pathlib import Path

import numpy as np
import pyshacl
import pytest
import rdflib
from rdflib.compare import isomorphic

import polarbear as pb
from polarbear.knowledge import KnowledgeBase, NotAllowed, TookTooLong, graph
from polarbear.knowledge.vocabulary import OPTION, OWN
from polarbear.problems import BBOB
from tests.cli.commands import polarbear

BUDGETS = (10, 100, 1500)
SHAPES = """
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix obo: <http://purl.obolibrary.org/obo/> .
@prefix option: <http://w3id.org/ontoopt/> .
@prefix pb: <urn:polarbear:> .

pb:RuntimeShape a sh:NodeShape ; sh:targetClass pb:expected_runtime ;
  sh:property [ sh:path option:at_fixed_target ; sh:datatype xsd:double ; sh:minExclusive 0.0 ; sh:minCount 1 ] ,
    [ sh:path option:has_value ; sh:datatype xsd:double ; sh:minExclusive 0.0 ; sh:minCount 1 ; sh:maxCount 1 ] ,
    [ sh:path pb:number_of_successes ; sh:datatype xsd:int ; sh:minInclusive 0 ; sh:minCount 1 ] ,
    [ sh:path [ sh:inversePath obo:OBI_0000299 ] ; sh:minCount 1 ; sh:maxCount 1 ] .
pb:OnInstanceShape a sh:NodeShape ;
  sh:targetClass option:optimization_algorithm_benchmark_execution_on_single_problem_instance ;
  sh:property [ sh:path obo:OBI_0000293 ; sh:minCount 1 ; sh:maxCount 1 ] , [ sh:path pb:run_key ; sh:minCount 1 ] .
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A modular CMA-ES by the name that the published queries ask for, and a modular DE."""
    path = tmp_path_factory.mktemp("knowledge") / "modular.study"
    optimizers = {
        "modCMA-ES_conf_1": pb.optimizers.ModularCMAES(step_size_adaptation="TPA", elitist=True),
        "modular DE": pb.optimizers.ModularDE(),
    }
    plan = pb.study.Plan(
        optimizers, BBOB(functions=(1, 8), dimensions=(2, 5), instances=(1, 2)), budget=2000, repetitions=3
    )
    pb.study.run_plan(plan, path)
    return path


@pytest.fixture(scope="module")
def base(study, tmp_path_factory):
    known = KnowledgeBase(tmp_path_factory.mktemp("base") / "known")
    known.add(study, budgets=BUDGETS)
    return known


@pytest.fixture(scope="module")
def assessed(study):
    return pb.analyzer.Assessment(pb.analyzer.subject_of(pb.store.read(study)))


def published(number):
    path = Path(os.environ.get("POLARBEAR_SHARED", "../shared")) / "data" / "option" / f"query_{number}.rq"
    if not path.is_file():
        pytest.skip(f"{path} is absent")
    return path.read_text(encoding="utf-8")


def test_the_published_query_for_features_finds_them():
    known = KnowledgeBase()
    rng = np.random.default_rng(1)
    points = rng.uniform(-5, 5, (5000, 5))
    problem = pb.problems.BBOBProblem(1, 1, 5).build()
    found = pb.landscape.features(points, np.array([problem(x) for x in points]), sets=("ela_meta", "disp"))
    known.add(graph_of_runs(), name="runs")
    known.add_features("bbob-f1-i1-d5", found, sample_size=5000)
    answer = known.query(published(1))
    told = {
        f"{group}.{name}": value
        for name, group, value in answer.select(
            "ela_feature_label", "ela_feature_group_label", "ela_feature_value"
        ).iter_rows()
    }
    assert told == {name.replace("ela_meta", "ela-meta"): value for name, value in found.items() if np.isfinite(value)}
    assert set(answer["sampling_technique_label"]) == {"LatinHypercube"}


def graph_of_runs():
    """The graph of one run on f1 in five dimensions."""
    end = pb.records.Outcome("budget", 10, 0.0)
    run = pb.records.Run(pb.RunKey("bbob-f1-i1-d5", "A", 0), pb.records.Trajectory([1], [0.0], [3.0], end), optimum=1.0)
    return pb.knowledge.graph_of([run], name="runs")


def test_the_published_query_for_parameters_finds_those_of_the_configuration(base):
    answer = base.query(published(2))
    told = dict(answer.select("parameter", "value").iter_rows())
    assert set(answer["mod_cmaes_instance_label"]) == {"modCMA-ES_conf_1"}
    assert told["CMA-ES step-size adaptation"] == "TPA"
    assert told["CMA-ES elitism"] == "true"
    assert told["CMA-ES covariance matrix update"] == "COVARIANCE"  # its default


def test_the_published_query_for_precisions_says_what_assess_says(base, study):
    answer = base.query(published(3))
    runs = [r for r in pb.store.read(study) if r.problem.dimension == 5 and r.key.algorithm == "modCMA-ES_conf_1"]
    expected = {}
    for instance in {run.key.instance for run in runs}:
        curves = pb.assess.step_functions([r for r in runs if r.key.instance == instance], precision=True, carry=True)
        expected[f"{OWN}problem:{instance}"] = float(np.median([curve(1500.0) for curve in curves]))
    assert dict(answer.select("problem_instance", "precision_value").iter_rows()) == expected


def test_expected_runtimes_and_areas_are_those_of_the_assessment(base, assessed):
    told = {
        (algorithm, function, dimension): (ert, successes)
        for algorithm, _, function, dimension, ert, successes, _ in base.ask(
            "expected-runtime", target=1e-1
        ).iter_rows()
    }
    areas = {(row[0], row[2], row[3]): row[4] for row in base.ask("area").iter_rows()}
    at = int(np.flatnonzero(np.isclose(assessed.subject.cells[0].targets, 1e-1))[0])
    for (cell, algorithm), summary in assessed.runtimes.items():
        where = algorithm, cell.function, cell.dimension
        assert told[where] == (summary.ert[at], summary.successes[at])
        assert areas[where] == assessed.area(cell, algorithm)


def test_quartiles_are_values_that_so_many_runs_do_not_exceed(base, study):
    told = base.ask("quartiles", budget=100, algorithm="modular DE", dimension=2)
    for _, problem, lower, median, upper, runs in told.iter_rows():
        mine = [r for r in pb.store.read(study) if r.key.instance == problem and r.key.algorithm == "modular DE"]
        curves = pb.assess.step_functions(mine, precision=True, carry=True)
        assert [lower, median, upper] == sorted(curve(100.0) for curve in curves)  # of three runs
        assert runs == 3
    assert len(told) == 4


def test_instances_are_made_by_transformations(base):
    """BBOB (Hansen et al. 2009): f1 and f8 are shifted; others are rotated too."""
    asked = "SELECT ?kind WHERE {{ <{}problem:{}> obo:OBI_0000312 ?by . ?by a ?kind }}"
    kinds = base.query(asked.format(OWN, "bbob-f8-i1-d5"))["kind"].to_list()
    assert sorted(kinds) == [f"{OPTION}transform_obj_shift", f"{OWN}shift_of_variables"]
    known = pb.knowledge.graphs.words.transformations
    assert f"{OPTION}rotation_data_transformation" in known("bbob", "10", "1")
    assert known("pbo", "1", "1") == known("mine", "1", "1") == ()
    assert known("pbo", "1", "50")[0] == f"{OPTION}transform_vars_xor"
    assert known("pbo", "1", "51")[0] == f"{OPTION}transform_vars_sigma"


def test_a_study_says_when_where_and_by_what_it_was_begun(study):
    known = KnowledgeBase()
    known.add(graph_of_runs(), name="runs")
    assert known.ask("studies").rows() == [("runs", None, None, None, "")]
    known.add(study, about={"citation": "https://doi.org/10.1/a", "creator": "Ada"})
    (row,) = known.ask("studies", about="ADA").iter_rows(named=True)
    origin = pb.store.specification.read_study_file(study).origin
    assert row["began"] == origin["time"].replace("+00:00", "Z")
    assert (row["machine"], row["seed"]) == (origin["machine"], 0)
    assert set(row["about"].split("; ")) == {"https://doi.org/10.1/a", "Ada"}
    assert not len(known.ask("studies", about="Grace"))
    versions = dict(known.ask("software", study="modular").select("software", "version").iter_rows())
    assert versions == {"polarbear": pb.__version__, "python": origin["python"], **origin["packages"]}
    derived = "SELECT ?name WHERE { ?made obo:OBI_0000294 ?itself ; prov:wasDerivedFrom ?of . ?of schema:name ?name }"
    assert sorted(known.query(derived)["name"]) == ["modcma", "modde"]
    with pytest.raises(ValueError, match=r"about has no field 'licence'; did you mean 'license'"):
        known.add(study, about={"licence": "CC0"})


def test_features_of_a_table_are_means_over_designs():
    problems = BBOB(functions=(1,), dimensions=2, instances=(1, 2)).grid()
    found = pb.landscape.instances(problems, designs=3, points=50, sets=["ela_meta"])
    known = KnowledgeBase()
    known.add(graph_of_runs(), name="runs")
    assert known.add_feature_table(found.frame(), sample_size=50) == 2
    value = known.query(
        f"SELECT ?value WHERE {{ ?f obo:IAO_0000136 <{OWN}problem:bbob-f1-i2-d2> ; a option:lin_simple.adj_r2 ; "
        "option:has_value ?value ; option:calculated_on_sample_size 50 }"
    )["value"].item()
    assert value == pytest.approx(found.values[1, :, found.names.index("ela_meta.lin_simple.adj_r2")].mean(), rel=1e-12)
    with pytest.raises(ValueError, match="needs 'instance'"):
        known.add_feature_table(found.frame().select("design"), sample_size=50)


def test_the_runs_behind_a_number_are_named(base, study):
    told = base.ask("runs", algorithm="modular DE", function="8", dimension=2)["run_key"].to_list()
    keys = [run.key for run in pb.store.read(study)]
    assert sorted(told) == sorted(
        f"{key.instance} {key.algorithm} {key.seed}"
        for key in keys
        if key.algorithm == "modular DE" and key.instance.startswith("bbob-f8") and key.instance.endswith("d2")
    )


def test_what_is_added_again_is_there_once_and_replaces_what_was_there(study):
    known = KnowledgeBase()
    known.add(graph_of_runs(), name="other")
    known.add(study, budgets=BUDGETS)
    before = known.export("nt")
    known.add(study, budgets=BUDGETS)
    assert known.export("nt") == before
    known.add(study, budgets=(10,))
    assert known.studies == ("modular", "other")
    assert not len(known.ask("value", budget=1500))
    assert len(known.ask("value", budget=10))


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated")  # in rdflib's own reader of JSON-LD
@pytest.mark.parametrize("form", ["ttl", "nt", "jsonld"])
def test_what_is_exported_and_loaded_is_the_same(base, form):
    """The same text, and to rdflib the same graph as what was stated."""
    text = base.export(form)
    again = KnowledgeBase()
    assert again.load(text, "copy", form) == len(base)
    assert again.export(form) == text
    names = {"ttl": "turtle", "nt": "nt", "jsonld": "json-ld"}
    theirs = rdflib.Graph().parse(data=text, format=names[form])
    assert isomorphic(theirs, rdflib.Graph().parse(data=base.export("nt"), format="nt"))


def test_rdflib_gives_the_same_answers(base):
    theirs = rdflib.Graph().parse(data=base.export("nt"), format="nt")
    query = published(3)
    ours = {tuple(row) for row in base.query(query).iter_rows()}
    assert {(str(a), str(b), float(c)) for a, b, c in theirs.query(query)} == ours


def test_the_graph_has_the_shape_it_should_and_a_wrong_one_has_not(study):
    known = KnowledgeBase()
    known.add(study, budgets=BUDGETS)
    graph_of_it = rdflib.Graph().parse(data=known.export("nt"), format="nt")
    shapes = rdflib.Graph().parse(data=SHAPES, format="turtle")
    assert pyshacl.validate(graph_of_it, shacl_graph=shapes)[0]
    for subject in graph_of_it.subjects(rdflib.RDF.type, rdflib.URIRef(f"{OWN}expected_runtime")):
        graph_of_it.remove((subject, rdflib.URIRef(f"{OPTION}has_value"), None))
        break
    assert not pyshacl.validate(graph_of_it, shacl_graph=shapes)[0]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * WHERE { SERVICE <http://example.org/sparql> { ?a ?b ?c } }",
        "SELECT * WHERE { # a comment\n sErViCe SILENT <http://a/> { ?a ?b ?c } }",
        "DELETE WHERE { ?a ?b ?c }",
        "INSERT DATA { <urn:a> <urn:b> <urn:c> }",
        "LOAD <file:///etc/passwd>",
        "DROP ALL",
        "PREFIX a: <urn:a> DESCRIBE ?a",
        "",
    ],
)
def test_a_query_that_does_more_than_ask_is_refused(base, query):
    before = len(base)
    with pytest.raises(NotAllowed):
        base.query(query)
    assert len(base) == before


def test_words_in_strings_names_and_comments_are_no_orders(base):
    answer = base.query(
        '# DROP ALL\nSELECT ?service WHERE { ?service ?b "SERVICE \\" DELETE" . FILTER(?service != <urn:LOAD>) }'
    )
    assert answer.columns == ["service"]
    assert base.query("ASK { ?a ?b ?c }") is True
    assert base.query("CONSTRUCT { ?a a ?c } WHERE { ?a a ?c } LIMIT 3").shape == (3, 3)


def test_a_runaway_query_is_stopped_and_so_is_a_large_answer(base):
    endless = "SELECT (COUNT(*) AS ?n) WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
    with pytest.raises(TookTooLong, match="longer than 1 s"):
        base.query(endless, seconds=1)
    with pytest.raises(TookTooLong, match="more than 5 rows"):
        base.query("SELECT * WHERE { ?a ?b ?c }", rows=5)


@pytest.mark.parametrize(
    ("question", "fields", "complaint"),
    [
        ("ert", {}, "no question 'ert'"),
        ("expected-runtime", {}, "target is missing: the target precision"),
        ("expected-runtime", {"target": "small"}, "target is 'small'; it must be a number"),
        ("value", {"budget": "1e3"}, "it must be a whole number"),
        ("area", {"dimensions": 2}, "no field 'dimensions'; did you mean 'dimension'"),
    ],
)
def test_wrong_questions_are_named(base, question, fields, complaint):
    with pytest.raises(ValueError, match=complaint):
        base.ask(question, **fields)


def test_fields_cannot_break_out_of_their_quotes(base):
    assert not len(base.ask("area", algorithm='x" || "a" = "a'))
    assert not len(base.ask("area", algorithm="\\"))


def test_what_is_no_sparql_or_no_turtle_is_said():
    known = KnowledgeBase()
    with pytest.raises(ValueError, match="not valid SPARQL"):
        known.query("SELECT * WHERE")
    with pytest.raises(ValueError, match="not valid ttl"):
        known.load("<a> <b>", "x")
    with pytest.raises(ValueError, match="no name of its own"):
        known.add(graph_of_runs())


def test_a_study_of_values_without_optima_has_values():
    end = pb.records.Outcome("budget", 10, 0.0)
    run = pb.records.Run(pb.RunKey("mine", "A", 0), pb.records.Trajectory([1, 5], [0.0, 0.1], [3.0, 2.0], end))
    known = KnowledgeBase()
    known.add(pb.knowledge.graph_of([run], name="mine"), name="mine")
    assert known.query(f"ASK {{ ?a a <{OPTION}measured_fitness> }}")
    assert not known.query(f"ASK {{ ?a a <{OPTION}precision> }}")


def test_functions_have_their_further_names(study):
    known = KnowledgeBase()
    known.add(graph(study), name="modular")
    assert known.query('ASK { ?f <http://www.w3.org/2004/02/skos/core#altLabel> "Sphere" }')


class TestCommand:
    def test_it_adds_asks_exports_and_loads(self, study, tmp_path):
        added, _ = polarbear("knowledge", "add", study, "--budget", "1500", cwd=tmp_path)
        assert added.endswith("statements\n")
        told, _ = polarbear(
            "knowledge", "ask", "value", "--field", "budget=1500", "--field", "dimension=5", cwd=tmp_path
        )
        assert "modCMA-ES_conf_1" in told
        exported, _ = polarbear("knowledge", "export", "--format", "nt", cwd=tmp_path)
        (tmp_path / "all.nt").write_text(exported)
        polarbear("knowledge", "load", "all.nt", "--format", "nt", "--base", "second", cwd=tmp_path)
        assert polarbear("knowledge", "export", "--format", "nt", "--base", "second", cwd=tmp_path)[0] == exported
        assert polarbear("knowledge", "query", "ASK { ?a ?b ?c }", "--json", cwd=tmp_path)[0] == "true\n"

    def test_it_takes_what_is_known_of_a_study_and_features(self, study, tmp_path):
        polarbear("knowledge", "add", study, "--budget", "1500", "--about", "license=CC0", cwd=tmp_path)
        assert "CC0" in polarbear("knowledge", "ask", "studies", cwd=tmp_path)[0]
        assert "--about is 'CC0'" in polarbear("knowledge", "add", study, "--about", "CC0", code=2, cwd=tmp_path)[1]
        (tmp_path / "features.csv").write_text("instance,design,disp.ratio_mean_02\nbbob-f1-i1-d5,0,0.5\n")
        told, _ = polarbear("knowledge", "features", "features.csv", "--points", "50", cwd=tmp_path)
        assert told == "features.csv: 1 instance\n"
        assert "0.5" in polarbear("knowledge", "ask", "features", "--field", "problem=bbob-f1-i1-d5", cwd=tmp_path)[0]

    def test_it_takes_data_sets_by_name(self, study, tmp_path, monkeypatch):
        monkeypatch.setenv("POLARBEAR_LIBRARY", str(tmp_path / "library"))
        polarbear("archive", "add", "published", study, cwd=tmp_path)
        assert polarbear("knowledge", "add", "published", cwd=tmp_path)[0].startswith("published: ")
        assert "published" in polarbear("knowledge", "ask", "studies", cwd=tmp_path)[0]

    def test_what_is_wrong_is_said(self, tmp_path):
        assert "expected-runtime  The expected" in polarbear("knowledge", "ask", cwd=tmp_path)[0]
        for arguments, complaint in [
            (("ask", "area"), "there is no knowledge base at knowledge.base"),
            (("add",), "add takes a study or an archive, or several; it was given nothing"),
            (("query", "ASK {}"), "there is no knowledge base"),
        ]:
            assert complaint in polarbear("knowledge", *arguments, code=2, cwd=tmp_path)[1]
