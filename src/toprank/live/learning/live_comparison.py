"""A challenger and the champion on live payments, which both scored before anybody knew.

Frauds are those known by now. Whoever was on the champion's list was checked and is known; others
become known by a claim, some weeks later. So a fraud that was claimed, or found by a random check,
counts for all that had the same chance to be known by now, as in training. Payments without a
label count as genuine. Days of which too few claims can be there yet are left out.

Scores are read as `score_digest` has counted them, so that it is quick however many there are.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from toprank.live.desk_settings import DeskSettings
from toprank.live.learning.model_comparison import PREVALENCE, PairedFigure
from toprank.live.store import (
    digest_tables,
    drawn_payments,
    listed_score_table,
    score_day_table,
    scored_frauds,
)
from toprank.live.store.digest_tables import DAY
from toprank.live.store.listed_score_table import ListedCard
from toprank.live.store.model_table import StoredModel
from toprank.live.store.score_day_table import ScoreDay
from toprank.live.store.scored_frauds import PairedFraud
from toprank.live.store.shadow_score_table import shadow_name
from toprank.metrics.block_resamples import BlockResamples
from toprank.metrics.cards import checks_by_day
from toprank.metrics.resampling import percentile_band
from toprank.metrics.score_histogram import bins_of, lowest_scores
from toprank.payments.ledger.fraud_weights import FEWEST_DELAYS, fraud_weights, share_claimed

LEAST_DAYS, LEAST_FRAUDS = 7, 20
"""With fewer, nothing is said."""

MOST_DAYS = 60
"""Of the last days; models that are older than that were compared long ago."""

LEAST_CLAIMED = 0.25
"""Share of the claims of a day that must be there: others would count more than fourfold."""

_MORE_CARDS = 1_000  # of a day's list, since cards that were found before are not checked again
_NO_CARD = "\0"  # unlike any
_N_RESAMPLES = 1_000
_LEVEL = 0.95


class NotYet(NamedTuple):
    """What there is of the days and frauds that a comparison needs.

    `n_days` and `n_frauds` are of days whose claims can be there by now; `n_waiting` days are
    too recent.
    """

    n_days: int
    n_frauds: int
    n_waiting: int

    def to_json(self) -> dict[str, Any]:
        """Return it in plain values."""
        return self._asdict() | {"least_days": LEAST_DAYS, "least_frauds": LEAST_FRAUDS}


class LiveComparison(NamedTuple):
    """How a challenger compares on live payments with the champion whose number is `against`.

    Of the `n_frauds`, `n_listed` are known by checks of the list, `n_drawn` by random checks and
    the others by claims. `claimed` is the share of claims that can be expected to be there by now.
    """

    against: int
    first_day: int
    last_day: int
    n_days: int
    n_waiting: int
    n_payments: int
    n_frauds: int
    n_listed: int
    n_drawn: int
    claimed: float
    capacity: int
    cards: PairedFigure
    prevalence: float
    adjusted_ap: PairedFigure

    @property
    def is_provisional(self) -> bool:
        """Whether further claims can be expected."""
        return self.claimed < 1

    def to_json(self) -> dict[str, Any]:
        """Return the comparison in plain values."""
        figures = {name: getattr(self, name)._asdict() for name in ("cards", "adjusted_ap")}
        return self._asdict() | figures | {"is_provisional": self.is_provisional}


def live_comparison(
    connection: sa.Connection,
    champion: StoredModel,
    challenger: int,
    now: int,
    settings: DeskSettings,
) -> LiveComparison | NotYet:
    """Return how the model of a number in shadow compares with the champion by now."""
    name = shadow_name(challenger)
    today = now // DAY
    both = [
        score_day_table.between(connection, today - MOST_DAYS, today, one, other)
        for one, other in ((champion.file, name), (name, champion.file))
    ]
    silence = int(settings.silent / np.timedelta64(1, "us"))
    delays = _claim_delays(connection, now - silence)
    used = [each.day for each in both[0] if _is_usable(each.day, now, silence, delays)]
    n_waiting = len(both[0]) - len(used)
    begins = {each.day: each.first_position for each in both[0] if each.day in used}
    first = min(begins.values(), default=2**62)
    frauds = [
        each
        for each in scored_frauds.paired(connection, champion.file, challenger, first)
        if each.position >= begins.get(each.at // DAY, 2**62)
    ]
    if len(used) < LEAST_DAYS or len(frauds) < LEAST_FRAUDS:
        return NotYet(len(used), len(frauds), n_waiting)
    drawn = drawn_payments.chances(connection)
    known = _ComparedFrauds(frauds, _weights(frauds, drawn, now, delays), np.array(used))
    spreads = [[each for each in some if each.day in used] for some in both]
    lists = [
        listed_score_table.cards_by_day(connection, each, first, settings.capacity + _MORE_CARDS)
        for each in (champion.file, name)
    ]
    is_drawn = [each.source == "investigator" and each.position in drawn for each in frauds]
    n_checked = sum(each.source == "investigator" for each in frauds)
    middle = now - (np.array(used) * DAY + DAY // 2)
    claimed = share_claimed(middle, delays) if len(delays) >= FEWEST_DELAYS else np.ones(1)
    return LiveComparison(
        champion.number,
        min(used),
        max(used),
        len(used),
        n_waiting,
        sum(each.n_payments for each in spreads[0]),
        len(frauds),
        n_checked - sum(is_drawn),
        sum(is_drawn),
        float(np.where(middle > silence, 1.0, claimed).mean()),
        settings.capacity,
        _cards_found(known, lists, settings.capacity),
        PREVALENCE,
        _adjusted_ap(known, spreads),
    )


class _ComparedFrauds(NamedTuple):
    """The known frauds, how many each represents, and the days that are compared."""

    frauds: Sequence[PairedFraud]
    weight: NDArray[np.float64]
    days: NDArray[np.int64]

    @property
    def day(self) -> NDArray[np.int64]:
        return np.array([each.at // DAY for each in self.frauds])


def _claim_delays(connection: sa.Connection, before: int) -> NDArray[np.int64]:
    """Return after how long frauds were claimed, of payments so old that all claims are there."""
    return np.array(digest_tables.claim_delays(connection, before), dtype=np.int64)


def _is_usable(day: int, now: int, silence: int, delays: NDArray[np.int64]) -> bool:
    """Return whether enough of the claims of a day can be there; its last payment decides."""
    age = now - (day + 1) * DAY
    if age >= silence:
        return True
    return len(delays) >= FEWEST_DELAYS and float(share_claimed(age, delays)) >= LEAST_CLAIMED


def _weights(
    frauds: Sequence[PairedFraud],
    drawn: dict[int, float],
    now: int,
    delays: NDArray[np.int64],
) -> NDArray[np.float64]:
    # whoever was on the list was checked for sure; a card that was drawn might not have been
    chance = [
        drawn.get(each.position, 1.0) if each.source == "investigator" else 0.0 for each in frauds
    ]
    age = now - np.array([each.at for each in frauds])
    return fraud_weights(chance, age, delays)


def _cards_found(
    known: _ComparedFrauds, lists: Sequence[Sequence[ListedCard]], capacity: int
) -> PairedFigure:
    """Return the cards found per day by checking the first of each list."""
    weights: dict[tuple[str, int], float] = {}
    for each, weight in zip(known.frauds, known.weight.tolist(), strict=True):
        key = (each.card, each.at // DAY)
        # a card is known if one of its frauds is: what is likeliest to be known counts
        weights[key] = min(weight, weights.get(key, np.inf))
    before, after = (_found_by_day(known.days, weights, each, capacity) for each in lists)
    difference = after - before
    n_days = difference.size
    half = stdtrit(n_days - 1, (1 + _LEVEL) / 2) * difference.std(ddof=1) / np.sqrt(n_days)
    ahead = float(difference.mean())
    return PairedFigure(
        float(before.mean()), float(after.mean()), ahead, ahead - float(half), ahead + float(half)
    )


def _found_by_day(
    days: NDArray[np.int64],
    weights: dict[tuple[str, int], float],
    listed: Sequence[ListedCard],
    capacity: int,
) -> NDArray[np.float64]:
    """Return how many cards with a fraud a list's first checks find on each day, weighted."""
    used = set(days.tolist())
    listed = [each for each in listed if each.day in used]
    amounts = np.array([weights.get((each.card, each.day), 0.0) for each in listed])
    found = np.zeros(days.size)
    if not amounts.any():
        return found
    suspicion = [each.suspicion for each in listed]
    # one genuine card at the end, since a list of frauds alone is no ranking
    checks = checks_by_day(
        np.append(amounts > 0, False),
        np.append(suspicion, np.nextafter(min(suspicion), -np.inf)),
        [*(each.card for each in listed), _NO_CARD],
        np.append([each.day for each in listed], listed[0].day),
        capacity,
        np.append(amounts, 0.0),
    )
    found[np.searchsorted(days, checks.day)] = checks.money
    return found


