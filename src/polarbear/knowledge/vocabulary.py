"""The terms of the knowledge base: OPTION's classes and properties (Kostovska et al. 2023), and some of its own."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
XSD: Final = "http://www.w3.org/2001/XMLSchema#"
SKOS: Final = "http://www.w3.org/2004/02/skos/core#"
PROV: Final = "http://www.w3.org/ns/prov#"
SCHEMA: Final = "https://schema.org/"
OBO: Final = "http://purl.obolibrary.org/obo/"
OPTION: Final = "http://w3id.org/ontoopt/"
OWN: Final = "urn:polarbear:"
"""Namespace of terms that OPTION lacks, and of everything that studies are about."""

PREFIXES: Final = {
    "rdf": RDF,
    "rdfs": RDFS,
    "xsd": XSD,
    "skos": SKOS,
    "prov": PROV,
    "schema": SCHEMA,
    "obo": OBO,
    "option": OPTION,
    "pb": OWN,
}

IS_ABOUT: Final = f"{OBO}IAO_0000136"
HAS_PART: Final = f"{OBO}BFO_0000051"
HAS_INPUT: Final = f"{OBO}OBI_0000293"
HAS_OUTPUT: Final = f"{OBO}OBI_0000299"
OUTPUT_OF: Final = f"{OBO}OBI_0000312"
CONCRETIZES: Final = f"{OBO}OBI_0000294"
REALIZES: Final = f"{OBO}OBI_0000308"
CALCULATED_USING: Final = "http://scai.fraunhofer.de/HuPSON#SCAIVPH_00000787"
HAS_PARAMETER: Final = f"{OPTION}OPTION_00000013"
AT_BUDGET: Final = f"{OPTION}at_fixed_buget"  # as the ontology spells it

SUBCLASSES: Final = {
    f"{OWN}expected_runtime": ("expected runtime", f"{OPTION}performance_evaluation_function"),
    f"{OWN}success_rate": ("success rate", f"{OPTION}performance_evaluation_function"),
    f"{OWN}area_over_convergence_curve": (
        "area over the convergence curve",
        f"{OPTION}performance_evaluation_function",
    ),
    f"{OWN}shift_of_variables": ("shift of the variables", f"{OPTION}benchmark_problem_transformation"),
    f"{OPTION}precision": ("precision", f"{OPTION}performance_evaluation_function"),
    f"{OPTION}measured_fitness": ("measured fitness", f"{OPTION}performance_evaluation_function"),
    f"{OPTION}OPTION_00000016": ("modular DE", f"{OPTION}OPTION_00000001"),
    f"{OPTION}OPTION_00000017": ("modular CMA-ES", f"{OPTION}OPTION_00000001"),
}
"""Labels and parents of classes that have instances in studies."""

Modules = dict[str, tuple[int, int | str]]
CMA_ES: Final[Modules] = {
    "center_placement": (40, "CMA-ES center placement"),
    "sampler": (41, 51),
    "sample_transformation": (41, "CMA-ES sample transformation"),
    "mirrored": (41, 52),
    "orthogonal": (41, "CMA-ES orthogonal sampling"),
    "threshold_convergence": (41, 53),
    "sample_sigma": (41, "CMA-ES sampled step size"),
    "bound_correction": (42, 54),
    "sequential_selection": (43, 55),
    "elitist": (44, 58),
    "weights": (45, 50),
    "matrix_adaptation": (46, 48),
    "active": (46, "CMA-ES active update"),
    "step_size_adaptation": (46, 49),
    "restart_strategy": (46, 59),
    "repelling_restart": (46, "CMA-ES repelling restart"),
}
DE: Final[Modules] = {
    "base_sampler": (22, 25),
    "oppositional_initialization": (22, 32),
    "mutation_base": (23, 26),
    "mutation_reference": (23, 27),
    "mutation_n_comps": (23, 28),
    "mutation_use_weighted_F": (23, "DE weighted F"),
    "use_archive": (23, "DE archive"),
    "crossover": (24, 30),
    "eigenvalue_crossover": (24, 29),
    "bound_correction": (33, 39),
    "adaptation_method_F": (36, 37),
    "adaptation_method_CR": (36, "DE adaptation of CR"),
    "use_jso_caps": (36, 38),
    "lpsr": (36, "DE linear population size reduction"),
}
"""For each module of a modular algorithm, the part of an execution it belongs to and the class of its parameter:
numbers of classes in OPTION's module for modular algorithms, or a label where there is no class."""
LABELS: Final = {
    22: "modular DE initialization",
    23: "modular DE mutation",
    24: "modular DE recombination",
    25: "DE initialization",
    26: "DE mutation base vector strategy",
    27: "DE mutation reference vector strategy",
    28: "DE number of difference vectors",
    29: "DE eigenvalue crossover",
    30: "DE crossover",
    32: "DE oppositional initialization",
    33: "modular DE boundary correction",
    36: "modular DE parameter update",
    37: "DE self adaptation method",
    38: "DE jso caps",
    39: "DE boundary correction strategy",
    40: "modular CMA-ES initialization",
    41: "modular CMA-ES mutation",
    42: "modular CMA-ES boundary correction",
    43: "modular CMA-ES evaluation",
    44: "modular CMA-ES selection",
    45: "modular CMA-ES recombination",
    46: "modular CMA-ES parameter update",
    48: "CMA-ES covariance matrix update",
    49: "CMA-ES step-size adaptation",
    50: "CMA-ES weight recombination",
    51: "CMA-ES distribution sampler",
    52: "CMA-ES sampling technique",
    53: "CMA-ES threshold convergence",
    54: "CMA-ES boundary correction strategy",
    55: "CMA-ES sequential selection",
    58: "CMA-ES elitism",
    59: "CMA-ES restart strategy",
}
MODULAR: Final[dict[str, tuple[int, int, int, Modules]]] = {
    "ModularCMAES": (17, 19, 21, CMA_ES),
    "ModularDE": (16, 18, 20, DE),
}
"""For each modular algorithm, OPTION's classes of the algorithm, its implementation and execution, and its modules."""

