"""Racing to the anytime Pareto set: relations, elimination, resolution and batch sizes.

`Race` only makes decisions: it asks for runs and is told their results, but neither executes nor stores them (see
`polarbear.study`).
"""

from polarbear.racing.forecast import OpenPair
from polarbear.racing.race import Race
from polarbear.racing.relations import Relations
from polarbear.racing.result import RaceResult
from polarbear.racing.rounds import Request, Rival, Round
from polarbear.racing.settings import CannotWithdraw, RaceSettings
from polarbear.racing.state import RaceState

__all__ = [
    "CannotWithdraw",
    "OpenPair",
    "Race",
    "RaceResult",
    "RaceSettings",
    "RaceState",
    "Relations",
    "Request",
    "Rival",
    "Round",
]
