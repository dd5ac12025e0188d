"""Captions of the figures of races."""

from __future__ import annotations

MARKERS = " From the ninth algorithm on colours repeat, and markers along the lines tell them apart."


def rating_over_time(
    algorithms: int,
    *,
    level: float = 0.95,
    eliminated: bool = True,
    withdrawn: bool = False,
    truth: bool = False,
) -> str:
    """Caption of `rating_over_time` with `algorithms` lines.

    `eliminated`: whether some are drawn as eliminated; `withdrawn`: whether some of these were withdrawn instead.
    """
    out = "algorithms eliminated or withdrawn" if withdrawn else "eliminated algorithms"
    everyone = "both" if algorithms == 2 else f"all {algorithms}"
    return (
        "Each solid line is the posterior mean of an algorithm's rating: the probability that, on a new problem "
        f"instance, it has found the best result of {everyone} algorithms by that budget. The band around it is "
        f"the {level:.0%} credible interval, at each timepoint by itself; bands widen where fewer runs went that far. "
        + (f"Pale dashed lines without a band are {out}. " if eliminated else "")
        + "The ratings at one budget sum to 1; "
        + (
            "dotted lines are the true ratings. "
            if truth
            else f"the dotted line is 1/{algorithms}, where equal algorithms would lie. "
        )
        + "Names stand at the right ends of the lines, in bold if the algorithm is in the Pareto set."
        + (MARKERS if algorithms > 8 else "")
    )


def recovery(algorithms: int, *, level: float = 0.95) -> str:
    """Caption of `recovery` with `algorithms` lines."""
    return (
        "First panel: the true ratings, the probability of each algorithm to have the best result on a new instance by "
        "that budget; names of the true anytime Pareto set are bold. The panels that follow: what was believed after a "
        f"round. Solid lines are posterior means, bands the {level:.0%} credible interval at each timepoint by itself, "
        "dotted lines the truth; eliminated algorithms are dashed, pale and without a band. Last panel: the value of "
        "each algorithm under a preference over budgets, at the end of the race. The hill is its posterior density, "
        "the dot its mean, the line its 95% credible interval, the upright stroke the true value. P2BB is the "
        "probability that no other algorithm has a higher value." + (MARKERS if algorithms > 8 else "")
    )


def dominance_over_rounds(*, alpha: float, joint: bool, withdrawn: bool = False) -> str:
    """Caption of `dominance_over_rounds` under decision threshold `alpha` and joint or pointwise elimination.

    `withdrawn`: whether algorithms were withdrawn.
    """
    dominated = (
        "the probability that its strongest rival is better at all timepoints at once"
        if joint
        else "the probability that its strongest rival is better, at the timepoint where this is least sure"
    )
    return (
        f"Each coloured line follows one algorithm from round to round (dots): {dominated}. Up to 0.9 the left axis is "
        "linear; above, each further 9 takes the same room, so that near-certainty can be read. An algorithm that "
        f"reaches the dashed line, the threshold α = {alpha:g}, is eliminated (cross). A diamond marks the round after "
        "which all relations of a candidate are resolved: it is settled as a member of the Pareto set. Marks that "
        "would hide each other stand side by side. The black steps, on the right axis, are the share of all pairs of "
        "algorithms that are resolved at every timepoint. Ticks below the horizontal axis are the rounds."
        + (
            " Withdrawn algorithms end in a cross, too, and those they had eliminated go on then; one withdrawn before "
            "the first run has no line."
            if withdrawn
            else ""
        )
    )


def allocation(axis: str) -> str:
    """Caption of `allocation` on a budget in "evaluations" or "seconds"."""
    return (
        f"One bar per algorithm along the budget in {axis}. The shade, and the number where there is room for it, is "
        "the number of problem instances on which the algorithm was observed at that budget. A bar gets paler to the "
        "right where later runs were stopped earlier because late budgets were already decided. At the right stand the "
        "evaluations that each algorithm spent in all, and its share. Members of the Pareto set come first, in bold; "
        "those that are out (×) follow: the eliminated, the last one first, and the withdrawn."
    )


def preference_values(*, sure: bool) -> str:
    """Caption of `preference_values`, whose uncertainty can be taken at face value or not."""
    caution = (
        ""
        if sure
        else " The model takes what the same runs repeat from budget to budget for new evidence: for preferences "
        "over more than one budget, hills and intervals are too narrow and P2BB is too sure. Read the order, not the "
        "certainty, or race with the model instance-bootstrap."
    )
    return (
        "One panel per preference over budgets, one row per member of the Pareto set. The value is the mean rating "
        "over the budgets, weighted by the preference: uniform weighs every evaluation (or second) alike, "
        "log-uniform every order of magnitude, final looks at the last budget alone. The dot is the posterior mean of "
        "the value, the line its 95% credible interval, the hill its posterior density (all scaled to one height). "
        "P2BB is the probability that no other member has a higher value; the highest is bold." + caution
    )


def relations_over_time(*, alpha: float, epsilon: float, crossing: bool) -> str:
    """Caption of `relations_over_time` under a threshold, a region of equivalence and a resolution rule."""
    resolved = (
        " A pair also counts as resolved once it is decided that the two cross, even if some budgets stay undecided."
        if crossing
        else ""
    )
    return (
        "One strip per pair along the budget; the first algorithm owns the upper half, the second the lower. The "
        "coloured area reaches from the middle line (both equally likely to be better) towards the one that is more "
        "likely better, in its colour; a full half is certainty. Saturated colour: decided, with probability "
        f"{alpha:g} or more. Pale colour: undecided. A grey bar along the middle: equivalent, meaning that with at "
        f"least that probability each beats the other in {0.5 - epsilon:.0%} to {0.5 + epsilon:.0%} of all cases."
        + resolved
    )
