"""How instances of functions differ, as a page with figures (Vermetten 2025, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from polarbear import figures
from polarbear.analyzer.html import Picture, Table, drawn_picture, write_page
from polarbear.assess.report.data import Data
from polarbear.descriptions import listed
from polarbear.landscape import InstanceComparison, Performance
from polarbear.quantities import amount, plural

_METHODS = {"t-sne": "t-SNE", "umap": "UMAP"}
_DIFFERENT = "Share of pairs of instances that differ"


def write_instances_page(
    comparisons: Sequence[InstanceComparison],
    folder: str | Path,
    *,
    performances: Sequence[Performance] = (),
    alpha: float = 0.05,
) -> Path:
    """Write a page on the instances of functions: tests of features, embedding, optima, mean landscapes, performance.

    Args:
        comparisons: Comparisons of instances, one per box, at least one.
        folder: Folder to write to; created if it does not exist. An existing page is replaced.
        performances: Performance of algorithms across instances, one per budget.
        alpha: Level of the tests, for the texts.

    Returns:
        The path of the page.

    Raises:
        ValueError: If there is no comparison.
        OSError: If the page cannot be written, or the folder is a link.
    """
    if not comparisons:
        raise ValueError("there is no comparison of instances; give at least one")
    sections = [(_box(each), instance_pictures(each, number)) for number, each in enumerate(comparisons, 1)]
    if performances:
        pictures = [performance_picture(each, number) for number, each in enumerate(performances, 1)]
        sections.append(("Algorithms across instances", pictures))
    first = comparisons[0].features
    return write_page(
        folder,
        "instances.html",
        title=headline(comparisons),
        facts=[
            ("functions", amount(sum(len(comparison.functions) for comparison in comparisons))),
            ("instances", amount(sum(len(comparison.features.instances) for comparison in comparisons))),
            ("designs", amount(first.values.shape[1])),
            ("features", amount(len(first.names))),
        ],
        alpha=f"{alpha:g}",
        tables=[functions_table(each, number) for number, each in enumerate(comparisons, 1)],
        sections=sections,
    )


def headline(comparisons: Sequence[InstanceComparison]) -> str:
    """The functions whose instances differ most and least, in one sentence."""
    known = {
        name: rate for each in comparisons for name, rate in each.as_dict()["functions"].items() if rate is not None
    }
    if not known:
        return "No feature is known for all instances"
    least, most = (choose(known, key=lambda name: known[name]) for choose in (min, max))
    if least == most:
        return f"Instances of {most} differ in {known[most]:.0%} of all tests"
    return (
        f"Instances of {most} differ most, in {known[most]:.0%} of all tests; "
        f"those of {least} least, in {known[least]:.0%}"
    )


def functions_table(comparison: InstanceComparison, number: int = 1) -> Table:
    """How much the instances of each function differ, and in which features most; `number` is part of file names."""
    plain, rows, cells = comparison.as_dict(), list[tuple[str, ...]](), list[tuple[object, ...]]()
    for name, rates in zip(comparison.functions, comparison.rates, strict=True):
        mean = plain["functions"][name]
        order = np.argsort(-np.where(np.isnan(rates), -1.0, rates), kind="stable")[:3].tolist()
        most = listed(f"{comparison.features.names[j]} ({rates[j]:.0%})" for j in order if rates[j] > 0) or "none"
        rows.append((name, "unknown" if mean is None else f"{mean:.1%}", most))
        cells.append((name, mean, most))
    return Table(
        caption=f"{_DIFFERENT} over all features, and features that differ most, {_box(comparison)}.",
        columns=("function", "differ", "most"),
        rows=tuple(rows),
        data=(Data.of(f"functions-{number}", ("function", "differ", "most"), cells), _rates(comparison, number)),
        text_columns=frozenset({2}),
        shown=24,
    )


def _box(comparison: InstanceComparison) -> str:
    low, high = (f"{bound[0]:g}" if np.ptp(bound) == 0 else "…" for bound in (comparison.lower, comparison.upper))
    return f"{plural(len(comparison.lower), 'variable')} in [{low}, {high}]"


def _rates(comparison: InstanceComparison, number: int) -> Data:
    rows = ((name, *rates) for name, rates in zip(comparison.functions, comparison.rates, strict=True))
    return Data.of(f"rejections-{number}", ("function", *comparison.features.names), rows)


def instance_pictures(comparison: InstanceComparison, number: int = 1) -> list[Picture]:
    """The figures of one box for which there are data; `number` is part of file names."""
    drawings, labels = {"rejections": rejections(comparison)}, function_labels(comparison)
    if comparison.embedding is not None:
        method = _METHODS[comparison.method]
        functions = [labels[name] for name in comparison.features.functions]
        drawings["embedding"] = figures.embedding(comparison.embedding, functions, method=method)
    if comparison.optima and len(comparison.lower) > 1:
        optima = {labels[name]: locations for name, locations in comparison.optima.items()}
        drawings["optima"] = figures.optima(optima, comparison.lower, comparison.upper)
    if comparison.mean_landscapes:
        means = {labels[name]: mean for name, mean in comparison.mean_landscapes.items()}
        drawings["mean-landscapes"] = figures.mean_landscapes(means, comparison.lower, comparison.upper)
    return [drawn_picture(figure, f"{name}-{number}", _box(comparison)) for name, figure in drawings.items()]


def function_labels(comparison: InstanceComparison) -> dict[str, str]:
    """Short names of functions, without the dimension, and without the suite if there is only one."""
    split = {name: name.removesuffix(f"-d{len(comparison.lower)}").rpartition("-f") for name in comparison.functions}
    one_suite = len({suite for suite, _, _ in split.values()}) == 1
    return {
        name: f"f{function}" if dash and one_suite else f"{suite}{dash}{function}"
        for name, (suite, dash, function) in split.items()
    }


def rejections(comparison: InstanceComparison) -> figures.Figure:
    """Heat map of the share of pairs of instances that differ, by feature and function."""
    known = np.flatnonzero(np.isfinite(comparison.rates).any(axis=0)).tolist()
    names = [comparison.features.names[j] for j in known]
    rates = comparison.rates[:, known].T
    return figures.heat_map(
        rates,
        names,
        [*function_labels(comparison).values()],
        label=_DIFFERENT,
        limits=(0, 1),
        height=max(0.13 * len(names) + 1.4, 2.2),
    )


def performance_picture(performance: Performance, number: int = 1) -> Picture:
    """The share of instances on which each algorithm performs differently from the others, after a budget."""
    label = f"Share of instances that differ from the rest, after {amount(performance.budget)} evaluations"
    figure = figures.heat_map(
        performance.rates, performance.algorithms, performance.functions, label=label, limits=(0, 1)
    )
    return drawn_picture(figure, f"performance-{number}")
