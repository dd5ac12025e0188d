"""Bytes as text, such that different names stay different."""

from __future__ import annotations

import codecs
import re

from polarbear.store.formats.reports import Report

UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_MANY_BYTES = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
"""A character that takes more than one byte in UTF-8."""


def decoded(data: bytes, label: str, report: Report) -> str:
    """The text of a file without its byte order mark.

    Args:
        data: UTF-8, UTF-16 with a byte order mark, or Windows-1252, which is reported.
        label: The file's name in reports.
        report: Where the encoding is reported.

    Raises:
        ValueError: If it is none of these, or UTF-8 but for some damaged bytes. No byte is replaced or dropped, as two
            names could become one.
    """
    if data.startswith(UTF16):
        return data.decode("utf-16")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
    if _MANY_BYTES.search(data):
        raise ValueError(f"line {line} is not UTF-8, though others are; it is damaged")
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        raise ValueError(f"line {line} is neither UTF-8 nor Windows-1252; save the file as UTF-8") from None
    report.remark(label, "it is not UTF-8 and is read as Windows-1252; if names look wrong, save it as UTF-8", line)
    return text
