"""Other people's data, in and out: COCO, IOHprofiler, nevergrad, SOS, CSV and Parquet.

Each format has a module whose docstring says what is read from it and how; `docs/reference/formats.md` gathers them.
Readers find runs in a `trees.Tree` of files, wherever these lie, and report what they have to leave out. Nothing that
is read is executed, and archives are never unpacked to where they are.
"""

from __future__ import annotations
