"""What a running engine does with checks by itself."""

import asyncio

import pytest

from live import desks
from toprank.live.checks import check_verdicts, claims
from toprank.live.engine.check_jobs import CheckJobs
from toprank.live.engine.decision_engine import DecisionEngine
from toprank.live.store import (
    alert_table,
    filled_alert_table,
    label_table,
    random_check_table,
)
from toprank.live.store.random_check_table import random_draws

ANNA = "person:anna"


@pytest.fixture
def live(model_file, tmp_path):
    with desks.new_desk(
        tmp_path / "desk", model_file, alert_from=0.01, undo="0.05s", lease="0.05s"
    ) as desk:
        found = desks.live(desk)
        yield found
        found.close()


async def until(is_so):
    async with asyncio.timeout(20):
        while not is_so():
            await asyncio.sleep(0.02)


def decide_next(live):
    with live.desk.database.writing() as connection:
        held = claims.claim_next(connection, ANNA, live.moment(), live.settings)
        positions = alert_table.positions_of(connection, held.alert)
        return check_verdicts.decide(
            connection, held.alert, ANNA, "genuine", positions, "", "", live.moment(),
            live.settings,
        )  # fmt: skip


def test_a_running_engine_writes_labels_ends_leases_and_draws_random_checks(live, later):
    engine = DecisionEngine(live)

    def read(ask, *arguments):
        with live.desk.database.reading() as connection:
            return ask(connection, *arguments)

    async def work():
        jobs = asyncio.create_task(CheckJobs(engine, between=0.02).run())
        for start in range(0, 400, 50):
            await engine.decide(later[start : start + 50])
        await until(lambda: not live.n_unscored)
        check = await asyncio.to_thread(decide_next, live)
        await until(lambda: read(label_table.last_number) > n_before)
        with live.desk.database.writing() as connection:
            held = claims.claim_next(connection, ANNA, live.moment(), live.settings)
        await until(lambda: read(alert_table.by_number, held.alert).state == "open")
        await until(lambda: read(random_check_table.last_day) is not None)
        jobs.cancel()
        return check

    n_before = read(label_table.last_number)
    check = desks.run(engine, work)
    labels = read(label_table.after, n_before)
    assert [(each.source, each.who) for each in labels] == [("investigator", ANNA)] * len(
        check.positions
    )
    assert read(lambda connection: len(connection.execute(random_draws.select()).all())) == 1


def test_a_list_that_could_not_be_filled_is_filled_at_the_next_look(live, later, monkeypatch):
    engine, fill_list, plans = DecisionEngine(live), live.fill_list, []

    def fails_at_first(plan):
        plans.append(plan)
        if len(plans) == 1:
            raise RuntimeError("the disk is full")
        return fill_list(plan)

    monkeypatch.setattr(live, "fill_list", fails_at_first)

    async def work():
        await engine.decide(later[:50])
        await until(lambda: not live.n_unscored)
        jobs = asyncio.create_task(CheckJobs(engine, between=0.02).run())
        await until(lambda: len(plans) > 1)
        jobs.cancel()

    desks.run(engine, work)
    with live.desk.database.reading() as connection:
        assert filled_alert_table.open_below(connection, live.settings.alert_from)


def test_a_verdict_that_was_pending_at_the_end_is_final_after_the_next_start(live, later):
    live.decide(later[:100])
    while live.n_unscored:
        live.score_some(64)
    decide_next(live)
    again = desks.live(live.desk)  # as after a restart

    async def work():
        await until(lambda: again.history.place.label_number > live.history.place.label_number)

    desks.run(DecisionEngine(again), work)
