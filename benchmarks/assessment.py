"""Expected runtimes and runtime distributions compared with cocopp: ``python -m benchmarks.assessment``.

Two algorithms, 24 functions, 5 dimensions, 15 runs each, from the archives in the folder named by POLARBEAR_SHARED
(default ../shared). Wall-clock seconds in the same run, since ours reads files in a second process. The computation of
the same results and what users run to obtain them are timed separately. Finally, 55 algorithms in 5-D are assessed and
compared: `polarbear assess`.
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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MPLBACKEND"] = "Agg"

import numpy as np
import polars as pl

from polarbear import store
from polarbear.analyzer.assessment import write_assessment
from polarbear.assess import RuntimeDistribution, ert, pool, runtime_distribution
from polarbear.assess.report import Assessment, compare, subject_of
from polarbear.records import Outcome, Reason, Run, RunKey, Trajectory

ARCHIVES = ("bbob__2015-GECCO__LHD-2xDefault", "bbob__2015-GECCO__RAND-2xDefault")
TARGETS = 10.0 ** (2 - 0.2 * np.arange(51))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what came of it; nothing is printed meanwhile."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        found = work()
        return time.perf_counter() - began, found


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
    many(shared.parent)


def many(data: Path) -> None:
    """55 algorithms in 5-D: four published ones under further names, each of the others with runtimes of its own."""
    began = time.perf_counter()
    runs = list(varied(data, 55))
    print(f"\n55 algorithms, 24 functions in 5-D, {len(runs):,} runs; allowed: 40 s.\n")
    with tempfile.TemporaryDirectory() as folder:
        assessment = Assessment(subject_of(runs))
        comparing, comparison = timed(lambda: compare(assessment))
        writing, _ = timed(lambda: write_assessment(assessment, folder, comparison=comparison))
    print("| | seconds |\n|---|---|")
    print(f"| compare | {comparing:.1f} |\n| statistics, page and tables | {writing:.1f} |")
    print(f"| total, including making the runs | {time.perf_counter() - began:.1f} |")


def varied(data: Path, count: int) -> Iterator[Run]:
    """Runs as the published ones, but for their names and, beyond the first four algorithms, a factor of their time."""
    files = sorted((data / "coco_runs").glob("*_hits.csv.gz"))
    frames = [pl.read_csv(file).filter(pl.col("dimension") == 5) for file in files]
    published = [list(frame.group_by(["function", "instance", "run"], maintain_order=True)) for frame in frames]
    for number in range(count):
        rng = np.random.default_rng(number)
        for (function, instance, run), rows in published[number % len(published)]:
            factor = np.exp(rng.normal(0, 0.3)) if number >= len(published) else 1.0
            hits = rows.drop_nulls("evals_to_target").unique("evals_to_target", keep="last", maintain_order=True)
            at = np.rint(hits["evals_to_target"].to_numpy() * factor + (factor != 1)).astype(np.int64)
            at, last = np.unique(at[::-1], return_index=True)
            values = hits["target_precision"].to_numpy()[::-1][last]
            end = Outcome(Reason.BUDGET, max(int(rows["maxevals"][0] * factor), int(at[-1])), 0.0)
            key = RunKey(f"bbob-f{function}-i{instance}-d5", f"algorithm {number}", int(run))
            yield Run(key, Trajectory(at, np.zeros(at.size), values, end), 1e-8, 0.0)


if __name__ == "__main__":
    main()
