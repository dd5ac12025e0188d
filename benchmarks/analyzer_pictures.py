"""Pictures of the analyzer for the documentation: ``python -m benchmarks.analyzer_pictures [FOLDER]``.

Needs Chromium and playwright. Captures the first page, a COCO view, a difference of attainment functions, and a race in
progress, each as shown by a browser of 1280 × 800 pixels, into docs/pictures.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import polarbear as pb
from polarbear.web.server import make_server

_SIZE = {"width": 1280, "height": 800}
_ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync")
_PATIENCE = 240_000.0
"""Milliseconds until a page has to be there; a busy machine takes its time."""
VIEWS = {
    "first-page": "/overview/loaded?study=bbob",
    "coco": "/coco/runtime-distributions?study=bbob&dimension=5",
    "eaf-difference": "/eaf/difference?study=bbob&problem=bbob%20f8%20in%205-D"
    "&algorithm=ModDE&against=plain-CMA-ES-CSA",
    "live-race": "/race/ratings?study=race",
}


class _Paused(pb.study.Observer):
    """Holds a race before one of its rounds."""

    def __init__(self, number: int) -> None:
        self.number, self.there, self.go_on = number, threading.Event(), threading.Event()
        self.rounds = 0

    def round_started(self, race: Any, requests: Any) -> None:  # noqa: ARG002
        self.rounds += 1
        if self.rounds == self.number:
            self.there.set()
            self.go_on.wait(600)


@contextmanager
def studies(folder: Path) -> Iterator[tuple[Path, Path]]:
    """A study of runs, and one of a race that has completed two rounds and is about to begin the third."""
    optimizers = [pb.optimizers.RandomSearch(), pb.optimizers.ModularCMAES(), pb.optimizers.ModularDE()]
    problems = pb.problems.BBOB(functions=[1, 3, 8, 15, 21], dimensions=[2, 5], instances=range(1, 8))
    recorded, racing = folder / "bbob.study", folder / "race.study"
    pb.study.run_plan(pb.study.Plan(optimizers, problems, repetitions=1, budget=1000), recorded)
    pause = _Paused(3)
    race = pb.Race(optimizers, times=pb.log_times(10, 1000, 20), alpha=0.99, epsilon=0.05, seed=1)
    suite = pb.problems.BBOB(functions=[1, 3, 8, 15, 21], dimensions=[5])
    thread = threading.Thread(target=pb.study.race, args=(race, suite, racing), kwargs={"observer": pause})
    thread.start()
    try:
        pause.there.wait(600)
        yield recorded, racing
    finally:
        pause.go_on.set()
        thread.join(600)


def main(into: Path) -> None:
    from PIL import Image
    from playwright.sync_api import sync_playwright

    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("there is no chromium on this machine")
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, studies(Path(folder)) as paths, sync_playwright() as driver:
        server = make_server(paths)
        threading.Thread(target=server.run, daemon=True).start()
        browser = driver.chromium.launch(executable_path=chromium, args=_ARGUMENTS, timeout=_PATIENCE)
        page = browser.new_page(viewport=_SIZE)  # pyright: ignore[reportArgumentType]
        page.set_default_timeout(_PATIENCE)
        for name, address in VIEWS.items():
            page.goto(server.url.rstrip("/") + address)
            page.wait_for_selector("#main")
            if not address.startswith("/overview"):
                page.wait_for_selector("#figure .main-svg")
            page.screenshot(path=into / f"{name}.png")
            Image.open(into / f"{name}.png").quantize(128).save(into / f"{name}.png", optimize=True)
            print(into / f"{name}.png")
        browser.close()
        server.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures"))
