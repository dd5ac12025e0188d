"""Which algorithm should hand over to which after how many evaluations, by posteriors over time of recorded runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polarbear.cli.recorded import Choice
from polarbear.cli.terminal import echo

if TYPE_CHECKING:
    from polarbear.inference import Handover, Takeover

EXPLAINED = (
    "Best handover: the two algorithms, and the time to switch, with which the best of all algorithms runs at the "
    "largest share of budgets; orders of magnitude count equally. Share alone: that of the best single algorithm. "
    "P(gain): probability that the handover's share is larger. Takeover: the first budget from which on the second "
    "algorithm is better with enough probability. No optimum is needed, and the cost of a handover is not counted."
)


def posterior_switches(
    data: Sequence[Path], choice: Choice, alpha: float
) -> dict[str, tuple[Handover, list[Takeover]]]:
    """For each problem, the best handover and all pairs that cross with probability `alpha`.

    Raises:
        ValueError: If no problem has two algorithms that can be compared.
    """
    from polarbear.cli.recorded_races import spec_of
    from polarbear.inference import best_handover, takeovers
    from polarbear.study import recorded_groups, recorded_race, recorded_result, usual_pooling

    spec = spec_of(data)
    groups = recorded_groups(choice.subject(data).runs, usual_pooling(spec))
    found = dict[str, tuple[Any, list[Any]]]()
    left_out = dict[str, str]()
    for group in groups:
        try:
            posterior = recorded_result(recorded_race(group.runs, spec=spec), group.runs).posterior
        except ValueError as error:
            left_out[group.name] = str(error)
            continue
        crossing = [each for each in takeovers(posterior, alpha) if each.crossing >= alpha]
        found[group.name] = best_handover(posterior), crossing
    if not found:
        raise ValueError(f"no comparison is possible on these runs: {next(iter(left_out.values()))}")
    for name, why in left_out.items():
        echo(f"left out: {name}: {why}", err=True)
    return found


def print_posterior_switches(found: Mapping[str, tuple[Handover, Sequence[Takeover]]]) -> None:
    """Print a table of the best handovers, one of all takeovers, and what they mean."""
    from polarbear.cli.console import print_columns

    print_columns(
        ["problem", "best alone", "best handover", "at", "share of budgets", "share alone", "P(gain)"],
        [
            [
                name,
                best.alone,
                f"{best.first} → {best.second}" if best.first != best.second else "none",
                f"{best.time:,.0f}" if best.first != best.second else "–",
                f"{best.share:.2f}",
                f"{best.share_alone:.2f}",
                f"{best.probability:.2f}",
            ]
            for name, (best, _) in found.items()
        ],
        words=(1, 2),
    )
    rows = [
        [name, f"{each.first} → {each.second}", f"{each.time:,.0f}", f"{each.probability:.2f}", f"{each.crossing:.2f}"]
        for name, (_, pairs) in found.items()
        for each in pairs
    ]
    if rows:
        print_columns(["problem", "takeover", "from", "P(better from then on)", "P(crossing)"], rows, words=(1,))
    else:
        echo("No algorithm takes over from another one with enough probability.")
    echo(EXPLAINED)


def posterior_switches_as_dict(found: Mapping[str, tuple[Handover, Sequence[Takeover]]]) -> dict[str, Any]:
    """The handovers and takeovers as plain values."""
    return {
        name: {"best": asdict(best), "takeovers": [asdict(each) for each in pairs]}
        for name, (best, pairs) in found.items()
    }
