"""Pages that are served beside the process that takes the payments."""

import asyncio
import json
import time

import pytest

from live import databases, desks
from live.pages.browser import Browser, add_person, with_cheap_passwords
from live.web.asgi_client import AsgiClient
from toprank.live.engine.decision_engine import DecisionEngine
from toprank.live.store import alert_table, api_keys, audit_chain, label_table
from toprank.live.store.api_keys import SCOPES
from toprank.live.web.application import create_app
from toprank.live.web.pages_service import PagesService

pytestmark = pytest.mark.usefixtures("databases_of_this_test")
SOON = 10.0  # seconds


@pytest.fixture
def live(databases_of_this_test, model_file, later, tmp_path):
    """The process that takes payments."""
    settings = databases.settings_of(
        is_postgres=True, clock="payments", alert_from=0.001, blind_share=0.0, undo="0s"
    )
    desks.init_desk(tmp_path / "desk", model_file, settings)
    with desks.Desk.open(tmp_path / "desk") as desk:
        live = desks.LiveDesk(desk)
        live.decide(later[:100])
        while live.n_unscored:
            live.score_some(64)
        yield live
        live.close()


@pytest.fixture
def served(live):
    """Two servers of pages, as two processes have them."""
    with live.desk.database.writing() as connection:
        key = api_keys.add(connection, "loader", SCOPES, 0, "person:test")
    services = [
        with_cheap_passwords(PagesService(desks.Desk.open(live.desk.folder))) for _ in range(2)
    ]
    add_person(services[0], "anna", "investigator")
    first, second = (AsgiClient(create_app(each), key) for each in services)
    with first, second:
        yield first, second


def until(is_so):
    give_up = time.monotonic() + SOON
    while not is_so():
        assert time.monotonic() < give_up
        time.sleep(0.05)


def test_payments_and_labels_are_refused_with_where_to_send_them(served, live, later):
    for path in ("/v1/payments", "/v1/labels"):
        label = {"id": later[0].id, "is_fraud": True, "source": "claim"}
        body = json.dumps(label if "labels" in path else payment_of(later[100]))
        headers = {"content-type": "application/json"}
        answer = served[0].request("POST", path, body.encode(), headers)
        assert answer.status == 421, answer.content
        assert b"without --pages-only" in answer.content
    assert live.history.position == 100


def payment_of(payment):
    return payment.body | {"paid_at": payment.paid_at / 1e6}


def test_what_the_engine_knows_can_be_looked_up_and_is_audited(served, live, later):
    answer = served[0].request("GET", f"/v1/payments/{later[7].id}")
    assert answer.status == 200 and later[7].id.encode() in answer.content
    assert served[0].request("GET", "/v1/payments/tx%00").status == 404
    assert served[1].request("GET", "/ready").status == 200
    with live.desk.database.reading() as connection:
        *_, last = audit_chain.entries(connection)
    assert (last.actor, last.action) == ("key:loader", "payment viewed")


def test_a_session_begun_at_one_server_holds_at_the_other_until_it_ends(served):
    at_first, at_second = (Browser(each) for each in served)
    assert at_first.log_in("anna").status == 200
    at_second.cookies.update(at_first.cookies)
    assert at_second.get("/queue", follow=False).status == 200, "at once"
    at_first.get("/account")
    at_first.post("/logout")
    until(lambda: at_second.get("/queue", follow=False).status == 303)


def test_a_verdict_at_a_server_of_pages_becomes_a_label_of_the_engine(served, live):
    browser = Browser(served[1])
    browser.log_in("anna")
    browser.get("/queue")
    browser.post("/queue/next")
    number = int(browser.path.rpartition("/")[2])
    with live.desk.database.reading() as connection:
        positions = alert_table.positions_of(connection, number)
    fields = {"verdict": "fraud", "position": positions, "reason_code": "", "note": ""}
    browser.post(f"/alerts/{number}/decide", fields)
    engine = DecisionEngine(live)

    async def labelled():
        while live.history.place.label_number == 0:
            await asyncio.sleep(0.05)

    async def work():
        await asyncio.wait_for(labelled(), SOON)

    desks.run(engine, work)
    with live.desk.database.reading() as connection:
        rows = label_table.after(connection, 0)
    assert rows and {(row.source, row.who) for row in rows} == {("investigator", "person:anna")}


def test_texts_that_postgresql_cannot_keep_are_refused(served):
    browser = Browser(served[0])
    browser.log_in("anna")
    assert browser.get("/search?q=%00", follow=False).status == 400
    assert browser.post("/account/theme", {"theme": "dark\0"}, follow=False).status == 400


def test_a_desk_with_its_data_in_the_folder_has_one_server(model_file, tmp_path):
    with desks.new_desk(tmp_path / "desk", model_file) as desk:
        if not databases.ON_POSTGRES:
            with pytest.raises(ValueError, match="toprank desk move"):
                PagesService(desk)
