"""Are the instances of a BBOB function alike? Vermetten (2025), section 3.2: features, optima, algorithms.

    python examples/instances.py FOLDER --workers 2           # reduced: 50 instances, 30 designs; 12 runs on 10 of them
    python examples/instances.py FOLDER --workers 2 --instances 500 --designs 100 \\
        --raced 500 --functions-raced 1-24 --repetitions 50 --budget 10000          # the full size: 4.2 million runs

A second call resumes after an interruption. NGOpt14 is left out, since it does not run on numpy 2.4.
Needs: pip install 'polarbear-race[landscape,nevergrad]'.
"""

import argparse
from pathlib import Path

import numpy as np

import polarbear as pb
from polarbear.analyzer.landscape import function_labels, rejections, write_instances_page

ALGORITHMS = {
    "DiagonalCMA": "DiagonalCMA",
    "DE": "DE",
    "EMNA": "NaiveIsoEMNA",
    "PSO": "PSO",
    "random search": "RandomSearch",
    "RCobyla": "RCobyla",
    "SPSA": "SPSA",
}


def main() -> None:
    settings = _settings()
    compared = [_compared(dimension, settings) for dimension in (settings.dimension, 2)]
    performances = _performances(settings) if settings.repetitions else []
    print(write_instances_page(compared, settings.folder, performances=performances))
    rejections(compared[0]).save(settings.folder / "rejections.png")
    labels = function_labels(compared[0])
    names = [labels[name] for name in compared[0].features.functions]
    pb.figures.embedding(compared[0].embedding, names).save(settings.folder / "embedding.png")
    _draw_planes(compared[1], settings.folder)
    plain = compared[0].as_dict()
    print("by function: ", ", ".join(f"{labels[name]} {rate:.3f}" for name, rate in plain["functions"].items()))
    print("by feature:")
    known = {name: rate for name, rate in plain["features"].items() if rate is not None}
    for name in sorted(known, key=lambda name: -known[name]):
        print(f"  {name:38} {known[name]:.3f}")


def _settings() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dimension", type=int, default=5)
    parser.add_argument("--functions", default="1-24")
    parser.add_argument("--instances", type=int, default=50)
    parser.add_argument("--designs", type=int, default=30)
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--functions-raced", default="1,5,12,15,19,20,23,24")
    parser.add_argument("--raced", type=int, default=10, help="number of instances on which algorithms run")
    parser.add_argument("--repetitions", type=int, default=12, help="0: no algorithms")
    parser.add_argument("--budget", type=int, default=1000)
    return parser.parse_args()


def _compared(dimension: int, settings: argparse.Namespace) -> pb.landscape.InstanceComparison:
    problems = pb.problems.BBOB(settings.functions, dimension, range(1, settings.instances + 1)).grid()
    with pb.experiment.WorkerPool(settings.workers) as pool:
        found = pb.landscape.instances(
            problems,
            designs=settings.designs,
            points=settings.points,
            path=settings.folder / f"designs-{dimension}",
            executor=pool,
            progress=lambda done, size: print(f"{dimension} variables: {done} of {size} designs", flush=True),
        )
    return pb.landscape.compare_instances(found, problems)


def _performances(settings: argparse.Namespace) -> list[pb.landscape.Performance]:
    """After a tenth of the budget, and at its end."""
    plan = pb.study.Plan(
        {name: pb.optimizers.Nevergrad(algorithm=algorithm) for name, algorithm in ALGORITHMS.items()},
        pb.problems.BBOB(settings.functions_raced, settings.dimension, range(1, settings.raced + 1)).grid(),
        budget=settings.budget,
        repetitions=settings.repetitions,
    )
    study = settings.folder / "performance.study"
    pb.study.run_plan(plan, study, workers=settings.workers)
    runs = pb.store.read(study)
    return [pb.landscape.performance(runs, budget) for budget in (settings.budget // 10, settings.budget)]


def _draw_planes(compared: pb.landscape.InstanceComparison, folder: Path) -> None:
    labels = function_labels(compared)
    for draw, of in ((pb.figures.optima, compared.optima), (pb.figures.mean_landscapes, compared.mean_landscapes)):
        named = {labels[name]: np.asarray(each) for name, each in of.items()}
        draw(named, compared.lower, compared.upper).save(folder / f"{draw.__name__}.png")


if __name__ == "__main__":
    main()
