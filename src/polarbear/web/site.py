"""The views of a study as a folder of static pages, which browsers open from disk: no server, no script."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from polarbear.analyzer.html import fill_in
from polarbear.assess.report.data import Data, shown
from polarbear.store import StudyError
from polarbear.store.atomic import make_directory, write_atomically
from polarbear.web.kind import PAGES, Choice, Kind, Shown
from polarbear.web.pages import views_of
from polarbear.web.sources import Sources
from polarbear.web.views import View

INDEX, STYLE, FIGURES, TABLES = "index.html", "style.css", "figures", "tables"
MOST_PARTS = 12
"""Maximum number of choices for which a view is shown."""
_MOST_ROWS = 100
_IMAGES = "figure img { max-width: 100%; height: auto; background: #fff; }"
_SUBJECTS = ("problem", "dimension", "function")
"""Parameters for every choice of which a view is shown."""


def write_site(
    study: str | Path,
    folder: str | Path,
    *,
    pages: Collection[str] = tuple(PAGES),
    most: int = MOST_PARTS,
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Write every view of a study with its figures, tables, captions and Python code.

    A view of a problem, dimension or function is shown for each of them, with all other parameters at their defaults.

    Args:
        study: Study, or files, folder or archive of another tool.
        folder: Folder to write to; created if it does not exist. Files of the same names are replaced.
        pages: Pages to write, of the `PAGES`.
        most: Maximum number of problems, dimensions or functions for which a view is shown; the page says so if there
            are more.
        progress: Function called with the title of each view.

    Returns:
        Path of the first page.

    Raises:
        FileNotFoundError: If there is no such study.
        ValueError: If the study cannot be read.
        OSError: If a file cannot be written.
    """
    sources, root = Sources([study]), Path(folder)
    (name,) = sources.names
    needs = {"Assessment", "Reading", *(["Result"] if sources.is_race(name) else [])}
    kinds = [kind for page in PAGES if page in pages for kind in views_of(page) if kind.needs in needs]
    for each in (root, root / FIGURES, root / TABLES, *(root / kind.page for kind in kinds)):
        make_directory(each)
    style = (Path(__file__).parent / "assets" / "analyzer.css").read_text("utf-8")
    write_atomically(root / STYLE, f"{style}{_IMAGES}\n".encode())
    sources.get(name, "Assessment")  # fails at once, rather than on every page
    for kind in kinds:
        if progress is not None:
            progress(kind.title)
        page = _page(kind, kinds, list(_parts(kind, name, sources, root, most)), _left_out(kind, name, sources, most))
        write_atomically(root / _href(kind), page.encode())
    first = _page(kinds[0], kinds, list(_parts(kinds[0], name, sources, root, most)), "", root="")
    write_atomically(root / INDEX, first.encode())
    return root / INDEX


def _href(kind: Kind) -> str:
    return f"{kind.page}/{kind.name}.html"


def _page(kind: Kind, kinds: list[Kind], parts: list[dict[str, Any]], left_out: str, *, root: str = "../") -> str:
    firsts = {each.page: each for each in reversed(kinds)}
    return fill_in(
        "site.html",
        folder=Path(__file__).parent / "templates",
        root=root,
        title=kind.title,
        purpose=PAGES[kind.page].purpose,
        summary=kind.summary,
        pages=[
            {"href": _href(firsts[page]), "title": PAGES[page].title, "current": page == kind.page}
            for page in PAGES
            if page in firsts
        ],
        views=[
            {"href": _href(each), "title": each.title, "current": each is kind}
            for each in kinds
            if each.page == kind.page
        ],
        label=_subject(kind) or "",
        parts=parts,
        left_out=left_out,
    )


def _subject(kind: Kind) -> str | None:
    """The parameter for every choice of which the view is shown."""
    return next((name for name in _SUBJECTS if isinstance(kind.controls.get(name), Choice)), None)


def _choices(kind: Kind, study: str, sources: Sources) -> list[str]:
    subject = _subject(kind)
    control = kind.controls[subject] if subject else None
    return list(control.choices(sources.get(study, kind.needs))) if isinstance(control, Choice) else []


def _left_out(kind: Kind, study: str, sources: Sources, most: int) -> str:
    count = len(_choices(kind, study, sources))
    return f"The first {most} of {count}; see the others in polarbear serve or Python." if count > most else ""


def _parts(kind: Kind, study: str, sources: Sources, root: Path, most: int) -> Iterator[dict[str, Any]]:
    """The parts of a view's page, one for each choice of its subject."""
    subject, choices = _subject(kind), _choices(kind, study, sources)
    for number, choice in enumerate(choices[:most] or [""], 1):
        view = View(kind.name, study, {subject: choice} if subject and choice else {})
        several = len(choices) > 1
        part = {"name": choice if several else "", "anchor": f"part-{number}" if several else "", "fault": ""}
        try:
            made = view.show(sources)
            yield part | _part(view, made, sources, root, f"{kind.name}-{number}" if several else kind.name)
        except (ValueError, StudyError) as fault:
            yield part | {"fault": str(fault)}


def _part(view: View, made: Shown, sources: Sources, root: Path, stem: str) -> dict[str, Any]:
    table, data = f"{TABLES}/{stem}.csv", made.data
    write_atomically(root / table, data.csv().encode())
    part: dict[str, Any] = {
        "text": made.text,
        "figure": "",
        "data": table,
        "code": view.code(sources, made),
        "columns": [name.replace("_", " ") for name in data.columns],
        "rows": _rows(data),
        "more": f"The first {_MOST_ROWS} of {len(data.rows):,} rows; the file has all of them."
        if len(data.rows) > _MOST_ROWS
        else "",
    }
    if made.figure is not None:
        picture = f"{FIGURES}/{stem}.svg"
        write_atomically(root / picture, made.figure.svg().encode())
        part |= {"figure": picture, "alt": made.figure.alt, "title": made.figure.title, "caption": made.figure.caption}
    return part


def _rows(data: Data) -> list[list[tuple[str, bool]]]:
    """The cells as text, and whether each contains words rather than a number."""
    return [
        [(shown(cell), isinstance(cell, str) and cell not in ("inf", "-inf")) for cell in row]
        for row in data.rows[:_MOST_ROWS]
    ]
