"""A desk at work: payments are in, cards are on its list, people are logged in."""

import asyncio
import html
import re
import time
from dataclasses import replace

from live.pages.browser import Browser, add_person, with_cheap_passwords
from live.web.asgi_client import AsgiClient
from toprank.live.engine.live_desk import LiveDesk
from toprank.live.store import alert_table, audit_chain, check_table
from toprank.live.web.application import create_app
from toprank.live.web.desk_service import DeskService

# fewer checks than cards that list themselves: none is added to fill the list
SETTINGS = {"alert_from": 0.001, "random_share": 0.0, "capacity": 10}
PEOPLE = {
    "anna": "investigator", "ben": "investigator", "sara": "senior", "tom": "senior",
    "otto": "auditor",
}  # fmt: skip
_DAY = 86_400_000_000


class Shift:
    """The desk; `anna` and the others are browsers. A context manager."""

    def __init__(self, desk, payments):
        self.database, self._live = desk.database, LiveDesk(desk)
        self.settings = desk.settings
        self._payments = list(payments)
        self._service = with_cheap_passwords(DeskService(self._live))
        self.client = AsgiClient(create_app(self._service))

    def __enter__(self):
        self.client.__enter__()
        self.pay(len(self._payments) - 200)
        for number, (name, role) in enumerate(PEOPLE.items()):
            add_person(self._service, name, role)
            browser = Browser(self.client, address=f"192.0.2.{number}")
            assert browser.log_in(name).status == 200
            setattr(self, name, browser)
        return self

    def __exit__(self, *error):
        self.client.__exit__(*error)

    def pay(self, n):
        """Let the next payments come in, and their alerts be raised."""
        self.client.run(self.paid(n))

    def send(self, card, terminal):
        """Let one more payment of a card come in, at a terminal of any name."""
        last = self._payments[0]
        body = last.body | {"tx": f"tx-at-{terminal}", "card": card, "terminal": terminal}
        payment = replace(last, id=body["tx"], card=card, terminal=terminal, body=body)
        self._payments.insert(0, payment)
        self.pay(1)

    def pass_days(self, n):
        """Let the desk's clock, which is that of its payments, go on by some days."""
        for day in range(1, n + 1):
            last = self._payments[0]
            body = last.body | {"tx": f"tx-day-{day}", "card": f"card-of-day-{day}"}
            paid_at = last.paid_at + day * _DAY
            body["paid_at"] = paid_at
            payment = replace(last, id=body["tx"], card=body["card"], paid_at=paid_at, body=body)
            self._payments.insert(0, payment)
            self.pay(1)

    def wait_until(self, is_so, seconds=20.0):
        """Let the application run until something is so."""
        end = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < end, "it did not happen in time"
            self.client.wait(0.05)

    async def paid(self, n):
        """As `pay`, in the event loop of the application."""
        some, self._payments = self._payments[:n], self._payments[n:]
        await self._service.engine.decide(some)
        while self._live.n_unscored:
            await asyncio.sleep(0.01)

    def desk_day(self):
        """The day by the desk's clock, counted from 1970."""
        return self._live.moment().day

    def alert(self, number):
        with self.database.reading() as connection:
            return alert_table.by_number(connection, number)

    def checks(self, who):
        """The checks of a person, the newest first, those undone included."""
        with self.database.reading() as connection:
            query = check_table.checks.select().where(check_table.checks.c.who == f"person:{who}")
            rows = connection.execute(query.order_by(check_table.checks.c.number.desc()))
            return [row._mapping for row in rows]

    def audited(self, action):
        """The entries of the audit about an action."""
        with self.database.reading() as connection:
            return [each for each in audit_chain.entries(connection) if each.action == action]


def open_buttons(browser):
    """The numbers of the alerts that the page of a browser has a button to open for."""
    return [int(each) for each in re.findall(r"/alerts/(\d+)/claim", browser.text)]


def ticked(browser):
    """The positions of the payments that are ticked on the page of a browser."""
    found = re.findall(r'name="position" value="(\d+)"[^>]* checked', browser.text)
    return [int(each) for each in found]


def opened(browser):
    """The number of the alert that the page of a browser is about."""
    return int(re.search(r"/live/alert/(\d+)", browser.text)[1])


def shown_text(browser):
    """The words on the page of a browser, without their tags."""
    main = browser.text.partition("<main")[2].partition("</main>")[0]
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", main)).split())
