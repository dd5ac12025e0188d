"""The figures of the documentation: ``python examples/gallery.py docs``, called by `make docs` before the build.

Runs a small race and a small plan of four optimizers, and writes ``gallery.md`` with a figure of every kind, as on the
pages of a race and of an assessment, and the figures in ``gallery/``. Runs the examples of pages that save a figure.
"""

from __future__ import annotations

import itertools
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polarbear as pb
from polarbear.analyzer import answer
from polarbear.analyzer.assessment import pictures
from polarbear.analyzer.html import Picture
from polarbear.analyzer.report_sections import sections_of
from polarbear.assess.report import Assessment, compare, subject_of
from polarbear.web import PAGES as BROWSED
from polarbear.web import Sources, View, views_of

ENTRANTS = {
    "CMA-ES": pb.optimizers.ModularCMAES.anytime(),
    "differential evolution": pb.optimizers.from_description({"optimizer": "scipy-differential-evolution"}),
    "COBYLA": pb.optimizers.from_description({"optimizer": "nlopt-COBYLA"}),
    "random search": pb.optimizers.RandomSearch(),
}
PAGES = {
    "race": "A report, `polarbear report`: four optimizers on MA-BBOB in three dimensions, from 10 d to 1,000 d.",
    "assessment": "An assessment, `polarbear assess`: the same four on functions of BBOB, 500 d evaluations each.",
    "analyzer": "More of the same runs in the browser, `polarbear serve`.",
}
PROBLEM = "bbob f8 in 2-D"
"""That the analyzer shows, where it shows one."""
WITH_FIGURES = ("tutorial.md", "how-to/simulate-a-race.md", "how-to/add-a-figure.md")
"""Pages whose examples save a figure."""


def of_a_race() -> Iterator[Picture]:
    """The figures of a report."""
    options = {"alpha": 0.95, "epsilon": 0.1, "resolution": "crossing", "progress": False}
    stop = pb.study.StopRules(instances=64)
    result = pb.race(ENTRANTS, "ma-bbob", ("10*d", "1000*d"), dimension=3, stop=stop, **options)
    for shown, _ in sections_of(result, answer(result), result.names).values():
        yield from (each for each in shown if "linear axis" not in each.summary)


def run(path: Path) -> Path:
    """Run the plan that is assessed."""
    suite = pb.problems.BBOB(functions=(1, 8, 15), dimensions=(2, 3, 5), instances=(1, 2, 3))
    watch = pb.experiment.Watch(per_decade=5)
    pb.study.run_plan(pb.study.Plan(ENTRANTS, suite, budget="500*d", repetitions=2, watch=watch), path)
    return path


def of_an_assessment(study: Path) -> Iterator[Picture]:
    """The figures of an assessment's page and of the folder beside it."""
    assessment = Assessment(subject_of(pb.store.read(study)))
    yield from pictures.overview(assessment)
    yield from pictures.comparison_pictures(compare(assessment), assessment.subject.algorithms)
    yield from (plate.picture for plate in pictures.plates(assessment, every_function=True))


def of_the_analyzer(study: Path) -> Iterator[Picture]:
    """The figures of the pages in the browser."""
    sources = Sources([study])
    for kind in itertools.chain.from_iterable(map(views_of, BROWSED)):
        chosen = {"problem": PROBLEM} if "problem" in kind.controls else {}
        if kind.needs != "Result" and (figure := View(kind.name, study.stem, chosen).figure(sources)):
            yield Picture(figure.title, figure.alt, figure.caption, figure.svg(), ())


def one_of_each(shown: Iterable[Picture]) -> dict[str, Picture]:
    """One figure of each kind, by its title without what it is of and the place it holds for."""
    named = "|".join(map(re.escape, ENTRANTS))
    place = rf"( of ({named}))?(, (\d|bbob|all|{named})| to precision).*"
    titles = {re.sub(place, "", each.title): each for each in shown}
    return {"A parameter" if re.fullmatch(r"\w+_\w+", title) else title: each for title, each in titles.items()}


def write_gallery(folder: Path) -> Path:
    """Write the page and its figures into a folder."""
    lines = ["# Gallery", "", "The figures that the pages show, drawn when this documentation was built.", ""]
    (folder / "gallery").mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as place:
        study = run(Path(place) / "plan.study")
        made = {"race": of_a_race(), "assessment": of_an_assessment(study), "analyzer": of_the_analyzer(study)}
        pages = {page: one_of_each(shown) for page, shown in made.items()}
    seen = set[str]()
    for page, shown_there in pages.items():
        lines += [f"## {page.title()}", "", PAGES[page], ""]
        for title in [each for each in shown_there if each not in seen]:
            shown = shown_there[title]
            seen.add(title)
            file = f"gallery/{page}-{re.sub('[^a-z0-9]+', '-', title.lower()).strip('-')}.svg"
            (folder / file).write_text(shown.svg, encoding="utf-8")
            lines += [
                f"### {title[0].upper()}{title[1:]}",
                "",
                f"![{shown.alternative}]({file})",
                "",
                shown.caption,
                "",
            ]
    written = folder / "gallery.md"
    written.write_text("\n".join(lines), encoding="utf-8")
    return written


def draw_examples(page: Path, figures: Path) -> None:
    """Run the examples of a page one after the other, and keep the figures that they save."""
    names: dict[str, Any] = {"__name__": "example"}
    for code in re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        exec(code, names)
    for figure in (*Path().glob("*.svg"), *Path().glob("*.png")):
        shutil.move(figure, figures / figure.name)


def main(docs: Path) -> None:
    print(write_gallery(docs))
    for page in WITH_FIGURES:
        with TemporaryDirectory() as folder, chdir(folder):
            draw_examples(docs / page, docs / "gallery")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]).resolve())
