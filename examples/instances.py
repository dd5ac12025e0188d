"""Do the instances of BBOB's functions look alike? Features of instances on the same designs, compared by tests.

    python examples/instances.py FOLDER                                    # reduced: 50 instances, 30 designs
    python examples/instances.py FOLDER --instances 500 --designs 100      # the full size

A second call goes on where the first was ended. Needs: pip install 'polarbear-race[landscape]'.
"""

import argparse
from pathlib import Path

import numpy as np

import polarbear as pb


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dimension", type=int, default=5)
    parser.add_argument("--functions", default="1-24")
    parser.add_argument("--instances", type=int, default=50)
    parser.add_argument("--designs", type=int, default=30)
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=1)
    settings = parser.parse_args()
    suite = pb.problems.BBOB(settings.functions, settings.dimension, range(1, settings.instances + 1))
    with pb.experiment.WorkerPool(settings.workers) as pool:
        found = pb.landscape.instances(
            suite.grid(),
            designs=settings.designs,
            points=settings.points,
            path=settings.folder / "designs",
            executor=pool,
            progress=lambda done, size: print(f"{done} of {size} designs", flush=True),
        )
    functions, rates = found.rejection_rates()
    known = np.isfinite(rates).all(axis=0)  # small designs lack some features
    rates, names = rates[:, known], np.array(found.names)[known].tolist()
    rows = [name.split("-")[1].upper() for name in functions]
    figure = pb.figures.heat_map(rates.T, names, rows, label="share of pairs of instances that differ", height=14)
    figure.save(settings.folder / "rejections.png")
    print("by function: ", ", ".join(f"{row} {rate:.3f}" for row, rate in zip(rows, rates.mean(axis=1), strict=True)))
    means = rates.mean(axis=0)
    print("by feature:")
    for j in np.argsort(-means):
        print(f"  {names[j]:38} {means[j]:.3f}")
    np.savetxt(settings.folder / "embedding.csv", found.embedding(), delimiter=",", header="x,y", comments="")


if __name__ == "__main__":
    main()
