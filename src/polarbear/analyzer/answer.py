"""The findings of a race, in sentences that claim no more than the posterior does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polarbear.analyzer.words import at_least, budget, instant, probability, spans, two_digits
from polarbear.descriptions import listed
from polarbear.inference import TOO_SURE, events
from polarbear.quantities import amount, duration, plural
from polarbear.racing import OpenPair, RaceResult, Round
from polarbear.racing.relations import in_circles
from polarbear.records import Axis, FloatArray
from polarbear.select import Choice, best

PREFERENCES = {
    "uniform": "every budget from {first} to {last} matters equally",
    "log-uniform": "every order of magnitude from {first} to {last} matters equally",
    "final": "only the budget {last} matters",
}
"""Named preferences over budgets, and what each of them means."""
ON_REQUEST, SET_ASIDE = "on request", "nothing came back"
"""Reasons for a withdrawal: the user's request, or a round in which none of the algorithm's runs returned."""
MOST_OPEN_PAIRS = 10
"""Maximum number of undecided pairs described in words; those cheapest to decide come first."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of the Pareto set, and where it is best.

    Attributes:
        name: Name of the algorithm.
        highest: Largest P(best) over the timepoints, i.e. the posterior probability that, on new instances, it is the
            best of all members more often than any other (of all algorithms not withdrawn, if it is the only member).
        first: Expected share of new instances on which it is the best of them at that timepoint.
        at: Timepoint of `highest`.
        sentence: All of this in words, without the name.
    """

    name: str
    highest: float
    first: float
    at: float
    sentence: str


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The algorithms to deploy under a preference over budgets, by three criteria (eqs. 33–35 of Wurth et al. 2026).

    Attributes:
        preference: Name of the preference.
        condition: Meaning of the preference, to follow "if".
        likeliest: Algorithm most probable to be best.
        expected: Algorithm with the largest expected value.
        cautious: Algorithm with the largest 5% quantile of the value.
        sure: Whether the stated uncertainty can be taken at face value; see `polarbear.select.Selection`.
    """

    preference: str
    condition: str
    likeliest: Choice
    expected: Choice
    cautious: Choice
    sure: bool


@dataclass(frozen=True, slots=True)
class Elimination:
    """The elimination of an algorithm.

    Attributes:
        name: Name of the algorithm.
        by: Algorithm that dominated it.
        round: Number of the round.
        instances: Number of problem instances drawn by then.
        probability: Lower bound on the probability of dominance on which the decision was based.
        sentence: All of this in words.
    """

    name: str
    by: str
    round: int
    instances: int
    probability: float
    sentence: str


@dataclass(frozen=True, slots=True)
class FalseElimination:
    """The probability that an elimination was an error (section 3.1 of Wurth et al. 2026).

    Attributes:
        probability: Posterior probability that at least one eliminated algorithm is in the anytime Pareto set.
        sentence: All of this in words.
    """

    probability: float
    sentence: str


