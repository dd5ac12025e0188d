"""What polarbear uses of modcma's C++ implementation."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Objective = Callable[[NDArray[np.float64]], Any]

class options:
    class _Option:
        name: str
        __members__: Mapping[str, "options._Option"]

    StepSizeAdaptation: type[_Option]
    MatrixAdaptationType: type[_Option]
    RestartStrategy: type[_Option]
    CorrectionMethod: type[_Option]
    CenterPlacement: type[_Option]
    BaseSampler: type[_Option]
    SampleTranformerType: type[_Option]
    Mirror: type[_Option]
    RecombinationWeights: type[_Option]

class parameters:
    class Modules:
        active: bool
        elitist: bool
        orthogonal: bool
        sequential_selection: bool
        threshold_convergence: bool
        repelling_restart: bool
        sample_sigma: bool
        def __init__(self) -> None: ...
        def __setattr__(self, name: str, value: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

    class Settings:
        modules: parameters.Modules
        dim: int
        budget: int
        sigma0: float
        lambda0: int
        mu0: int
        lb: NDArray[np.float64]
        ub: NDArray[np.float64]
        x0: NDArray[np.float64] | None
        cs: float | None
        cc: float | None
        cmu: float | None
        c1: float | None
        damps: float | None
        acov: float | None
        def __init__(self, dim: int, modules: parameters.Modules, **options: Any) -> None: ...

class _Criteria:
    def any(self) -> bool: ...
    def update(self, state: Parameters, /) -> None: ...

class _Adaptation:
    m: NDArray[np.float64]
    A: NDArray[np.float64]
    A_inv: NDArray[np.float64]

class _Population:
    X: NDArray[np.float64]
    Y: NDArray[np.float64]
    Z: NDArray[np.float64]

class _Repelling:
    coverage: float

class _ThresholdConvergence:
    init_threshold: float

class _Mutation:
    sigma: float
    threshold_convergence: _ThresholdConvergence

class Parameters:
    lamb: int
    mutation: _Mutation
    pop: _Population
    old_pop: _Population
    settings: parameters.Settings
    criteria: _Criteria
    adaptation: _Adaptation
    repelling: _Repelling
    def start(self, objective: _Objective, /) -> None: ...

class ModularCMAES:
    p: Parameters
    def __init__(self, settings: parameters.Settings) -> None: ...
    def __call__(self, objective: _Objective, /) -> None: ...
    def step(self, objective: _Objective, /) -> bool: ...

class utils:
    @staticmethod
    def set_seed(seed: int, /) -> None: ...
    @staticmethod
    def random_normal() -> float: ...
