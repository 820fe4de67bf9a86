import pytest

from live import databases
from toprank.live.desk_settings import DeskSettings
from toprank.live.learning.model_shadow import CardList, shadow_summary
from toprank.live.learning.model_words import shadow_line
from toprank.live.store import payment_log, shadow_score_table
from toprank.live.store.payment_log import LoggedPayment, StoredScore
from toprank.live.store.shadow_score_table import ShadowScore

DAY = 86_400_000_000
TODAY = 100 * DAY
# card, day, the champion's chance, the challenger's; None where it skipped the payment
PAYMENTS = [
    ("old", TODAY - 1, 0.9, 0.9),
    ("a", TODAY, 0.8, 0.7),
    ("b", TODAY, 0.5, 0.01),
    ("c", TODAY, 0.4, 0.6),
    ("a", TODAY + 1, 0.01, 0.001),
    ("d", TODAY + 2, 0.1, 0.3),
    ("e", TODAY + 3, 0.99, None),
]


@pytest.fixture
def connection(tmp_path):
    database = databases.create(tmp_path)
    with database.writing() as connection:
        for place, (card, at, champion, challenger) in enumerate(PAYMENTS, start=1):
            row = (place, f"p{place}", card, "t", at, at, "{}", b"", "accept", "[]", 0)
            payment_log.add(connection, [LoggedPayment(*row)])
            score = (place, champion, champion, "[]", 0, "0001.toprank", at)
            payment_log.add_scores(connection, [StoredScore(*score)])
            if challenger is not None:
                beside = ShadowScore(place, 2, challenger, challenger)
                shadow_score_table.add(connection, [beside])
        yield connection
    database.close()


def test_the_first_cards_of_today_are_compared_and_what_was_skipped_is_counted(connection):
    settings = DeskSettings(capacity=2, alert_from=0.02)
    found = shadow_summary(connection, 2, TODAY + 10, settings)
    assert found.champion == CardList(2, pytest.approx(0.8 + 0.5))
    assert found.challenger == CardList(2, pytest.approx(0.7 + 0.6))
    assert found.n_both == 1  # card a
    assert (found.n_scored, found.n_skipped) == (5, 1)
    line = shadow_line(found)
    assert "1 card is on both" in line
    assert "skipped 1 payment" in line


def test_a_challenger_that_has_scored_nothing_today_says_so(connection):
    found = shadow_summary(connection, 3, TODAY + 10, DeskSettings())
    assert (found.n_scored, found.n_skipped, found.n_both) == (0, 0, 0)
    assert "no payment of today" in shadow_line(found)
