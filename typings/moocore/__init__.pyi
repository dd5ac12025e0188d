"""What polarbear uses of moocore, which carries no type hints."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

def eaf(points: ArrayLike, /, sets: ArrayLike, *, percentiles: Sequence[float] = ...) -> NDArray[np.float64]: ...
def eafdiff(
    x: ArrayLike, y: ArrayLike, /, *, intervals: int | None = ..., rectangles: bool = ...
) -> NDArray[np.float64]: ...
