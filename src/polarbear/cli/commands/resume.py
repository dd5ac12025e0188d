"""`polarbear resume`: continue a study of a race or a plan."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from polarbear.cli.cluster import Workers
from polarbear.cli.executing import Repairs, execute_plan, execute_race, look_in, resume_command
from polarbear.cli.options import JsonOption, RaceLimits, StudyArgument, repeatable
from polarbear.cli.terminal import echo

EXAMPLE = "polarbear resume study.study --seconds 3600"


def resume(
    study: StudyArgument,
    workers: Workers,
    limits: RaceLimits,
    repairs: Repairs,
    imports: Annotated[
        list[str] | None,
        repeatable("import", "A module or package that the study may import from; repeatable."),
    ] = None,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Import all modules that the study names, and list them: their code runs as you."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Continue a study: a race until every pair is resolved or a limit is reached, a plan until it is complete."""
    from polarbear import store
    from polarbear.experiment import Watch
    from polarbear.study import StopRules, check_spec, plan_from_spec, race_from_spec
    from polarbear.study.replay import RECORDED
    from polarbear.study.resume import built

    with store.open(study) as stored:
        spec = stored.spec
    check_spec(spec, study / "study.json")
    if "plan" in spec and (limits.instances or limits.evaluations or limits.withdraw):
        raise typer.BadParameter("--instances, --evaluations and --withdraw are for races; this is the study of a plan")
    if "configure" in spec:
        raise typer.BadParameter(f"{study} was made by a configurator; continue with polarbear configure and its file")
    if "branch" in spec:
        raise typer.BadParameter(
            f"{study} contains branches of runs; continue with polarbear branch and the runs' study"
        )
    if "plan" not in spec and "race" not in spec:
        raise store.StudyError(
            f"{study / 'study.json'} describes no race or plan to continue; {study} contains only runs: assess or "
            "compare them, or race --from them"
        )
    if RECORDED in spec.get("instances", {}):
        raise store.StudyError(
            f"{study} contains a race on recorded runs, so there is nothing to run; race --from them again"
        )
    with _imports(study, spec, imports or (), trust=trust) as allowed:
        plan = plan_from_spec(spec, allowed) if "plan" in spec else None
        entrants, stream = ({}, None) if plan else built(spec, allowed)
    settings: dict[str, Any] = {"as_json": as_json, "retry": limits.retry, **repairs.settings(study)}
    if plan:
        execute_plan(plan, study, resume_command(study, spec), workers, seconds=limits.seconds, **settings)
        return
    execute_race(
        race_from_spec(spec, dict(entrants)),
        stream,
        study,
        workers,
        stop=StopRules(**limits.stops()),
        watch=Watch(**spec["log"]) if spec.get("log") else None,
        withdraw=limits.withdraw or (),
        **spec["limits"],
        **settings,
    )


@contextmanager
def _imports(study: Path, spec: Mapping[str, Any], imports: Collection[str], *, trust: bool) -> Generator[list[str]]:
    """The modules that the study may import: those named by the user, or with `--trust` all that the study names.

    They are looked up in the current folder and in that of the study only if needed. Errors name the study.
    """
    from polarbear.store.paths import remote
    from polarbear.study import NotTrusted, StudyFileError, modules_of

    named = modules_of(spec)
    if trust and named:
        echo(f"importing the modules that {study} names: {', '.join(named)}", err=True)
    if named and (trust or imports):
        look_in(*(() if remote(study) else (study.parent,)))
    try:
        yield [*imports, *(named if trust else ())]
    except NotTrusted:
        raise
    except (ValueError, TypeError) as error:
        raise StudyFileError(f"{study / 'study.json'} cannot be resumed from here: {error}") from error
