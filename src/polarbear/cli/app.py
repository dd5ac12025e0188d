"""The commands. Each reads options, calls one room, and prints for people or, with --json, for machines."""

from __future__ import annotations

import json
import shlex
import sys
import warnings
from concurrent.futures import BrokenExecutor
from dataclasses import asdict, replace
from pathlib import Path
from traceback import format_exception
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from polarbear import __version__
from polarbear.cli import assess_commands, plans
from polarbear.cli.conform import conform
from polarbear.cli.options import (
    BAD_INPUT,
    EVERY_RUN_FAILED,
    INTERRUPTED,
    NO_WORKERS,
    UNUSABLE_STUDY,
    AcceptDamageOption,
    AlgorithmsOption,
    Choice,
    CriterionOption,
    DimensionsOption,
    FinalTargetOption,
    FromOption,
    FunctionsOption,
    JsonOption,
    Preference,
    RetryKilledOption,
    RetryOption,
    SecondsOption,
    StudyArgument,
    TakeOverOption,
    WithdrawOption,
    WorkersOption,
    to_json,
    to_place,
)
from polarbear.cli.running import (
    CAFileOption,
    CertOption,
    Cluster,
    ClusterOption,
    ImportOption,
    KeyOption,
    Terminated,
    TrustOption,
    executor,
    interruptible,
    look_in,
    resumable,
    resuming,
    terminable,
    told_warnings,
)
from polarbear.cli.terminal import echo, tell_damage, tell_warning
from polarbear.cli.verify import verify

if TYPE_CHECKING:
    from polarbear.study import StudyView


