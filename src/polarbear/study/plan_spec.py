"""Plans specified in TOML."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from polarbear import problems
from polarbear.descriptions import FieldError, FieldPath, errors_at
from polarbear.problems import ProblemSpec
from polarbear.records import Axis
from polarbear.study.files import WHAT, LogSection, Root, RunLimitsSection, Section, contents, read_file
from polarbear.study.plan import Budget, Plan, chosen_problems
from polarbear.study.spec import built_algorithms, built_watch
from polarbear.study.suitability import Unsuitable

COCO_INSTANCES = 15
"""Number of instances of each function in COCO's experiments."""


class PlanSection(Section):
    """`[plan]`: the numbers of runs and their budget."""

    budget: Any
    """Budget of each run: a number, or a multiple of the number of variables, such as `"1000*d"`."""
    repetitions: Annotated[int, Field(ge=1)] = 1
    """Runs of each algorithm on each problem, each with its own seed."""
    axis: Axis = "evaluations"
    """Unit of the budget: "evaluations" or "seconds"."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the first repetition; the others count up from it."""


class PlanSpec(Root):
    """A plan file: `[plan]`, `[instances]`, `[[algorithms]]`, and optionally `[limits]` and `[log]`."""

    kind: ClassVar[str] = "plan"
    about: ClassVar[str] = "plan"

    plan: PlanSection
    """How often each algorithm runs on each problem, and how far."""
    instances: dict[str, Any]
    """The problems: `suite`, that suite's own fields, and optionally the number of `draws` from its stream."""
    algorithms: Annotated[list[dict[str, Any]], Field(min_length=1)]
    """The algorithms: each with `optimizer`, that optimizer's own fields, and optionally a `name`."""
    limits: RunLimitsSection = RunLimitsSection()
    """When to stop single runs early."""
    log: LogSection | None = None
    """Which parameters of the optimizers to log, and when."""

    def build(self) -> Plan:
        """The plan as described.

        Raises:
            ValueError: If a suite or an optimizer is unknown, or a value is out of range; the error names the field.
        """
        algorithms = built_algorithms(self.algorithms)
        stream, draws = _stream(self.instances)
        watch = built_watch(self.log)
        with errors_at("plan", "budget"):
            Budget.of(self.plan.budget, self.plan.axis)
        settings = self.plan.model_dump() | self.limits.model_dump()
        try:
            return Plan(algorithms, stream, draws=draws, watch=watch, **settings)
        except Unsuitable as error:
            where = ("algorithms", list(algorithms).index(error.algorithm)) if error.algorithm else ()
            raise FieldError(where or self._path(error.where), str(error)) from error
        except (ValueError, TypeError) as error:
            raise FieldError(self._path(getattr(error, "where", ())), str(error)) from error

    def _path(self, where: FieldPath) -> FieldPath:
        """The path of one of a plan's settings; that of the problems if it is not a setting."""
        sections: dict[str, type[Section]] = {"plan": PlanSection, "limits": RunLimitsSection, "log": LogSection}
        owners = [name for name, section in sections.items() if where and where[0] in section.model_fields]
        return (*(owners or ["instances"])[:1], *where)


class ProblemsSpec(Root):
    """A file of problems only: the `[instances]` of a plan."""

    kind: ClassVar[str] = "file of problems"
    about: ClassVar[str] = "instances"

    instances: dict[str, Any]
    """The problems, as of a plan."""

    def build(self) -> tuple[ProblemSpec, ...]:
        """The problems; raises as for a plan."""
        stream, draws = _stream(self.instances)
        try:
            return chosen_problems(stream, draws)[1]
        except (ValueError, TypeError) as error:
            raise FieldError(("instances", *getattr(error, "where", ())), str(error)) from error


def _stream(instances: dict[str, Any]) -> tuple[Any, Any]:
    """The instances that the table `[instances]` describes, and the number of draws."""
    fields = dict(instances)
    draws = fields.pop("draws", None)
    with errors_at("instances"):
        return problems.from_description(_of_coco(fields) if draws is None else fields), draws


def _of_coco(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a suite, with COCO's instances if none are given and the suite has more."""
    suite = fields.get("suite")
    usual = problems.suite_parameters(suite).get("instances") if suite in problems.suites() else None
    first, dash, last = usual.partition("-") if isinstance(usual, str) else ("", "", "")
    many = bool(dash) and int(last) - int(first) >= COCO_INSTANCES
    return fields | {"instances": f"1-{COCO_INSTANCES}"} if many and "instances" not in fields else fields


def read_plan(path: str | Path) -> Plan:
    """Read and validate a plan file; StudyFileError as for `read_spec`."""
    return read_file(path, PlanSpec, PlanSpec.build)


def read_problems(path: str | Path) -> tuple[ProblemSpec, ...]:
    """Read the problems of a plan file, or of a file with only `[instances]`; StudyFileError as for `read_spec`."""
    with contents(Path(path), PlanSpec) as data:
        alone = data.keys() <= ProblemsSpec.model_fields.keys()
        if "plan" not in data:
            for table in WHAT.keys() & data.keys():
                why = f"this is {WHAT[table][0]}, not a plan; give a plan, or a file with only [instances]"
                raise FieldError((table,), why)
    return read_file(path, ProblemsSpec, ProblemsSpec.build) if alone else read_plan(path).problems
