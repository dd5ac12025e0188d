"""A view as a value: what is shown of which study; equivalent to its address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from polarbear.assess.functions import functions_shown_as
from polarbear.assess.report.data import Data
from polarbear.descriptions import did_you_mean
from polarbear.figures import Figure
from polarbear.figures.panels import Scale
from polarbear.figures.style import Look, drawn_as, looks
from polarbear.web.kind import SCALES, Kind, Opened, Shown, kinds
from polarbear.web.settings import LAID_OUT, NAMES, Settings
from polarbear.web.sources import Sources
from polarbear.web.work import say

_LOADED = {
    "Catalogue": "pb.web.catalogue.catalogue_of({library})",
    "Reading": "pb.store.read_checked({path})",
    "Assessment": "pb.assess.report.Assessment({subject})",
    "Result": "pb.load({path})",
    "Reference": "pb.store.read_reference({path})",
    "KnowledgeBase": "pb.knowledge.open_base({path})",
}


@dataclass(frozen=True)
class View:
    """A view of a study.

    Attributes:
        kind: Name of one of the `kinds`.
        study: Name by which the study is known.
        params: Parameters that differ from their defaults, as text.
        settings: Settings common to all views.
        scales: Scales, "log" or "linear", of the figure's "x" and "y" axes where they are to differ from its own;
            ignored for axes that cannot have them.
    """

    kind: str
    study: str
    params: Mapping[str, str] = field(default_factory=dict[str, str])
    settings: Settings = field(default_factory=Settings)
    scales: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def at(cls, address: str) -> View:
        """The view at an address, such as ``"/eaf/attainment?study=archive&algorithm=A"``.

        Raises:
            ValueError: If there is no such view.
        """
        parts = urlsplit(address)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        settings = Settings.at({name: text for name in NAMES if (text := query.pop(name, ""))})
        scales = {name: text for name in SCALES if (text := query.pop(name, ""))}
        for name, text in scales.items():
            if text not in get_args(Scale):
                raise ValueError(f"{name} is {text!r}; it must be one of {', '.join(get_args(Scale))}")
        view = cls(parts.path.rstrip("/").rpartition("/")[2], query.pop("study", ""), query, settings, scales)
        kind = view.of_kind
        if unknown := [name for name in query if name not in kind.controls]:
            raise ValueError(
                f"{kind.title} has no parameter {unknown[0]!r};{did_you_mean(unknown[0], tuple(kind.controls))}"
            )
        return view

    @property
    def of_kind(self) -> Kind:
        """The kind of the view.

        Raises:
            ValueError: If there is no such kind.
        """
        if self.kind not in (known := kinds()):
            raise ValueError(f"there is no view {self.kind!r};{did_you_mean(self.kind, tuple(known))}")
        return known[self.kind]

    @property
    def url(self) -> str:
        """The address of the view."""
        params = {"study": self.study, **dict(sorted(self.params.items())), **self.settings.query, **self.scales}
        query = urlencode(params, quote_via=quote)
        return f"/{self.of_kind.page}/{self.kind}?{query}"

    def values(self, sources: Sources) -> dict[str, Any]:
        """The parameters as values, including defaults.

        Raises:
            ValueError: If one is out of range, or the study cannot be read.
        """
        kind, source = self.of_kind, self.source(sources)
        chosen = {
            name: control.convert(self.params.get(name), sources if isinstance(control, Opened) else source)
            for name, control in kind.controls.items()
        }
        return chosen | {name: getattr(self.settings, setting) for name, setting in kind.settings.items()}

    def source(self, sources: Sources) -> Any:
        """What the view is made from; errors as in `values`."""
        return sources.get(self.study, self.of_kind.needs, **self.settings.runs)

    def show(self, sources: Sources) -> Shown:
        """The contents of the view.

        Raises:
            ValueError: If a parameter is out of range, the study cannot be read, or there is nothing to show.
        """
        values, source = self.values(sources), self.source(sources)
        say(f"Computing {self.of_kind.title.lower()} …")
        with drawn_as(self.looks(sources)), functions_shown_as(self.settings.function_names):
            made = self.of_kind.make(source, **values)
        if made.figure is None:
            return made
        figure = self.settings.laid_out(made.figure)
        return replace(made, figure=figure.scaled(**self._scales_of(figure)))

    def looks(self, sources: Sources) -> dict[str, Look]:
        """The looks that are set, and those of chosen algorithms among all; errors as in `show`."""
        only = self.settings.only if self.of_kind.needs == "Assessment" else ()
        everyone = sources.get(self.study, "Assessment", **self.settings.every_run).subject.algorithms if only else ()
        return {name: look for name, look in looks(everyone).items() if name in only} | dict(self.settings.colors)

    def _scales_of(self, figure: Figure) -> dict[str, Any]:
        """The `scales` that the figure's axes can have."""
        return {name: scale for name, scale in self.scales.items() if figure.is_switchable(name)}

    def data(self, sources: Sources) -> Data:
        """The numbers of the view; errors as in `show`."""
        return self.show(sources).data

    def figure(self, sources: Sources) -> Figure | None:
        """The figure of the view, if it has one; errors as in `show`."""
        return self.show(sources).figure

    def code(self, sources: Sources, shown: Shown | None = None) -> str:
        """Python code that reproduces the view.

        Args:
            sources: Open data.
            shown: Contents of the view, if already known.
        """
        kind, settings = self.of_kind, self.settings
        package, _, room = kind.make.__module__.rpartition(".")
        values = self.values(sources)
        opened = {
            name: _all_of(control, [str(sources.path(each)) for each in control.names(self.params.get(name))], sources)
            for name, control in kind.controls.items()
            if isinstance(control, Opened) and values[name]
        }
        given = "".join(f", {name}={name if name in opened else repr(value)}" for name, value in values.items())
        figure = (shown or self.show(sources)).figure
        path = "" if kind.needs == "Catalogue" else str(sources.path(self.study))
        runs, used = self._reading(sources) if kind.needs == "Assessment" else ("", [])
        made = f"shown = {room}.{kind.make.__name__}({kind.needs.lower()}{given})"
        colors = self.looks(sources) if figure else {}
        names = dict(settings.function_names) if kind.needs == "Assessment" else {}
        own = {name: each for name, each in settings.values.items() if name in LAID_OUT}
        drawn = f"Settings.of({own!r}).laid_out(shown.figure)" if own else "shown.figure"
        within = [*([f"drawn_as({colors!r})"] * bool(colors)), *([f"functions_shown_as({names!r})"] * bool(names))]
        if figure and (scales := self._scales_of(figure)):
            drawn += f".scaled({', '.join(f'{name}={scale!r}' for name, scale in scales.items())})"
        lines = [
            *("import polarbear as pb", f"from {package} import {room}" if package else f"import {room}"),
            *(["from polarbear.assess.functions import functions_shown_as"] if names else []),
            *(["from polarbear.figures.style import Look, drawn_as"] if colors else []),
            *([f"from polarbear.web.identity import {', '.join(used)}"] if used else []),
            *(["from polarbear.web.settings import Settings"] if figure and own else []),
            "",
            f"{kind.needs.lower()} = {_loading(kind.needs, path, sources, runs)}",
            *(f"{name} = {loaded}" for name, loaded in opened.items()),
            *([f"with {', '.join(within)}:", f"    {made}"] if within else [made]),
            "print(shown.data.csv())" if figure is None else f'{drawn}.save("{self.kind}.pdf")',
        ]
        return "\n".join(lines) + "\n"

    def _reading(self, sources: Sources) -> tuple[str, list[str]]:
        """Python code for the runs considered, as an argument of `subject_of`, and its imports from `web.identity`."""
        settings, used = self.settings, list[str]()
        names = dict.fromkeys((self.study, *settings.beside))
        read = {name: f"pb.store.read({str(sources.path(name))!r})" for name in names}
        runs = read[self.study]
        if len(read) > 1:
            used.append("together")
            runs = f"together({{{', '.join(f'{name!r}: {own}' for name, own in read.items())}}})"
        if settings.identity != Settings().identity:
            used.insert(0, "identified")
            runs = f"identified({runs}, {settings.identity!r})"
        return runs + (f", algorithms={settings.only!r}" if settings.only else ""), used


def _all_of(control: Opened, paths: Sequence[str], sources: Sources) -> str:
    """Python code that loads what a parameter refers to."""
    loaded = [_loading(control.needs, path, sources) for path in paths]
    return f"({', '.join(loaded)},)" if control.several else loaded[0]


def _loading(needs: str, path: str, sources: Sources, runs: str = "") -> str:
    """Python code that loads what a view needs, from `runs` or else from all runs at the path."""
    subject = f"pb.assess.report.subject_of({runs or f'pb.store.read({path!r})'})"
    if sources.targets:
        table = f"pb.assess.report.read_targets({str(sources.targets)!r})"
        subject = f"pb.assess.report.with_targets({subject}, {table})"
    return _LOADED[needs].format(path=repr(path), subject=subject, library=repr(str(sources.library)))