@dataclass(frozen=True, slots=True)
class Undecided:
    """A pair of algorithms that is still undecided.

    Attributes:
        first: First algorithm.
        second: Second algorithm.
        from_time: First timepoint at which the pair is unresolved.
        to_time: Last timepoint at which the pair is unresolved.
        more_instances: Rough forecast of the further instances needed; None if there is no forecast.
        sentence: All of this in words.
    """

    first: str
    second: str
    from_time: float
    to_time: float
    more_instances: float | None
    sentence: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The findings of a race, in sentences.

    Attributes:
        finished: Whether every pair is resolved.
        pareto_set: Names of the members of the Pareto set.
        headline: The Pareto set in a sentence.
        members: Where each member is best, in decreasing order of the mean P(best) over the timepoints.
        relations: For each pair of members, which is better when.
        eliminated: Each elimination: by which algorithm, when, and with what probability.
        false_elimination: Probability that any elimination was an error; None if there was none, or if the posterior is
            not joint over time and so cannot tell.
        withdrawn: Each withdrawn algorithm and the reason: `ON_REQUEST` or `SET_ASIDE`.
        undecided: Undecided pairs, and what it would take to resolve them.
        recommendations: Algorithms to deploy under three preferences; empty before the first run.
        evaluations: Number of evaluations spent.
        saved: Share of the evaluations saved compared with running everything to the end; None on an axis of seconds.
        saved_against_plan: Approximate share of the evaluations saved compared with a fixed plan of equal certainty;
            None on an axis of seconds, and while pairs are undecided.
        effort: Evaluations spent and saved, in words.
        cautions: What to bear in mind before relying on the answer.
    """

    finished: bool
    pareto_set: tuple[str, ...]
    headline: str
    members: tuple[Member, ...]
    relations: tuple[str, ...]
    eliminated: tuple[Elimination, ...]
    false_elimination: FalseElimination | None
    withdrawn: dict[str, str]
    undecided: tuple[Undecided, ...]
    recommendations: tuple[Recommendation, ...]
    evaluations: int
    saved: float | None
    saved_against_plan: float | None
    effort: str
    cautions: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The answer as values that can be written as JSON."""
        return asdict(self)

    @property
    def text(self) -> str:
        """The answer as plain text, one sentence per line."""
        lines = [self.headline, ""]
        lines += [f"  {member.name}: {member.sentence}" for member in self.members]
        in_all = [] if self.false_elimination is None else [self.false_elimination.sentence]
        for title, sentences in (
            ("Eliminated", [elimination.sentence for elimination in self.eliminated] + in_all),
            ("Undecided", self._open_pairs()),
            ("Cautions", self.cautions),
        ):
            if sentences:
                lines += ["", f"{title}:", *[f"  {sentence}" for sentence in sentences]]
        return "\n".join([*lines, "", self.effort])

    def __str__(self) -> str:
        return self.text

    def _open_pairs(self) -> list[str]:
        rest = len(self.undecided) - MOST_OPEN_PAIRS
        more = [f"… and {plural(rest, 'more pair')}."] if rest > 0 else []
        return [pair.sentence for pair in self.undecided[:MOST_OPEN_PAIRS]] + more


def answer(result: RaceResult) -> Answer:
    """The findings of a race, finished or not, in words; raises TypeError if `result` is not a race's result."""
    if not isinstance(result, RaceResult):  # pyright: ignore[reportUnnecessaryIsInstance]
        instead = "its .result" if hasattr(result, "result") else "a race's result"
        raise TypeError(f"result is a {type(result).__name__}; give {instead}")
    settings = result.settings
    members = result.pareto_set
    began, counted = result.begun, result.begun and settings.axis == "evaluations"
    plan = result.saved_against_plan if counted and result.finished else None
    return Answer(
        finished=result.finished,
        pareto_set=members,
        headline=_headline(result),
        members=_members(result) if began else (),
        relations=tuple(
            f"{first} – {second}: {pair_in_words(result, first, second)}." for first, second in combinations(members, 2)
        ),
        eliminated=tuple(_eliminations(result)),
        false_elimination=_false_elimination(result),
        withdrawn=why_withdrawn(result),
        undecided=tuple(_undecided(pair, settings.axis) for pair in result.undecided) if began else (),
        recommendations=tuple(_recommendation(result, name) for name in PREFERENCES) if began else (),
        evaluations=result.evaluations,
        saved=max(result.saved, 0.0) if counted else None,
        saved_against_plan=plan,
        effort=_effort(result, plan),
        cautions=tuple(_cautions(result)),
    )


def why_withdrawn(result: RaceResult) -> dict[str, str]:
    """The withdrawn algorithms and the reasons, `ON_REQUEST` or `SET_ASIDE`."""
    return {name: SET_ASIDE if name in result.set_aside else ON_REQUEST for name in result.withdrawn}


def pair_in_words(result: RaceResult, first: str, second: str) -> str:
    """Which of two algorithms is better when: ``CSA is better from 50 to 900, undecided at 1,000 evaluations``."""
    posterior, decided = result.posterior, result.relations
    i, j = posterior.names.index(first), posterior.names.index(second)
    wins, loses, equal = decided.dominates[:, i, j], decided.dominates[:, j, i], decided.equivalent[:, i, j]
    parts = [
        (f"{first} is better", wins),
        (f"{second} is better", loses),
        ("equivalent", equal),
        ("undecided", ~(wins | loses | equal)),
    ]
    return ", ".join(
        f"{words} {spans(posterior.times, mask, result.settings.axis)}" for words, mask in parts if mask.any()
    )


