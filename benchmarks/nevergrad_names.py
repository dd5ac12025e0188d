"""Which optimizers of nevergrad's registry work here, and why the others do not.

python -m benchmarks.nevergrad_names

Takes half an hour, and writes nevergrad_names.json in src/polarbear/optimizers/adapters, from which `Nevergrad` takes
the names it offers. Each name runs on a sphere in separate processes: with a budget of 60 in 5, 1, 20 and again 5
variables, and in 5 and 1 variables at the beginning of a budget of 10,000, and without a budget. It works if all runs
continue until they are stopped and stay in the box, and if the last of the first four equals the first, as well as one
under another hash seed.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import re
import resource
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from polarbear.optimizers.adapters import nevergrad as module

TARGET = module.NAMES
CPU_LIMIT, LIMIT = 15, 90.0
"""Seconds for the runs of a name in one setting: of computing, and in all."""

BUDGET, LARGE_BUDGET, MOST = 60, 10_000, 120
"""The budgets, and the evaluations that are made at most; some optimizers choose others by the budget."""

DIMENSIONS, FEW_DIMENSIONS = (5, 1, 20, 5), (5, 1)
SURROGATES = "fits surrogate models, which fails on NumPy 2.4"
CHOOSES = "chooses optimizers by variables and budget, and some of these fail on NumPy 2.4"
CONVERGES = "fails once rounding limits progress; use the optimizer nlopt"
MISSING = re.compile(r"No module named '([\w.]+)|install `(?:pip install )?([\w-]+)|pip install ([\w-]+)")


class Stop(BaseException):
    """The evaluations are spent."""


class Problem:
    """A shifted sphere that stops after some evaluations, with a digest of the points."""

    def __init__(self, dimension: int, evaluations: int) -> None:
        self.dimension, self.left = dimension, evaluations
        self.lower, self.upper = np.full(dimension, -5.0), np.full(dimension, 5.0)
        self.digest = hashlib.sha256()

    def __call__(self, x: Any) -> float:
        if not (np.isfinite(x).all() and (x >= self.lower).all() and (x <= self.upper).all()):
            raise ValueError("outside the box")
        if not self.left:
            raise Stop
        self.left -= 1
        self.digest.update(np.asarray(x, dtype=np.float64).tobytes())
        return float((x - 0.7) @ (x - 0.7))


@dataclass(frozen=True, kw_only=True)
class Unlisted(module.Nevergrad):
    """Any optimizer of nevergrad's registry."""

    paired: bool = False

    def __post_init__(self) -> None:
        pass


def digests(name: str, budget: int | None, paired: bool, dimensions: tuple[int, ...]) -> list[str]:
    """What identifies the points of each run."""
    found: list[str] = []
    for dimension in dimensions:
        problem = Problem(dimension, min(budget or MOST, MOST))
        try:
            Unlisted(algorithm=name, budget=budget, paired=paired, name=name)(problem, np.random.default_rng(1))
        except Stop:
            found.append(problem.digest.hexdigest())
    return found


def _child(pipe: Any, *setting: Any) -> None:
    for descriptor in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT + int(time.process_time()), -1))
    try:
        pipe.send(("", digests(*setting)))
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is the answer
        pipe.send((_reason(error), []))


def _reason(error: BaseException) -> str:
    error = error.__cause__ or error  # from another thread
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, ImportError) and (found := MISSING.search(text)):
        return f"needs {next(group for group in found.groups() if group)}"
    if "0-dimensional" in text:
        return SURROGATES
    return "fails: " + " ".join(text.split())[:100]


