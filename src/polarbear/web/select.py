"""What to deploy."""

from __future__ import annotations

from typing import Annotated

from polarbear.assess.report.data import Data
from polarbear.results import Result
from polarbear.web.kind import Choice, Number, Shown, Text, view

_RISKS = ("p2bb", "expected", "quantile")


def _risks(_: Result) -> tuple[str, ...]:
    return _RISKS


Budget = Annotated[str, Text("budget", "log-uniform")]
Risk = Annotated[str, Choice("risk", _risks)]
Size = Annotated[int, Number("portfolio size", 1, 32, 1, whole=True)]
Level = Annotated[float, Number("quantile", 0.001, 0.999, 0.05)]


@view("select", "What to deploy")
def deploy(result: Result, budget: Budget, risk: Risk, size: Size, gamma: Level) -> Shown:
    """The algorithm or portfolio to deploy for a preference over budgets, and how sure that is."""
    chosen = result.best(budget, size, gamma if risk == "quantile" else risk)
    fields = chosen.as_dict()
    rows = ([name, str(value)] for name, value in fields.items())
    return Shown(Data.of("selection", ("what", "value"), rows), result.plot.values(), str(chosen))
