"""Whether an optimizer does what races and plans expect of it: one list of checks, for everybody's optimizers.

`examine` runs them, each in a process that may crash or hang; in a test suite of your own, use `CHECKS`:
``@pytest.mark.parametrize("check", pb.conformance.CHECKS.values())``, and ``assert not check(optimizer)``. Of a check
that says nothing about an optimizer (`Inapplicable`) pytest tells that it was skipped.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from polarbear.conformance.checks import CHECKS, TIMEOUT, Inapplicable, repeated_elsewhere, repeated_here
from polarbear.descriptions import did_you_mean
from polarbear.experiment import WorkerError, WorkerPool
from polarbear.optimizers import Optimizer, as_optimizer

__all__ = ["CHECKS", "Conformance", "Finding", "Inapplicable", "examine"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found.

    Attributes:
        check: Its name, one of `CHECKS`.
        expected: What is expected.
        wrong: What is wrong; empty if nothing is.
        inapplicable: Why the check says nothing about the optimizer; empty if it does.
    """

    check: str
    expected: str
    wrong: str
    inapplicable: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong, as with a check that says nothing."""
        return not self.wrong


@dataclass(frozen=True, slots=True)
class Conformance:
    """What all checks found.

    Attributes:
        optimizer: The optimizer's name.
        findings: One for each check.
    """

    optimizer: str
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return all(finding.passed for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        found = [
            {"check": each.check, "expected": each.expected, "wrong": each.wrong, "inapplicable": each.inapplicable}
            for each in self.findings
        ]
        return {"optimizer": self.optimizer, "passed": self.passed, "findings": found}


def examine(
    optimizer: object, *, checks: Iterable[str] | None = None, timeout: float = TIMEOUT, workers: int = 1
) -> Conformance:
    """Run the checks on an optimizer.

    For `seed` its run is repeated in one more process, which all optimizers examined in this Python process share.

    Args:
        optimizer: An optimizer, or a function ``optimizer(problem, rng)``.
        checks: Their names; None for all.
        timeout: Seconds a check may take.
        workers: How many checks run at a time, each in a process of its own.

    Raises:
        TypeError: If `optimizer` is none.
        ValueError: If a check is unknown; the message lists all.
    """
    one = as_optimizer(optimizer)
    chosen = list(CHECKS if checks is None else checks)
    for name in chosen:
        if name not in CHECKS:
            raise ValueError(f"check {name!r} is unknown;{did_you_mean(name, CHECKS)}")
    with WorkerPool(workers, timeout=timeout, grace=0) as pool:
        futures = {name: pool.submit(repeated_here if name == "seed" else CHECKS[name], one) for name in chosen}
        return Conformance(one.name, tuple(_finding(name, futures[name], one, timeout) for name in chosen))


def _finding(name: str, future: Future[Any], optimizer: Optimizer, timeout: float) -> Finding:
    expected = str(CHECKS[name].__doc__)
    try:
        wrong = future.result()
        if name == "seed":
            points, wrong = wrong
            wrong = wrong or repeated_elsewhere(optimizer, points, timeout)
    except Inapplicable as why:
        return Finding(name, expected, "", str(why))
    except WorkerError as error:
        return Finding(name, expected, f"its process was lost: {error}")
    except Exception as error:  # noqa: BLE001 - whatever an optimizer raises is what is wrong with it
        return Finding(name, expected, f"{type(error).__name__}: {error}")
    return Finding(name, expected, wrong)
