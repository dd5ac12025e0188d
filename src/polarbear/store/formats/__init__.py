"""Import and export of other tools' data: COCO, IOHprofiler, nevergrad, SOS, CSV and Parquet.

The docstring of each format's module says what is read and how; `docs/reference/formats.md` collects them. Readers find
runs in an `archives.Tree` of files and report what they leave out. Nothing that is read is executed, and archives are
never unpacked in place.
"""

from __future__ import annotations
