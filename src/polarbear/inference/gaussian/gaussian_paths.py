"""Gaussian priors of paths over time, conditioned on the curvature of a likelihood.

Given its hyperparameters, a model's n − 1 contrasts η_q are independent Gaussian paths with mean zero and a common
covariance K over the timepoints, η_q = A x_q with Gaussian coefficients x_q. Near a path the log-likelihood is
quadratic, with curvature C_t at each timepoint, so the posterior of x is nearly Gaussian with precision H = J + Aᵀ C A,
where J is the prior's. The sampler (see `inference.path_sampling.nested_laplace`) needs three things of it: the
response of paths to a force, A H⁻¹ Aᵀ b; its volume relative to the prior's, log det H − log det J; and draws. There
are two ways to compute them.

- `BandedField`: J is banded and each timepoint depends on few neighbouring coefficients, as in a random walk, a
  state-space model or a spline. H is banded, and the cost is linear in T.
- `DenseField`: A has few columns and J is the identity, as for smooth kernels. H is small and dense.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from polarbear.inference.gaussian.cholesky import BandedFactor, DenseFactor, Factor
from polarbear.records import FloatArray, IntArray

_SMALL = 1 << 14
"""Number of entries up to which a dense matrix is faster than a sparse one."""


class Conditioned:
    """The Gaussian approximation to the posterior of paths at one value of the hyperparameters.

    Coefficients are ordered by column of A, and within a column by path.

    Attributes:
        noises: Number of standard normal variables in a draw.
        half_log_det: ½ (log det H − log det J).

    Args:
        loadings: (T, B) matrix A, dense or sparse.
        transposed: (B, T) matrix Aᵀ.
        factor: The factor of H.
        prior_half_log_det: ½ log det J.
        paths: Number q of paths.
    """

    def __init__(self, loadings: Any, transposed: Any, factor: Factor, prior_half_log_det: float, paths: int) -> None:
        self._loadings, self._transposed, self._factor, self._q = loadings, transposed, factor, paths
        self.noises = factor.size
        self.half_log_det = factor.half_log_det - prior_half_log_det

    def response(self, force: FloatArray) -> FloatArray:
        """A H⁻¹ Aᵀ b, a path (T, q), for a force b (T, q)."""
        return self._loadings @ self._factor.solve((self._transposed @ force).ravel()).reshape(-1, self._q)

    def spread(self, noise: FloatArray) -> FloatArray:
        """R e, paths (T, q, D) with covariance A H⁻¹ Aᵀ = R Rᵀ, for standard normal noise e (`noises`, D)."""
        draws = noise.shape[1]
        by_column = np.ascontiguousarray(self._factor.backward(noise)).reshape(-1, self._q * draws)
        return (self._loadings @ by_column).reshape(-1, self._q, draws)

    def gather(self, force: FloatArray) -> FloatArray:
        """Rᵀ b, (`noises`, D), for forces b (T, q, D)."""
        pulled = self._transposed @ force.reshape(force.shape[0], -1)
        return self._factor.forward(pulled.reshape(-1, force.shape[2]))


class DenseField:
    """A Gaussian prior of q independent paths η = A x with standard normal x.

    Attributes:
        noises: Number r of standard normal variables in a path.

    Args:
        basis: (T, r) matrix A.
        paths: Number q of paths.
    """

    def __init__(self, basis: FloatArray, paths: int) -> None:
        self._basis, self._paths, self.noises = basis, paths, basis.shape[1]

    def spread(self, noise: FloatArray) -> FloatArray:
        """R z, paths (T, m) with covariance R Rᵀ, for standard normal noise z (`noises`, m)."""
        return self._basis @ noise

    def gather(self, force: FloatArray) -> FloatArray:
        """Rᵀ b, (`noises`, m), for forces b (T, m)."""
        return self._basis.T @ force

    def conditioned(self, curvature: FloatArray) -> Conditioned:
        """The prior times a likelihood of curvature (T, q, q).

        Raises:
            numpy.linalg.LinAlgError: If H is not numerically positive definite.
        """
        basis, q, r = self._basis, self._paths, self.noises
        first, second = np.triu_indices(q)
        blocks = basis.T @ (curvature[:, first, second].T[:, :, np.newaxis] * basis)
        precision = np.empty((r, q, r, q))
        precision[:, first, :, second] = blocks
        precision[:, second, :, first] = blocks
        square = precision.reshape(q * r, q * r)
        square.ravel()[:: q * r + 1] += 1.0
        return Conditioned(basis, basis.T, DenseFactor(square), 0.0, q)


class BandedDesign:
    """Which coefficients each timepoint depends on, and where its curvature goes in the posterior precision.

    Coefficients are ordered by position b = 0, …, B − 1 and within a position by path.

    Args:
        start: (T,) position of the first coefficient that each timepoint depends on.
        weights: (T, k) weights of that coefficient and the next k − 1: η(t) = Σ_j weights[t, j] x[start[t] + j].
        positions: Number B of positions.
        reach: Half-bandwidth of the prior precision, in positions.
        paths: Number q of paths.
    """

    def __init__(self, start: IntArray, weights: FloatArray, positions: int, reach: int, paths: int) -> None:
        self.paths, self.positions, self._width = paths, positions, weights.shape[1]
        columns: IntArray = start[:, np.newaxis] + np.arange(self._width, dtype=np.int64)
        self.transposed = _columnwise(weights, columns, positions)
        self.matrix = self.transposed.T.copy()
        first, second = np.triu_indices(self._width)
        products = weights[:, first] * weights[:, second]
        entries = columns[:, first] * self._width + (second - first)
        self._products = _columnwise(products, entries, positions * self._width)
        self.bandwidth = max(reach * paths, self._width * paths - 1)

    def band(self, precision: FloatArray, curvature: FloatArray) -> FloatArray:
        """(N, bandwidth + 1) band of J ⊗ I + Aᵀ C A, [b, i] being entry [b + i, b].

        Args:
            precision: (reach + 1, B) band of the prior's J, where [i, b] is J[b + i, b].
            curvature: (T, q, q) curvature C.
        """
        q, width = self.paths, self._width
        band = np.zeros((self.positions, q, self.bandwidth + 1))
        for apart, diagonal in enumerate(precision):
            band[:, :, apart * q] = diagonal[:, np.newaxis]
        products = (self._products @ curvature.reshape(len(curvature), -1)).reshape(self.positions, width * q, q)
        for path in range(q):
            band[:, path, : width * q - path] += products[:, path:, path]
        return band.reshape(self.positions * q, -1)


class BandedField:
    """Paths η = A x with coefficients x of a banded prior precision; attributes and methods as those of `DenseField`.

    Args:
        design: The coefficients that each timepoint depends on.
        precision: (reach + 1, B) J in band form: [i, b] is J[b + i, b].

    Raises:
        numpy.linalg.LinAlgError: If J is not numerically positive definite.
    """

    def __init__(self, design: BandedDesign, precision: FloatArray) -> None:
        self.design, self.precision, self.noises = design, precision, design.positions
        self._factor = BandedFactor(np.array(precision.T, order="C"))

    def spread(self, noise: FloatArray) -> FloatArray:
        """See `DenseField.spread`."""
        return self.design.matrix @ self._factor.backward(noise)

    def gather(self, force: FloatArray) -> FloatArray:
        """See `DenseField.gather`."""
        return self._factor.forward(self.design.transposed @ force)

    def conditioned(self, curvature: FloatArray) -> Conditioned:
        """See `DenseField.conditioned`."""
        design = self.design
        factor = BandedFactor(design.band(self.precision, curvature))
        prior = design.paths * self._factor.half_log_det
        return Conditioned(design.matrix, design.transposed, factor, prior, design.paths)


Field = DenseField | BandedField


def _columnwise(values: FloatArray, rows: IntArray, height: int) -> Any:
    """A (height, m) matrix whose columns have values (m, k) in the given rows; dense if it is small."""
    m, k = len(values), int(values.shape[1])
    if m * height > _SMALL:
        starts = np.arange(0, m * k + 1, k, dtype=np.int64)
        return sparse.csc_array((values.ravel(), rows.ravel(), starts), shape=(height, m))
    dense = np.zeros((height, m))
    dense[rows, np.arange(m)[:, np.newaxis]] = values
    return dense
