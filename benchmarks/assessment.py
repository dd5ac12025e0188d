"""Expected runtimes and runtime distributions beside cocopp: ``python -m benchmarks.assessment``.

Two algorithms, 24 functions, 5 dimensions, 15 runs each, from the archives in the folder that POLARBEAR_SHARED names
(default ../shared). Processor time on one core, in the same run. What each package computes to the same end is timed
apart, and what its users run to get there.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tarfile
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MPLBACKEND"] = "Agg"

import numpy as np

from polarbear import store
from polarbear.analyzer.assessment import Assessment, subject_of, write_assessment
from polarbear.assess import RuntimeDistribution, ert, pool, runtime_distribution

ARCHIVES = ("bbob__2015-GECCO__LHD-2xDefault", "bbob__2015-GECCO__RAND-2xDefault")
TARGETS = 10.0 ** (2 - 0.2 * np.arange(51))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds, and what came of it; nothing is printed meanwhile."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        found = work()
        return time.process_time() - began, found


def ours(archives: list[Path], folder: Path) -> dict[str, float]:
    def computed() -> None:
        subject = subject_of(runs)
        found: dict[tuple[int, str], list[RuntimeDistribution]] = defaultdict(list)
        for cell in subject.cells:
            for name, trials in cell.trials.items():
                hits = cell.runtimes(name)
                ert(hits, trials.evaluations)
                found[cell.dimension, name].append(runtime_distribution(hits, trials.evaluations))
        for distributions in found.values():
            pool(distributions)

    read, runs = timed(lambda: [run for archive in archives for run in store.read(archive)])
    compute, _ = timed(computed)
    draw, _ = timed(lambda: write_assessment(Assessment(subject_of(runs)), folder / "ours"))
    return {"read": read, "compute": compute, "numbers": read + compute, "page": read + draw}


def theirs(archives: list[Path], folder: Path) -> dict[str, float]:
    import cocopp
    from cocopp import genericsettings, pproc, testbedsettings
    from cocopp.compall import pprldmany

    for archive in archives:
        with tarfile.open(archive) as content:
            content.extractall(folder / "data", filter="data")
    folders = [str(path) for path in sorted((folder / "data").iterdir())]

    def computed() -> None:
        for one in sets:
            one.detERT(TARGETS)
        for dimension, some in sorted(pproc.DataSetList(sets).dictByDim().items()):
            pprldmany.main(
                some.dictByAlg(), order=names, outputdir=str(folder), info=f"{dimension:02d}D", settings=genericsettings
            )

    read, (sets, names, _) = timed(lambda: pproc.processInputArgs(folders))
    testbedsettings.load_current_testbed("bbob", pproc.TargetValues)
    compute, _ = timed(computed)
    whole, _ = timed(lambda: cocopp.main(["-o", str(folder / "theirs"), *folders]))
    return {"read": read, "compute": compute, "numbers": whole, "page": whole}


def main() -> None:
    shared = Path(os.environ.get("POLARBEAR_SHARED", "../shared")) / "data" / "coco_archive"
    archives = [path for name in ARCHIVES for path in sorted(shared.glob(f"{name}*"))]
    if len(archives) < len(ARCHIVES):
        sys.exit(f"the archives are not in {shared}; name their folder in POLARBEAR_SHARED")
    with tempfile.TemporaryDirectory() as folder:
        our, their = ours(archives, Path(folder)), theirs(archives, Path(folder))
    print("| | polarbear (s) | cocopp (s) | ratio |\n|---|---|---|---|")
    for name, label in (
        ("read", "read the data"),
        ("compute", "ERT and runtime distributions (cocopp: drawn as well)"),
        ("numbers", "from archives to these: `store.read` and `assess`, `cocopp.main`"),
        ("page", "from archives to a page: `polarbear assess`, `cocopp.main`"),
    ):
        print(f"| {label} | {our[name]:.2f} | {their[name]:.2f} | {their[name] / our[name]:.0f} |")


if __name__ == "__main__":
    main()