def _adjusted_ap(known: _ComparedFrauds, spreads: Sequence[Sequence[ScoreDay]]) -> PairedFigure:
    """Return the AP at the prevalence of all comparisons; both models see the same drawn days."""
    suspicions = (
        np.array([each.champion for each in known.frauds]),
        np.array([each.challenger for each in known.frauds]),
    )
    first, second = (
        _resampled_ap(known, suspicion, spread)
        for suspicion, spread in zip(suspicions, spreads, strict=True)
    )
    difference = second - first
    low, high = percentile_band(difference[1:], _LEVEL) - difference[0]
    # resamples of few days differ less than the days themselves do
    n = known.days.size
    wider = stdtrit(n - 1, (1 + _LEVEL) / 2) / ndtri((1 + _LEVEL) / 2) * np.sqrt(n / (n - 1))
    ends = (float(difference[0] + wider * each) for each in (low, high))
    return PairedFigure(float(first[0]), float(second[0]), float(difference[0]), *ends)


def _resampled_ap(
    known: _ComparedFrauds, suspicion: NDArray[np.float64], spread: Sequence[ScoreDay]
) -> NDArray[np.float64]:
    """Return a model's AP and that of each resample; scores of one bin are tied."""
    day = known.day
    others = [each.scores.without(suspicion[day == each.day]) for each in spread]
    n_others = sum(int(each.counts.sum()) for each in others)
    share = known.weight.sum() * (1 - PREVALENCE) / (PREVALENCE * n_others)
    is_fraud = np.concatenate(
        [np.ones(day.size, bool), *(np.zeros(each.bins.size, bool) for each in others)]
    )
    weight = np.concatenate([known.weight, *(each.counts * share for each in others)])
    raw = lowest_scores(np.concatenate([bins_of(suspicion), *(each.bins for each in others)]))
    days = [np.full(each.scores.bins.size, each.day) for each in spread]
    blocks = np.concatenate([day, *days])
    one_list = np.zeros(blocks.size, dtype=np.intp)
    resamples = BlockResamples(is_fraud, weight, one_list, blocks, _N_RESAMPLES, seed=0)
    return resamples.average_precisions(raw)
