"""A knowledge base on disk: the graphs of studies, each replaced as a whole, and answers to questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from polarbear import store
from polarbear.descriptions import did_you_mean
from polarbear.extras import optional
from polarbear.knowledge import graphs, queries
from polarbear.knowledge.graphs import BUDGETS, Graph, graph_of
from polarbear.knowledge.vocabulary import OPTION, OWN, PREFIXES, XSD, own
from polarbear.store.specification import read_study_file

if TYPE_CHECKING:
    import polars as pl

Format = Literal["ttl", "nt", "jsonld"]
FORMATS: tuple[Format, ...] = ("ttl", "nt", "jsonld")


def graph(
    study: str | Path,
    *,
    name: str = "",
    about: Mapping[str, str] | None = None,
    budgets: Sequence[float] = BUDGETS,
    targets: Sequence[float] = (),
) -> Graph:
    """The graph of a study on disk; see `polarbear.knowledge.graph_of`.

    Args:
        study: Its path, or that of an archive.
        name: What to call it; default the name of its folder.
        about: What is known of it, by the names of `polarbear.knowledge.ABOUT`.
        budgets: Evaluations at which values are kept.
        targets: Target precisions; default 51 from 100 to 1e-8.
    """
    spec, origin = dict[str, Any](), dict[str, Any]()
    if store.exists(study):
        file = read_study_file(store.place(study))
        spec, origin = file.spec, file.origin
    name = name or Path(study).name.removesuffix(".study")
    return graph_of(
        store.read(study), name=name, spec=spec, origin=origin, about=about, budgets=budgets, targets=targets
    )


def is_base(path: str | Path) -> bool:
    """Whether a folder is a knowledge base."""
    return all((Path(path) / name).is_file() for name in ("CURRENT", "IDENTITY"))


def open_base(path: str | Path) -> KnowledgeBase:
    """The knowledge base in a folder, to be read; of a study or an archive one in memory, with that alone.

    Raises:
        OSError: If there is nothing.
        ValueError: If it is neither.
    """
    if is_base(path):
        return KnowledgeBase(path, write=False)
    known = KnowledgeBase()
    known.add(path)
    return known


class KnowledgeBase:
    """A knowledge base; needs ``pip install 'polarbear-race[knowledge]'``.

    What is added twice is there once: a study's graph replaces the one of the same name.

    Args:
        path: Its folder, which is created; None: in memory alone.
        write: Whether to add to it; else it has to be there, and others may add to it.

    Raises:
        OSError: If another process writes to it as well, or it is to be read and is not there.
    """

    def __init__(self, path: str | Path | None = None, *, write: bool = True) -> None:
        Store = optional("pyoxigraph", "knowledge", "the knowledge base").Store  # noqa: N806 - a class

        self.path, self._writes = None if path is None else Path(path), write
        opened: Callable[[str], Any] = Store if write else Store.read_only
        self._store = opened(str(self.path)) if self.path else Store()
        self._choices: dict[str, list[str]] = {}

    def __len__(self) -> int:
        return len(self._store)

    @property
    def studies(self) -> tuple[str, ...]:
        """The names of what was added."""
        from urllib.parse import unquote

        return tuple(
            sorted(unquote(str(name.value)).removeprefix(own("graph", "")) for name in self._store.named_graphs())
        )

    def add(self, study: str | Path | Graph, *, name: str = "", **options: Any) -> int:
        """Add a study, or replace the one of that name; nothing else changes.

        Args:
            study: Its path, that of an archive, or a graph.
            name: What to call it; default the name of its folder.
            options: As of `polarbear.knowledge.graph`.

        Returns:
            How many statements it has.

        Raises:
            ValueError: If a graph comes without a name, or a study has no runs.
        """
        if isinstance(study, Graph) and not name:
            raise ValueError("a graph has no name of its own; give name=...")
        name = name or Path(str(study)).name.removesuffix(".study")
        stated = study if isinstance(study, Graph) else graph(study, name=name, **options)
        self._replace(name, stated)
        return len(stated)

    def add_features(
        self, instance: str, features: Mapping[str, float], *, sample_size: int, technique: str = "LatinHypercube"
    ) -> None:
        """Add landscape features of a problem instance, such as `polarbear.landscape.features` has found.

        Args:
            instance: Its name, such as ``"bbob-f1-i1-d5"``.
            features: By flacco's names; those without a value are left out.
            sample_size: Number of points they were computed from.
            technique: How these were sampled.
        """
        stated = Graph()
        graphs.add_features(stated, instance, features, sample_size=sample_size, technique=technique)
        self._replace(f"features of {instance}, {technique} {sample_size}", stated)

    def add_feature_table(self, table: pl.DataFrame, *, sample_size: int, technique: str = "LatinHypercube") -> int:
        """Add landscape features by instance, means over designs.

        Args:
            table: With columns "instance" and those of features, such as `polarbear.landscape.InstanceFeatures.frame`
                and ``polarbear landscape features`` make; "function" and "design" are passed over.
            sample_size: Number of points of each design.
            technique: How these were sampled.

        Returns:
            How many instances it has.

        Raises:
            ValueError: If the table has no such columns.
        """
        named = [name for name in table.columns if name not in {"function", "instance", "design"}]
        if "instance" not in table.columns or not named:
            raise ValueError(f"the table has columns {table.columns}; it needs 'instance' and those of features")
        means = table.group_by("instance", maintain_order=True).mean().select("instance", *named)
        for instance, *values in means.iter_rows():
            known = {name: value for name, value in zip(named, values, strict=True) if value is not None}
            self.add_features(instance, known, sample_size=sample_size, technique=technique)
        return len(means)

    def ask(self, template: str, **fields: Any) -> pl.DataFrame:
        """Answer one of the questions `polarbear.knowledge.TEMPLATES`.

        Args:
            template: The question's name, such as ``"expected-runtime"``.
            fields: Its fields, such as ``target=1e-8``.

        Raises:
            ValueError: If the question or a field is unknown, missing or wrong.
        """
        return self.select(queries.filled(template, fields))

    def select(self, sparql: str) -> pl.DataFrame:
        """Answer a SELECT of one's own, in this process and without limits but of rows; see `query` for anybody's."""
        return _frame(queries.answered(self._store, sparql, queries.ROWS))

    def choices(self, field: str) -> list[str]:
        """What is known that can be given for a field of questions, such as "function"; numbers by their size.

        Raises:
            ValueError: If no question has such a field.
        """
        if field not in queries.CHOICES:
            raise ValueError(f"there are no choices of {field!r};{did_you_mean(field, queries.CHOICES)}")
        if field not in self._choices:
            known = self.select(queries.CHOICES[field])["value"].to_list()
            self._choices[field] = [f"{each:g}" if isinstance(each, float) else str(each) for each in known]
        return list(self._choices[field])

    def query(self, sparql: str, *, seconds: float = queries.SECONDS, rows: int = queries.ROWS) -> pl.DataFrame | bool:
        """Answer a query of anybody's, in a process of its own with limits; a CONSTRUCT has three columns.

        Args:
            sparql: A SELECT, ASK or CONSTRUCT; nothing else is allowed, and no SERVICE.
            seconds: The most wall-clock time it may take.
            rows: The most rows its answer may have.

        Raises:
            polarbear.knowledge.NotAllowed: If it does more than ask.
            polarbear.knowledge.TookTooLong: If it took longer, or more rows or memory than it may.
            ValueError: If it is no SPARQL.
        """
        from tempfile import TemporaryDirectory

        from pyoxigraph import Store

        if self.path:
            if self._writes:
                self._store.flush()
            return _frame(queries.run_limited(self.path, sparql, seconds, rows))
        with TemporaryDirectory() as folder:
            copy = Store(folder)
            copy.bulk_extend(self._store)
            copy.flush()
            return _frame(queries.run_limited(Path(folder), sparql, seconds, rows))

    def export(self, format: Format = "ttl") -> str:  # noqa: A002 - the usual word
        """Everything in it, as text, in an order of its own, so that equal knowledge gives equal text."""
        from pyoxigraph import serialize

        chosen = _format(format)
        triples = {str(quad.triple): _as_stated(quad.triple) for quad in self._store}
        prefixes = PREFIXES if format == "ttl" else None
        written = serialize((triples[text] for text in sorted(triples)), format=chosen, prefixes=prefixes)
        return written.decode() if written else ""

    def load(self, text: str, name: str, format: Format = "ttl") -> int:  # noqa: A002 - the usual word
        """Add statements such as `export` wrote, or an ontology, under a name; returns how many.

        Raises:
            ValueError: If the text is not of the format.
        """
        from pyoxigraph import NamedNode, Quad, parse

        try:
            quads = [
                Quad(q.subject, q.predicate, q.object, NamedNode(own("graph", name)))
                for q in parse(text, format=_format(format))
            ]
        except SyntaxError as error:
            raise ValueError(f"the text is no {format}: {error}") from error
        self._store.remove_graph(NamedNode(own("graph", name)))
        self._store.bulk_extend(quads)
        self._choices.clear()
        return len(quads)

    def _replace(self, name: str, stated: Iterable[graphs.Triple]) -> None:
        from pyoxigraph import Literal as Value
        from pyoxigraph import NamedNode, Quad

        where = NamedNode(own("graph", name))
        self._choices.clear()
        self._store.remove_graph(where)
        self._store.bulk_extend(
            Quad(
                NamedNode(triple.subject),
                NamedNode(triple.predicate),
                NamedNode(triple.object)
                if isinstance(triple.object, str)
                else Value(triple.object.value, datatype=NamedNode(XSD + triple.object.kind)),
                where,
            )
            for triple in stated
        )


def _as_stated(triple: Any) -> Any:
    """A triple with whole numbers as ``xsd:int``, as OPTION has them: Oxigraph keeps them as ``xsd:integer``."""
    from pyoxigraph import Literal as Value
    from pyoxigraph import NamedNode, Triple

    kind = getattr(triple.object, "datatype", None)
    if kind is None or kind.value != f"{XSD}integer" or not triple.predicate.value.startswith((OPTION, OWN)):
        return triple
    return Triple(triple.subject, triple.predicate, Value(triple.object.value, datatype=NamedNode(f"{XSD}int")))


def _format(name: str) -> Any:
    from pyoxigraph import RdfFormat

    known = {"ttl": RdfFormat.TURTLE, "nt": RdfFormat.N_TRIPLES, "jsonld": RdfFormat.JSON_LD}
    if name not in known:
        raise ValueError(f"format is {name!r};{did_you_mean(name, known)}")
    return known[name]


def _frame(answer: queries.Rows | bool) -> Any:
    import polars as pl

    if isinstance(answer, bool):
        return answer
    columns, rows = answer
    return pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None)
