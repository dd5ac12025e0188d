"""A study's settings as text in the form of its TOML file."""

from __future__ import annotations

import json
import re
from typing import Any, cast


def as_study_file(spec: dict[str, Any]) -> str:
    """The specification of a race as a study file for `polarbear race`, provided that its parts have names there."""
    spec = dict(spec)
    if isinstance(spec.get("race"), dict) and "model" in spec["race"]:
        race = dict(spec["race"])
        spec = {"race": race, "model": race.pop("model")} | {name: spec[name] for name in spec if name != "race"}
    if isinstance(spec.get("algorithms"), dict):
        spec["algorithms"] = [{"name": name, **of} for name, of in cast(dict[str, Any], spec["algorithms"]).items()]
    return as_toml(spec)


def as_toml(spec: dict[str, Any]) -> str:
    """Nested settings as TOML; None values are left out, since TOML cannot represent them."""
    return "\n".join(_table(spec, ())).strip() + "\n"


def _table(table: dict[str, Any], path: tuple[str, ...]) -> list[str]:
    listed = {name: cast(list[dict[str, Any]], value) for name, value in table.items() if _is_tables(value)}
    plain = {
        name: value
        for name, value in table.items()
        if not isinstance(value, dict) and value is not None and name not in listed
    }
    nested = {name: cast(dict[str, Any], value) for name, value in table.items() if isinstance(value, dict)}
    lines = [f"[{'.'.join(map(_key, path))}]"] if path and (plain or not nested) else []
    lines += _pairs(plain)
    lines += [""] if lines else []
    for name, inner in nested.items():
        lines += _table(inner, (*path, name))
    for name, tables in listed.items():
        for each in tables:
            lines += [f"[[{'.'.join(map(_key, (*path, name)))}]]", *_pairs(each), ""]
    return lines


def _is_tables(value: Any) -> bool:
    """Whether a value is a list of tables, each of which is written on lines of its own."""
    items = cast(list[Any], value) if isinstance(value, list) else []
    return bool(items) and all(isinstance(item, dict) for item in items)


def _pairs(table: dict[str, Any]) -> list[str]:
    return [f"{_key(name)} = {_value(value)}" for name, value in table.items() if value is not None]


def _key(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else json.dumps(text, ensure_ascii=False)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list | tuple):
        return _list([_value(item) for item in cast(list[Any], value)])
    if isinstance(value, dict):
        return "{ " + ", ".join(_pairs(cast(dict[str, Any], value))) + " }"
    return json.dumps(str(value), ensure_ascii=False)


def _list(items: list[str], width: int = 100) -> str:
    if sum(map(len, items)) + 2 * len(items) < width:
        return f"[{', '.join(items)}]"
    lines, line = list[str](), ""
    for item in items:
        if len(line) + len(item) > width:
            lines.append(line)
            line = ""
        line += f"{item}, "
    return "[\n    " + "\n    ".join(text.rstrip() for text in [*lines, line]) + "\n]"
