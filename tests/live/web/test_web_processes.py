"""Several servers of pages on one database: every card is given to one person at a time."""

import asyncio
import os
import random
import re
import time
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from urllib.parse import urlencode

import httpx
import pytest

from live import databases, desks
from live.served_desk import ServedProcess
from toprank.live.desk_clock import wall_time
from toprank.live.people.sessions import SessionBook
from toprank.live.store import account_table, audit_chain

pytestmark = pytest.mark.slow

N_SERVERS, N_PEOPLE = 4, 50
N_CLAIMS = int(os.environ.get("TOPRANK_TEST_CLAIMS", "2000"))
"""10,000 take four minutes: TOPRANK_TEST_CLAIMS=10000."""
N_CARDS = 30
"""Fewer than there are people: they are in each other's way all the time."""


@pytest.fixture
def desk(databases_of_this_test, model_file, later, tmp_path):
    """A desk in PostgreSQL with an alert for each of some cards."""
    folder = tmp_path / "desk"
    settings = databases.settings_of(
        is_postgres=True, clock="payments", alert_from=0.0, random_share=0.0, capacity=1
    )
    desks.init_desk(folder, model_file, settings)
    payments = [
        replace(
            each, id=f"one-{place}", card=f"card-{place}",
            body=each.body | {"tx": f"one-{place}", "card": f"card-{place}"},
        )
        for place, each in enumerate(later[:N_CARDS])
    ]  # fmt: skip
    with desks.Desk.open(folder) as opened:
        live = desks.LiveDesk(opened)
        live.decide(payments)
        while live.n_unscored:
            live.score_some(64)
        live.close()
        yield opened


@pytest.fixture
def servers(desk):
    """The addresses of the engine's server, and of servers of pages beside it."""
    options = [(), *[("--pages-only",)] * N_SERVERS]
    with ExitStack() as stack:
        running = [ServedProcess(desk.folder, None, *each) for each in options]
        for each in running:
            stack.callback(each.stop)
            each.start()
        yield [each.address for each in running]


class Investigator:
    """Takes cards and gives them back, each request at another server."""

    def __init__(self, desk, name, client, servers):
        self._client, self._servers, self._rng = client, servers, random.Random(name)
        book = SessionBook(desk.database, desk.settings)
        with desk.database.writing() as connection:
            account_table.add(connection, name, "investigator", wall_time())
            cookie = book.begin(connection, name, "192.0.2.1")
        book.reload()
        self._body = urlencode({"token": book.find(cookie).session.token})
        self._headers = {
            "cookie": f"toprank_session={cookie}", "sec-fetch-site": "same-origin",
            "content-type": "application/x-www-form-urlencoded",
        }  # fmt: skip
        self.held = []  # which card, from when on it was theirs until they gave it back

    async def work(self, left):
        """Go on until `left` is empty."""
        while left:
            card = self._rng.randrange(1, N_CARDS + 1)
            is_next = self._rng.random() < 0.5
            where = await self._post("/queue/next" if is_next else f"/alerts/{card}/claim")
            begin, taken = time.perf_counter(), re.fullmatch(r"/alerts/(\d+)", where)
            if taken is None or not left:
                continue  # somebody else has it, or all are taken
            left.pop()
            await asyncio.sleep(self._rng.random() * 0.02)
            self.held.append((int(taken[1]), begin, time.perf_counter()))
            await self._post(f"/alerts/{taken[1]}/release")

    async def _post(self, path):
        while True:
            address = self._rng.choice(self._servers) + path
            answer = await self._client.post(address, content=self._body, headers=self._headers)
            if answer.status_code != 503:
                break
            await asyncio.sleep(0.1)  # as it says: the desk is busy
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]


def test_fifty_people_at_four_servers_never_have_the_same_card_at_once(desk, servers):
    left = [None] * N_CLAIMS

    async def work():
        limits = httpx.Limits(max_connections=N_PEOPLE)
        async with httpx.AsyncClient(timeout=60, limits=limits) as client:
            people = [
                Investigator(desk, f"person-{number}", client, servers[1:])
                for number in range(N_PEOPLE)
            ]
            await asyncio.gather(*(each.work(left) for each in people))
        return people

    begin = time.perf_counter()
    people = asyncio.run(work())
    seconds = time.perf_counter() - begin

    spans = defaultdict(list)
    for each in people:
        for card, since, until in each.held:
            spans[card].append((since, until))
    assert sum(map(len, spans.values())) == N_CLAIMS
    for found in spans.values():
        found.sort()
        twice = [(before, after) for before, after in pairwise(found) if after[0] < before[1]]
        assert twice == []

    # the audit, which every server has written to, says the same
    holders, n_begun = {}, 0
    with desk.database.reading() as connection:
        for entry in audit_chain.entries(connection):
            if entry.action == "check begun":
                assert holders.setdefault(entry.subject, entry.actor) == entry.actor
                n_begun += 1
            elif entry.action == "check released":
                assert holders.pop(entry.subject) == entry.actor
        assert audit_chain.verify(connection).n_entries >= 2 * N_CLAIMS
    assert n_begun >= N_CLAIMS
    print(f"\n{n_begun:,} claims in {seconds:.0f} s, {2 * n_begun / seconds:,.0f} changes per s")
