"""The card-days of random draws: which frauds could be drawn, were drawn, found or reported."""

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise

import sqlalchemy as sa

from toprank.live.monitor.missed_frauds import DrawnDay
from toprank.live.store import draw_outcomes, random_check_table
from toprank.live.store.digest_tables import DAY
from toprank.live.store.draw_outcomes import DrawnCard, KnownFraud, ListedSpan
from toprank.live.store.random_check_table import RandomDraw


def drawn_days(connection: sa.Connection, first: int, last: int) -> list[DrawnDay]:
    """Return the card-days of the draws of these days of the desk, in order."""
    draws = random_check_table.between(connection, first, last)
    if not draws:
        return []
    frauds = draw_outcomes.frauds_since(connection, draws[0].since)
    drawn = draw_outcomes.drawn_cards(connection, first, last)
    cards = sorted({each.card for each in frauds} | {each.card for each in drawn})
    outcomes = _Outcomes(
        frauds,
        draw_outcomes.listed_spans(connection, cards),
        draw_outcomes.called_fraud(connection, cards),
        draw_outcomes.found_by_list(connection, first - 1),
    )
    by_day: defaultdict[int, list[DrawnCard]] = defaultdict(list)
    for card in drawn:
        by_day[card.day].append(card)
    ends = [after.at for _, after in pairwise(draws)] + [draws[-1].at + DAY]
    return [
        outcomes.day(draw, end, by_day[draw.day]) for draw, end in zip(draws, ends, strict=True)
    ]


class _Outcomes:
    """What is known by now of cards, and when they were on the list."""

    def __init__(
        self,
        frauds: Iterable[KnownFraud],
        spans: Iterable[ListedSpan],
        said: dict[str, int],
        found: set[int],
    ) -> None:
        self._frauds, self._said, self._found = list(frauds), said, found
        self._spans: defaultdict[str, list[ListedSpan]] = defaultdict(list)
        for span in spans:
            self._spans[span.card].append(span)

    def day(self, draw: RandomDraw, end: int, drawn: list[DrawnCard]) -> DrawnDay:
        """Return the card-days of one draw, whose cards could be checked until `end`."""
        frauds: defaultdict[str, list[KnownFraud]] = defaultdict(list)
        for each in self._frauds:
            if draw.since <= each.at < draw.at:
                frauds[each.card].append(each)
        could = {card for card in frauds if not self._was_listed(card, draw)}
        found = {card for card in set(frauds) - could if self._is_found(frauds[card])}
        settled = {each.card for each in drawn if self._is_settled(each, draw, end)}
        checked = {each.card for each in drawn if each.check_at is not None} - settled
        return DrawnDay(
            draw.day,
            draw.n_cards,
            draw.n_drawn,
            len(settled),
            len(settled & set(frauds)),
            len(checked),
            len(checked & set(frauds)),
            len(found),
            len(frauds) - len(could) - len(found),
            len(could),
        )

    def _was_listed(self, card: str, draw: RandomDraw) -> bool:
        """Return whether a card could not be drawn: it was on the list, or known as fraud."""
        if self._said.get(card, draw.at) < draw.at:
            return True
        return any(
            span.since < draw.at and (span.until is None or span.until >= draw.at)
            for span in self._spans[card]
            if span.drawn_on != draw.day
        )

    def _is_found(self, frauds: Iterable[KnownFraud]) -> bool:
        return any(
            each.position in self._found or each.source == "investigator" for each in frauds
        )

    def _is_settled(self, card: DrawnCard, draw: RandomDraw, end: int) -> bool:
        """Return whether something else than its place brought a drawn card up."""
        if card.last_at > draw.at:
            return True
        return card.check_at is None and draw.at <= self._said.get(card.card, end) < end
