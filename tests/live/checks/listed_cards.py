"""Alerts without a model: rows that are written directly, and the moments of both clocks."""

from toprank.live.desk_clock import Moment
from toprank.live.desk_settings import DeskSettings
from toprank.live.store import alert_table, payment_log
from toprank.live.store.alert_table import CardAlert
from toprank.live.store.payment_log import LoggedPayment, StoredScore

SETTINGS = DeskSettings(capacity=20)
DAY, SECOND = 86_400_000_000, 1_000_000
NOW = Moment(20_000 * DAY + 43_200 * SECOND, 1_800_000_000 * SECOND)


def later(seconds, now=NOW):
    return Moment(now.desk + seconds * SECOND, now.wall + seconds * SECOND)


def add_alert(connection, chance, n_payments=2, card=None, **values):
    """Open an alert with payments of its own, and return its number."""
    number = alert_table.next_number(connection)
    card = f"card-{number:04}" if card is None else card
    first = payment_log.last_position(connection) + 1
    positions = list(range(first, first + n_payments))
    payment_log.add(
        connection,
        [
            LoggedPayment(
                each, f"tx-{each}", card, f"shop-{each % 3}", NOW.desk - 100 + each,
                NOW.desk - 100 + each, '{"amount":10.0}', b"", "accept", "[]", 0,
            )
            for each in positions
        ],
    )  # fmt: skip
    payment_log.add_scores(
        connection,
        [StoredScore(each, chance, chance, "[]", 0, "m", NOW.desk) for each in positions],
    )
    alert = CardAlert(
        number, card, "open", NOW.desk, NOW.desk, chance, chance, positions[-1],
        ["a reason"], [], [], "m", [""], chance, chance, n_payments, 10.0 * n_payments, NOW.desk,
    )  # fmt: skip
    alert_table.open_new(connection, [alert._replace(**values)])
    alert_table.add_payments(connection, [(number, each) for each in positions])
    return number
