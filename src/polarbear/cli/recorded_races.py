"""Races on recorded runs: one for each function or group of instances and each dimension, or on pooled runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polarbear.cli.options import FinalTargetOption, data_option, repeatable, to_json
from polarbear.cli.recorded import Choice, bad_input
from polarbear.cli.terminal import echo
from polarbear.descriptions import FieldError

if TYPE_CHECKING:
    from polarbear.racing import Race, RaceResult
    from polarbear.study import Groups, RecordedGroup, RecordedSpec, Replay


WHAT_BEST_IS = (
    "Best: most probably the best if every order of magnitude of budgets counts equally; others may be better at some."
)
_NAMED = 3
"""Maximum number of groups without a race that are named for each reason."""


class _Pooled(StrEnum):
    FUNCTION = "function"
    DIMENSION = "dimension"
    ALL = "all"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Recorded:
    """Which recorded runs to race on, and how."""

    archives: Annotated[
        list[Path] | None,
        data_option("Race on these recorded runs, a study or an archive, and run nothing; repeatable.", "--from"),
    ] = None
    pool: Annotated[
        list[_Pooled] | None,
        repeatable(
            "pool",
            "With --from: hold one race over every function, every dimension or all, instead of one for "
            "each; repeatable. Default: all for the runs of a race, else nothing.",
        ),
    ] = None
    budget: Annotated[
        str | None,
        typer.Option(
            help="With --from: compare up to this budget, such as 1000*d for d variables, or over a range, "
            "10*d..1000*d.",
            show_default=False,
        ),
    ] = None
    alpha: Annotated[
        float | None,
        typer.Option(help="With --from: posterior probability that decides a relation. Default: 0.99.", metavar="P"),
    ] = None
    epsilon: Annotated[
        float | None,
        typer.Option(help="With --from: win probabilities within 0.5 ± this count as equivalent. Default: 0.05."),
    ] = None
    final_target: FinalTargetOption = None

    def __post_init__(self) -> None:
        if self.archives:
            return
        given = {
            "--pool": self.pool,
            "--budget": self.budget,
            "--alpha": self.alpha,
            "--epsilon": self.epsilon,
            "--final-target": self.final_target,
        }
        if named := [name for name, value in given.items() if value is not None]:
            raise typer.BadParameter(
                f"{', '.join(named)}: only for races on recorded runs, with --from; else set it in the study file"
            )

    def settings(self) -> dict[str, Any]:
        """The race settings that were given."""
        given = {"alpha": self.alpha, "epsilon": self.epsilon}
        return {name: value for name, value in given.items() if value is not None}


def race_recorded(
    recorded: Recorded,
    study_file: Path | None,
    choice: Choice,
    into: Path | None,
    grouped: Groups | None,
    *,
    as_json: bool,
) -> None:
    """Race on recorded runs, by groups of instances if given, and report what racing would have saved."""
    from polarbear.cli.console import Console
    from polarbear.study import read_recorded_spec, recorded_groups

    with bad_input(), Console(stderr=True).status("reading") as status:
        if study_file and recorded.budget is not None:
            raise ValueError("--budget and a study file both set the timepoints; give only one of them")
        told = read_recorded_spec(study_file) if study_file else None
        subject = choice.subject(recorded.archives or ())
        spec = spec_of(recorded.archives or ())
        groups = recorded_groups(subject.runs, _pooling(recorded, spec), grouped)
        raced: dict[RecordedGroup, Replay] = {}
        left_out: dict[RecordedGroup, str] = {}
        for number, group in enumerate(groups, start=1):
            status.update(f"racing on {group.name} ({number} of {len(groups)})")
            try:
                path = into / f"{group.file}.study" if into and len(groups) > 1 else into
                raced[group] = _race_on(group, recorded, told, spec, path)
            except FieldError as error:  # an error in the settings, which no other runs would fix
                if not raced:
                    raise
                left_out[group] = str(error)
            except ValueError as error:
                left_out[group] = str(error)
        if not raced:
            hint = "; pool them: --pool all" if len(groups) > 1 else ""
            raise ValueError(f"no race is possible on these runs: {next(iter(left_out.values()))}{hint}")
    if len(groups) == 1:
        _print_one(raced[groups[0]], into, as_json=as_json)
    elif as_json:
        echo(to_json(_as_dict(raced, left_out, into)))
    else:
        _print_all(raced, left_out, into)


def spec_of(archives: Sequence[Path]) -> dict[str, Any]:
    """The specification of the study that the runs belong to; empty for anything else."""
    from polarbear.store import exists
    from polarbear.store.specification import read_spec

    return read_spec(archives[0]) if len(archives) == 1 and exists(archives[0]) else {}


def _pooling(recorded: Recorded, spec: Mapping[str, Any]) -> tuple[Any, ...]:
    from polarbear.study import usual_pooling

    if recorded.pool is None:
        return usual_pooling(spec)
    if _Pooled.ALL in recorded.pool:
        return _Pooled.FUNCTION.value, _Pooled.DIMENSION.value
    return tuple(each.value for each in recorded.pool if each is not _Pooled.NOTHING)


def _race_on(
    group: RecordedGroup, recorded: Recorded, told: RecordedSpec | None, spec: Mapping[str, Any], into: Path | None
) -> Replay:
    from polarbear.study import recorded_race, replay

    if told:
        names = sorted({run.key.algorithm for run in group.runs})
        dimensions = {run.problem.dimension for run in group.runs} - {0}
        race: Race = told.race_of(names, dimensions, **recorded.settings())
    else:
        race = recorded_race(group.runs, budget=recorded.budget, spec=spec, **recorded.settings())
    return replay(race, group.runs, final_target=recorded.final_target, into=into)


def _print_one(replayed: Replay, into: Path | None, *, as_json: bool) -> None:
    from polarbear.analyzer.examination import answer_with_checks

    values, text = answer_with_checks(replayed.result)
    if as_json:
        echo(to_json({"study": None if into is None else str(into), **values, **replayed.as_dict()}))
    else:
        echo(f"{text}\n\n{replayed}" + (f"\nstudy: {into}" if into else ""))


def _as_dict(
    raced: Mapping[RecordedGroup, Replay], left_out: Mapping[RecordedGroup, str], into: Path | None
) -> dict[str, Any]:
    """All races as plain values, the union of their Pareto sets, and the total cost."""
    from polarbear.analyzer import answer

    races: list[dict[str, Any]] = [
        _where(group)
        | {"study": str(into / f"{group.file}.study") if into else None, "best": best_of(replayed.result)}
        | answer(replayed.result).as_dict()
        | replayed.as_dict()
        for group, replayed in raced.items()
    ]
    added = "blocks", "whole", "passed_over", "blocks_used", "recorded", "spent"
    members = {
        name: sorted({member for race in races for member in race[name]})
        for name in ("pareto_set", "pareto_set_of_all_runs")
    }
    sums: dict[str, float] = {name: sum(race[name] for race in races) for name in added}
    return {
        "study": str(into) if into else None,
        "races": races,
        "left_out": [_where(group) | {"why": why} for group, why in left_out.items()],
        "who_wins_where": _who_wins_where(raced),
        **members,
        **sums,
        "saved": 1 - sums["spent"] / sums["recorded"],
    }


def _where(group: RecordedGroup) -> dict[str, Any]:
    return {name: getattr(group, name) for name in ("name", "suite", "function", "group", "dimension")}


def best_of(result: RaceResult) -> dict[str, Any]:
    """The best algorithm if every order of magnitude of budgets counts equally, and its probability."""
    from polarbear.select import best

    choice = best(result.posterior, "log-uniform", candidates=result.pareto_set).best
    return {"algorithm": choice.members[0], "probability": choice.probability_best}


def _who_wins_where(raced: Mapping[RecordedGroup, Replay]) -> dict[str, dict[int, dict[str, int]]]:
    """By algorithm and dimension: numbers of races that it took part in, won, and in whose Pareto set it is."""
    counts: defaultdict[str, dict[int, dict[str, int]]] = defaultdict(dict)
    for group, replayed in raced.items():
        winner = best_of(replayed.result)["algorithm"]
        for name in replayed.result.names:
            cell = counts[name].setdefault(group.dimension, {"best": 0, "member": 0, "races": 0})
            cell["best"] += name == winner
            cell["member"] += name in replayed.result.pareto_set
            cell["races"] += 1
    return dict(sorted(counts.items()))


def _print_all(raced: Mapping[RecordedGroup, Replay], left_out: Mapping[RecordedGroup, str], into: Path | None) -> None:
    from polarbear.cli.console import print_columns
    from polarbear.quantities import plural

    print_answers(
        (group.name, each.result, f"{len(each.result.values):,} of {each.blocks:,}") for group, each in raced.items()
    )
    echo(
        "\nWho wins where: in how many races an algorithm is the best and in how many it is in the Pareto set, of all "
        "races in which it took part"
    )
    wins, dimensions = _who_wins_where(raced), sorted({group.dimension for group in raced})
    print_columns(
        ["", *(f"{dimension}-D" if dimension else "all" for dimension in dimensions)],
        [[name, *(_in_words(cells.get(dimension)) for dimension in dimensions)] for name, cells in wins.items()],
    )
    echo(WHAT_BEST_IS)
    for why in dict.fromkeys(left_out.values()):
        names = [group.name for group, reason in left_out.items() if reason == why]
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        echo(f"left out: {', '.join(names[:_NAMED])}{more}: {why}", err=True)
    spent, recorded = (sum(getattr(each, name) for each in raced.values()) for name in ("spent", "recorded"))
    axis = next(iter(raced.values())).result.settings.axis
    saved = 1 - spent / recorded if recorded else 0.0
    echo(f"\n{plural(raced, 'race')}, {spent:,.0f} of {recorded:,.0f} recorded {axis} spent ({saved:.0%} saved)")
    if into:
        echo(f"studies: {into}/*.study; inspect one with polarbear show, select, check or report")
    else:
        echo("To inspect single races: --into FOLDER, or --function and --dimension; for one race over all: --pool all")


def print_answers(races: Iterable[tuple[str, RaceResult, str]]) -> None:
    """Print the findings of races, one per line, given the subject, result and instances (in words) of each."""
    from polarbear.cli.console import print_columns

    print_columns(
        ["problem", "best", "P(best)", "anytime Pareto set", "undecided pairs", "instances"],
        [
            [
                name,
                (best := best_of(result))["algorithm"],
                f"{best['probability']:.2f}",
                _members(result),
                f"{len(result.undecided)}",
                instances,
            ]
            for name, result, instances in races
        ],
        words=(1, 3),
    )


def _members(result: RaceResult) -> str:
    members, names = result.pareto_set, result.names
    return ", ".join(members) if len(members) < max(3, len(names)) else f"all {len(names)}"


def _in_words(counts: Mapping[str, int] | None) -> str:
    return "{best}, {member} of {races}".format(**counts) if counts else "–"
