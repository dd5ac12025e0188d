"""Checks of what races and plans expect of an optimizer, applicable to any optimizer.

`examine` runs them, each in a process that may crash or hang. In your own test suite, use `CHECKS`:
``@pytest.mark.parametrize("check", pb.conformance.CHECKS.values())``, and ``assert not check(optimizer)``. Pytest
reports a check that does not apply to an optimizer (`Inapplicable`) as skipped.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import Any

from polarbear.conformance.checks import CHECKS, TIMEOUT, Inapplicable
from polarbear.conformance.remarks import REMARKS
from polarbear.conformance.repetition import repeat_elsewhere, repeat_here
from polarbear.descriptions import did_you_mean
from polarbear.experiment import Confinement, WorkerError, WorkerPool
from polarbear.optimizers import Optimizer, as_optimizer

__all__ = ["CHECKS", "REMARKS", "Conformance", "Finding", "Inapplicable", "examine"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    Attributes:
        check: The check's name, one of `CHECKS` or `REMARKS`.
        expected: The expectation, or the subject of a remark.
        wrong: What is wrong; empty if nothing is.
        inapplicable: Why the check does not apply to the optimizer; empty if it does.
        remark: An observation without a judgement; empty for a check.
    """

    check: str
    expected: str
    wrong: str
    inapplicable: str = ""
    remark: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong; also true if the check does not apply."""
        return not self.wrong


@dataclass(frozen=True, slots=True)
class Conformance:
    """The results of all checks.

    Attributes:
        optimizer: The optimizer's name.
        findings: One finding for each check.
    """

    optimizer: str
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return all(finding.passed for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """The results as plain values."""
        return {
            "optimizer": self.optimizer,
            "passed": self.passed,
            "findings": [asdict(each) for each in self.findings],
        }


def examine(
    optimizer: object,
    *,
    checks: Iterable[str] | None = None,
    timeout: float = TIMEOUT,
    workers: int = 1,
    pool: WorkerPool | None = None,
    until_wrong: bool = False,
) -> Conformance:
    """Run the checks on an optimizer.

    For `seed`, its run is repeated in another process, shared by all optimizers examined in this Python process.

    Args:
        optimizer: An optimizer, or a function ``optimizer(problem, rng)``.
        checks: The names of checks and remarks; None for all.
        timeout: Maximum number of seconds of a check.
        workers: Number of checks that run at a time, each in its own process.
        pool: Worker processes to use instead; `timeout` then applies only to the repeated run, which takes place in a
            process with the same confinement as the pool's.
        until_wrong: Whether to stop after the first check, in the order of `checks`, that finds something.

    Raises:
        TypeError: If `optimizer` is not an optimizer.
        ValueError: If a check is unknown; the message lists all of them.
    """
    examined = as_optimizer(optimizer)
    known = {**CHECKS, **REMARKS}
    names = list(known if checks is None else checks)
    for name in names:
        if name not in known:
            raise ValueError(f"check {name!r} is unknown;{did_you_mean(name, known)}")
    with nullcontext(pool) if pool else WorkerPool(workers, timeout=timeout, grace=0) as used:
        futures = {name: used.submit(repeat_here if name == "seed" else known[name], examined) for name in names}
        findings: list[Finding] = []
        for name in names:
            findings.append(_finding(name, futures[name], examined, timeout, used.confinement))
            if until_wrong and not findings[-1].passed:
                used.kill(futures.values())
                break
        return Conformance(examined.name, tuple(findings))


def _finding(
    name: str, future: Future[Any], optimizer: Optimizer, timeout: float, confinement: Confinement | None
) -> Finding:
    expected = str({**CHECKS, **REMARKS}[name].__doc__)
    try:
        wrong = future.result()
        if name in REMARKS:
            return Finding(name, expected, "", remark=wrong)
        if name == "seed":
            points, wrong = wrong
            wrong = wrong or repeat_elsewhere(optimizer, points, timeout, confinement)
    except Inapplicable as reason:
        return Finding(name, expected, "", str(reason))
    except WorkerError as error:
        return Finding(name, expected, f"its process was lost: {error}")
    except Exception as error:  # noqa: BLE001 - whatever an optimizer raises is what is wrong with it
        return Finding(name, expected, f"{type(error).__name__}: {error}")
    return Finding(name, expected, wrong)
