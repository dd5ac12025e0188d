"""Captions of figures about an optimizer's modules; see `captions`."""

from __future__ import annotations


def module_importance() -> str:
    """Caption of `module_importance`."""
    return (
        "A bar is the share of a module, or of a number, in the variance of log ratings over all configurations, at "
        "the budget above it, and its dark line the 95 % interval."
    )


def effects_over_time() -> str:
    """Caption of `effects_over_time`."""
    return (
        "For each module, named at the left, the effect of each option on the log rating, beside the mean of the "
        "module's options, and its 95 % band. A difference of 0.69 doubles the odds of one run against another."
    )


def parallel_coordinates(score: str) -> str:
    """Caption of `parallel_coordinates` coloured by a score."""
    return (
        f"A line is a configuration, and the darker the higher its {score}. It passes through its options, a little "
        "above or below so that lines do not cover each other, and through its numbers between the ends of their "
        "ranges; where a parameter is not active it is broken."
    )


def initial_gains() -> str:
    """Caption of `initial_gains`."""
    return (
        "For each search the share of the configurations that it started with whose loss is below the default's by no "
        "more than so much of it; left of 0 they are worse. All on the first instances, on which the default ran too."
    )
