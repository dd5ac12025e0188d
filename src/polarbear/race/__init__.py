"""Racing to the anytime Pareto set: relations, elimination, resolution, batch sizes. Pure decisions.

`Race` asks for runs and is told their results; it executes and stores nothing (see `polarbear.study`).
"""

from polarbear.race.forecast import OpenPair
from polarbear.race.race import Race
from polarbear.race.relations import Relations
from polarbear.race.result import RaceResult
from polarbear.race.rounds import Request, Rival, Round
from polarbear.race.settings import CannotWithdraw, RaceSettings
from polarbear.race.state import RaceState

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
