"""Which cards the ledger knows: those to leave out of a list, and those to flag."""

import numpy as np
import pyarrow as pa
import pytest

from toprank.payments.features import History, Recent
from toprank.payments.known_cards import KnownCards, known_cards
from toprank.payments.payment_state import MemoryState
from toprank.workflow.alert_list import AlertList

START = np.datetime64("2025-03-01T00:00:00", "us")
CARDS = {"a": "1", "b": "1", "c": "2", "d": "003", "e": None}


def day(number):
    return START + np.timedelta64(number, "D")


def state(key="card"):
    """Payments of three cards and of none, the newest of the 20th of March."""
    found = MemoryState(History([Recent("count", key, "1d")], time="at", row_id="tx"))
    table = pa.table(
        {
            "tx": [*CARDS, "last"],
            "at": [*(day(i).item() for i in range(len(CARDS))), day(19).item()],
            "card": [*CARDS.values(), "9"],
            "terminal": ["T"] * (len(CARDS) + 1),
        }
    )
    with found.remembering() as features_of:
        features_of(table)
    return found


@pytest.fixture(params=["card", "terminal"])
def payments(request):
    """Once with a feature of cards, once without: cards are then those of the kept rows."""
    return state(request.param)


def say(payments, row_id, is_positive, known=19, source="investigator"):
    payments.label([row_id], [is_positive], day(known), source, "")


def known(payments, within="14d"):
    return known_cards(payments, "card", within)


def test_nothing_is_known_without_labels(payments):
    assert known(payments) == KnownCards()
    empty = MemoryState(History([Recent("count", "card", "1d")], row_id="tx"))
    assert known_cards(empty, "card", "14d") == KnownCards()


@pytest.mark.parametrize("source", ["investigator", "claim"])
def test_a_card_with_one_payment_known_as_fraud_is_blocked(payments, source):
    say(payments, "a", True, source=source)
    say(payments, "b", False)
    assert known(payments).blocked == {"1"}
    assert known(payments).cleared == {}  # blocked takes precedence over cleared


def test_padded_cards_keep_their_zeros(payments):
    say(payments, "d", True)
    assert known(payments).blocked == {"003"}


def test_payments_without_a_card_block_no_card(payments):
    say(payments, "e", True)
    assert known(payments).blocked == frozenset()


def test_a_correction_unblocks(payments):
    say(payments, "c", True, known=5)
    say(payments, "c", False, known=6, source="claim")
    assert known(payments) == KnownCards()  # a card holder's word clears no card


def test_cards_are_cleared_by_investigators_within_the_time_counted_from_the_newest_payment(
    payments,
):
    say(payments, "c", False, known=5)
    assert known(payments).cleared == {"2": day(5)}
    assert known(payments, "13d").cleared == {}
    assert known(payments, np.timedelta64(14, "D")).cleared == {"2": day(5)}
    say(payments, "d", False, known=9, source="claim")
    assert known(payments).cleared == {"2": day(5)}


def test_the_latest_clearing_counts(payments):
    say(payments, "a", False, known=12)
    say(payments, "b", False, known=8)
    assert known(payments).cleared == {"1": day(12)}


def test_an_invalid_time_is_refused(payments):
    say(payments, "a", False)
    with pytest.raises(ValueError, match="cleared_within must be a span of time"):
        known(payments, "soon")


def test_a_list_has_the_time_at_which_each_card_was_cleared():
    rows = pa.table({"card": [2, 7, None]})
    alerts = AlertList(rows, np.arange(3), np.zeros(3), np.zeros(3), [[], [], []], None, 3)
    flagged = KnownCards(cleared={"2": day(5)}).flagged(alerts, alerts.rows["card"])
    assert flagged.cleared[0] == day(5)
    assert np.isnat(flagged.cleared[1:]).all()
    assert flagged.rows.equals(rows)
