"""Progress of longer work on a page, with a button that cancels it."""

# pyright: reportArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnusedFunction=false
# (Dash declares its components and callbacks without types)
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.exceptions import PreventUpdate

from polarbear.web.work import Job, Work

_LOOK = 400
"""Polling interval in milliseconds."""


def waiting(job: Job, prefix: str) -> Any:
    """The component shown while a job is in progress; `prefix` begins the ids of its parts."""
    return html.Div(
        [
            html.P(_said(job), id=f"{prefix}-said", role="status"),
            html.Button("Cancel", id=f"{prefix}-cancel", className="button"),
            dcc.Interval(id=f"{prefix}-look", interval=_LOOK),
            dcc.Store(id=f"{prefix}-job", data=job.id),
        ],
        className="shell waiting",
    )


def _said(job: Job) -> str:
    return f"{job.said or 'Working …'} ({job.seconds:.0f} s)"


def answer_waiting(app: Dash, work: Work, prefix: str, output: Output, made: Callable[[Job], Any]) -> None:
    """Show what a job has made once it is done, and cancel it on request.

    Args:
        app: Application.
        work: Registry of the jobs.
        prefix: As in `waiting`.
        output: Output that changes when a job is done.
        made: Function that makes its new value from the job.
    """

    @app.callback(
        output,
        Output(f"{prefix}-said", "children"),
        Input(f"{prefix}-look", "n_intervals"),
        Input(f"{prefix}-cancel", "n_clicks"),
        State(f"{prefix}-job", "data"),
        prevent_initial_call=True,
    )
    def look(_: int, clicked: int | None, name: str) -> Any:
        try:
            job = work.find(name)
        except ValueError as gone:  # it has been fetched already
            raise PreventUpdate from gone
        if clicked:
            job.cancel()
        if job.wait(1.0 if clicked else 0):
            return made(job), no_update
        return no_update, "Cancelling …" if clicked else _said(job)
