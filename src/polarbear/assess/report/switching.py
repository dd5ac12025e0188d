"""The gain from switching between algorithms on every problem of an assessment."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from polarbear.assess.comparisons.adaptive import AdaptiveConfigurations, adaptive_configurations
from polarbear.assess.comparisons.switching import DynamicVirtualBest, dynamic_virtual_best
from polarbear.assess.report.data import Data
from polarbear.assess.report.statistics import Assessment
from polarbear.assess.report.subject import Cell
from polarbear.quantities import plural

_CAP = 3.0
"""Upper limit of I1 and I2, and their value if an algorithm never reaches the final target."""
_MOST_MISSING = 5
"""Number of functions on which the final target is never reached from which medians of I1 and I2 are omitted."""
_ROLES = ("first", "second")


def switching(
    assessment: Assessment, *, switches: int = 1, held_out: bool = True, seed: int = 0
) -> dict[Cell, DynamicVirtualBest]:
    """The best policy with switches on every problem with at least two algorithms whose hardest target was reached.

    Args:
        assessment: The runs with their statistics.
        switches: Maximum number of switches on one problem.
        held_out: Whether to evaluate policies on runs that did not choose them.
        seed: Seed of the random splits of the runs.

    Raises:
        ValueError: If there is no such problem.
    """
    rng = np.random.default_rng(seed)
    found = {
        cell: best
        for cell in assessment.subject.cells
        if cell.targets is not None and len(cell.trials) > 1
        for best in [
            dynamic_virtual_best(
                {name: assessment.hits[cell, name] for name in cell.trials},
                {name: trials.evaluations for name, trials in cell.trials.items()},
                cell.targets,
                rng=rng,
                switches=switches,
                held_out=held_out,
            )
        ]
        if best is not None
    }
    if not found:
        raise ValueError(
            "no problem has runs of two algorithms, at least one of which reaches the hardest target; give an easier "
            "target, or more algorithms"
        )
    return found


def adaptive(assessment: Assessment, *, count: int = 10, seed: int = 0) -> dict[Cell, AdaptiveConfigurations]:
    """The most promising pairs of algorithms on every problem, up to the hardest target that all runs of one reach.

    Args:
        assessment: The runs with their statistics.
        count: Maximum number of pairs on one problem.
        seed: Seed of the posterior draws.

    Raises:
        ValueError: If there are no pairs on any problem, or only one run of each algorithm.
    """
    rng = np.random.default_rng(seed)
    found = {
        cell: pairs
        for cell in assessment.subject.cells
        if cell.targets is not None
        for pairs in [
            adaptive_configurations(
                {name: assessment.hits[cell, name] for name in cell.trials},
                {name: trials.evaluations for name, trials in cell.trials.items()},
                cell.targets,
                count=count,
                rng=rng,
            )
        ]
        if pairs is not None
    }
    if not found:
        raise ValueError(
            "no problem has an algorithm whose runs all reach two targets, and another whose runs all reach the easier "
            "one; give an easier target, or more algorithms"
        )
    return found


def switching_data(found: Mapping[Cell, DynamicVirtualBest]) -> Data:
    """A row per problem: the best single algorithm, the best policy, its promised and its held-out speed-up."""
    columns = (
        *("suite", "function", "dimension", "best_alone", "ert_alone", "best_policy", "ert", "speed_up"),
        *("promised", "held_out", "probability"),
    )
    return Data.of(
        "switching",
        columns,
        (
            [
                *(cell.suite, cell.function, cell.dimension, str(best.static), best.static_ert, str(best.policy)),
                *(best.ert, best.speed_up, _median(best.promised), _median(best.held_out), best.probability),
            ]
            for cell, best in found.items()
        ),
    )


def switching_roles(found: Mapping[Cell, DynamicVirtualBest]) -> Data:
    """A row per dimension and algorithm: how good it is to begin with, to end with, and overall.

    ``first`` and ``second`` are medians over functions of I1 and I2 (Vermetten 2025, section 5.1, whose code caps them
    at 3, and takes 3 where an algorithm never reaches the final target): 1 if the best policies begin, or end, with the
    algorithm. They are None if it never reaches the final target on 5 functions or more. ``contribution`` is the mean
    of Shapley values, 0 where it never reaches the target; None if there are too many algorithms on some function.
    """
    by_dimension: dict[tuple[str, int], list[tuple[Cell, DynamicVirtualBest]]] = {}
    for cell, best in found.items():
        by_dimension.setdefault((cell.suite, cell.dimension), []).append((cell, best))
    rows = list[list[object]]()
    for where, cells in by_dimension.items():
        for name in dict.fromkeys(name for cell, _ in cells for name in cell.trials):
            at = [(best, best.names.index(name)) for _, best in cells if name in best.names]
            missing = len(cells) - len(at)
            known = missing < _MOST_MISSING
            medians = [_median_role([getattr(best, role)[i] for best, i in at], missing) for role in _ROLES]
            shares = [best.contributions[i] for best, i in at] + [0.0] * missing
            rows.append([*where, name, len(cells), missing, *(medians if known else (None, None)), np.mean(shares)])
    columns = ("suite", "dimension", "algorithm", "functions", "missing", *_ROLES, "contribution")
    return Data.of("switching_roles", columns, rows)


def _median_role(ratios: list[float], missing: int) -> float:
    return float(np.median(np.minimum([*ratios, *[_CAP] * missing], _CAP)))


def switching_in_words(found: Mapping[Cell, DynamicVirtualBest]) -> str:
    """Sentences on the speed-up that switching promises over all problems, and how much of it remains on other runs."""
    promised = np.median([best.speed_up for best in found.values()])
    said = f"On the runs from which it was chosen, the best policy is {promised:.2f} times as fast as the best single"
    said = f"{said} algorithm (median over {plural(len(found), 'problem')})."
    kept = np.concatenate([best.held_out for best in found.values()])
    if not kept.size:
        return f"{said} It was not evaluated on other runs, on which it may gain less."
    chosen = np.median(np.concatenate([best.promised for best in found.values()]))
    return (
        f"{said} When chosen on half of the runs, it has a median speed-up of {chosen:.2f} on these and "
        f"{np.median(kept):.2f} on the other half, where it is slower than the best single algorithm in "
        f"{100 * np.mean(kept < 1):.0f} % of cases. The cost of the handover itself is not counted."
    )


def _median(numbers: np.ndarray) -> float:
    return float(np.median(numbers)) if numbers.size else float("nan")
