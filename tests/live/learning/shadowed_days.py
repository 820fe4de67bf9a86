"""Tables of a desk whose champion's list is checked while a challenger scores beside it.

Every card pays once per day. Who is on the champion's list is checked that evening; other frauds
are claimed later, as far as their holders claim at all. Scores are Gaussian.
"""

from typing import NamedTuple

import numpy as np

from toprank.live.desk_settings import DeskSettings
from toprank.live.monitor import log_digest
from toprank.live.store import label_table, model_table, payment_log, shadow_score_table
from toprank.live.store.label_table import DeskLabel
from toprank.live.store.model_table import StoredModel
from toprank.live.store.payment_log import LoggedPayment, StoredScore
from toprank.live.store.shadow_score_table import ShadowScore

DAY = 86_400_000_000
FIRST_DAY = 20_000
CHAMPION = StoredModel(1, "0001.toprank", "champion", "person:anna", 0, 0)
SETTINGS = DeskSettings(silence="15d", capacity=10, alert_from=0.02)


class World(NamedTuple):
    """How frauds are scored by two models, and become known."""

    n_days: int = 40
    n_cards: int = 120
    n_frauds: int = 5
    champion: float = 2.2  # how far frauds are above others
    challenger: float = 2.2
    claimed: float = 1.0  # share of the frauds not checked that are claimed some day
    n_more_days: int = 0  # without payments, at the end, in which labels become known
    seed: int = 0


def fill(database, world, settings=SETTINGS):
    """Write payments, scores and labels; return the time after the last payment."""
    random = np.random.default_rng(world.seed)
    now = (FIRST_DAY + world.n_days) * DAY
    labels = []
    with database.writing() as connection:
        model_table.add(connection, CHAMPION)
        for day in range(world.n_days):
            labels += _one_day(connection, world, settings, day, random)
        end = now + world.n_more_days * DAY
        known = sorted((each for each in labels if each.at < end), key=lambda each: each.at)
        label_table.add(
            connection, [each._replace(number=n) for n, each in enumerate(known, start=1)]
        )
    log_digest.catch_up(database, settings.alert_from, at_once=10_000)
    return now


def _one_day(connection, world, settings, day, random):
    n = world.n_cards
    is_fraud = np.arange(n) < world.n_frauds
    cards = [f"card {day} {place}" if is_fraud[place] else f"card {place}" for place in range(n)]
    shared = random.normal(size=n) * 0.6
    before, after = (
        ahead * is_fraud + shared + random.normal(size=n) * 0.8
        for ahead in (world.champion, world.challenger)
    )
    at = (FIRST_DAY + day) * DAY + np.sort(random.integers(0, DAY // 24, n))
    positions = [day * n + place + 1 for place in range(n)]
    order = random.permutation(n)
    rows = list(zip(positions, order.tolist(), at.tolist(), strict=True))
    payment_log.add(
        connection,
        [LoggedPayment(p, f"p{p}", cards[i], "t", t, t, "{}", b"", "accept", "[]", 0)
         for p, i, t in rows],
    )  # fmt: skip
    payment_log.add_scores(
        connection,
        [StoredScore(p, before[i], chance(before[i]), "[]", 0, CHAMPION.file, t)
         for p, i, t in rows],
    )  # fmt: skip
    shadow_score_table.add(
        connection, [ShadowScore(p, 2, after[i], chance(after[i])) for p, i, _ in rows]
    )
    listed = [i for i in np.argsort(-before) if chance(before[i]) >= settings.alert_from]
    checked = set(listed[: settings.capacity])
    found = []
    for p, i, t in rows:
        if i in checked:
            evening = (FIRST_DAY + day) * DAY + DAY * 3 // 4
            found.append(_label(p, cards[i], is_fraud[i], evening, "investigator"))
        elif is_fraud[i] and random.random() < world.claimed:
            later = t + int(random.exponential(4 * DAY)) + DAY // 24
            found.append(_label(p, cards[i], True, min(later, t + 14 * DAY), "claim"))
    return found


def chance(suspicion):
    """The probability by a score."""
    return float(1 / (1 + np.exp(3 - suspicion)))


def _label(position, card, is_fraud, at, source):
    return DeskLabel(0, f"p{position}", card, bool(is_fraud), at, source, "x", position, at)
