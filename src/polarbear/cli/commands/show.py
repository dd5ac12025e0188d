"""`polarbear show`: the findings of a study so far."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from polarbear.cli.executing import load_race, print_result, print_summary
from polarbear.cli.options import JsonOption, StudyArgument, to_json
from polarbear.cli.terminal import echo, tell_damage

EXAMPLE = "polarbear show study.study"


def show(study: StudyArgument, as_json: JsonOption = False) -> None:
    """Print what a study has found so far, even while it is running."""
    from polarbear import store
    from polarbear.study.summary import remark_lines

    with store.open(study) as stored:
        holds_race = "race" in stored.spec
    if not holds_race:
        _show_plan(study, as_json=as_json)
        return
    view = load_race(study)
    print_result(
        view.result,
        study,
        as_json=as_json,
        remarks=[asdict(remarks) for remarks in view.remarks],
        damaged=[str(damage) for damage in view.damaged],
    )
    if view.remarks and not as_json:
        echo("\n" + "\n".join(remark_lines(view.remarks)))


def _show_plan(study: Path, *, as_json: bool) -> None:
    """Print the progress of a plan, and what failed; for merged or imported runs, their number."""
    from polarbear.study import load_plan

    summary = load_plan(study)
    tell_damage(summary.damaged)
    if as_json:
        echo(to_json(summary.as_dict()))
        return
    print_summary(summary)
    for failures in summary.failures:
        if failures.traceback:
            echo(f"\n{failures.example}:\n{failures.traceback.rstrip()}")
