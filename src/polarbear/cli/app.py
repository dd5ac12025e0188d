"""The whole command line: all commands, and the exit codes of errors in them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Generator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from traceback import format_exception
from types import TracebackType
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from polarbear.cli.commands import commands
from polarbear.cli.options import (
    BAD_INPUT,
    EVERY_RUN_FAILED,
    INTERRUPTED,
    NO_WORKERS,
    UNUSABLE_STUDY,
    exit_codes,
    with_groups,
)
from polarbear.cli.recorded import bad_input
from polarbear.cli.terminal import echo, first_sentence, tell_warning
from polarbear.cli.termination import Terminated, terminable
from polarbear.plugins import load_plugin, plugin_names, plugin_packages
from polarbear.version import __version__


class _Offered(TyperCommand):
    """A command of another package, which is imported only when it is called."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of the command itself; an error message and exit code if it cannot be imported."""
        with bad_input():
            command = _loaded(str(self.name))
        return command.make_context(info_name, args, parent, **extra)


def _loaded(name: str) -> Any:
    """The command that another package provides, a function or a `typer.Typer`."""
    command = load_plugin("commands", name)
    if not callable(command):
        raise typer.BadParameter(
            f"{name!r}, which the package {plugin_packages('commands', name)} offers, is {command!r}; it must be a "
            "function or a typer.Typer"
        )
    box = typer.Typer(rich_markup_mode=None)
    if isinstance(command, typer.Typer):
        box.add_typer(command, name=name)
    else:
        box.command(name)(command)
    return get_group(box).commands[name]


class _Commands(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click's signature
        """Our commands, in the order of a typical workflow, then those of other packages."""
        return list(dict.fromkeys([*self.commands, *plugin_names("commands")]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name; ours take precedence over others'."""
        if (command := super().get_command(ctx, cmd_name)) is None and cmd_name in plugin_names("commands"):
            package = plugin_packages("commands", cmd_name)
            command = _Offered(cmd_name, help=f"From the package {package}.", rich_markup_mode=None)
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under their headings, with their full summaries."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            groups.setdefault(getattr(command, "rich_help_panel", None) or "From other packages", []).append(
                (name, first_sentence(command.help))
            )
        for group, rows in groups.items():
            with formatter.section(group):
                formatter.write_dl(rows)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of a command; prints that it was interrupted, which typer would not."""
        with _reporting_interrupts():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Print that a command was interrupted, unless it has already done so."""
        with _reporting_interrupts():
            return super().invoke(ctx)


@contextmanager
def _reporting_interrupts() -> Generator[None]:
    try:
        yield
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
for _command in commands():
    app.command(
        _command.name,
        rich_help_panel=_command.group,
        epilog=f"Example: {_command.example}\n\nExit codes: {exit_codes(_command.name)}.",
        context_settings={"token_normalize_func": _command.option},
    )(with_groups(_command.function))


def run() -> NoReturn:
    """Run the command line; errors that users can fix become one line and an exit code."""
    sys.excepthook = _print_traceback
    warnings.showwarning = tell_warning  # pyright: ignore[reportAttributeAccessIssue]
    try:
        with terminable():
            app()
    except Exception as error:
        code = _exit_code(error)
        if code is None:
            raise
        _fail(error, code)
    sys.exit(0)


def _exit_code(error: Exception) -> int | None:
    """The exit code of an error that users can fix; importing the rooms that define these errors takes a second."""
    from polarbear.racing import CannotWithdraw
    from polarbear.store import StudyError
    from polarbear.study import EveryRunFailed, NotTrusted, OtherSettings, StudyFileError, Unsuitable

    codes: dict[tuple[type[Exception], ...], int] = {
        (StudyFileError, NotTrusted, OtherSettings, Unsuitable, CannotWithdraw): BAD_INPUT,
        (EveryRunFailed,): EVERY_RUN_FAILED,
        (StudyError, OSError): UNUSABLE_STUDY,
        (BrokenExecutor,): NO_WORKERS,
    }
    return next((code for kinds, code in codes.items() if isinstance(error, kinds)), None)


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


def _fail(error: Exception, code: int) -> NoReturn:
    echo(f"polarbear: {error}", err=True)
    sys.exit(code)
