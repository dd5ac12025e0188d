"""Proposed code, which nobody has read and which runs in confined worker processes only."""

from __future__ import annotations

import ast
import io
from collections.abc import Collection, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from polarbear.experiment.confinement import confined
from polarbear.experiment.limits import Limits
from polarbear.experiment.run import Task, execute
from polarbear.problems import FunctionProblem
from polarbear.quantities import plural
from polarbear.records import Reason, RunKey

ENTRY = "optimize"
"""The name of the function that proposed code must define."""
LONGEST_CODE = 100_000
"""Maximum number of characters of code."""
_TOLD = 200
"""Maximum number of characters reported of what code prints."""
_TRIED = 50
"""Number of evaluations in the first run of proposed code."""


@dataclass(frozen=True)
class ProposedCode:
    """An optimizer given as proposed code, which runs in confined worker processes only.

    Attributes:
        code: The code, which defines ``optimize(problem, rng)``.
        name: The optimizer's name.
    """

    code: str
    name: str

    def __call__(self, problem: Any, rng: np.random.Generator) -> object:
        """Execute the code, which is mere text until then, and the function it defines. Its output is discarded.

        Raises:
            RuntimeError: If this process is not a confined worker.
        """
        if not confined():
            raise RuntimeError(
                f"{self.name} is proposed code, which runs only in confined worker processes; use "
                "polarbear.study.design, which starts them"
            )
        sink = _Sink()
        with redirect_stdout(sink), redirect_stderr(sink):
            return _defined(self.code, self.name)(problem, rng)


class _Sink(io.TextIOBase):
    """Collects what code prints and keeps the beginning."""

    def __init__(self) -> None:
        self.begins = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        self.begins += text[: _TOLD - len(self.begins)]
        return len(text)


@lru_cache(maxsize=64)
def _compiled(code: str, name: str) -> Any:
    return compile(code, f"<{name}>", "exec")


def _defined(code: str, name: str) -> Any:
    """The function that the code defines as `ENTRY`; executed anew for each run, so that runs share nothing."""
    namespace: dict[str, Any] = {"__name__": f"proposed_{name}"}
    exec(_compiled(code, name), namespace)  # noqa: S102 - what this module is for; `confined` is checked before
    return namespace[ENTRY]


def inspect_code(code: str, name: str, imports: Collection[str], timeout: float) -> dict[str, str]:
    """Inspect proposed code in a confined worker: parse it, check its imports, and try it on a sphere.

    Checking imports finds those that are written out, not those that the code hides.

    Returns:
        ``wrong``: what is wrong with the code, empty if nothing is found; ``printed``: the beginning of its output.
    """
    if not confined():
        raise RuntimeError("proposed code is inspected only in confined worker processes")
    if wrong := _unreadable(code, name, imports):
        return {"wrong": wrong, "printed": ""}
    sink = _Sink()
    problem = FunctionProblem(_sphere, lower=-5, upper=5, dimension=3, name="sphere")

    def tried(problem: Any, rng: np.random.Generator) -> object:
        with redirect_stdout(sink), redirect_stderr(sink):
            return _defined(code, name)(problem, rng)

    run = execute(
        Task(RunKey("sphere", name, 0), problem, _Named(tried, name), Limits(evaluations=_TRIED, timeout=timeout))
    )
    wrong = ""
    if run.outcome.reason is Reason.FAILED:
        wrong = f"it fails on a sphere after {plural(run.outcome.evaluations, 'evaluation')}: {run.outcome.message}"
    elif run.outcome.reason is Reason.TIMED_OUT:
        wrong = (
            f"it has not finished on a sphere after {timeout:g} s and {run.outcome.evaluations} of {_TRIED} evaluations"
        )
    elif not run.outcome.evaluations:
        wrong = "it returns without evaluating the problem; what it returns is ignored, only its evaluations count"
    return {"wrong": wrong, "printed": sink.begins}


@dataclass(frozen=True)
class _Named:
    """A function as an optimizer."""

    function: Any
    name: str

    def __call__(self, problem: Any, rng: np.random.Generator) -> object:
        return self.function(problem, rng)


def _sphere(x: Any) -> float:
    return float(np.sum((x - 1) ** 2))


def _unreadable(code: str, name: str, imports: Collection[str]) -> str:
    if len(code) > LONGEST_CODE:
        return f"it has {len(code):,} characters; at most {LONGEST_CODE:,} are allowed"
    try:
        tree = ast.parse(code, f"<{name}>")
        _compiled(code, name)
    except SyntaxError as error:
        return f"it is not valid Python: {error.msg} in line {error.lineno}: {(error.text or '').strip()}"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"it cannot be compiled: {type(error).__name__}: {error}"
    if strangers := [module for module in dict.fromkeys(_imported(tree)) if module.partition(".")[0] not in imports]:
        return f"it imports {', '.join(strangers)}; it may import {', '.join(imports)}"
    if not any(ENTRY in _bound(node) for node in tree.body):
        return f"it defines no function {ENTRY}(problem, rng)"
    return ""


def _imported(tree: ast.AST) -> Iterator[str]:
    """The modules named in import statements; relative ones with their dots."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def _bound(node: ast.stmt) -> set[str]:
    """The names that a statement at the top of a module binds."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name for alias in node.names}
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