def _headline(result: RaceResult) -> str:
    names, members = result.posterior.names, result.pareto_set
    total, remaining = len(result.names) - len(result.withdrawn), _left(result)
    if not result.begun and total == 1:
        return f"Nothing is known about {members[0]}, the only algorithm{remaining}: nothing has been run."
    if not result.begun:
        return f"Nothing is known yet about {listed(members)}: no round is complete."
    share = f"{len(members)} of {total}"
    if len(members) == total:
        share = "Both" if total == 2 else f"All {total}"
    if not result.finished:
        pairs = plural(len(result.undecided), "pair")
        verb = "is" if len(result.undecided) == 1 else "are"
        return (
            f"{share} algorithms{remaining} are still in the race: {listed(members)}. {pairs} {verb} undecided, "
            "so the set may yet shrink."
        )
    if total == 1:
        return f"{members[0]} is the only algorithm{remaining}."
    if len(members) == 1:
        others = (
            f"the other algorithm{remaining}" if total == 2 else f"each of the other {total - 1} algorithms{remaining}"
        )
        return f"{members[0]} is the whole anytime Pareto set: {others} was eliminated."
    sentence = f"{share} algorithms{remaining} form the anytime Pareto set: {listed(members)}."
    inside = np.ix_(range(len(result.posterior.times)), *[[names.index(name) for name in members]] * 2)
    decided = result.relations
    if (decided.equivalent[inside] | np.eye(len(members), dtype=bool)).all():
        return f"{sentence} They are practically equivalent at every timepoint."
    wins = decided.dominates[inside].any(axis=0)
    if (wins & wins.T).any():
        return f"{sentence} Which of them is best depends on the budget."
    return f"{sentence} None of them is known to be better than another at every timepoint."


def _members(result: RaceResult) -> tuple[Member, ...]:
    members, posterior = result.pareto_set, result.posterior
    rivals = members if len(members) > 1 else _not_withdrawn(result)
    if len(rivals) == 1:
        return (Member(rivals[0], 1.0, 1.0, float(posterior.times[0]), "no other algorithm is left to compare with."),)
    first = posterior.first(rivals)
    often, best_at = first.mean(axis=0), (first == first.max(axis=2, keepdims=True)).mean(axis=0)
    leader = best_at.argmax(axis=1)
    described: list[Member] = []
    average = {name: (best_at[:, column].mean(), often[:, column].mean()) for column, name in enumerate(rivals)}
    for name in sorted(members, key=lambda name: average[name], reverse=True):
        column = rivals.index(name)
        peak = int(best_at[:, column].argmax())
        sentence = _best_at(result, best_at[:, column], often[:, column], leader == column)
        chances = float(best_at[peak, column]), float(often[peak, column])
        described.append(Member(name, *chances, float(posterior.times[peak]), sentence))
    return tuple(described)


def _best_at(result: RaceResult, p_best: FloatArray, often: FloatArray, leads: NDArray[np.bool_]) -> str:
    times, settings = result.posterior.times, result.settings
    peak = int(p_best.argmax())
    if not leads.any():
        return (
            f"never the most likely best (P(best) at most {probability(p_best[peak])}, at "
            f"{budget(times[peak], settings.axis)}; best on up to {often.max():.0%} of instances), but "
            f"{_nobody(result)} is known to be better at every timepoint."
        )
    if leads.all() and p_best.max() - p_best.min() < 0.0005:
        return f"most likely the best at every timepoint (P(best) {probability(p_best.min())}; {_share(often)})."
    if leads.all():
        low, high = probability(p_best.min()), probability(p_best.max())
        return f"most likely the best at every timepoint (P(best) from {low} to {high}; {_share(often)})."
    sentence = (
        f"most likely the best {spans(times, leads, settings.axis)} (P(best) up to {probability(p_best[peak])}, "
        f"at {instant(times[peak])}; {_share(often[leads])})"
    )
    sure = leads & (p_best >= settings.alpha)
    if sure.any():
        sentence += f"; {spans(times, sure, settings.axis)} with P(best) ≥ {settings.alpha:g}"
    return f"{sentence}."


