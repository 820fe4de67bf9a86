"""How the challenger's list of today differs from the champion's."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from toprank.live.desk_settings import DeskSettings
from toprank.live.engine.card_chance import card_chance
from toprank.live.store import payment_reads, shadow_score_table

_DAY = 86_400_000_000  # microseconds


class CardList(NamedTuple):
    """The first cards of a model's list, and how many frauds it expects among them."""

    n_cards: int
    expected: float


class ShadowSummary(NamedTuple):
    """Two lists of today, of at most as many cards as can be checked.

    `n_both` cards are on both lists. `n_scored` payments of today have both scores; `n_skipped`
    have only the champion's.
    """

    champion: CardList
    challenger: CardList
    n_both: int
    n_scored: int
    n_skipped: int

    def to_json(self) -> dict[str, Any]:
        """Return the lists in plain values."""
        lists = {name: getattr(self, name)._asdict() for name in ("champion", "challenger")}
        return self._asdict() | lists


def shadow_summary(
    connection: sa.Connection, number: int, now: int, settings: DeskSettings
) -> ShadowSummary:
    """Return how the list of the challenger of a number differs from the champion's today."""
    first = payment_reads.first_since(connection, now // _DAY * _DAY)
    counts = shadow_score_table.counts(connection, number, first)
    found = shadow_score_table.listed(connection, number, first, settings.alert_from)
    lists = []
    for name in ("champion", "challenger"):
        chances: dict[str, list[float]] = {}
        for each in found:
            if getattr(each, name) >= settings.alert_from:
                chances.setdefault(each.card, []).append(getattr(each, name))
        lists.append(_first_cards(chances, settings.capacity))
    champion, challenger = lists
    return ShadowSummary(
        _counted(list(champion.values())),
        _counted(list(challenger.values())),
        len(champion.keys() & challenger.keys()),
        *counts,
    )


def _first_cards(chances: dict[str, list[float]], k: int) -> dict[str, float]:
    """Return the cards that are most probably defrauded, with their chance."""
    of_cards = {card: card_chance(some) for card, some in chances.items()}
    first = sorted(of_cards, key=lambda card: (-of_cards[card], card))[:k]
    return {card: of_cards[card] for card in first}


def _counted(chances: Sequence[float]) -> CardList:
    return CardList(len(chances), float(sum(chances)))
