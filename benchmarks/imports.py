"""The cost of importing four published COCO archives and of querying runs of the study, and of importing a large table.

Run with ``python -m benchmarks.imports``; the environment variable ``POLARBEAR_SHARED`` names the folder of the data.
The reference is ``cocopp``, which loads the same archives in the same run, on one core. The reference for the table,
200,000 runs in a CSV file, is the time that polars takes to read and group it, on two cores. Each measurement has its
own process; the memory is the joint peak of this process and the one that reads for it, including interpreters and
libraries.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

SHARED = Path(os.environ.get("POLARBEAR_SHARED", "../shared")).resolve() / "data" / "coco_archive"
SECONDS, GIGABYTES, QUERY = 30.0, 1.5, 1.0
"""What may be used: for the import, and for a query afterwards."""
RUNS, TABLE_SECONDS, READING_SECONDS, TABLE_GIGABYTES = 200_000, 20.0, 5.0, 1.0
"""Of the table, and what may be used for importing it and for reading its study."""
LOOK_SECONDS = 0.1
"""Time between two looks at how much memory is used."""


def import_all(archives: list[str], folder: str) -> dict[str, Any]:
    """Import the archives into a new study."""
    from polarbear import store

    done = store.import_runs(archives, Path(folder) / "imported.study")
    return {"runs": done.added, "bytes": sum(file.stat().st_size for file in done.study.rglob("*") if file.is_file())}


def load_with_cocopp(archives: list[str], folder: str) -> dict[str, Any]:
    """Load the archives with cocopp, which extracts them beside where they lie."""
    import warnings

    import cocopp
    from cocopp import genericsettings

    warnings.simplefilter("ignore")
    genericsettings.verbose = False
    copies = [shutil.copy(archive, folder) for archive in archives]
    data = [cocopp.load(copy) for copy in copies]
    return {"runs": sum(one.nbRuns_raw for each in data for one in each), "version": cocopp.__version__}


def ask(_archives: list[str], folder: str) -> dict[str, Any]:
    """Open the study and read the runs of one algorithm on one function in one dimension; then of all of them."""
    from polarbear import store

    begun = time.perf_counter()
    with store.open(Path(folder) / "imported.study") as study:
        algorithm = study.keys()[0].algorithm
        some = study.runs(study.find(algorithm=algorithm, suite="bbob", function="10", dimension=20))
        first = time.perf_counter() - begun
        begun = time.perf_counter()
        everything = study.runs()
    return {"some": len(some), "query": first, "runs": len(everything), "all": time.perf_counter() - begun}


def import_table(files: list[str], folder: str) -> dict[str, Any]:
    """Import the table into a new study."""
    from polarbear import store

    done = store.import_runs(files, Path(folder) / "table.study")
    return {"runs": done.added}


def read_table(_files: list[str], folder: str) -> dict[str, Any]:
    """Open the study of the table and read all its runs."""
    from polarbear import store

    with store.open(Path(folder) / "table.study") as study:
        return {"runs": len(study.runs())}


def read_table_by_parts(_files: list[str], folder: str) -> dict[str, Any]:
    """Open the study of the table and read its runs a file at a time."""
    from polarbear import store

    with store.open(Path(folder) / "table.study") as study:
        return {"runs": sum(len(batch) for batch in study.batches())}


def group_with_polars(files: list[str], _folder: str) -> dict[str, Any]:
    """Read the table with polars and group its rows by run; nothing is checked, sorted or kept."""
    import polars as pl

    keys = ["algorithm", "function", "dimension", "instance"]
    grouped = pl.read_csv(files[0]).group_by(keys, maintain_order=True).agg("evaluations", "value")
    return {"runs": grouped.height}


def write_table(path: Path) -> None:
    """Runs of 5 to 15 improvements, on 24 functions in 5 dimensions, 15 instances each, of 112 algorithms."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(1)
    run = np.arange(RUNS)
    of = np.repeat(run, rng.integers(5, 16, RUNS))
    place = np.arange(of.size) - np.searchsorted(of, of)
    pl.DataFrame(
        {
            "algorithm": [f"algorithm-{number}" for number in (of // 1800).tolist()],
            "suite": "bbob",
            "function": 1 + of // 75 % 24,
            "dimension": np.array([2, 3, 5, 10, 20])[of // 15 % 5],
            "instance": 1 + of % 15,
            "evaluations": 1 + 7 * place + rng.integers(0, 7, of.size),
            "value": 10 ** (2 - 0.4 * place - 0.4 * rng.random(of.size)),
            "optimum": 0.0,
            "target": 1e-8,
            "evaluations_spent": 1000,
        }
    ).write_csv(path)


@contextmanager
def watched() -> Generator[dict[str, float]]:
    """Costs of this process and those that it starts: their processor seconds, and the peak of their joint memory."""
    this, done = psutil.Process(), threading.Event()
    costs = {"reader": 0.0, "gigabytes": 0.0}

    def look() -> None:
        while not done.wait(LOOK_SECONDS):
            started = this.children()
            with suppress(psutil.NoSuchProcess):
                memory = sum(process.memory_info().rss for process in (this, *started)) / 2**30
                costs["gigabytes"] = max(costs["gigabytes"], memory)
                costs["reader"] = sum(sum(process.cpu_times()[:2]) for process in started)

    watch = threading.Thread(target=look)
    watch.start()
    begun = time.perf_counter()
    try:
        yield costs
    finally:
        costs |= {"seconds": time.perf_counter() - begun, "processor": time.process_time()}
        done.set()
        watch.join()
        costs["gigabytes"] = max(costs["gigabytes"], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)


def measured(
    task: Callable[[list[str], str], dict[str, Any]], archives: list[Path], folder: str, cores: int = 1
) -> dict[str, Any]:
    """Do a task in a process of its own; what it returns, its seconds and its peak gigabytes."""
    command = [sys.executable, "-m", "benchmarks.imports", task.__name__, str(cores), folder, *map(str, archives)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def perform(name: str, cores: str, folder: str, archives: list[str]) -> None:
    """Do a task on so many cores, and print what it cost."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(cores)])
    tasks = (import_all, load_with_cocopp, ask, import_table, read_table, read_table_by_parts, group_with_polars)
    task = {each.__name__: each for each in tasks}[name]
    with watched() as costs:
        result = task(archives, folder)
    print("\n" + json.dumps(result | costs))


def main() -> None:
    """Measure and print."""
    archives = sorted(SHARED.glob("bbob__*.tgz"))
    if not archives:
        raise SystemExit(f"there are no archives at {SHARED}; set POLARBEAR_SHARED")
    with tempfile.TemporaryDirectory() as folder:
        ours = measured(import_all, archives, folder)
        asked = measured(ask, archives, folder)
        theirs = measured(load_with_cocopp, archives, folder)
    assert ours["runs"] == theirs["runs"] == asked["runs"], "the two do not find the same runs"
    megabytes = sum(archive.stat().st_size for archive in archives) / 2**20
    print(f"{len(archives)} archives, {megabytes:.1f} MB compressed, {ours['runs']:,} runs, one core\n")
    print("| | seconds | ratio | peak memory, GB |")
    print("|---|---:|---:|---:|")
    for name, one in (("polarbear: import into a study", ours), (f"cocopp {theirs['version']}: load", theirs)):
        ratio = one["seconds"] / theirs["seconds"]
        print(f"| {name} | {one['seconds']:.1f} | {ratio:.3f} | {one['gigabytes']:.2f} |")
    print(f"| polarbear: open the study, read the {asked['some']} runs of one problem | {asked['query']:.2f} | | |")
    print(f"| polarbear: read all {asked['runs']:,} runs | {asked['all']:.2f} | | {asked['gigabytes']:.2f} |")
    print(
        f"\nThe study takes {ours['bytes'] / 2**20:.1f} MB on disk. Allowed: for the import {SECONDS:g} s and",
        end=" ",
    )
    print(f"{GIGABYTES:g} GB; for a query {QUERY:g} s.")
    table()


def table() -> None:
    """Measure and print what the table takes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.csv"
        write_table(path)
        tasks = {
            "polarbear: import into a study": import_table,
            "polarbear: open the study, read all runs": read_table,
            "polarbear: open the study, read all runs, a file at a time": read_table_by_parts,
            "polars: read and group": group_with_polars,
        }
        found = {name: measured(task, [path], folder, cores=2) for name, task in tasks.items()}
        size = path.stat().st_size / 2**20
    assert {one["runs"] for one in found.values()} == {RUNS}
    print(f"\n{RUNS:,} runs in a CSV file of {size:.0f} MB. Allowed: {TABLE_SECONDS:g} s for the import,", end=" ")
    print(f"{READING_SECONDS:g} s for reading the study, and {TABLE_GIGABYTES:g} GB; two cores.\n")
    print("| | seconds | ratio | processor seconds | of these in the reading process | peak memory of both, GB |")
    print("|---|---:|---:|---:|---:|---:|")
    reference = found["polars: read and group"]["seconds"]
    for name, one in found.items():
        ratio = one["seconds"] / reference
        processor = f"{one['processor']:.1f} | {one['reader']:.1f}"
        print(f"| {name} | {one['seconds']:.1f} | {ratio:.1f} | {processor} | {one['gigabytes']:.2f} |")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        perform(*sys.argv[1:4], sys.argv[4:])
    else:
        main()
