"""A study's settings as text in the form of its TOML file."""

from __future__ import annotations

import json
import re
from typing import Any, cast


def as_toml(spec: dict[str, Any]) -> str:
    """Nested settings as TOML; what is None is left out, since TOML has no word for it."""
    return "\n".join(_table(spec, ())).strip() + "\n"


def _table(table: dict[str, Any], path: tuple[str, ...]) -> list[str]:
    plain = {name: value for name, value in table.items() if not isinstance(value, dict) and value is not None}
    nested = {name: cast(dict[str, Any], value) for name, value in table.items() if isinstance(value, dict)}
    lines = [f"[{'.'.join(map(_key, path))}]"] if path and (plain or not nested) else []
    lines += [f"{_key(name)} = {_value(value)}" for name, value in plain.items()]
    lines += [""] if lines else []
    for name, inner in nested.items():
        lines += _table(inner, (*path, name))
    return lines


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
        inner = cast(dict[str, Any], value)
        return "{ " + ", ".join(f"{_key(name)} = {_value(item)}" for name, item in inner.items()) + " }"
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
