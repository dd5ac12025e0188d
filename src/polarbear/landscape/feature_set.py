"""The definition of a set of features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from polarbear.landscape.design import Design
from polarbear.records import FloatArray

Changed: TypeAlias = Literal["shift", "scale", "shift and scale"]
"""Changes of the values that affect a feature: adding a constant, or multiplying by a positive factor."""

Computed: TypeAlias = Mapping[str, FloatArray | str]
"""Features by name: (k,) with one value per row of values, or the reason why the design has none."""


@dataclass(frozen=True)
class FeatureSet:
    """Features that are computed together.

    Attributes:
        names: flacco's names.
        compute: Function of a design and (k, n) finite values, no row of which is constant, that computes the features.
        undefined: Reason why features may be undefined for single rows.
        changed: Features affected by a shift or positive scaling of the values; the others are invariant.
    """

    names: tuple[str, ...]
    compute: Callable[[Design, FloatArray], Computed]
    undefined: str
    changed: Mapping[str, Changed] = field(default_factory=dict[str, Changed])
