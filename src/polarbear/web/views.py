"""A view as a value: what is shown of what, which is also its address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from polarbear.assess.report.data import Data
from polarbear.descriptions import did_you_mean
from polarbear.figures import Figure
from polarbear.web.kind import KINDS, Kind, Opened, Shown
from polarbear.web.sources import Sources

_LOADED = {
    "Reading": "pb.store.read_checked({path})",
    "Assessment": "pb.assess.report.Assessment(pb.assess.report.subject_of(pb.store.read({path})))",
    "Result": "pb.load({path})",
    "Reference": "pb.store.read_reference({path})",
    "KnowledgeBase": "pb.knowledge.open_base({path})",
}


@dataclass(frozen=True)
class View:
    """What is shown of a study.

    Attributes:
        kind: One of the `KINDS`.
        study: The name that the study goes by.
        params: Parameters that are not at their defaults, as text.
    """

    kind: str
    study: str
    params: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def at(cls, address: str) -> View:
        """The view at an address, such as ``"/eaf/attainment?study=archive&algorithm=A"``.

        Raises:
            ValueError: If there is none.
        """
        parts = urlsplit(address)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        view = cls(parts.path.rstrip("/").rpartition("/")[2], query.pop("study", ""), query)
        kind = view.of_kind
        if unknown := [name for name in query if name not in kind.controls]:
            raise ValueError(
                f"{kind.title} has no parameter {unknown[0]!r};{did_you_mean(unknown[0], tuple(kind.controls))}"
            )
        return view

    @property
    def of_kind(self) -> Kind:
        """Its kind.

        Raises:
            ValueError: If there is no such kind.
        """
        if self.kind not in KINDS:
            raise ValueError(f"there is no view {self.kind!r};{did_you_mean(self.kind, tuple(KINDS))}")
        return KINDS[self.kind]

    @property
    def url(self) -> str:
        """Its address."""
        query = urlencode({"study": self.study, **dict(sorted(self.params.items()))}, quote_via=quote)
        return f"/{self.of_kind.page}/{self.kind}?{query}"

    def values(self, sources: Sources) -> dict[str, Any]:
        """Its parameters as values, defaults included.

        Raises:
            ValueError: If one is out of range, or the study cannot be read.
        """
        kind = self.of_kind
        source = sources.get(self.study, kind.needs)
        return {
            name: control.convert(self.params.get(name), sources if isinstance(control, Opened) else source)
            for name, control in kind.controls.items()
        }

    def show(self, sources: Sources) -> Shown:
        """What it shows.

        Raises:
            ValueError: If a parameter is out of range, the study cannot be read, or there is nothing to show.
        """
        return self.of_kind.make(sources.get(self.study, self.of_kind.needs), **self.values(sources))

    def data(self, sources: Sources) -> Data:
        """Its numbers; errors as of `show`."""
        return self.show(sources).data

    def figure(self, sources: Sources) -> Figure | None:
        """Its figure, if it has one; errors as of `show`."""
        return self.show(sources).figure

    def code(self, sources: Sources, shown: Shown | None = None) -> str:
        """Python that makes the same.

        Args:
            sources: What is loaded.
            shown: What the view shows, where that is known already.
        """
        kind = self.of_kind
        function, room = kind.make.__name__, kind.make.__module__.rpartition(".")[2]
        values = self.values(sources)
        opened = {
            name: _LOADED[control.needs].format(path=repr(str(sources.path(self.params[name]))))
            for name, control in kind.controls.items()
            if isinstance(control, Opened) and values[name] is not None
        }
        given = "".join(f", {name}={name if name in opened else repr(value)}" for name, value in values.items())
        figure = (shown or self.show(sources)).figure
        lines = [
            *("import polarbear as pb", f"from polarbear.web import {room}", ""),
            f"{kind.needs.lower()} = {_LOADED[kind.needs].format(path=repr(str(sources.path(self.study))))}",
            *(f"{name} = {loaded}" for name, loaded in opened.items()),
            f"shown = {room}.{function}({kind.needs.lower()}{given})",
            "print(shown.data.csv())" if figure is None else f'shown.figure.save("{self.kind}.pdf")',
        ]
        return "\n".join(lines) + "\n"
