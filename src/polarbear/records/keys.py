"""Identifiers of problem instances and runs."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

_INSTANCE = re.compile(r"(?P<suite>.+)-f(?P<function>.+)-i(?P<instance>[^-]+)-d(?P<dimension>\d+)")
_DIMENSION = re.compile(r"(?P<function>.+?)-d(?P<dimension>\d+)(?:-(?P<instance>.+))?")


@dataclass(frozen=True, slots=True, order=True)
class Instance:
    """Identifies a problem instance by its suite, function, dimension and number, by which runs are grouped.

    Problems of suites and data of other tools provide it; otherwise it is parsed from the name.

    Attributes:
        suite: The suite, such as ``"bbob"``; empty if unknown.
        function: The function's number or name within the suite, such as ``"3"``.
        dimension: Number of variables; 0 if unknown.
        instance: Number or name of the function's instance, such as ``"1"``; empty if unknown.
    """

    suite: str
    function: str
    dimension: int
    instance: str

    @property
    def name(self) -> str:
        """The instance's name in its standard form, such as ``"bbob-f3-i1-d5"``."""
        return f"{self.suite}-f{self.function}-i{self.instance}-d{self.dimension}"

    @classmethod
    def parse(cls, name: str) -> Instance:
        """Parse a name such as ``"bbob-f3-i1-d5"`` or ``"ma-bbob-d5-s1-0"``; any other is a function of its own."""
        return _parsed(name)


@lru_cache(maxsize=1 << 16)
def _parsed(name: str) -> Instance:
    """Parse a name; cached, so that the runs on an instance share one object."""
    match = _INSTANCE.fullmatch(name) or _DIMENSION.fullmatch(name)
    if not match:
        return Instance("", name, 0, "")
    parts = match.groupdict(default="")
    return Instance(parts.get("suite", ""), parts["function"], int(parts["dimension"]), parts["instance"])


@dataclass(frozen=True, slots=True, order=True)
class RunKey:
    """Identifies a run; all its randomness derives from the key.

    Attributes:
        instance: The problem instance's name, such as ``"bbob-f3-i1-d5"``.
        algorithm: The algorithm's name within the study.
        seed: Number of the repetition; runs of different algorithms with equal instance and seed are ranked together.
    """

    instance: str
    algorithm: str
    seed: int

    def __str__(self) -> str:
        return f"{self.algorithm} on {self.instance} (seed {self.seed})"

    def generator(self, stream: str = "") -> np.random.Generator:
        """The run's own random generator, the same wherever and whenever the run is executed.

        Args:
            stream: Name of the generator: empty for the optimizer's, ``"noise"`` for the problem's.
        """
        return np.random.default_rng(np.random.SeedSequence(self.entropy(stream)))

    def entropy(self, stream: str = "") -> int:
        """The seed of one of the run's generators: 128 bits that depend only on the key and the stream."""
        suffix = f"\0{stream}" if stream else ""
        digest = hashlib.sha256(f"{self.seed}\0{self.instance}\0{self.algorithm}{suffix}".encode()).digest()
        return int.from_bytes(digest[:16])
