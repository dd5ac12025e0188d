"""How reliable the draws of a posterior are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from polarbear.quantities import plural
from polarbear.records import FloatArray

IMPORTANCE_SAMPLING = "importance sampling"
NESTED_LAPLACE = "nested Laplace importance sampling"
ANNEALING = "annealed importance sampling"
GIBBS = "Gibbs"
HAMILTONIAN = "Hamiltonian Monte Carlo"
NO_U_TURN = "the No-U-Turn sampler"
PATHFINDER_DRAWS = "Pathfinder"
PRIOR_DRAWS = "independent draws of the prior"
WEIGHTED_BOOTSTRAP = "weighted likelihood bootstrap"
LARGEST_R_HAT, FEWEST_OF_CHAINS = 1.01, 400
"""Limits for Markov chains (Wurth et al. 2026, section 3.3; Vehtari et al. 2021): with fewer effective draws R-hat and
the effective sample size themselves are uncertain."""
LARGEST_K_HAT, FEWEST_WEIGHTED = 0.7, 100
"""Limits for importance sampling. Its draws are independent, and their weights known, so that only the Monte Carlo
error counts: at most 0.05 for a probability."""
GOOD_K_HAT = 0.5
"""Pareto k-hat below which importance sampling is reliable with few draws (Vehtari et al. 2024)."""
_CHAINS = {GIBBS, HAMILTONIAN, NO_U_TURN}


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """Draws (n, D) of the ratings at one timepoint, and the entries of `Diagnostics` for it."""

    theta: FloatArray
    method: str
    ess: float
    k_hat: float = float("nan")
    r_hat: float = float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class Diagnostics:
    """The method that made the draws at each of T timepoints, and how reliable they are.

    Attributes:
        method: (T,) "importance sampling" or "Gibbs" for models that treat each timepoint separately; "nested Laplace
            importance sampling", "annealed importance sampling" or "Hamiltonian Monte Carlo" for those that do not;
            "the No-U-Turn sampler" or "Pathfinder" if requested.
        ess: (T,) effective sample size; unreliable below 400 for Markov chains, and below 100 otherwise.
        k_hat: (T,) Pareto k-hat of the importance weights (Vehtari et al. 2024): good below 0.5, unreliable from 0.7;
            -inf where all weights are nearly equal, NaN for Markov chains (Gibbs, Hamiltonian, No-U-Turn).
        r_hat: (T,) largest split R-hat of Markov chains, unreliable from 1.01; NaN for other methods.
        divergences: Number of divergent transitions of Hamiltonian Monte Carlo or the No-U-Turn sampler, whose energy,
            which trajectories should conserve, was off by more than 1,000. Draws are unreliable if there are any; None
            for other methods.
        widened: (T,) factor by which the draws were widened from the likelihood's spread to that of the instances (see
            `inference.model.adjustment`); None if they were not.

    Raises:
        ValueError: If an array does not have one entry for each timepoint.
    """

    method: tuple[str, ...]
    ess: FloatArray
    k_hat: FloatArray
    r_hat: FloatArray
    divergences: int | None = None
    widened: FloatArray | None = None

    def __post_init__(self) -> None:
        measured = ("ess", "k_hat", "r_hat", *(["widened"] if self.widened is not None else []))
        for name in measured:
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != (len(self.method),):
                raise ValueError(
                    f"{name} has shape {array.shape}; it must be ({len(self.method)},), one entry per timepoint"
                )
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @classmethod
    def shared(
        cls,
        timepoints: int,
        method: str,
        ess: float,
        *,
        k_hat: float = float("nan"),
        r_hat: float = float("nan"),
        divergences: int | None = None,
    ) -> Diagnostics:
        """The same diagnostics at all timepoints, for draws that were made jointly."""
        each = np.repeat([[ess], [k_hat], [r_hat]], timepoints, axis=1)
        return cls((method,) * timepoints, *each, divergences=divergences)

    def at(self, timepoints: NDArray[np.intp]) -> Diagnostics:
        """The diagnostics at some timepoints, given by their indices."""
        return replace(
            self,
            method=tuple(np.array(self.method, dtype=object)[timepoints]),
            ess=self.ess[timepoints],
            k_hat=self.k_hat[timepoints],
            r_hat=self.r_hat[timepoints],
            widened=None if self.widened is None else self.widened[timepoints],
        )

    @property
    def doubtful(self) -> NDArray[np.bool_]:
        """(T,) whether the draws at each timepoint are unreliable; those of Pathfinder always are."""
        chains = self._by(_CHAINS)
        few = np.where(chains, FEWEST_OF_CHAINS, FEWEST_WEIGHTED)
        converged = np.where(chains, self.r_hat < LARGEST_R_HAT, self.k_hat < LARGEST_K_HAT)
        wrong = self._by({PATHFINDER_DRAWS}) | bool(self.divergences)
        return ~converged | ~(self.ess >= few) | wrong

    @property
    def largest_k_hat(self) -> float | None:
        """The largest Pareto k-hat; None where no timepoint has one."""
        return float(np.nanmax(self.k_hat)) if np.isfinite(self.k_hat).any() else None

    @property
    def reliable(self) -> bool:
        """Whether the draws are reliable at every timepoint."""
        return not self.doubtful.any()

    def _by(self, methods: set[str]) -> NDArray[np.bool_]:
        return np.array([method in methods for method in self.method], dtype=bool)

    @property
    def _advice(self) -> str:
        if PATHFINDER_DRAWS in self.method:
            return "Pathfinder is for comparison only; use the default method"
        return (
            "chains with divergent transitions may miss part of the posterior" if self.divergences else "use more draws"
        )

    def summary(self) -> str:
        """The diagnostics in plain words."""
        total, doubtful = len(self.method), int(self.doubtful.sum())
        if not total:
            return "There are no timepoints."
        methods = dict.fromkeys(self.method)
        parts = [f"{method} at {self.method.count(method)} of {plural(total, 'timepoint')}" for method in methods]
        words = [f"{'Methods' if len(parts) > 1 else 'Method'}: {', '.join(parts)}."]
        words.append(f"The effective sample size is at least {self.ess.min():.0f} at every timepoint.")
        if self.largest_k_hat is not None:
            words.append(f"The largest Pareto k-hat is {self.largest_k_hat:.2f} (good below 0.5).")
        if np.isfinite(self.r_hat).any():
            words.append(f"The largest R-hat is {np.nanmax(self.r_hat):.3f} (good below {LARGEST_R_HAT}).")
        if self.divergences is not None:
            words.append(f"{plural(self.divergences, 'transition')} diverged (good: none).")
        if self.widened is not None:
            words.append(
                f"The draws were made {self.widened.min():.1f} to {self.widened.max():.1f} times as wide as under the "
                "likelihood, to match how much the instances differ."
            )
        if doubtful:
            where = ", ".join(str(t) for t in np.flatnonzero(self.doubtful)[:10])
            indices = f"{'index' if doubtful == 1 else 'indices'} {where}{' and more' if doubtful > 10 else ''}"
            words.append(f"Do not rely on the draws at {plural(doubtful, 'timepoint')} ({indices}): {self._advice}.")
        else:
            words.append("The draws are reliable.")
        return " ".join(words)
