"""Structural bias of optimizers as a page: a table of verdicts, and the final points of each optimizer's runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from polarbear import figures
from polarbear.analyzer.html import Picture, Table, drawn_picture, write_page
from polarbear.assess.report.data import Data
from polarbear.bias import Verdict
from polarbear.quantities import amount, plural


def write_bias_page(verdicts: Sequence[Verdict], folder: str | Path) -> Path:
    """Write a page of verdicts on runs on f0: a table, and for each verdict a figure of points and tests.

    Args:
        verdicts: Verdicts of `polarbear.bias.judge_runs`, at least one.
        folder: Folder to write to; created if it does not exist. An existing page is replaced.

    Returns:
        The path of the page.

    Raises:
        ValueError: If there is no verdict.
        OSError: If the page cannot be written, or the folder is a link.
    """
    if not verdicts:
        raise ValueError("there is no verdict; give at least one")
    return write_page(
        folder,
        "bias.html",
        title=headline(verdicts),
        facts=[
            ("verdicts", amount(len(verdicts))),
            ("biased", amount(sum(each.bias.biased for each in verdicts))),
            ("runs", amount(sum(each.bias.runs for each in verdicts))),
            ("tests", amount(len(verdicts[0].bias.tests))),
        ],
        alpha=f"{verdicts[0].bias.alpha:g}",
        verdicts=verdicts_table(verdicts),
        sections=[(each.sentence, verdict_picture(each, number)) for number, each in enumerate(verdicts, 1)],
    )


def headline(verdicts: Sequence[Verdict]) -> str:
    """The number of biased optimizers, in one sentence."""
    biased = [each for each in verdicts if each.bias.biased]
    if len(verdicts) == 1:
        return f"{verdicts[0].algorithm} is {'' if biased else 'not found to be '}structurally biased"
    return f"{len(biased)} of {len(verdicts)} optimizers {'is' if len(biased) == 1 else 'are'} structurally biased"


def verdicts_table(verdicts: Sequence[Verdict]) -> Table:
    """One row per optimizer and dimension."""
    columns = ("optimizer", "variables", "runs", "biased", "tests", "p", "most like")
    rows = [
        (
            each.algorithm,
            each.dimension,
            each.bias.runs,
            "yes" if each.bias.biased else "no",
            int(each.bias.counts.sum()),
            each.bias.p_value,
            f"{each.bias.kind} ({each.bias.probabilities[each.bias.kind]:.0%})" if each.bias.kind else "",
        )
        for each in verdicts
    ]
    return Table(
        caption="Verdicts: how many tests reject uniformity, and how often uniform points look at least as biased (p).",
        columns=columns,
        rows=tuple(tuple(f"{cell:.2g}" if isinstance(cell, float) else str(cell) for cell in row) for row in rows),
        data=(Data.of("verdicts", columns, rows),),
        text_columns=frozenset({3, 6}),
        shown=100,
    )


def verdict_picture(verdict: Verdict, number: int = 1) -> Picture:
    """Final points above the tests that reject uniformity; `number` is part of file names."""
    bias = verdict.bias
    figure = figures.structural_bias(
        verdict.positions, bias.rejected, bias.tests, counts=bias.counts, name=verdict.algorithm
    )
    return drawn_picture(figure, f"verdict-{number}", plural(verdict.dimension, "variable"))
