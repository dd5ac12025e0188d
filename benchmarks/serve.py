"""Server time of every page of the analyzer: ``python -m benchmarks.serve [PAGE…]``.

First with the four published BBOB archives of the folder named by POLARBEAR_SHARED (default ../shared) open at once,
then with synthetic runs of 31 algorithms on 24 functions in 5 dimensions, 15 runs each. Each view is requested as a
browser would, first in its initial state and then with each of its controls changed in turn. The limits are 1.5 s for
the first page once the data are read, 0.5 s after a change of a control, and 2 GB. Seconds are processor time, since
the server answers in this process. They are higher on a machine with other load; the time to read the data indicates by
how much.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from shutil import copy
from typing import Any, NamedTuple
from urllib.parse import urlsplit

os.environ["OPENBLAS_NUM_THREADS"] = "1"

from benchmarks.pages import recorded
from polarbear import store
from polarbear.web import PAGES, Sources, View, views_of
from polarbear.web.app import make_app
from polarbear.web.kind import Choice, Number
from polarbear.web.uploads import Uploads

_OUTPUTS = [{"id": "page", "property": "children"}, {"id": "seen", "property": "data"}]


class Answer(NamedTuple):
    """An address, and in how many seconds it was answered; whether it opened the view or changed a control."""

    address: str
    seconds: float
    opens: bool


def asked(client: Any, address: str) -> float:
    """Processor seconds until a page is answered."""
    where = urlsplit(address)
    inputs = [("pathname", where.path), ("search", f"?{where.query}")]
    asking = {
        "output": "..page.children...seen.data..",
        "outputs": _OUTPUTS,
        "inputs": [{"id": "address", "property": name, "value": value} for name, value in inputs],
        "changedPropIds": ["address.search"],
    }
    began = time.process_time()
    answer = client.post("/_dash-update-component", json=asking)
    seconds = time.process_time() - began
    if answer.status_code != 200:
        raise RuntimeError(f"{address} returned status {answer.status}")
    return seconds


def changes(view: View, sources: Sources) -> Iterator[View]:
    """The view with each of its controls at another value."""
    kind = view.of_kind
    source = sources.get(view.study, kind.needs)
    for name, control in kind.controls.items():
        if isinstance(control, Choice):
            for text in list(control.choices(source))[1:3]:
                yield replace(view, params={name: text})
        elif isinstance(control, Number):
            yield replace(view, params={name: f"{min(control.high, max(control.low, 2 * control.default)):g}"})


def measured(studies: Sequence[Path], pages: Sequence[str]) -> tuple[float, float, list[Answer]]:
    """Seconds to read the data, seconds of the first page after that, and of all that follow."""
    sources = Sources(studies)
    client = make_app(sources, Uploads(sources), patience=None).server.test_client()
    began = time.process_time()
    for name in sources.names:
        sources.get(name, "Assessment")
    read = time.process_time() - began
    first = asked(client, "/")
    answers: list[Answer] = []
    for name in sources.names:
        for kind in (kind for page in pages for kind in views_of(page) if kind.needs not in ("Result", "Catalogue")):
            view = View(kind.name, name)
            answers.append(Answer(view.url, asked(client, view.url), opens=True))
            answers += (Answer(each.url, asked(client, each.url), opens=False) for each in changes(view, sources))
    return read, first, answers


def main(pages: Sequence[str]) -> None:
    shared = Path(os.environ.get("POLARBEAR_SHARED", "../shared")) / "data" / "coco_archive"
    archives = sorted(shared.glob("bbob__*"))
    if not archives:
        sys.exit(f"there are no archives in {shared}; name their folder in POLARBEAR_SHARED")
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made-up.study"
        with store.create(made, {"kind": "benchmark"}) as study:
            for run in recorded(31, 24, (2, 3, 5, 10, 20)):
                study.append(run)
        together = Path(folder) / "together"
        together.mkdir()
        for archive in archives:
            copy(archive, together)
        show("Four archives, and all of them in one folder", *measured([*archives, together], pages))
        # no knowledge base in memory for so many runs
        show("31 algorithms", *measured([made], [page for page in pages if page != "knowledge"]))


def show(title: str, read: float, first: float, answers: Sequence[Answer]) -> None:
    """Print what was measured, by page, and what took longer than is allowed."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"\n{title}: read in {read:.1f} s; the first page after that in {first:.2f} s; {peak:.2f} GB\n")
    print("| page | views opened | slowest (s) | controls changed | slowest (s) | |\n|---|---|---|---|---|---|")
    for page in dict.fromkeys(urlsplit(each.address).path.split("/")[1] for each in answers):
        here = [each for each in answers if each.address.startswith(f"/{page}/")]
        opened, changed = ([each for each in here if each.opens is opens] for opens in (True, False))
        slowest = max(changed, key=lambda each: each.seconds, default=None)
        worst = f"{slowest.seconds:.2f} | `{slowest.address.split('?')[0]}`" if slowest else "|"
        opening = max(each.seconds for each in opened)
        print(f"| {PAGES[page].title} | {len(opened)} | {opening:.2f} | {len(changed)} | {worst} |", flush=True)
    for each in sorted(answers, key=lambda each: -each.seconds):
        if each.seconds > 0.5:
            print(f"slow: {each.seconds:.2f} s to {'open' if each.opens else 'change'} {each.address}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:] or list(PAGES))
