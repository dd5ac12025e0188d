"""The findings of an assessment and its tests, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polarbear.assess.report.comparison import Comparison
from polarbear.assess.report.statistics import Assessment
from polarbear.assess.report.subject import FailedRuns
from polarbear.descriptions import listed
from polarbear.quantities import plural

_NAMED = 10
"""Maximum number of algorithms named in a sentence on failures; the table names all."""


def answer_of(assessment: Assessment, comparison: Comparison | None) -> list[str]:
    """The leaders by mean area and by mean rank, what these mean, and which to trust for what."""
    if comparison is None:
        return []
    areas = {
        name: float(np.mean([assessment.area(cell, name) for cell in comparison.cells]))
        for name in comparison.algorithms
    }
    by_area = max(areas, key=lambda name: areas[name])
    sentences: list[str] = []
    if comparison.deep is not None:
        ranks = comparison.deep.ranking.mean_ranks
        by_rank = comparison.algorithms[int(np.argmin(ranks))]
        if by_rank == by_area:
            sentences.append(
                f"Over {plural(len(comparison.cells), 'problem')} {by_area} has the largest mean area and the best "
                "mean rank as well: the answer does not depend on how functions are weighted."
            )
        else:
            sentences.append(
                f"By mean area {by_area} is ahead, by mean rank {by_rank}. The area is how much of the way to the "
                "hardest target is covered, on average over a run: a few functions with large differences can decide "
                "it. The rank counts every function equally, however small the difference. Title and standings go by "
                f"area. Choose {by_area} if it matters how much is achieved on functions like these, and {by_rank} if "
                "all that matters is to be ahead on as many functions as possible."
            )
    return [*sentences, *too_few(comparison)]


def too_few(comparison: Comparison) -> list[str]:
    """Why tests on single problems cannot decide anything, if there are too few runs for any verdict."""
    if comparison.decisive:
        return []
    return [
        f"No difference on a single problem can be significant: with so few runs the smallest possible p-value is "
        f"{comparison.smallest_p:.2g}, and the level is {comparison.alpha:g}. Wins and losses are therefore left out; "
        "run each algorithm more often to get a verdict."
    ]


def verdict(comparison: Comparison) -> list[str]:
    """The findings of the tests, in sentences, with a caution about failed runs."""
    single = comparison.single_best
    best = [name for name, score in zip(single.names, single.scores, strict=True) if score <= single.scores.min()]
    sentences = [f"Single best solver by {comparison.measure}: {listed(best)}."]
    if comparison.deep is not None:
        omnibus, problems = comparison.deep.omnibus, plural(len(comparison.cells), "problem")
        differ = "differ" if omnibus.rejected else "do not differ significantly"
        sentences.append(
            f"Over {problems} the algorithms {differ} ({omnibus.test.title()}, p = {omnibus.p_value:.2g})."
        )
        if comparison.deep.post_hoc is not None:
            worse = [row["algorithm"] for row in comparison.deep.post_hoc.rows() if row["different"]]
            others = f"differs significantly from {listed(worse)}" if worse else "differs significantly from no other"
            sentences.append(f"{comparison.deep.post_hoc.control}, which has the lowest mean rank, {others}.")
    return [*sentences, *too_few(comparison), *failures_in_words(comparison.failures)]


def failures_in_words(failures: Sequence[FailedRuns]) -> list[str]:
    """A single caution about all failures; none if there are none."""
    if not failures:
        return []
    failed, left_out = sum(failure.failed for failure in failures), sum(failure.left_out for failure in failures)
    named = [str(failure) for failure in failures[:_NAMED]]
    if len(failures) > _NAMED:
        named.append(plural(len(failures) - _NAMED, "further algorithm"))
    sentence = f"Runs failed, timed out or were killed: of {listed(named)}."
    if left_out:
        verb = "was" if left_out == 1 else "were"
        sentence += (
            f" {left_out:,} of these {failed:,} {verb} killed or timed out before anything was recorded, and {verb} "
            "left out, which favours algorithms that do not survive hard instances."
        )
    if failed > left_out:
        sentence += (
            f" {'The others' if left_out else 'They'} count as runs that stopped where they did: each keeps the best "
            "value it had found and is charged the evaluations it had spent, so that failing early costs little."
        )
    return [sentence]
