"""What a set of features is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from polarbear.landscape.design import Design
from polarbear.records import FloatArray

Changed: TypeAlias = Literal["shift", "scale", "shift and scale"]
"""What of the values changes a feature: a constant added to them, or a positive factor."""

Computed: TypeAlias = Mapping[str, FloatArray | str]
"""Features by name: (k,) one value for each row of the values, or why the design has none."""


@dataclass(frozen=True)
class FeatureSet:
    """Features that are computed together.

    Attributes:
        names: flacco's.
        compute: The features of a design and (k, n) finite values, of which no row is constant.
        undefined: Why single rows may have no value.
        changed: The features that a shift or a positive factor of the values changes; the others are invariant.
    """

    names: tuple[str, ...]
    compute: Callable[[Design, FloatArray], Computed]
    undefined: str
    changed: Mapping[str, Changed] = field(default_factory=dict[str, Changed])
