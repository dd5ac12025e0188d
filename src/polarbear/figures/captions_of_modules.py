"""Captions of figures about an optimizer's modules; see `captions`."""

from __future__ import annotations


def module_importance() -> str:
    """Caption of `module_importance`."""
    return (
        "Each bar is the share of the variance of log ratings over all configurations that is due to a module, a "
        "numerical parameter or a pair of them, at the budget above the panel; the dark line is its 95% interval."
    )


def effects_over_time() -> str:
    """Caption of `effects_over_time`."""
    return (
        "For each module, named at the left, the effect of each option on the log rating, relative to the mean over "
        "the module's options, with its 95% band. A difference of 0.69 doubles the odds of one run beating another."
    )


def parallel_coordinates(score: str) -> str:
    """Caption of `parallel_coordinates` coloured by a score."""
    return (
        f"Each line is a configuration; darker lines have a higher {score}. A line passes through the configuration's "
        "options, shifted a little up or down so that lines do not cover each other, and through its numbers between "
        "the ends of their ranges; it has a gap where a parameter is inactive."
    )


def initial_gains() -> str:
    """Caption of `initial_gains`."""
    return (
        "For each search, the share of its initial configurations whose gain over the default, the relative reduction "
        "of the loss, is at most that on the axis; configurations left of 0 are worse than the default. All losses are "
        "on the first instances, on which the default ran as well."
    )
