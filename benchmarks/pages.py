"""Pages and their figures, for visual inspection: ``python -m benchmarks.pages FOLDER``.

Writes the reports of races of 3, 8 and 30 algorithms and the assessment of 29 algorithms on 24 functions in 3
dimensions, each of their figures as PNG and, where Chromium is installed, a screenshot of each page. Prints for each
page its megabytes, the seconds it took, and about how many screens of 900 pixels it fills, estimated from its text, its
rows and the sizes of its figures.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from unittest.mock import patch

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MPLBACKEND"] = "Agg"

import numpy as np

from polarbear.analyzer import report, write_assessment
from polarbear.assess.report import Assessment, compare, subject_of
from polarbear.figures import Figure
from polarbear.racing import Race, RaceResult, Request
from polarbear.records import Outcome, Reason, Run, RunKey, Trajectory, log_times
from polarbear.simulate import Truth

_SCREEN, _WIDTH = 900.0, 912.0
"""Height of a screen, and width of a page's column, in pixels."""
_SPACE = {"p": 14, "li": 8, "tr": 10, "h1": 40, "h2": 90, "h3": 30, "dd": 8}
"""Pixels between paragraphs, rows and headings."""


def raced(algorithms: int, seed: int = 1) -> RaceResult:
    """A race of algorithms that are each best at a budget of their own; two of three are too weak to be worth it."""
    times = log_times(50, 10_000, 50)
    at, middles = np.linspace(0, 1, times.size)[:, np.newaxis], np.linspace(0, 1, algorithms)
    utilities = 2 - 1.25 * (np.arange(algorithms) % 3) - 6 * (at - middles) ** 2
    ratings, names = np.exp(utilities), tuple(f"algorithm {k + 1}" for k in range(algorithms))
    truth = Truth(times, ratings / ratings.sum(axis=1, keepdims=True), names)
    race = Race(truth.names, times=times, alpha=0.95, epsilon=0.1, resolution="crossing", draws=2000, seed=seed)
    while len(race.rounds) < 12 and (requests := race.ask()):
        race.tell(_told(truth, race, requests))
    return race.result()


def _told(truth: Truth, race: Race, requests: Sequence[Request]) -> Iterator[Run]:
    """The runs asked for, on instances that are named as if they were BBOB's in two dimensions."""
    for request in requests:
        run = truth.run(request.key, request.until, race.settings.axis)
        name = f"bbob-f{request.draw % 24 + 1}-i{request.draw // 48 + 1}-d{(2, 5)[request.draw // 24 % 2]}"
        yield replace(run, key=replace(run.key, instance=name))


def recorded(algorithms: int, functions: int, dimensions: tuple[int, ...], instances: int = 15) -> Iterator[Run]:
    """Runs of algorithms that converge at rates of their own, which depend on function and dimension."""
    rng = np.random.default_rng(1)
    for number in range(algorithms):
        for function in range(1, functions + 1):
            rate = np.exp(rng.normal(0, 0.8) - 0.15 * function)
            for dimension in dimensions:
                for instance in range(1, instances + 1):
                    budget = 10_000 * dimension
                    at = np.unique(np.geomspace(1, budget, 60).astype(np.int64))
                    noise = np.exp(rng.normal(0, 0.3))
                    values = 100 * np.exp(-rate * noise * at / dimension**1.5 / 20)
                    values = np.maximum(values, 1e-9)
                    kept = np.append(True, np.diff(values) < 0)
                    end = Outcome(Reason.BUDGET, budget, 0.0)
                    key = RunKey(f"bbob-f{function}-i{instance}-d{dimension}", f"algorithm {number + 1}", 0)
                    yield Run(key, Trajectory(at[kept], np.zeros(kept.sum()), values[kept], end), optimum=0.0)


class _Height(HTMLParser):
    """Adds up what is to be seen of a page, in pixels; what is folded away counts as its summary."""

    def __init__(self) -> None:
        super().__init__()
        self.height, self._folded, self._open, self._text = 0.0, 0, list[str](), ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"p", "li", "tr", "h1", "h2", "h3", "summary", "figcaption", "caption", "dd", "pre"}:
            self._text = ""
        self._folded += tag == "details"
        if tag == "img" and not self._folded:
            self.height += _WIDTH * _ratio(dict(attrs)["src"] or "")

    def handle_endtag(self, tag: str) -> None:
        lines = -(-len(" ".join(self._text.split())) // 110)
        if tag == "summary" and self._folded == 1:
            self.height += 40
        elif not self._folded and tag in _SPACE:
            self.height += _SPACE[tag] + (19 if tag == "tr" else 24) * lines
        elif not self._folded and tag in {"figcaption", "caption"}:
            self.height += 30 + 21 * lines
        elif not self._folded and tag == "pre":
            self.height += min(384, 20 * self._text.count("\n")) + 30
        self._folded -= tag == "details"

    def handle_data(self, data: str) -> None:
        self._text += data


def _ratio(source: str) -> float:
    """Height by width of a figure."""
    svg = base64.b64decode(source.partition(",")[2]).decode()
    width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups())  # pyright: ignore
    return height / width


def screens(page: str) -> float:
    """About how many screens of 900 pixels a page takes when nothing is unfolded."""
    height = _Height()
    height.feed(page[page.index("<body>") :])
    return height.height / _SCREEN


def main(folder: Path) -> None:
    print("| page | megabytes | screens | seconds |\n|---|---|---|---|")
    for algorithms in (3, 8, 30):
        result = raced(algorithms)
        _show(folder / f"report-{algorithms}.html", lambda path, result=result: report(result, path))
    runs = list(recorded(29, 24, (2, 5, 20)))

    def assessed(path: Path) -> Path:
        assessment = Assessment(subject_of(runs))
        return write_assessment(assessment, path.with_suffix(""), comparison=compare(assessment))

    _show(folder / "assessment.html", assessed)


def _show(page: Path, write: Callable[[Path], Path]) -> None:
    """Write a page and its figures, print its size, and take its picture where Chromium is installed."""
    drawn: list[Figure] = []
    svg = Figure.svg

    def kept(figure: Figure) -> str:
        drawn.append(figure)
        return svg(figure)

    began = time.perf_counter()
    with patch.object(Figure, "svg", kept):
        page = write(page)
    seconds, text = time.perf_counter() - began, page.read_text(encoding="utf-8")
    print(f"| {page.stem} | {len(text) / 1e6:.2f} | {screens(text):.1f} | {seconds:.1f} |", flush=True)
    pictures = page.with_suffix("") / "png"
    pictures.mkdir(parents=True, exist_ok=True)
    for number, figure in enumerate(drawn, 1):
        figure.save(pictures / f"{number:02d} {re.sub('[^a-zA-Z0-9 ]', '', figure.title)}.png", dpi=110)
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser:
        options = ("--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1100,10800")
        subprocess.run([browser, *options, f"--screenshot={pictures}/page.png", page.resolve().as_uri()], check=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
