"""What open pages hear of, without a browser."""

import asyncio

import pytest
import sqlalchemy as sa

from live import databases
from toprank.live.pages.live_updates import LiveUpdates, Watched
from toprank.live.store import payment_reads

SOON = 5.0  # seconds in which a sentence must have come
PATIENCE = 0.05


@pytest.fixture
def newest(shift):
    """The number of the newest alert, and the position of the newest payment of its card."""
    with shift.database.reading() as connection:
        number, card = connection.exec_driver_sql(
            "SELECT number, card FROM alerts ORDER BY number DESC LIMIT 1"
        ).one()
        position = payment_reads.newest_of_card(connection, card)
    return number, position


async def first_sentence(updates, watched):
    async with asyncio.timeout(SOON):
        async for text in updates.news(watched, SOON):
            return text
    return None


async def heard(updates, watched, n_silent):
    """What is said before there was silence so many times."""
    found = []
    async for text in updates.news(watched, PATIENCE):
        found.append(text)
        if found.count("") == n_silent:
            break
    return [each for each in found if each]


def test_a_page_that_is_behind_hears_of_it_once(shift, newest):
    number, position = newest
    updates = LiveUpdates(shift.database)
    said = shift.client.run(heard(updates, Watched(None, number - 2), 24))
    assert said == ["2 new cards are on the list."]
    said = shift.client.run(heard(updates, Watched(number, position - 1), 24))
    assert said == ["This card has paid again."]


def test_a_page_that_has_seen_everything_hears_nothing_until_something_comes(shift, newest):
    number, _ = newest
    updates = LiveUpdates(shift.database)

    async def both():
        queue = asyncio.create_task(first_sentence(updates, Watched(None, number)))
        await asyncio.sleep(1.3)
        assert not queue.done()
        await shift.paid(100)
        return await queue

    assert "on the list" in shift.client.run(both())


def test_pages_cost_no_query_while_nothing_changes(shift, newest):
    number, _ = newest
    updates, queries = LiveUpdates(shift.database), []

    async def many():
        tasks = [
            asyncio.create_task(heard(updates, Watched(number, 10**9), 50)) for _ in range(40)
        ]
        await asyncio.sleep(1.3)
        queries.clear()
        return await asyncio.gather(*tasks)

    def count(connection, cursor, statement, *_):
        if "alerts.number = " in statement:  # by which a watched card is looked up
            queries.append(statement)

    sa.event.listen(shift.database.engine, "before_cursor_execute", count)
    try:
        assert shift.client.run(many()) == [[]] * 40
    finally:
        sa.event.remove(shift.database.engine, "before_cursor_execute", count)
    assert queries == []


def test_when_the_server_stops_no_page_is_waited_for(shift):
    updates = LiveUpdates(shift.database)

    async def whole():
        waiting = asyncio.create_task(first_sentence(updates, Watched(None, 10**9)))
        await asyncio.sleep(0.05)
        updates.stop()
        return await waiting

    assert shift.client.run(whole()) is None


@pytest.mark.skipif(not databases.ON_POSTGRES, reason="only a server can be away.")
def test_pages_hear_of_what_is_new_after_the_server_was_away(shift, newest, postgres):
    number, _ = newest
    updates = LiveUpdates(shift.database)

    async def after_an_outage():
        nothing_new = asyncio.create_task(first_sentence(updates, Watched(None, number)))
        await asyncio.sleep(0.2)
        postgres.stop()
        await asyncio.sleep(1.5)  # a look fails
        postgres.start()
        text = await first_sentence(updates, Watched(None, number - 1))
        updates.stop()
        await nothing_new
        return text

    assert shift.client.run(after_an_outage()) == "A new card is on the list."
