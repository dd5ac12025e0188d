"""How far longer work is, on a page, and the button that cancels it."""

# pyright: reportArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnusedFunction=false
# (dash declares its components and callbacks without types)
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.exceptions import PreventUpdate

from polarbear.web.work import Job, Work

_LOOK = 400
"""Milliseconds between looks."""


def waiting(job: Job, place: str) -> Any:
    """What stands in a place while a job is under way."""
    return html.Div(
        [
            html.P(_said(job), id=f"{place}-said", role="status"),
            html.Button("Cancel", id=f"{place}-cancel", className="button"),
            dcc.Interval(id=f"{place}-look", interval=_LOOK),
            dcc.Store(id=f"{place}-job", data=job.id),
        ],
        className="shell waiting",
    )


def _said(job: Job) -> str:
    return f"{job.said or 'Working …'} ({job.seconds:.0f} s)"


def answer_waiting(app: Dash, work: Work, place: str, output: Output, made: Callable[[Job], Any]) -> None:
    """Put what a job has made in its place when it is done, and cancel it when somebody says so.

    Args:
        app: The application.
        work: Where its jobs are.
        place: Where it is waited for: `waiting`.
        output: What is changed when a job is done.
        made: What it becomes.
    """

    @app.callback(
        output,
        Output(f"{place}-said", "children"),
        Input(f"{place}-look", "n_intervals"),
        Input(f"{place}-cancel", "n_clicks"),
        State(f"{place}-job", "data"),
        prevent_initial_call=True,
    )
    def look(_: int, clicked: int | None, name: str) -> Any:
        try:
            job = work.find(name)
        except ValueError as gone:  # somebody has fetched it already
            raise PreventUpdate from gone
        if clicked:
            job.cancel()
        if job.wait(1.0 if clicked else 0):
            return made(job), no_update
        return no_update, "Cancelling …" if clicked else _said(job)