def _share(often: FloatArray) -> str:
    low, high = f"{often.min():.0%}", f"{often.max():.0%}"
    return f"best on {low} of instances" if low == high else f"best on {low} to {high} of instances"


def _eliminations(result: RaceResult) -> list[Elimination]:
    return [
        _elimination(round_, name, rival, result)
        for round_ in result.rounds
        for name, rival in round_.eliminated.items()
        if result.eliminated.get(name) == rival  # the algorithm has not returned since
    ]


def _elimination(round_: Round, name: str, rival: str, result: RaceResult) -> Elimination:
    strongest, p = round_.dominance.get(name), result.settings.alpha
    if strongest is not None and strongest.name == rival:
        p = max(p, strongest.probability)
    how = (
        f"P({rival} is better at all timepoints at once) was {at_least(p)}"
        if result.settings.elimination == "joint"
        else f"P({rival} is better) was {at_least(p)} at each timepoint"
    )
    when = f"round {round_.number}, after {plural(round_.instances, 'instance')}"
    sentence = f"{name} was eliminated by {rival} in {when}: {how}."
    return Elimination(name, rival, round_.number, round_.instances, p, sentence)


def _false_elimination(result: RaceResult) -> FalseElimination | None:
    posterior, count = result.posterior, len(result.eliminated)
    out, rivals = list(result.eliminated), _not_withdrawn(result)
    if not count or not set(out) <= set(posterior.names):
        return None
    if result.settings.relations == "wins":
        losers, others = ([posterior.index(name) for name in names] for names in (out, rivals))
        p = posterior.known_wins.false_elimination(losers, others)
    elif posterior.joint or posterior.times.size == 1:
        p = posterior.probability(events.false_elimination(out, by=rivals))
    else:
        return None
    what = "this elimination was" if count == 1 else f"at least one of these {count} eliminations was"
    return FalseElimination(
        p,
        f"The probability that {what} an error, that is, that {_nobody(result)} is better than the eliminated one at "
        f"all timepoints at once, is {probability(p)}.",
    )


def _undecided(pair: OpenPair, axis: Axis) -> Undecided:
    when = (
        f"at {budget(pair.from_time, axis)}"
        if pair.from_time == pair.to_time
        else f"at timepoints between {instant(pair.from_time)} and {budget(pair.to_time, axis)}"
    )
    more = two_digits(pair.more_instances) if np.isfinite(pair.more_instances) else None
    if more is None:
        cost = "how many more instances it would take cannot be forecast"
    elif more <= 1:
        cost = "a few more instances should decide it (rough forecast)"
    else:
        cost = f"it would take about {amount(more)} more instances (rough forecast)"
    sentence = f"{pair.first} – {pair.second} is undecided {when}; {cost}."
    return Undecided(pair.first, pair.second, pair.from_time, pair.to_time, more, sentence)


def _recommendation(result: RaceResult, preference: str) -> Recommendation:
    posterior, axis = result.posterior, result.settings.axis
    first, last = instant(posterior.times[0]), budget(posterior.times[-1], axis)
    by_p2bb = best(posterior, preference, candidates=result.pareto_set)
    return Recommendation(
        preference=preference,
        condition=PREFERENCES[preference].format(first=first, last=last),
        likeliest=by_p2bb.best,
        expected=max(by_p2bb.choices, key=lambda choice: choice.expected),
        cautious=max(by_p2bb.choices, key=lambda choice: choice.quantile),
        sure=by_p2bb.sure,
    )


def _effort(result: RaceResult, plan: float | None) -> str:
    if not result.begun:
        return "Nothing has been spent yet."
    last, times = result.rounds[-1], result.posterior.times
    runs = f"{plural(last.runs, 'run')} on {plural(last.instances, 'instance')}"
    if result.settings.axis == "seconds":
        return f"Spent: {duration(last.seconds)} inside {runs} ({amount(result.evaluations)} evaluations)."
    n = len(result.names)
    everyone = "both" if n == 2 else f"all {n}"
    return (
        f"Spent: {amount(result.evaluations)} evaluations in {runs}. Running {everyone} "
        f"algorithms to {budget(times[-1], 'evaluations')} on the same instances would have taken "
        f"{amount(result.evaluations_to_the_end)}: {max(result.saved, 0.0):.0%} saved." + _against_plan(result, plan)
    )


