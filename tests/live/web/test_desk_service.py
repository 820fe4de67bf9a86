"""The application on a real desk."""

import time

import pytest

from live import desks
from live.web.asgi_client import AsgiClient
from toprank.live.desk import Desk
from toprank.live.engine.live_desk import LiveDesk
from toprank.live.store import api_keys, payment_log
from toprank.live.web import desk_service
from toprank.live.web.application import create_app
from toprank.live.web.desk_service import DeskService


@pytest.fixture
def folder(model_file, tmp_path):
    desks.new_desk(tmp_path / "desk", model_file).close()
    return tmp_path / "desk"


@pytest.fixture
def key(folder):
    with Desk.open(folder) as desk, desk.database.writing() as connection:
        return api_keys.add(connection, "loader", api_keys.SCOPES, 0, "person:test")


def served(folder, key):
    return AsgiClient(create_app(DeskService(LiveDesk(Desk.open(folder)))), key)


def rows_of(table, n_rows):
    return [
        {**row, "paid_at": row["paid_at"].isoformat()}
        for row in table.select(desks.COLUMNS).slice(0, n_rows).to_pylist()
    ]


def test_payments_labels_and_alerts_go_to_the_desk_and_back(folder, key, made, later):
    rows = rows_of(made[1], 300)
    with served(folder, key) as client:
        assert client.get("/ready").status == 200
        first = client.post("/v1/payments", rows[0])
        assert (first.status, first.json["decision"]) == (200, "accept")
        assert client.post("/v1/payments", {"payments": rows}).json["answers"][0]["repeated"]
        label = {"id": rows[0]["tx"], "is_fraud": True, "source": "investigator"}
        assert client.post("/v1/labels", label).json["new"] == 1
        found = client.get(f"/v1/payments/{rows[0]['tx']}").json
        assert found["label"]["is_fraud"] and found["card"] == rows[0]["card"]
        page = client.get("/v1/alerts?limit=1").json
        assert len(page["alerts"]) <= 1
        if page["next"]:
            assert client.get(f"/v1/alerts?cursor={page['next']}").status == 200
        assert b"toprank_log_position 300.0" in client.get("/metrics").content
    with Desk.open(folder) as desk, desk.database.reading() as connection:
        bodies = [desks.payments_of(made[1].slice(0, 300))[i].body for i in range(300)]
        logged = list(payment_log.after(connection, 0))
        (loader,) = api_keys.all_keys(connection)
    assert [row.id for row in logged] == [body["tx"] for body in bodies]
    assert [row.paid_at for row in logged] == [body["paid_at"] for body in bodies]
    assert loader.used_at is not None


def test_a_key_that_is_revoked_elsewhere_is_refused_soon(folder, key, monkeypatch):
    monkeypatch.setattr(desk_service, "_BETWEEN_RELOADS", 0.01)
    with served(folder, key) as client:
        assert client.get("/v1/alerts").status == 200
        with Desk.open(folder) as other, other.database.writing() as connection:
            api_keys.revoke(connection, "loader", 1, "person:test")
        deadline = time.monotonic() + 5
        while client.get("/v1/alerts").status == 200 and time.monotonic() < deadline:
            client.wait(0.02)
        assert client.get("/v1/alerts").status == 401
