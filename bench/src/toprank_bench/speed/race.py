"""What a race is: its work, its shape, its figure, and the limit on that."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple


class Setting(NamedTuple):
    """What a race is run with: its shape, threads for either side, and where data may be."""

    shape: Mapping[str, int]
    n_threads: int
    folder: Path | None


class Measured(NamedTuple):
    """What came out of a race: the figure of every round, and further facts."""

    rounds: list[float]
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Race:
    """One race: `what` is ours, `against` the rival, `unit` what the figure counts.

    `quick` holds those parts of `shape` that a quick run makes smaller, `minutes` how long both
    take, roughly, and `needs` the package of the rival. Where `is_threaded`, both sides use all
    cores, otherwise one.
    """

    name: str
    what: str
    against: str
    unit: str
    measure: Callable[[Setting], Measured]
    shape: Mapping[str, int]
    quick: Mapping[str, int]
    minutes: tuple[float, float]
    at_most: float | None = None
    at_least: float | None = None
    is_threaded: bool = False
    needs: str = ""

    def shape_of(self, is_quick: bool) -> dict[str, int]:
        """Return the sizes of a run, which is whole or quick."""
        return {**self.shape, **(self.quick if is_quick else {})}

    def definition(self, is_quick: bool) -> str:
        """Return a short digest of all that decides the figure but the code and the machine."""
        parts = [self.name, self.against, self.unit, self.shape_of(is_quick), self.is_threaded]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def in_words(self) -> str:
        """What the figure says.

        >>> Race("a", "ours", "theirs", "times as long", print, {}, {}, (1, 1)).in_words
        'times as long as theirs'
        """
        return f"{self.unit} as {self.against}" if self.unit.startswith("times as ") else self.unit

    @property
    def limit(self) -> str:
        """The limit in words, nothing where there is none."""
        if self.at_most is not None:
            return f"at most {self.at_most:g}"
        return "" if self.at_least is None else f"at least {self.at_least:g}"

    def verdict(self, figure: float) -> str:
        """Return whether a figure keeps the limit.

        >>> race = Race("a", "ours", "theirs", "times", print, {}, {}, (1, 1), at_most=1.5)
        >>> race.verdict(1.5), race.verdict(1.51)
        ('met', 'missed')
        """
        if not self.limit:
            return ""
        is_low = self.at_most is None or figure <= self.at_most
        is_high = self.at_least is None or figure >= self.at_least
        return "met" if is_low and is_high else "missed"