def _against_plan(result: RaceResult, saved: float | None) -> str:
    """Evaluations saved compared with a fixed plan that uses the right number of instances, in words."""
    if saved is None:
        return ""
    if result.plan_instances == len(result.values):
        return " A fixed plan of equal certainty would have taken about as many instances (rough estimate)."
    less = f"{saved:.0%} saved" if saved >= 0 else "less than the race has spent"
    return (
        " A fixed plan of equal certainty, had it been known how many instances that takes, would have used about "
        f"{result.plan_instances:,} of these {len(result.values):,} instances (rough estimate): {less}."
    )


def _cautions(result: RaceResult) -> list[str]:
    cautions: list[str] = []
    if on_request := [name for name, why in why_withdrawn(result).items() if why == ON_REQUEST]:
        cautions.append(f"{_were(on_request)} withdrawn: the Pareto set is that of the others.")
    if result.set_aside:
        cautions.append(
            f"{_were(result.set_aside)} set aside and not assessed: "
            "none of the runs of a round came back (all were killed or timed out)."
        )
    if not result.begun:
        return cautions
    last, doubtful = result.rounds[-1], result.posterior.diagnostics.doubtful
    if last.failures:
        verb = "was" if last.failures == 1 else "were"
        cautions.append(
            f"{last.failures:,} of {last.runs:,} runs failed, timed out or {verb} killed. A failed run keeps what it "
            "had found. If a run timed out or was killed, nothing is known beyond its end, which favours algorithms "
            "that do not survive hard instances."
        )
    cautions += _circles(result)
    if last.overconfidence is not None and last.overconfidence > TOO_SURE:
        cautions.append(
            "The model treats what a run repeats from budget to budget as new evidence, and is as certain as if "
            f"{last.overconfidence:.1f} times as many instances had been run: read the order, not the certainty."
        )
    if doubtful.any():
        where = spans(result.posterior.times, doubtful, result.settings.axis)
        cautions.append(f"The posterior is unreliable {where}: use more draws.")
    return cautions


def _circles(result: RaceResult) -> list[str]:
    """Cycles of three algorithms each of which beats the next, and when."""
    names, beats = result.posterior.names, result.posterior.known_wins.pairwise_probabilities() >= result.settings.alpha
    sentences: list[str] = []
    everyone = np.ones(len(names), bool)
    circular = np.stack([in_circles(probabilities, everyone, 1.0) for probabilities in beats.astype(float)])
    inside = np.flatnonzero(np.logical_or.reduce(circular, axis=(0, 1))).tolist()
    for i, j, k in ((i, *rest) for i, *others in combinations(inside, 3) for rest in permutations(others)):
        circle = beats[:, i, j] & beats[:, j, k] & beats[:, k, i]
        if circle.any():
            a, b, c = names[i], names[j], names[k]
            when = spans(result.posterior.times, circle, result.settings.axis)
            sentences.append(
                f"{a} beats {b}, {b} beats {c} and {c} beats {a}, each on most instances, {when}: no ratings fit this."
            )
    return sentences


def _were(names: Sequence[str]) -> str:
    return f"{listed(names)} {'was' if len(names) == 1 else 'were'}"


def _not_withdrawn(result: RaceResult) -> tuple[str, ...]:
    return tuple(name for name in result.posterior.names if name not in result.withdrawn)


def _left(result: RaceResult) -> str:
    """The qualifier after the word "algorithms" if withdrawn ones are not counted."""
    if not result.withdrawn:
        return ""
    return " not set aside" if result.set_aside == result.withdrawn else " not withdrawn"


def _nobody(result: RaceResult) -> str:
    return f"none of the other algorithms{_left(result)}" if result.withdrawn else "no other algorithm"