def attempt(
    name: str, budget: int | None, paired: bool, dimensions: tuple[int, ...] = DIMENSIONS
) -> tuple[str, list[str]]:
    """Why a name does not work in one setting, empty if it does; and its runs' digests."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(theirs, name, budget, paired, dimensions))
    process.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(LIMIT) else ("too slow", [])
    except EOFError:
        process.join()
        return "too slow" if process.exitcode == -signal.SIGXCPU else "ends the process", []
    finally:
        process.kill()
        process.join()


def verdict(name: str) -> dict[str, Any]:
    """The reason, empty if it works; whether it needs a second variable on one, and a budget; a digest."""
    answer: dict[str, Any] = {}
    for paired in (False, True):
        told, found = attempt(name, BUDGET, paired)
        if found and found[0] != found[-1]:
            told = "not reproducible"
        told = told or attempt(name, LARGE_BUDGET, paired, FEW_DIMENSIONS)[0]
        untold = told or attempt(name, None, paired, FEW_DIMENSIONS)[0]
        needs_budget = not told and untold.startswith("fails")
        answer = {"reason": "" if needs_budget else untold, "paired": paired, "needs_budget": needs_budget}
        answer |= {"untold": untold, "digest": found[0] if found else ""}
        if answer["reason"] in ("", "too slow", "not reproducible"):
            break
    return answer


def again(name: str) -> dict[str, Any]:
    """The digest of another run in 5 variables."""
    return {"digest": "".join(attempt(name, BUDGET, False, DIMENSIONS[:1])[1])}


def swept(names: list[str], task: str, hash_seed: int) -> dict[str, dict[str, Any]]:
    """What a new interpreter gives for each name."""
    found: dict[str, dict[str, Any]] = {}
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.nevergrad_names", task, *names],
        env=os.environ | {"PYTHONHASHSEED": str(hash_seed), "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        for line in process.stdout or ():
            one = json.loads(line)
            found[one.pop("name")] = one
            print(f"{len(found)} of {len(names)}: {line.rstrip()}", flush=True)
    return found


def made_of(optimizer: Any) -> str:
    """Why an optimizer fails on some problems though not on all, from what it is made of; empty if it does not."""
    from nevergrad.optimization import base, optimizerlib

    if isinstance(optimizer, type):
        return CHOOSES if issubclass(optimizer, optimizerlib.NGOptBase) else ""
    if not isinstance(optimizer, base.ConfiguredOptimizer):
        return ""
    if optimizer._OptimizerClass is optimizerlib._MetaModel:  # noqa: SLF001 - not to be had otherwise
        return SURROGATES
    parts: list[Any] = []
    for value in optimizer._config.values():  # noqa: SLF001 - the same
        parts += value if isinstance(value, (list, tuple)) else [value]
    return next(filter(None, map(made_of, parts)), "")


def as_text(table: dict[str, Any], indent: str = " ") -> str:
    """JSON with a line for each list."""
    rows: list[str] = []
    for key, value in table.items():
        text = as_text(value, indent + " ").rstrip() if isinstance(value, dict) else json.dumps(value)
        rows.append(f"{indent}{json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(rows) + f"\n{indent[:-1]}}}\n"


def main() -> None:
    """Sweep twice, and write what works."""
    import nevergrad

    registry = nevergrad.optimizers.registry
    reasons = {name: reason for name in registry if (reason := made_of(registry[name]))}
    reasons |= {name: CONVERGES for name in registry if name.startswith("NLOPT_")}  # noticeable only in long runs
    first = swept(sorted(set(registry) - set(reasons)), "verdict", 1)
    second = swept([name for name, one in first.items() if not one["reason"]], "again", 2)
    for name, one in first.items():
        if one["reason"] or one["digest"] != second[name]["digest"]:
            reasons[name] = one["reason"] or "not reproducible"
    works = sorted(set(registry) - set(reasons))
    by_reason: dict[str, list[str]] = {}
    for name, reason in sorted(reasons.items()):
        by_reason.setdefault(reason, []).append(name)
    written = {
        "nevergrad": nevergrad.__version__,
        "works": works,
        "needs_budget": [name for name in works if first[name]["needs_budget"]],
        "paired": [name for name in works if first[name]["paired"]],
        "left_out": dict(sorted(by_reason.items())),
    }
    TARGET.write_text(as_text(written), encoding="utf-8")
    print(f"{len(works)} of {len(registry)} work")


if __name__ == "__main__":
    if sys.argv[1:]:
        import nevergrad  # noqa: F401 - once, for all the processes

        for each in sys.argv[2:]:
            print(json.dumps({"name": each} | {"verdict": verdict, "again": again}[sys.argv[1]](each)), flush=True)
    else:
        main()
