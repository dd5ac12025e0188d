"""Reading of TOML files that describe studies; errors name the field and line."""

from __future__ import annotations

import dataclasses
import importlib
import tomllib
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from polarbear.descriptions import FieldError, FieldPath, did_you_mean
from polarbear.experiment import Limits
from polarbear.experiment.logging_schedule import Watch
from polarbear.study.lines import line_of, lines_of
from polarbear.validation import fault_message

Built = TypeVar("Built")
File = TypeVar("File", bound="Root")

GRID, LIST = "grid", "list"
"""The forms of timepoints, which pydantic adds to the paths of errors."""

_KINDS = ("suite", "problem", "optimizer", "model")
"""Fields that say what a table describes."""


class StudyFileError(ValueError):
    """A study file is unusable; the message names the file, the line, the field and the remedy."""


class Section(BaseModel):
    """A table of a study file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True)


def section_of(settings: type[Any], *names: str, base: type[Section] = Section) -> type[Section]:
    """A table with the fields of a settings class, or some of them, with their types, ranges and defaults.

    Args:
        settings: The class.
        names: Names of the fields; without any, all fields.
        base: A table whose fields are included.
    """
    types = get_type_hints(settings, include_extras=True)
    fields = {field.name: (types[field.name], field.default) for field in dataclasses.fields(settings)}
    chosen: dict[str, Any] = {name: fields[name] for name in names or fields}
    return create_model(settings.__name__, __base__=base, **chosen)


class RunLimitsSection(section_of(Limits, "target_precision", "timeout")):
    """`[limits]` of a plan: when single runs stop early."""


class LogSection(section_of(Watch)):
    """`[log]`: which parameters of the optimizers are logged, and when."""


class Root(Section):
    """The root of a file."""

    kind: ClassVar[str] = "study file"
    """The name of this kind of file in messages."""
    about: ClassVar[str] = "race"
    """The table that says what to do."""
    imports: list[str] = []
    """Modules of your own to import first, such as those that register problems."""

    def import_modules(self) -> None:
        """Import the modules in `imports`.

        Raises:
            FieldError: If a module cannot be imported.
        """
        for position, name in enumerate(self.imports):
            try:
                importlib.import_module(name)
            except (Exception, SystemExit) as error:
                why = f"{name!r} cannot be imported: {type(error).__name__}: {error}"
                raise FieldError(("imports", position), why) from error


WHAT = {
    "race": ("a race", "race it with: polarbear race"),
    "plan": ("a plan", "run it with: polarbear run"),
    "configure": ("a configurator's file", "configure with: polarbear configure"),
}
"""Tables that say what to do: the kind of file that each belongs to, and a hint if another one was expected."""


def read_file(path: str | Path, root: type[File], build: Callable[[File], Built]) -> Built:
    """Read and validate a file, import its modules, and build what it describes.

    Raises:
        StudyFileError: If the file does not exist or is not TOML, or a field is unknown, missing or out of range; the
            message names the field and its line.
    """
    with contents(Path(path), root) as data:
        for table, (what, hint) in WHAT.items():
            if table in data and root.about not in data:
                wanted = f"{WHAT[root.about][0]}, which has a table [{root.about}]"
                raise FieldError((table,), f"this is {what}, not {wanted}; {hint} {path}")
        spec = root.model_validate(data)
        spec.import_modules()
        return build(spec)


@contextmanager
def contents(path: Path, root: type[Root]) -> Generator[dict[str, Any]]:
    """The contents of a file; errors that they cause within the block name the file and the line.

    Raises:
        StudyFileError: If the file does not exist or is not TOML, or the block raises a `ValueError` or `TypeError`.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        data = tomllib.loads(text)
    except FileNotFoundError as error:
        raise StudyFileError(f"there is no {root.kind} at {path}") from error
    except IsADirectoryError as error:
        raise StudyFileError(f"{path} is a directory; to continue a study, use: polarbear resume {path}") from error
    except UnicodeDecodeError as error:
        raise StudyFileError(
            f"{path} is not a {root.kind}: byte {error.start + 1} is {error.object[error.start]:#04x}, but TOML is "
            "UTF-8 text"
        ) from error
    except ValueError as error:
        raise StudyFileError(f"{path}: {error}") from error
    except RecursionError as error:
        raise StudyFileError(f"{path}: arrays or tables are nested too deeply to be read") from error
    try:
        yield data
    except ValidationError as error:
        lines = lines_of(text)
        faults = [_fault(fault, root, lines) for fault in error.errors()]
        raise StudyFileError(f"{path}: {'; '.join(dict.fromkeys(faults))}") from error
    except FieldError as error:
        line = line_of(lines_of(text), _with_kind(error.where, data))
        raise StudyFileError(f"{path}: {_at(line)}{error}") from error
    except (ValueError, TypeError) as error:
        raise StudyFileError(f"{path}: {error}") from error


def _fault(fault: Any, root: type[Root], lines: Mapping[FieldPath, int]) -> str:
    where = tuple(part for part in fault["loc"] if part not in {GRID, LIST})
    at = _at(line_of(lines, where))
    if fault["type"] == "extra_forbidden":
        hint = did_you_mean(str(where[-1]), _section(root, where[:-1]).model_fields)
        return f"{at}{'.'.join(map(str, where))} is not a field of a {root.kind};{hint}"
    return f"{at}{fault_message(fault, where)}"


def _at(line: int | None) -> str:
    return "" if line is None else f"line {line}: "


def _section(section: type[BaseModel], where: FieldPath) -> type[BaseModel]:
    """The section at a path."""
    for name in where:
        section = next(_sections(section.model_fields[str(name)].annotation))
    return section


def _sections(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _sections(inner)


def _with_kind(where: FieldPath, data: Mapping[str, Any]) -> FieldPath:
    """The path of the field that says what a table describes, if the path leads to a table with such a field."""
    table: Any = data
    for step in where:
        try:
            table = table[step]
        except (KeyError, IndexError, TypeError):
            return where
    return next(((*where, kind) for kind in _KINDS if isinstance(table, Mapping) and kind in table), where)
