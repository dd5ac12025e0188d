"""Studies, which join races and plans with their runs and the directory that keeps these: run, resume, read."""

from polarbear.machine import OversubscriptionWarning
from polarbear.study.branching import BranchPlan, NotRepeatable, branch, branch_features, plan_branches
from polarbear.study.configuration_file import ConfigureSpec, read_configurator
from polarbear.study.configuration_result import ConfigurationResult, Worth
from polarbear.study.configuring import ConfigureObserver, configure, effects_of
from polarbear.study.costs import AlgorithmCost, Estimate, estimate
from polarbear.study.designing import DesignObserver, DesignResult, DesignSettings, design
from polarbear.study.files import StudyFileError
from polarbear.study.instance_groups import Groups, group_instances, read_groups
from polarbear.study.new_module import ModuleAssessment, NothingToCompare, assess_module
from polarbear.study.observer import Observer, PlanObserver
from polarbear.study.plan import Budget, Plan, plan_from_spec
from polarbear.study.plan_runner import load_plan, run_plan
from polarbear.study.plan_spec import PlanSpec, read_plan, read_problems
from polarbear.study.race_runner import EveryRunFailed, StopRules, race
from polarbear.study.recorded_groups import RecordedGroup, recorded_groups, usual_pooling
from polarbear.study.replay import Replay, recorded_race, recorded_result, replay
from polarbear.study.resume import (
    NotTrusted,
    OtherSettings,
    RunFailureWarning,
    check_same,
    modules_of,
    race_from_spec,
)
from polarbear.study.spec import RecordedSpec, StudySpec, read_parts, read_recorded_spec, read_spec
from polarbear.study.stored import check_spec
from polarbear.study.suitability import Unsuitable
from polarbear.study.summary import AlgorithmRuns, Failures, PlanSummary, Remarks
from polarbear.study.time_left import TimeLeft
from polarbear.study.verifying import Verification, verify
from polarbear.study.view import StudyView, load, view_of

__all__ = [
    "AlgorithmCost",
    "AlgorithmRuns",
    "BranchPlan",
    "Budget",
    "ConfigurationResult",
    "ConfigureObserver",
    "ConfigureSpec",
    "DesignObserver",
    "DesignResult",
    "DesignSettings",
    "Estimate",
    "EveryRunFailed",
    "Failures",
    "Groups",
    "ModuleAssessment",
    "NotRepeatable",
    "NotTrusted",
    "NothingToCompare",
    "Observer",
    "OtherSettings",
    "OversubscriptionWarning",
    "Plan",
    "PlanObserver",
    "PlanSpec",
    "PlanSummary",
    "RecordedGroup",
    "RecordedSpec",
    "Remarks",
    "Replay",
    "RunFailureWarning",
    "StopRules",
    "StudyFileError",
    "StudySpec",
    "StudyView",
    "TimeLeft",
    "Unsuitable",
    "Verification",
    "Worth",
    "assess_module",
    "branch",
    "branch_features",
    "check_same",
    "check_spec",
    "configure",
    "design",
    "effects_of",
    "estimate",
    "group_instances",
    "load",
    "load_plan",
    "modules_of",
    "plan_branches",
    "plan_from_spec",
    "race",
    "race_from_spec",
    "read_configurator",
    "read_groups",
    "read_parts",
    "read_plan",
    "read_problems",
    "read_recorded_spec",
    "read_spec",
    "recorded_groups",
    "recorded_race",
    "recorded_result",
    "replay",
    "run_plan",
    "usual_pooling",
    "verify",
    "view_of",
]