ALIASES: Final = {
    ("pbo", "OneMax"): ("CountingOnes", "One-Max"),
    ("pbo", "1"): ("OneMax", "CountingOnes"),
    ("pbo", "2"): ("LeadingOnes",),
    ("bbob", "1"): ("Sphere",),
    ("bbob", "8"): ("Rosenbrock", "Rosenbrock original"),
    ("bbob", "15"): ("Rastrigin",),
}
"""Alternative names of functions, by suite and number."""
_SHIFT, _ROTATION = f"{OWN}shift_of_variables", f"{OPTION}rotation_data_transformation"
_OF_VALUES: Final = (f"{OPTION}transform_obj_shift", f"{OPTION}transform_obj_scale")
_NOT_ROTATED: Final = frozenset({"1", "2", "3", "4", "5", "8", "20"})
"""BBOB functions (Hansen et al. 2009) without a rotation."""


def transformations(suite: str, function: str, number: str) -> tuple[str, ...]:
    """The classes of the transformations that define an instance of a function; empty if unknown."""
    if suite == "bbob":
        return (_OF_VALUES[0], _SHIFT, *(() if function in _NOT_ROTATED else (_ROTATION,)))
    if suite == "pbo" and number.isdecimal() and int(number) > 1:
        return (f"{OPTION}transform_vars_{'xor' if int(number) <= 50 else 'sigma'}", *_OF_VALUES)
    return ()


FEATURE_GROUPS: Final = {"ela_meta": "ela-meta", "ela_distr": "ela-distr"}
"""Sets of landscape features that OPTION spells differently."""


def modular_class(number: int, otherwise: str = "") -> str:
    """The IRI of a class of OPTION's module for modular algorithms, or of the class `otherwise` for number 0."""
    return f"{OPTION}OPTION_{number:08d}" if number else f"{OPTION}{otherwise}"


def own(kind: str, *parts: object) -> str:
    """The IRI of a thing that studies are about, such as ``urn:polarbear:algorithm:CMA-ES``."""
    return OWN + ":".join([kind, *(quote(str(part), safe="") for part in parts)])
