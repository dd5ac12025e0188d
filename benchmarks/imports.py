"""What it costs to import four published COCO archives, and to ask the study for some of their runs.

Run with ``python -m benchmarks.imports``; the environment variable ``POLARBEAR_SHARED`` tells where the data lie. The
reference is ``cocopp``, which loads the same archives in the same run. Each measurement has a process of its own on one
core; the memory is the process's peak, interpreter and libraries included.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SHARED = Path(os.environ.get("POLARBEAR_SHARED", "../shared")).resolve() / "data" / "coco_archive"
SECONDS, GIGABYTES, QUERY = 30.0, 1.5, 1.0
"""What may be used: for the import, and for a query afterwards."""


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


def measured(task: Callable[[list[str], str], dict[str, Any]], archives: list[Path], folder: str) -> dict[str, Any]:
    """Do a task in a process of its own; what it returns, its seconds and its peak gigabytes."""
    command = [sys.executable, "-m", "benchmarks.imports", task.__name__, folder, *map(str, archives)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def perform(name: str, folder: str, archives: list[str]) -> None:
    """Do a task in this process, on one core, and print what it cost."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    task = {each.__name__: each for each in (import_all, load_with_cocopp, ask)}[name]
    begun = time.perf_counter()
    result = task(archives, folder)
    seconds = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print("\n" + json.dumps(result | {"seconds": seconds, "gigabytes": peak}))


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
        f"\nThe study takes {ours['bytes'] / 2**20:.1f} MB on disk. Allowed for the import are {SECONDS:g} s and",
        end=" ",
    )
    print(f"{GIGABYTES:g} GB, for a query {QUERY:g} s.")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        perform(sys.argv[1], sys.argv[2], sys.argv[3:])
    else:
        main()
