"""Gaussian processes by Hilbert-space basis functions (section 3.2.2 of Wurth et al. 2026, eq. 13 and 14)."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.gaussian.kernels import extended_factor, low_rank_factor, spectral_density
from polarbear.inference.model.gaussian_process import KernelModel
from polarbear.inference.path_sampling.hyperparameter_posterior import PathPrior
from polarbear.records import FloatArray
from polarbear.validation import Positive, real, settings

_HEURISTICS = {"squared-exponential": (3.2, 1.75), "matern-5/2": (4.1, 2.65), "matern-3/2": (4.5, 3.42)}
"""c = first · ℓ / S and m = second · c · S / ℓ (Riutort-Mayol et al. 2022, section 4.3)."""
_SMALLEST_EXTENSION = 1.2
_TAIL = 0.05
"""Prior probability of length-scales too short, and of those too long, for the basis functions."""


@settings
class HilbertSpaceGaussianProcess(KernelModel):
    """η_q(t) = σ Σ_j β_qj s(√λ_j; ℓ)^½ φ_j(t) with β_qj ~ N(0, 1), log-ratings μ = Q η, on a unit time axis.

    φ_j(x) = sin(√λ_j (x + L)) / √L are the eigenfunctions of the Laplacian on [−L, L] that vanish at both ends, with
    √λ_j = π j / (2 L), where x = t − ½ and L = c / 2. Both m and c follow the heuristics of Riutort-Mayol et al. (2022)
    for length-scales between the 5 % and the 95 % quantile of the prior, unless they are given.

    Attributes:
        kernel, sigma_log_mean, sigma_log_sd, ell_shape, ell_scale, time_scale: As for `GaussianProcess`.
        functions: Number m of basis functions.
        extension: Length c > 1 of the basis functions' domain, in lengths of the time axis.

    Raises:
        ValueError: If a parameter is out of its range.
    """

    name: ClassVar[str] = "hilbert-space-gaussian-process"

    functions: Positive | None = None
    extension: Annotated[float, real(gt=1)] | None = None

    def domain(self) -> tuple[int, float]:
        """The number m of basis functions and the extension c."""
        wide, many = _HEURISTICS[self.kernel]
        shortest, longest = (2.0 * self.length_prior.quantile(p) for p in (_TAIL, 1.0 - _TAIL))
        extension = max(_SMALLEST_EXTENSION, wide * longest) if self.extension is None else self.extension
        functions = math.ceil(many * extension / shortest) if self.functions is None else self.functions
        return functions, extension

    def prior(self, at: FloatArray, paths: int, fitted: NDArray[np.bool_] | None = None) -> PathPrior:
        """The process at times (T,) on the unit axis."""
        known = np.ones(at.size, dtype=np.bool_) if fitted is None else fitted
        functions, extension = self.domain()
        frequency = np.arange(1, functions + 1, dtype=np.float64) * (math.pi / extension)
        values = np.sin((at[:, np.newaxis] - 0.5 + extension / 2) * frequency) / np.sqrt(extension / 2)

        def basis(length: float) -> FloatArray:
            weighted = values * np.sqrt(spectral_density(self.kernel, frequency, length))  # eq. 14
            rows = weighted[known]
            factor = low_rank_factor(np.square(rows).sum(axis=1), lambda t: rows @ rows[t])
            return factor.rows if known.all() else extended_factor(weighted @ weighted.T, known, factor)

        return self.low_rank(basis, paths)

    @property
    def reach(self) -> tuple[float, float]:
        """The domain of the basis functions."""
        extension = self.domain()[1]
        return 0.5 - extension / 2, 0.5 + extension / 2
