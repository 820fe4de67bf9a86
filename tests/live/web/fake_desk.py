"""A desk with an engine that accepts all but the payments of a terminal called `blocked`."""

import time

from live import databases
from live.web.asgi_client import AsgiClient
from toprank.live.desk_settings import DeskSettings
from toprank.live.messages import Answer, BusyError, ConflictError, PaymentField
from toprank.live.pages.page_kit import PageDesk
from toprank.live.store import api_keys
from toprank.live.store.api_keys import SCOPES, KeyRing
from toprank.live.web.application import create_app
from toprank.payments.features.past import LabelCounts

FIELDS = [
    PaymentField("tx", "text", True, "id"),
    PaymentField("card", "text", True, "card"),
    PaymentField("shop", "text", True, "terminal"),
    PaymentField("paid_at", "time", True, "time"),
    PaymentField("amount", "number", True, "amount"),
    PaymentField("country", "text"),
    PaymentField("online", "boolean"),
    PaymentField("expires", "time"),
]


class FakeEngine:
    """Remembers payments and labels; busy or broken when set so."""

    def __init__(self):
        self.is_ready, self.is_busy, self.is_broken = True, False, False
        self.payments, self.labels = {}, []

    async def decide(self, payments):
        if self.is_broken:
            raise RuntimeError("a fault of the engine")
        if self.is_busy:
            raise BusyError(2.4)
        for payment in payments:
            if self.payments.get(payment.id, payment) != payment:
                raise ConflictError(payment.id)
        return [self._answer(payment) for payment in payments]

    def _answer(self, payment):
        is_repeated = payment.id in self.payments
        self.payments[payment.id] = payment
        if payment.terminal == "blocked":
            return Answer(payment.id, "block", ["blocked shop"], is_repeated)
        return Answer(payment.id, "accept", [], is_repeated)

    async def label(self, labels, who):
        unknown = tuple(i for i, label in enumerate(labels) if label.id not in self.payments)
        self.labels += [(label, who) for label in labels if label.id in self.payments]
        n_new = len(labels) - len(unknown)
        return LabelCounts(n_new=n_new, n_unknown=len(unknown), unknown=unknown)

    def payment(self, payment_id, who):
        found = self.payments.get(payment_id)
        return found and {"id": found.id, "card": found.card}

    def alerts(self, state, limit, after, who):
        found = [
            {"alert": number, "state": state, "cursor": f"{(1 / number).hex()}_{number}"}
            for number in range(1, 6)
        ]
        first = 0 if after is None else int(after.partition("_")[2])
        return found[first : first + limit]

    def facts(self):
        return {"position": len(self.payments), "waiting": 0, "model": "0001", "rule_set": 3}


class FakeDesk:
    """A desk with the fields above."""

    def __init__(self, database, key, is_tokenising=False, clock="wall"):
        self.engine, self.fields = FakeEngine(), FIELDS
        self.is_tokenising, self.times = is_tokenising, DeskSettings(clock=clock).times
        self.states, self.key, self.keys = [], key, KeyRing(database)
        self.pages = PageDesk(
            database, DeskSettings(clock=clock), self.now, engine=self.engine, keys=self.keys
        )

    def now(self):
        return time.time_ns() // 1_000

    async def start(self):
        self.states.append("started")

    async def close(self):
        self.states.append("closed")


def with_key(folder):
    """A new database, and a key in it that may do everything."""
    database = databases.create(folder)
    with database.writing() as connection:
        return database, api_keys.add(connection, "loader", SCOPES, 0, "person:test")


def client_of(desk, **options):
    """A client with the desk's key."""
    return AsgiClient(create_app(desk, **options), desk.key)


def payment(**changes):
    """A payment that is valid, with changes."""
    return {
        "tx": "t1", "card": "c1", "shop": "s1", "paid_at": time.time() - 60, "amount": 12.5,
        **changes,
    }  # fmt: skip
