"""Fixed plans: every optimizer on every problem, with repetitions."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, cast

import numpy as np

from polarbear import optimizers, problems
from polarbear.descriptions import FieldError, checked_name, plain_value, shortened
from polarbear.experiment import Limits, Task
from polarbear.experiment.logging_schedule import Watch
from polarbear.problems import ProblemSpec
from polarbear.protocols import identity_of
from polarbear.records import Axis, Run, RunKey, check_axis
from polarbear.study.resume import built
from polarbear.study.suitability import check_optima, check_pairs
from polarbear.validation import parse_number, whole_number

_ORDER = 0x706C616E
"""Seed that separates the order of problems from all other streams of random numbers."""
MOST_COUNTED = 2**53
"""The largest budget: beyond it, floating-point numbers have steps of 2."""
MOST_PROBLEMS = 1_000_000
"""Maximum number of problems of a plan, which are all kept in memory."""
MOST_REPETITIONS = 10**12
"""Maximum number of repetitions, more than anyone can run."""
_LAST_SEED = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Budget:
    """The budget of each run.

    Attributes:
        amount: The number of evaluations or seconds.
        per_dimension: Whether the amount is multiplied by the problem's number of variables.
    """

    amount: float
    per_dimension: bool

    @classmethod
    def of(cls, budget: object, axis: Axis) -> Budget:
        """Parse a number, or a string such as ``"1000*d"``.

        Raises:
            TypeError: If `budget` is neither.
            ValueError: If it is not positive and finite, is too large, or is not a whole number of evaluations.
        """
        read = _read(budget)
        if not 0 < read.amount < np.inf:
            raise ValueError(f"budget is {shortened(budget)}; give a finite number of {axis} above 0")
        if read.amount > MOST_COUNTED:
            raise ValueError(f"budget is {shortened(budget)}; a run may have at most {MOST_COUNTED} {axis}")
        if axis == "evaluations" and not read.per_dimension and read.amount != int(read.amount):
            raise ValueError(f"budget is {budget!r}; it must be a whole number of evaluations")
        return read

    def at(self, dimension: int, axis: Axis) -> float:
        """The evaluations, rounded down but at least 1, or seconds of a run on a problem of the given dimension."""
        amount = self.amount * dimension if self.per_dimension else self.amount
        return max(1, int(amount)) if axis == "evaluations" else amount

    @property
    def plain(self) -> float | str:
        """The notation in study files."""
        amount = int(self.amount) if self.amount == int(self.amount) else self.amount
        return f"{amount!r}*d" if self.per_dimension else amount


def _read(given: object) -> Budget:
    if isinstance(given, str):
        return Budget(parse_number(given, dimension=1), per_dimension="*" in given)
    if isinstance(given, bool) or not isinstance(given, Real):
        raise TypeError(f"budget is {given!r}; give a number, or a string such as '1000*d'")
    try:
        return Budget(float(given), per_dimension=False)
    except OverflowError:
        return Budget(np.inf, per_dimension=False)


class Plan:
    """Every algorithm on every problem, `repetitions` times.

    A run's seed is `seed` plus the number of its repetition, from 0: runs of different algorithms with the same
    instance and seed are ranked together.

    Args:
        algorithms: Optimizers (see `polarbear.optimizers`) or callables ``optimizer(problem, rng)``, with their own
            names or in a mapping from names.
        problems: A list of problems, each of which is run; one problem; or a suite.
        repetitions: Number of runs of each algorithm on each problem.
        budget: The budget of each run: a number of evaluations or seconds, or a string such as ``"1000*d"`` where d is
            the problem's number of variables.
        axis: The unit of the budget.
        draws: Number of problems to take from the beginning of the suite's seeded stream; one that is drawn again is
            not run more often. None for all problems of a list, or the whole grid of a suite that has one.
        target_precision: The precision, relative to the known optimum, at which a run ends.
        timeout: Wall-clock seconds after which a run is interrupted.
        watch: When to log parameters and recommendations of the optimizers; None for never.
        seed: The first repetition's seed.
        check: Whether to refuse optimizers that do not suit the problems; some problems may have to be built for that.

    Attributes:
        algorithms: The optimizers by name.
        problems: The specifications of the problems, each once, in the suite's order.
        dimensions: The problems' numbers of variables.
        instances: The suite or list that they come from.
        repetitions, budget, axis, draws, limits, watch, seed: As given.

    Raises:
        TypeError: If an argument is not an optimizer, a problem or a number as described.
        Unsuitable: If an optimizer does not suit one of the problems, or a target precision or a log of targets is
            requested for a problem whose optimum is unknown.
        ValueError: If a number is out of range, there is no algorithm, two algorithms or two problems have the same
            name, `draws` is missing or has no effect, or there are more than a million problems.
    """

    def __init__(
        self,
        algorithms: Mapping[str, object] | Sequence[object],
        problems: object,
        *,
        repetitions: int = 1,
        budget: float | str,
        axis: Axis = "evaluations",
        draws: int | None = None,
        target_precision: float | None = None,
        timeout: float | None = None,
        watch: Watch | None = None,
        seed: int = 0,
        check: bool = True,
    ) -> None:
        self.axis: Axis = check_axis(axis)
        self.budget = Budget.of(budget, self.axis)
        self.repetitions = whole_number(repetitions, "repetitions", 1, MOST_REPETITIONS)
        self.seed = whole_number(seed, "seed", 0, _LAST_SEED - self.repetitions)
        self.draws = None if draws is None else whole_number(draws, "draws", 1, MOST_PROBLEMS)
        self.limits = Limits(target_precision=target_precision, timeout=timeout)
        self.watch = watch
        self.algorithms = _named(algorithms)
        self.instances, self.problems = chosen_problems(problems, self.draws)
        self._names = frozenset(problem.name for problem in self.problems)
        self.dimensions = tuple(_dimension(problem) for problem in self.problems)
        if self.budget.at(most := max(self.dimensions), self.axis) > MOST_COUNTED:
            limit = f"{MOST_COUNTED} {self.axis}"
            message = f"budget is {shortened(budget)} and d is up to {most}; a run may have at most {limit}"
            raise FieldError(("budget",), message)
        if check:
            check_pairs(self.algorithms, self.problems)
            check_optima(self.problems, target_precision, watch)

    def __contains__(self, key: RunKey) -> bool:
        """Whether a run is one of the plan's."""
        seeds = range(self.seed, self.seed + self.repetitions)
        return key.seed in seeds and key.algorithm in self.algorithms and key.instance in self._names

    @property
    def size(self) -> int:
        """Total number of runs."""
        return len(self.algorithms) * len(self.problems) * self.repetitions

    @property
    def evaluations(self) -> int | None:
        """The evaluations of all runs if each spends its whole budget; None on an axis of seconds."""
        if self.axis == "seconds":
            return None
        once = sum(int(self.budget.at(dimension, self.axis)) for dimension in self.dimensions)
        return once * len(self.algorithms) * self.repetitions

    def counts(self) -> Counter[tuple[str, int]]:
        """Number of runs by algorithm and dimension."""
        problems = Counter(self.dimensions)
        return Counter({(name, d): problems[d] * self.repetitions for name in self.algorithms for d in problems})

    def order(self) -> Iterator[tuple[RunKey, int]]:
        """All runs in the order in which they are started, each with its position in `problems`.

        They are ordered by repetition, by problem in an order that mixes functions and dimensions, and by algorithm: so
        whatever has finished after a while is representative of the whole.
        """
        order: list[int] = np.random.default_rng([_ORDER, len(self.problems)]).permutation(len(self.problems)).tolist()
        for seed in range(self.seed, self.seed + self.repetitions):
            for position in order:
                name = self.problems[position].name
                for algorithm in self.algorithms:
                    yield RunKey(name, algorithm, seed), position

    def tasks(self, there: Callable[[RunKey], bool] = lambda _: False) -> Iterator[Task]:
        """The tasks of the runs to execute, generated lazily, without runs for which `there` is true."""
        for key, position in self.order():
            if not there(key):
                yield self.task(key, position)

    def task(self, key: RunKey, position: int, **limits: Any) -> Task:
        """One run on the problem at a position in `problems`; `limits` replace the plan's."""
        reach = self.limits.up_to(self.budget.at(self.dimensions[position], self.axis), self.axis)
        return Task(
            key=key,
            problem=self.problems[position],
            optimizer=self.algorithms[key.algorithm],
            limits=dataclasses.replace(reach, **limits),
            watch=self.watch,
            warm_up=self.axis == "seconds",
        )

    def check(self, run: Run) -> None:
        """Check that an executed run is the intended one; raise if it is not."""

    def describe(self) -> dict[str, Any]:
        """The plan as plain values that a study keeps, from which `plan_from_spec` reconstructs it."""
        return {
            "plan": {
                "repetitions": self.repetitions,
                "budget": self.budget.plain,
                "axis": self.axis,
                "draws": self.draws,
                "seed": self.seed,
                "problems": len(self.problems),
            },
            "instances": problems.describe(self.instances),
            "algorithms": {name: optimizers.describe(algorithm) for name, algorithm in self.algorithms.items()},
            "limits": {"target_precision": self.limits.target_precision, "timeout": self.limits.timeout},
            "log": described(self.watch),
        }


