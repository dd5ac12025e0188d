"""Which run: its problem instance, its algorithm and its seed."""

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
    """Which problem instance: its suite, function, dimension and number, by which runs are grouped.

    Problems of suites and formats of other tools tell it; of what tells it not, the name is taken apart.

    Attributes:
        suite: The suite, such as ``"bbob"``; empty if it is not known.
        function: The function's number or name within the suite, such as ``"3"``.
        dimension: Number of variables; 0 if it is not known.
        instance: Which instance of the function, such as ``"1"``; empty if it is not known.
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
        """Read a name such as ``"bbob-f3-i1-d5"`` or ``"ma-bbob-d5-s1-0"``; any other is a function of its own."""
        return _parsed(name)


@lru_cache(maxsize=1 << 16)
def _parsed(name: str) -> Instance:
    """The same object for the same name: of many runs on one instance all share it."""
    found = _INSTANCE.fullmatch(name) or _DIMENSION.fullmatch(name)
    if not found:
        return Instance("", name, 0, "")
    told = found.groupdict(default="")
    return Instance(told.get("suite", ""), told["function"], int(told["dimension"]), told["instance"])


@dataclass(frozen=True, slots=True, order=True)
class RunKey:
    """Names one run for good: all its randomness derives from these three.

    Attributes:
        instance: The problem instance's name, such as ``"bbob-f3-i1-d5"``.
        algorithm: The algorithm's name within the study.
        seed: Which repetition; runs of different algorithms with equal instance and seed are ranked together.
    """

    instance: str
    algorithm: str
    seed: int

    def __str__(self) -> str:
        return f"{self.algorithm} on {self.instance} (seed {self.seed})"

    def generator(self, stream: str = "") -> np.random.Generator:
        """The run's own random generator, the same wherever and whenever the run is executed.

        Args:
            stream: Which of the run's generators: the optimizer's has no name; ``"noise"`` is the problem's.
        """
        return np.random.default_rng(np.random.SeedSequence(self.entropy(stream)))

    def entropy(self, stream: str = "") -> int:
        """What seeds one of the run's generators: 128 bits that follow from the key and the stream alone."""
        named = f"\0{stream}" if stream else ""
        digest = hashlib.sha256(f"{self.seed}\0{self.instance}\0{self.algorithm}{named}".encode()).digest()
        return int.from_bytes(digest[:16])
