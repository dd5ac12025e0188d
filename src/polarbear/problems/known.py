"""What is known of the instances that other people's data name."""

from __future__ import annotations

import math
from functools import lru_cache

from polarbear.problems.pbo import PBOProblem
from polarbear.records import Instance


def raw_optimum(instance: Instance) -> float | None:
    """The lowest raw value on an instance of the suites bbob and pbo, as IOHexperimenter logs it.

    Raw values are those before the function's value is shifted and scaled to that of the instance: on bbob precisions,
    on pbo the values on instance 1.

    Args:
        instance: With the numbers of its function and instance.

    Returns:
        The optimum, to be minimized; None if the suite is another one or the optimum is not known.
    """
    if instance.suite == "bbob":
        return 0.0
    if instance.suite == "pbo" and instance.function.isdecimal():
        return _of_pbo(int(instance.function), instance.dimension)
    return None


@lru_cache
def _of_pbo(function: int, dimension: int) -> float | None:
    try:
        optimum = PBOProblem(function, 1, dimension).build().optimum
    except ValueError:  # the suite has no such problem
        return None
    return None if optimum is None or not math.isfinite(optimum) else -optimum
