"""Read TOML files that describe studies; a fault names its field and line."""

from __future__ import annotations

import importlib
import re
import tomllib
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from polarbear.descriptions import FieldError, FieldPath, did_you_mean
from polarbear.study.lines import line_of, lines_of
from polarbear.validation import complaint

Built = TypeVar("Built")
File = TypeVar("File", bound="Root")

_KINDS = ("suite", "problem", "optimizer", "model")
"""Fields that say what the other fields of a table are about."""

_KIND_AND_NAME = re.compile(rf"\b({'|'.join(_KINDS)}) '[^']*'")
"""How messages tell what a table is about; the name may be that of a field as well."""


class StudyFileError(ValueError):
    """A study file that cannot be used; the message names the file, the line, the field and the mend."""


class Section(BaseModel):
    """A table of a study file."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True, allow_inf_nan=False
    )


class Root(Section):
    """A whole file."""

    kind: ClassVar[str] = "study file"
    """What the file is called in messages."""
    about: ClassVar[str] = "race"
    """The table that says what is to be done."""
    imports: list[str] = []
    """Modules of your own to import first, such as those that register problems."""

    def import_modules(self) -> None:
        """Import what `imports` names.

        Raises:
            FieldError: If a module cannot be imported.
        """
        for position, name in enumerate(self.imports):
            try:
                importlib.import_module(name)
            except (Exception, SystemExit) as error:
                why = f"{name!r} cannot be imported: {type(error).__name__}: {error}"
                raise FieldError(("imports", position), why) from error


_OTHERS = {
    "race": "this is a race, not a plan; race it with: polarbear race",
    "plan": "this is a plan, not a race; run it with: polarbear run",
}
"""Tables that say what is to be done, and what to say where another one was expected."""


def read_file(path: str | Path, root: type[File], build: Callable[[File], Built]) -> Built:
    """Read and check a file, import its modules, and build what it describes.

    Raises:
        StudyFileError: If the file is not there, is not TOML, or a field is unknown, missing or out of range; the
            message names the field and its line.
    """
    with contents(Path(path), root) as data:
        for table, told in _OTHERS.items():
            if table in data and root.about not in data:
                raise FieldError((table,), f"{told} {path}")
        spec = root.model_validate(data)
        spec.import_modules()
        return build(spec)


@contextmanager
def contents(path: Path, root: type[Root]) -> Generator[dict[str, Any]]:
    """What stands in a file; errors that its contents give rise to name it, and the line.

    Raises:
        StudyFileError: If the file is not there, is not TOML, or the block raises a `ValueError` or `TypeError`.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        data = tomllib.loads(text)
    except FileNotFoundError as error:
        raise StudyFileError(f"there is no {root.kind} at {path}") from error
    except IsADirectoryError as error:
        raise StudyFileError(f"{path} is a directory; to go on with a study, use: polarbear resume {path}") from error
    except ValueError as error:
        raise StudyFileError(f"{path}: {error}") from error
    except RecursionError as error:
        raise StudyFileError(f"{path}: arrays or tables are nested too deep to be read") from error
    try:
        yield data
    except ValidationError as error:
        lines = lines_of(text)
        faults = [_fault(fault, root, lines) for fault in error.errors() if not _beside_the_point(fault)]
        raise StudyFileError(f"{path}: {'; '.join(dict.fromkeys(faults))}") from error
    except FieldError as error:
        line = line_of(lines_of(text), _narrowed(error, data))
        raise StudyFileError(f"{path}: {_at(line)}{error}") from error
    except (ValueError, TypeError) as error:
        raise StudyFileError(f"{path}: {error}") from error


def _beside_the_point(fault: Any) -> bool:
    """Whether a fault blames a grid of timepoints for not being a list, or the other way round."""
    meant = "TimesSection" if isinstance(fault["input"], dict) else "list[float]"
    return "times" in fault["loc"] and fault["loc"][-1] in {"TimesSection", "list[float]"} and meant not in fault["loc"]


def _fault(fault: Any, root: type[Root], lines: Mapping[FieldPath, int]) -> str:
    where = tuple(part for part in fault["loc"] if part not in {"TimesSection", "list[float]"})
    place, at = ".".join(map(str, where)), _at(line_of(lines, where))
    if fault["type"] == "extra_forbidden":
        hint = did_you_mean(str(where[-1]), _section(root, where[:-1]).model_fields)
        return f"{at}{place} is no field of a {root.kind};{hint}"
    return f"{at}{place} {complaint(fault)}"


def _at(line: int | None) -> str:
    return "" if line is None else f"line {line}: "


def _section(section: type[BaseModel], where: FieldPath) -> type[BaseModel]:
    """The section that stands at a place."""
    for name in where:
        annotation: Any = section.model_fields[str(name)].annotation
        section = next(kind for kind in (annotation, *get_args(annotation)) if _is_section(kind))
    return section


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _narrowed(error: FieldError, data: Mapping[str, Any]) -> FieldPath:
    """The place of the field that an error names, if it names one; else the place it gives."""
    found: Any = data
    for step in error.where:
        try:
            found = found[step]
        except (KeyError, IndexError, TypeError):
            return error.where
    said = _KIND_AND_NAME.sub(r"\1", str(error).partition(";")[0])
    named: dict[FieldPath, int] = {}
    for inner in _fields(found):
        if mention := re.search(rf"(?<![\w-]){re.escape(str(inner[-1]))}(?![\w-])", said):
            named[inner] = mention.start()
    fields = sorted(named, key=lambda inner: (inner[-1] in _KINDS, named[inner]))
    return (*error.where, *fields[0]) if fields else error.where


def _fields(found: Any) -> Generator[FieldPath]:
    """The places of the fields of a table, and then of the tables within it, also of those in arrays."""
    if isinstance(found, Mapping):
        table = cast("Mapping[str, Any]", found)
        yield from ((name,) for name in table)
        for name, value in table.items():
            yield from ((name, *inner) for inner in _fields(value))
    elif isinstance(found, list):
        for position, value in enumerate(cast("list[Any]", found)):
            yield from ((position, *inner) for inner in _fields(value))
