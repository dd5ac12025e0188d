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
    """Make the graph of a study on disk; see `polarbear.knowledge.graph_of`.

    Args:
        study: Path of the study, or of an archive.
        name: Name of the study; default that of its folder.
        about: Further information on the study, by the names of `polarbear.knowledge.ABOUT`.
        budgets: Numbers of evaluations at which values are recorded.
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
    """Open the knowledge base in a folder for reading; for a study or an archive, make one of it in memory.

    Raises:
        OSError: If there is nothing at the path.
        ValueError: If it is neither.
    """
    if is_base(path):
        return KnowledgeBase(path, write=False)
    known = KnowledgeBase()
    known.add(path)
    return known


class KnowledgeBase:
    """A knowledge base; needs ``pip install 'polarbear-race[knowledge]'``.

    Adding is idempotent: a study's graph replaces the one of the same name.

    Args:
        path: Folder of the knowledge base, created if it does not exist; None for one in memory.
        write: Whether to open it for writing. For reading it has to exist, and other processes may write to it.

    Raises:
        OSError: If another process has it open for writing, or it is opened for reading and does not exist.
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
        """Names under which studies and features were added."""
        from urllib.parse import unquote

        return tuple(
            sorted(unquote(str(name.value)).removeprefix(own("graph", "")) for name in self._store.named_graphs())
        )

    def add(self, study: str | Path | Graph, *, name: str = "", **options: Any) -> int:
        """Add a study, or replace the one of the same name; nothing else changes.

        Args:
            study: Path of the study or of an archive, or a graph.
            name: Name of the study; default that of its folder.
            options: Options of `polarbear.knowledge.graph`.

        Returns:
            Number of its statements.

        Raises:
            ValueError: If a graph is given without a name, or a study has no runs.
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
        """Add landscape features of a problem instance, such as those computed by `polarbear.landscape.features`.

        Args:
            instance: Name of the instance, such as ``"bbob-f1-i1-d5"``.
            features: Features by flacco's names; those without a value are left out.
            sample_size: Number of points from which they were computed.
            technique: Sampling method of the points.
        """
        stated = Graph()
        graphs.add_features(stated, instance, features, sample_size=sample_size, technique=technique)
        self._replace(f"features of {instance}, {technique} {sample_size}", stated)

    def add_feature_table(self, table: pl.DataFrame, *, sample_size: int, technique: str = "LatinHypercube") -> int:
        """Add landscape features of instances, as means over designs.

        Args:
            table: Table with a column "instance" and columns of features, such as those made by
                `polarbear.landscape.InstanceFeatures.frame` and ``polarbear landscape features``; "function" and
                "design" are ignored.
            sample_size: Number of points of each design.
            technique: Sampling method of the points.

        Returns:
            Number of instances in the table.

        Raises:
            ValueError: If the table lacks such columns.
        """
        named = [name for name in table.columns if name not in {"function", "instance", "design"}]
        if "instance" not in table.columns or not named:
            raise ValueError(f"the table has columns {table.columns}; it needs 'instance' and at least one feature")
        means = table.group_by("instance", maintain_order=True).mean().select("instance", *named)
        for instance, *values in means.iter_rows():
            known = {name: value for name, value in zip(named, values, strict=True) if value is not None}
            self.add_features(instance, known, sample_size=sample_size, technique=technique)
        return len(means)

    def ask(self, template: str, **fields: Any) -> pl.DataFrame:
        """Answer one of the questions in `polarbear.knowledge.TEMPLATES`.

        Args:
            template: Name of the question, such as ``"expected-runtime"``.
            fields: Values of its fields, such as ``target=1e-8``.

        Raises:
            ValueError: If the question is unknown, or a field is unknown, missing or invalid.
        """
        return self.select(queries.filled(template, fields))

    def select(self, sparql: str) -> pl.DataFrame:
        """Answer a trusted SELECT query in this process, limited only in rows; see `query` for untrusted ones."""
        return _frame(queries.answered(self._store, sparql, queries.ROWS))

    def choices(self, field: str) -> list[str]:
        """The known values of a field of questions, such as "function"; numbers are sorted by size.

        Raises:
            ValueError: If no question has such a field.
        """
        if field not in queries.CHOICES:
            raise ValueError(f"there are no choices for {field!r};{did_you_mean(field, queries.CHOICES)}")
        if field not in self._choices:
            known = self.select(queries.CHOICES[field])["value"].to_list()
            self._choices[field] = [f"{each:g}" if isinstance(each, float) else str(each) for each in known]
        return list(self._choices[field])

    def query(self, sparql: str, *, seconds: float = queries.SECONDS, rows: int = queries.ROWS) -> pl.DataFrame | bool:
        """Answer an untrusted query, in a separate process with limits; CONSTRUCT returns three columns.

        Args:
            sparql: SELECT, ASK or CONSTRUCT query; nothing else is allowed, and no SERVICE.
            seconds: Maximum wall-clock time.
            rows: Maximum number of rows of the answer.

        Raises:
            polarbear.knowledge.NotAllowed: If the query does more than ask.
            polarbear.knowledge.TookTooLong: If the query exceeded the limits of time, rows or memory.
            ValueError: If the query is not valid SPARQL.
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
        """Everything in the knowledge base as text, in a canonical order, so that equal knowledge gives equal text."""
        from pyoxigraph import serialize

        chosen = _format(format)
        triples = {str(quad.triple): _as_stated(quad.triple) for quad in self._store}
        prefixes = PREFIXES if format == "ttl" else None
        written = serialize((triples[text] for text in sorted(triples)), format=chosen, prefixes=prefixes)
        return written.decode() if written else ""

    def load(self, text: str, name: str, format: Format = "ttl") -> int:  # noqa: A002 - the usual word
        """Add statements written by `export`, or an ontology, under a name; returns their number.

        Raises:
            ValueError: If the text does not have this format.
        """
        from pyoxigraph import NamedNode, Quad, parse

        try:
            quads = [
                Quad(q.subject, q.predicate, q.object, NamedNode(own("graph", name)))
                for q in parse(text, format=_format(format))
            ]
        except SyntaxError as error:
            raise ValueError(f"the text is not valid {format}: {error}") from error
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
    """A triple with whole numbers as ``xsd:int``, as in OPTION; Oxigraph stores them as ``xsd:integer``."""
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