def plan_from_spec(spec: Mapping[str, Any], imports: Collection[str] = ()) -> Plan:
    """The plan that a study's spec describes.

    Args:
        spec: The spec.
        imports: Modules and packages that the spec may import from, see `polarbear.study.modules_of`.

    Raises:
        NotTrusted: If the spec requires code of other modules.
        ValueError: If it contains no plan, or an optimizer or problem cannot be built from its description.
    """
    if "plan" not in spec:
        raise ValueError("the study contains no plan")
    log, settings = spec["log"], {name: value for name, value in spec["plan"].items() if name != "problems"}
    entrants, instances = built(spec, imports)
    return Plan(
        entrants,
        instances,
        **settings,
        **spec["limits"],
        watch=Watch(**log) if log else None,
        check=False,  # it was checked when the study was created
    )


def described(watch: Watch | None) -> dict[str, Any] | None:
    """The fields of a watch that differ from their defaults."""
    if watch is None:
        return None
    settings = {field.name: (getattr(watch, field.name), field.default) for field in dataclasses.fields(watch)}
    return {name: plain_value(value) for name, (value, default) in settings.items() if value != default}


def _named(algorithms: Mapping[str, object] | Sequence[object]) -> dict[str, optimizers.Optimizer]:
    if isinstance(algorithms, Mapping):
        named = {checked_name(name): optimizers.as_optimizer(algorithm) for name, algorithm in algorithms.items()}
    else:
        named = {}
        for algorithm in map(optimizers.as_optimizer, algorithms):
            if algorithm.name in named:
                raise ValueError(f"two algorithms are named {algorithm.name!r}; give names that differ")
            named[algorithm.name] = algorithm
    if not named:
        raise ValueError("algorithms is empty; a plan needs at least one")
    return named


