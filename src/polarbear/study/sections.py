"""The TOML tables that races and plans share."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from polarbear.study.files import Section


class RunLimitsSection(Section):
    """`[limits]` of a plan: when single runs stop early."""

    target_precision: Annotated[float, Field(ge=0)] | None = None
    """A run is solved, and ties with other solved runs, once it is this close to the known optimum."""
    timeout: Annotated[float, Field(gt=0)] | None = None
    """Wall-clock seconds after which one run is interrupted."""


class LogSection(Section):
    """`[log]`: which parameters of the optimizers are logged, and when."""

    on_improvement: bool = False
    """Log each evaluation that improves the recorded value."""
    every: Annotated[int, Field(ge=1)] | None = None
    """Log each evaluation whose number is a multiple of this."""
    at: list[Annotated[int, Field(ge=1)]] = Field(default_factory=list[int])
    """Log these evaluations."""
    per_decade: Annotated[int, Field(ge=1)] | None = None
    """Log so many evaluations in each decade, evenly on a log scale."""
    targets_per_decade: Annotated[int, Field(ge=1)] | None = None
    """Log when the precision first reaches a further target, of which there are so many in each decade."""
    parameters: list[str] | None = None
    """Which of the parameters that optimizers expose are logged; all of them by default."""
    recommendations: bool = False
    """Log the value of the point that the optimizer would return."""
    points: int | Literal["all"] | None = None
    """Keep the points of evaluations whose number is a multiple of this, or of "all" of them, with their values."""

    @field_validator("points", mode="before")
    @classmethod
    def _check_points(cls, points: Any) -> Any:
        if points is None or points == "all" or (type(points) is int and points >= 1):
            return points
        raise ValueError('give a whole number of 1 or more, or "all"')