class _Commands(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        """Say so when a command is interrupted that has not said it itself."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            echo("polarbear: ended by SIGTERM" if isinstance(error, Terminated) else "polarbear: interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    name="polarbear",
    cls=_Commands,
    help="Race black-box optimizers to their anytime Pareto set, and ask the result any question about budgets.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

plans.add_to(app)
assess_commands.add_to(app)
app.command()(conform)
app.command()(verify)


def run() -> NoReturn:
    """Run the command line; errors a user can mend become one line and an exit code."""
    from polarbear.race import CannotWithdraw
    from polarbear.store import StudyError
    from polarbear.study import EveryRunFailed, NotTrusted, OtherSettings, StudyFileError
    from polarbear.study.suitability import Unsuitable

    sys.excepthook = _print_traceback
    warnings.showwarning = tell_warning  # pyright: ignore[reportAttributeAccessIssue]
    try:
        with terminable():
            app()
    except (StudyFileError, NotTrusted, OtherSettings, Unsuitable, CannotWithdraw) as error:
        _fail(error, BAD_INPUT)
    except EveryRunFailed as error:
        _fail(error, EVERY_RUN_FAILED)
    except (StudyError, OSError) as error:
        _fail(error, UNUSABLE_STUDY)
    except BrokenExecutor as error:
        _fail(error, NO_WORKERS)
    sys.exit(0)


def _print_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    echo("".join(format_exception(kind, error, trace)).rstrip(), err=True)


def _version(wanted: bool) -> None:
    if wanted:
        echo(f"polarbear {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Race black-box optimizers to their anytime Pareto set, and ask the result any question about budgets."""


@app.command()
def race(
    study_file: Annotated[
        Path | None, typer.Argument(help="A study file (TOML); with --from its [race] and [model].", show_default=False)
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(
            parser=to_place,
            help="The study's directory, or its URL; default: the study file's name with .study.",
            show_default=False,
        ),
    ] = None,
    archive: FromOption = None,
    final_target: FinalTargetOption = None,
    workers: WorkersOption = 1,
    cluster: ClusterOption = None,
    tls_ca_file: CAFileOption = None,
    tls_cert: CertOption = None,
    tls_key: KeyOption = None,
    seconds: SecondsOption = None,
    algorithm: AlgorithmsOption = None,
    function: FunctionsOption = None,
    dimension: DimensionsOption = None,
    withdraw: WithdrawOption = None,
    retry_killed: RetryKilledOption = 1,
    accept_damage: AcceptDamageOption = False,
    take_over: TakeOverOption = False,
    as_json: JsonOption = False,
) -> None:
    """Race the optimizers of a study file, resuming if the study exists; or race on recorded runs."""
    from polarbear import store
    from polarbear.study import read_spec

    choice = Choice.of(algorithm, function, dimension)
    if archive:
        if into or cluster or seconds or withdraw or accept_damage or take_over:
            raise typer.BadParameter(
                "--into, --cluster, --seconds, --withdraw, --accept-damage and --take-over have no use with --from: "
                "nothing is run"
            )
        assess_commands.race(archive, study_file, choice, final_target, as_json=as_json)
        return
    if final_target is not None:
        raise typer.BadParameter("--final-target is about recorded runs; it needs --from")
    if study_file is None:
        raise typer.BadParameter("give a study file, or recorded runs by --from")
    if choice != Choice.of(None, None, None):
        raise typer.BadParameter("--algorithm, --function and --dimension choose recorded runs; they need --from")
    look_in(study_file.parent)
    spec = read_spec(study_file)
    stop, path = spec.limits.stop, into or study_file.with_suffix(".study")
    the_race, instances = spec.build_race(), spec.build_instances()
    if take_over:
        store.take_over(path)
    _race(
        the_race,
        instances,
        path,
        workers=workers,
        cluster=Cluster.of(cluster, tls_ca_file, tls_cert, tls_key),
        stop=stop if seconds is None else replace(stop, seconds=seconds),
        settings=spec.run_settings(),
        withdraw=withdraw,
        retry_killed=retry_killed,
        accept_damage=accept_damage,
        as_json=as_json,
    )


@app.command()
def resume(
    study: StudyArgument,
    workers: WorkersOption = 1,
    cluster: ClusterOption = None,
    tls_ca_file: CAFileOption = None,
    tls_cert: CertOption = None,
    tls_key: KeyOption = None,
    seconds: SecondsOption = None,
    instances: Annotated[int | None, typer.Option(min=1, help="Stop once this many instances were drawn.")] = None,
    evaluations: Annotated[
        float | None, typer.Option(min=1, help="Stop once this many evaluations were spent in all.")
    ] = None,
    withdraw: WithdrawOption = None,
    retry_killed: RetryKilledOption = 1,
    retry: RetryOption = False,
    accept_damage: AcceptDamageOption = False,
    take_over: TakeOverOption = False,
    imports: ImportOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Go on with a study: a race until every pair is resolved or a limit is reached, a plan to its end."""
    from polarbear import store
    from polarbear.experiment import Watch
    from polarbear.study import StopRules, check_spec, plan_from_spec, race_from_spec
    from polarbear.study.building import built

    with store.open(study) as stored:
        spec = stored.spec
    check_spec(spec, study / "study.json")
    if "plan" in spec and (instances or evaluations or withdraw):
        raise typer.BadParameter("--instances, --evaluations and --withdraw are for races; this study is of a plan")
    if "plan" not in spec and "race" not in spec:
        raise store.StudyError(
            f"{study / 'study.json'} tells of no race or plan to go on with, so {study} holds runs alone; assess or "
            "compare them, or race --from them"
        )
    with resumable(study, spec, imports or (), trust=trust) as allowed:
        plan = plan_from_spec(spec, allowed) if "plan" in spec else None
        entrants, stream = ({}, None) if plan else built(spec, allowed)
    if take_over:
        store.take_over(study)
    dask = Cluster.of(cluster, tls_ca_file, tls_cert, tls_key)
    options: dict[str, Any] = {"accept_damage": accept_damage, "retry_killed": retry_killed, "retry": retry}
    if plan:
        plans.execute(plan, study, resuming(study, spec), workers, dask, seconds=seconds, as_json=as_json, **options)
        return
    _race(
        race_from_spec(spec, dict(entrants)),
        stream,
        study,
        workers=workers,
        cluster=dask,
        stop=StopRules(seconds=seconds, instances=instances, evaluations=evaluations),
        settings=spec["limits"] | ({"watch": Watch(**spec["log"])} if spec.get("log") else {}),
        withdraw=withdraw,
        as_json=as_json,
        **options,
    )


@app.command()
def show(study: StudyArgument, as_json: JsonOption = False) -> None:
    """Say what a study has found so far, also while it runs."""
    from polarbear.study.plan_runner import remark_lines

    if not plans.holds_race(study):
        plans.show(study, as_json=as_json)
        return
    view = _load(study)
    _print_result(
        view.result,
        study,
        as_json=as_json,
        remarks=[asdict(one) for one in view.remarks],
        damaged=[str(one) for one in view.damaged],
    )
    if view.remarks and not as_json:
        echo("\n" + "\n".join(remark_lines(view.remarks)))


@app.command()
def select(
    study: StudyArgument,
    preference: Annotated[Preference, typer.Option(help="Which budgets matter.")] = Preference.UNIFORM,
    criterion: Annotated[CriterionOption, typer.Option(help="How to decide.")] = CriterionOption.P2BB,
    size: Annotated[int, typer.Option(min=1, help="Parallel slots: choose a portfolio of this size.")] = 1,
    gamma: Annotated[float, typer.Option(min=1e-6, max=1 - 1e-6, help="Level of the lower quantile.")] = 0.05,
    as_json: JsonOption = False,
) -> None:
    """Choose an algorithm or a portfolio for a preference over budgets; runs nothing."""
    from polarbear.select import best
    from polarbear.store import StudyError

    result = _load(study).result
    if not result.begun:
        raise StudyError(f"nothing is known yet in {study}: no round is complete")
    selection = best(
        result.posterior,
        preference.value,
        criterion.value,
        size,
        candidates=result.pareto_set,
        gamma=gamma,
    )
    echo(to_json(selection.as_dict()) if as_json else str(selection))


@app.command()
def check(
    study: StudyArgument,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="A model to compare the study's with; give it again for more. Default: independent-dirichlet and "
            "random-walk.",
            show_default=False,
        ),
    ] = None,
    final_target: FinalTargetOption = None,
    algorithm: AlgorithmsOption = None,
    function: FunctionsOption = None,
    dimension: DimensionsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a study's model with others, and check what it assumes; of a study without a race, on all its runs."""
    from polarbear.analyzer import examine
    from polarbear.cli.console import Console
    from polarbear.cli.examined import show_examination
    from polarbear.inference import models
    from polarbear.store import StudyError
    from polarbear.store.specification import read_spec

    for name in model or ():
        if name not in models():
            raise typer.BadParameter(f"there is no model {name!r}; there are {', '.join(models())}")
    choice = Choice.of(algorithm, function, dimension)
    if "race" not in read_spec(study):
        result = assess_commands.result(study, choice, final_target)
    elif final_target is not None or choice != Choice.of(None, None, None):
        raise typer.BadParameter(
            "--final-target, --algorithm, --function and --dimension are for studies without a race"
        )
    else:
        result = _load(study).result
    if not result.begun or len(result.values) < 2:
        raise StudyError(f"too little is known yet in {study}: it takes a complete round and two instances")
    with Console(stderr=True).status("comparing models"):
        found = examine(result, model or ())
    if as_json:
        echo(to_json({"study": str(study), **found.as_dict()}))
    else:
        show_examination(found, Console())


@app.command()
def report(
    study: StudyArgument,
    output: Annotated[
        Path | None, typer.Option(help="The page to write; default: report.html in the study.", show_default=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a study's report: one self-contained HTML page."""
    from polarbear.analyzer import report as write_report

    page = write_report(_load(study), output or study / "report.html")
    echo(to_json({"report": str(page)}) if as_json else f"report: {page}")


@app.command()
def suites(as_json: JsonOption = False) -> None:
    """List the problem suites and their fields."""
    from polarbear import problems

    _print_fields({suite: problems.suite_parameters(suite) for suite in problems.suites()}, as_json=as_json)


@app.command()
def optimizers(as_json: JsonOption = False) -> None:
    """List the optimizers and their fields."""
    from polarbear import optimizers as room

    _print_fields({family: room.family_parameters(family) for family in room.families()}, as_json=as_json)


def _load(study: Path) -> StudyView:
    """A study of a race, as far as it can be read; what is damaged is told."""
    from polarbear.study import load

    view = load(study)
    tell_damage(view.damaged)
    return view


def _race(
    the_race: Any,
    instances: Any,
    path: Path,
    *,
    workers: int,
    cluster: Cluster | None,
    stop: Any,
    settings: dict[str, Any],
    withdraw: list[str] | None,
    as_json: bool,
    **options: Any,
) -> None:
    from polarbear import optimizers, problems
    from polarbear.cli.console import Console
    from polarbear.cli.live import LiveProgress
    from polarbear.study import race as race_to_the_end

    entrants = [optimizers.describe(one) for one in the_race.algorithms.values()]
    again = resuming(path, {"instances": problems.describe(instances), "algorithms": entrants})
    with (
        told_warnings(),
        executor(cluster) as pool,
        interruptible("everything committed", again),
        LiveProgress(Console(stderr=True)) as live,
    ):
        result = race_to_the_end(
            the_race,
            instances,
            path,
            workers=workers,
            executor=pool,
            stop=stop,
            withdraw=withdraw or (),
            observer=live,
            **options,
            **settings,
        )
    _print_result(result, path, as_json=as_json, stopped=live.reason)
    if live.reason and not as_json:
        echo(f"\nStopped: {live.reason}.\nGo on with: {again}")
    if live.remarked:
        echo(f"{live.remarked:,} runs carry a message: polarbear show {shlex.quote(str(path))}", err=True)


def _print_result(result: Any, path: Path, *, as_json: bool, stopped: str = "", **extra: Any) -> None:
    from polarbear.analyzer.examination import answer_with_checks

    values, text = answer_with_checks(result)
    if as_json:
        echo(to_json({"study": str(path), "stopped": stopped, **values, **extra}))
    else:
        echo("\n" + text)


def _print_fields(listed: dict[str, dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        echo(to_json(listed))
        return
    for name, fields in listed.items():
        echo(name)
        for field, default in fields.items():
            echo(f"  {field} = {_in_toml(default)}")


def _in_toml(default: Any) -> str:
    if default is None:
        return "(not set)"
    return "(required)" if default == "required" else json.dumps(default)


def _fail(error: Exception, code: int) -> NoReturn:
    echo(f"polarbear: {error}", err=True)
    sys.exit(code)