def chosen_problems(listed_or_drawn: object, draws: int | None) -> tuple[problems.Instances, tuple[ProblemSpec, ...]]:
    """The given suite or list, and the specifications of its problems; arguments and errors are those of `Plan`."""
    instances = problems.as_instances(listed_or_drawn)
    grid, combinations = getattr(instances, "grid", None), getattr(instances, "combinations", None)
    listed: Iterable[ProblemSpec]
    if isinstance(instances, problems.FiniteInstances):
        if draws is not None:
            single = instances.repeat and len(instances.problems) == 1
            why = "there is only one problem" if single else "all problems of a list are run"
            mend = f"leave draws out{', and repeat it with repetitions' * single}"
            raise FieldError(("draws",), f"draws is {draws}, but {why}; {mend}")
        listed = instances.problems
    elif draws is not None:
        if instances.size is not None and draws > instances.size:
            message = f"draws is {draws}, but there are {instances.size} problems; leave draws out to use all"
            raise FieldError(("draws",), message)
        listed = (instances[draw] for draw in range(draws))
    elif instances.size is not None:
        listed = (instances[draw] for draw in range(instances.size))
    elif callable(grid):
        if combinations is not None and combinations > MOST_PROBLEMS:
            raise ValueError(
                f"{type(instances).__name__} has {combinations} problems; a plan may have at most {MOST_PROBLEMS}: "
                "choose fewer functions, dimensions or instances, or set draws to the number of problems to use"
            )
        listed = cast("tuple[ProblemSpec, ...]", grid())
    else:
        raise ValueError(f"{type(instances).__name__} is an endless stream; set draws to the number of problems to use")
    named: dict[str, ProblemSpec] = {}
    for spec in listed:
        if named.setdefault(spec.name, spec) != spec:
            raise ValueError(f"two problems are called {spec.name!r}; give each its own name (name=...)")
        if len(named) == combinations:
            break  # all further ones are repetitions
    return instances, tuple(named.values())


def _dimension(problem: ProblemSpec) -> int:
    """A problem's number of variables; the problem is built only if neither it nor its name says."""
    known = getattr(problem, "dimension", None) or identity_of(problem).dimension
    return int(known or problem.build().dimension)
