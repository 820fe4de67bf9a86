"""The settings of a simulation: the size of the world, and options, which are off by default."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

import numpy as np

from toprank.data import checks

PATTERNS = ("amount", "terminal", "card")  # of fraud; numbered from 1, 0 is none


@dataclass(frozen=True)
class Simulation:
    """The settings of a simulation; the defaults are those of the published base case.

    The same settings give the same payments, and a longer run begins with the payments of a
    shorter one. Options add to the base case and leave the rest unchanged:

    `details` adds the country, channel and merchant type of each payment; `keep_pattern` the
    pattern behind each fraud (1 amount, 2 terminal, 3 card, 0 none), which gives the label away.
    `worldline` makes 0.18 % of the payments frauds, 90 % of the frauds online (a column channel)
    and the amount of 3 % of genuine payments and 12 % of frauds zero. `test_payments` puts a small
    payment before the first large one of a compromised card in a day. `starts` and `stops` name
    the days, counted from 0, from which a pattern makes frauds and from which it no longer does;
    `spells` names several such spans of days for a pattern that goes and returns.
    `volume` multiplies how often each card pays, 1.92 times a day on average.
    `christmas` adds half as many payments again from 1 to 24 December. `claims` adds the day on
    which the card's holder claims the fraud, missing if never; `checks_a_day`, if not 0, the
    verdicts of checks on this many cards per day, missing for payments of other cards.

    >>> Simulation(n_days=30, starts={"card": 20}).n_cards
    5000
    """

    n_cards: int = 5_000
    n_terminals: int = 10_000
    n_days: int = 183
    start: str = "2018-04-01"
    random_state: int = 0
    details: bool = False
    keep_pattern: bool = False
    worldline: bool = False
    test_payments: bool = False
    starts: Mapping[str, int] = field(default_factory=dict)
    stops: Mapping[str, int] = field(default_factory=dict)
    spells: Mapping[str, Sequence[tuple[int, int]]] = field(default_factory=dict)
    christmas: bool = False
    claims: bool = False
    checks_a_day: int = 0
    volume: float = 1.0

    def __post_init__(self) -> None:
        checks.whole_number(self.n_cards, "n_cards", 1)
        checks.whole_number(self.n_terminals, "n_terminals", 1)
        checks.whole_number(self.n_days, "n_days", 1)
        checks.whole_number(self.random_state, "random_state", 0)
        checks.whole_number(self.checks_a_day, "checks_a_day", 0)
        checks.number_above(self.volume, "volume", 0)
        _check_schedule(self.starts, self.stops)
        _check_spells(self.spells)
        last_day = self.first_day + self.n_days - 1
        if self.christmas and not any(map(is_before_christmas, _some_days(self))):
            raise ValueError(
                "christmas must come with days between 1 and 24 December; the run is from "
                f"{self.first_day} to {last_day}: choose another start or more days."
            )

    @property
    def first_day(self) -> np.datetime64:
        """The day of the first payments."""
        try:
            return np.datetime64(date.fromisoformat(self.start), "D")
        except (TypeError, ValueError):
            raise ValueError(
                f"start must be a date such as '2025-01-01'; got {self.start!r}."
            ) from None

    def is_active(self, pattern: str, day: int) -> bool:
        """Return whether a pattern makes frauds on a day."""
        if pattern in self.spells and not any(a <= day < b for a, b in self.spells[pattern]):
            return False
        return self.starts.get(pattern, 0) <= day < self.stops.get(pattern, np.inf)


def is_before_christmas(day: np.datetime64) -> bool:
    """Return whether a date is in the weeks of many payments, 1 to 24 December."""
    day_of_month = (day - day.astype("datetime64[M]")).astype(int) + 1
    return bool(day.astype("datetime64[M]").astype(int) % 12 == 11 and day_of_month <= 24)


def _some_days(simulation: Simulation) -> np.ndarray:
    """Return the days of the first year or less: no later year has others."""
    return simulation.first_day + np.arange(min(simulation.n_days, 366))


def _check_schedule(starts: Mapping[str, int], stops: Mapping[str, int]) -> None:
    for name, schedule in (("starts", starts), ("stops", stops)):
        for pattern, day in schedule.items():
            _check_pattern(pattern, name)
            checks.whole_number(day, f"the day in {name} for {pattern!r}", 0)
    for pattern in starts.keys() & stops.keys():
        if stops[pattern] <= starts[pattern]:
            raise ValueError(
                f"pattern {pattern!r} must stop after the day it starts, {starts[pattern]}; "
                f"got {stops[pattern]}."
            )


def _check_spells(spells: Mapping[str, Sequence[tuple[int, int]]]) -> None:
    for pattern, spans in spells.items():
        _check_pattern(pattern, "spells")
        for first, end in spans:
            checks.whole_number(first, f"the first day of a spell of {pattern!r}", 0)
            checks.whole_number(end, f"the day after a spell of {pattern!r}", first + 1)


def _check_pattern(pattern: str, name: str) -> None:
    if pattern not in PATTERNS:
        known = ", ".join(map(repr, PATTERNS))
        hint = checks.nearest_name(str(pattern), list(PATTERNS)) or "."
        raise ValueError(f"{name} must name one of {known}; got {pattern!r}{hint}")
