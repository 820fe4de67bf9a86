"""A desk served by a process of its own, with people who can log in, for a real browser."""

import time

import numpy as np

from live.pages.browser import CHEAP, PASSWORD
from live.served_desk import ServedProcess
from toprank.live.desk import Desk
from toprank.live.desk_clock import wall_time
from toprank.live.people import accounts
from toprank.live.store import alert_table, api_keys, check_table, payment_log

PEOPLE = {
    "anna": "investigator", "ben": "investigator", "sara": "senior", "rita": "rule_author",
    "paul": "approver", "otto": "auditor", "root": "admin",
}  # fmt: skip
NEW = "new"  # has not set a password yet
_BATCH = 500
_PATIENCE = 120_000  # milliseconds: a machine with much to do is slow to log somebody in


class DeskServer:
    """The server of a desk to which payments were sent; a context manager."""

    def __init__(self, folder, payments):
        self._desk = Desk.open(folder)
        self.database, self._payments = self._desk.database, payments
        with self.database.writing() as connection:
            key = api_keys.add(connection, "shop", ["payments"], wall_time(), "person:test")
            for name, role in PEOPLE.items():
                accounts.add(connection, name, role, wall_time(), "person:test")
                accounts.set_password(connection, name, CHEAP.hash(PASSWORD), wall_time())
            accounts.add(connection, NEW, "investigator", wall_time(), "person:test")
        self._process = ServedProcess(folder, key)

    def __enter__(self):
        self._process.start()
        for first in range(0, len(self._payments), _BATCH):
            some = [sent(each.body) for each in self._payments[first : first + _BATCH]]
            self._process.post("/v1/payments", {"payments": some})
        # the order of the queue is that of a desk at rest
        _wait(lambda: not self._n_unscored(), "the payments were not scored")
        return self

    def _n_unscored(self):
        with self.database.reading() as connection:
            return len(payment_log.unscored(connection))

    def __exit__(self, *_):
        self._process.stop()
        self._desk.close()

    @property
    def address(self):
        return self._process.address

    def log_in(self, context, name):
        """Return a page of a browser's context in which a person has logged in."""
        page = context.new_page()
        page.set_default_timeout(_PATIENCE)
        page.goto(f"{self.address}/login")
        page.fill("#name", name)
        page.fill("#password", PASSWORD)
        page.press("#password", "Enter")
        page.wait_for_url(lambda url: "/login" not in url)
        return page

    def pay(self, card, payment_id, amount):
        """Send one more payment of a card, at the time of the newest."""
        last = self._payments[-1].body
        body = last | {"tx": payment_id, "card": card, "amount": amount}
        self._process.post("/v1/payments", sent(body))

    def new_link(self):
        """The secret of a link for a person who has not set a password yet."""
        with self.database.writing() as connection:
            return accounts.new_link(connection, NEW, wall_time(), "person:test")

    def first_alert(self):
        """The number of the first alert of the queue."""
        with self.database.reading() as connection:
            (alert,) = alert_table.in_queue(connection, 1)
        return alert.number

    def alert(self, number):
        with self.database.reading() as connection:
            return alert_table.by_number(connection, number)

    def end_lease(self, number):
        """Let the claim of an alert run out now, and wait until the server has given it back."""
        table = alert_table.alerts
        with self.database.writing() as connection:
            connection.execute(
                table.update().where(table.c.number == number).values(lease_until=0)
            )
        _wait(lambda: self.alert(number).held_by is None, "the alert was not given back")

    def checks(self, who):
        """The checks of a person in their order."""
        with self.database.reading() as connection:
            query = check_table.checks.select().where(check_table.checks.c.who == f"person:{who}")
            rows = connection.execute(query.order_by(check_table.checks.c.number))
            return [row._mapping for row in rows]


def _wait(is_so, otherwise, seconds=120):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, otherwise
        time.sleep(0.05)


def sent(body):
    """A payment as it is sent: with its time as text."""
    return body | {"paid_at": f"{np.datetime64(body['paid_at'], 'us')}Z"}
