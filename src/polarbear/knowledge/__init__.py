"""Studies as knowledge: RDF in terms of the OPTION ontology, and SPARQL queries over many studies at once.

Source: Kostovska et al. (2023), OPTION: optimization algorithm benchmarking ontology; Wang's thesis, section 3.1.4.
"""

from polarbear.knowledge.base import FORMATS, KnowledgeBase, graph, is_base, open_base
from polarbear.knowledge.graphs import ABOUT, Graph, graph_of
from polarbear.knowledge.queries import TEMPLATES, NotAllowed, Template, TookTooLong

__all__ = [
    "ABOUT",
    "FORMATS",
    "TEMPLATES",
    "Graph",
    "KnowledgeBase",
    "NotAllowed",
    "Template",
    "TookTooLong",
    "graph",
    "graph_of",
    "is_base",
    "open_base",
]
