"""What holds for every answer: its shape, its headers, who may have it."""

import logging

import pytest

from live.web.fake_desk import client_of, payment
from toprank.live.store import api_keys
from toprank.live.store.api_keys import SCOPES

ROUTES = {
    ("POST", "/v1/payments"): "payments",
    ("POST", "/v1/labels"): "labels",
    ("GET", "/v1/payments/t1"): "read",
    ("GET", "/v1/alerts"): "read",
    ("GET", "/metrics"): "metrics",
}
OPEN = ["/login", "/health", "/ready", "/openapi.json"]


def test_every_route_is_open_or_has_a_scope(client):
    listed = client.get("/openapi.json").json["paths"]
    asked = {path.replace("t1", "{id}") for _, path in ROUTES}
    assert set(listed) == asked | {"/health", "/ready"}
    for path, methods in listed.items():
        for description in methods.values():
            assert ("security" in description) == (path in asked)


@pytest.mark.parametrize(("method", "path"), ROUTES)
@pytest.mark.parametrize(
    "sent",
    [None, "", "Bearer", "Bearer tr_loader_x", "Basic dTpw", "Bearer \x00", "Bearer é"],
    ids=ascii,
)
def test_without_a_key_nothing_is_answered(client, method, path, sent):
    reply = client.request(method, path, headers={"authorization": sent})
    assert (reply.status, reply.error["code"]) == (401, "no_key")
    assert reply.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_key_without_the_scope_is_refused_and_with_it_alone_it_is_enough(
    desk, client, stored, method, path
):
    database, _ = stored
    needed = ROUTES[method, path]
    name = f"{method}{path}".lower().replace("/", "-")
    others = [scope for scope in SCOPES if scope != needed]
    with database.writing() as connection:
        lacking = api_keys.add(connection, name, others, 0, "person:test")
        enough = api_keys.add(connection, f"{name}-2", [needed], 0, "person:test")
    desk.keys.reload()

    def ask(key):
        return client.request(method, path, headers={"authorization": f"Bearer {key}"})

    assert (ask(lacking).status, ask(lacking).error["expected"]) == (403, needed)
    assert ask(enough).status in (200, 400, 404)


@pytest.mark.parametrize("path", OPEN)
def test_what_has_no_data_needs_no_key(client, path):
    assert client.get(path, headers={"authorization": None}).status == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404), ("POST", "/v1/alerts", 405), ("DELETE", "/v1/payments", 405),
        ("GET", "/v1/payments", 405), ("GET", "/health/", 404), ("OPTIONS", "/", 405),
        ("GET", "/v1/payments/t9", 404), ("GET", "/v1/payments/", 404),
    ],
)  # fmt: skip
def test_an_error_of_the_address_has_the_shape_of_all(client, method, path, status):
    reply = client.request(method, path)
    assert reply.status == status
    assert set(reply.error) >= {"code", "message"}
    assert ("allow" in reply.headers) == (status == 405)


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "", "[::2]", None]
)
def test_another_host_than_the_loopback_is_refused(client, host):
    assert client.get("/health", headers={"host": host}).status == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8321", "[::1]:8321"])
def test_the_loopback_is_known_by_its_names(client, host):
    assert client.get("/health", headers={"host": host}).status == 200


def test_other_hosts_are_served_if_named(desk):
    with client_of(desk, hosts=["desk.example"]) as client:
        assert client.get("/health", headers={"host": "desk.example"}).status == 200
        assert client.get("/health", headers={"host": "localhost"}).status == 421
    with client_of(desk, hosts=None) as client:
        assert client.get("/health", headers={"host": "any.example"}).status == 200


@pytest.mark.parametrize("path", [*OPEN, "/nowhere", "/v1/alerts"])
def test_every_answer_has_the_headers_of_safety_and_no_other_site_may_read_it(client, path):
    headers = client.get(path, headers={"origin": "https://evil.example"}).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert not [name for name in headers if name.startswith("access-control") or name == "server"]
    assert ("content-security-policy" in headers) == (path == "/login")


def test_an_error_nobody_expected_is_logged_under_the_number_in_the_answer(client, desk, caplog):
    desk.engine.is_broken = True
    with caplog.at_level(logging.ERROR):
        reply = client.post("/v1/payments", payment())
    assert (reply.status, reply.error["code"]) == (500, "internal")
    (record,) = caplog.records
    assert record.args[0] in reply.error["message"]
    assert "a fault of the engine" in caplog.text
    assert "engine" not in reply.content.decode()


def test_the_desk_is_started_and_closed_with_the_application(desk):
    with client_of(desk):
        assert desk.states == ["started"]
    assert desk.states == ["started", "closed"]


def test_requests_decisions_and_errors_are_counted(client):
    client.post("/v1/payments", payment())
    client.post("/v1/payments", {"payments": [payment(tx="b", shop="blocked"), payment(tx="c")]})
    client.post("/v1/payments", {})
    client.post(
        "/v1/labels", {"labels": [{"id": "t1", "is_fraud": True}, {"id": "x", "is_fraud": False}]}
    )
    lines = client.get("/metrics").content.decode().splitlines()
    for line in (
        'toprank_decisions_total{decision="accept"} 2.0',
        'toprank_decisions_total{decision="block"} 1.0',
        'toprank_rule_blocks_total{rule="blocked shop"} 1.0',
        'toprank_errors_total{code="missing"} 1.0',
        'toprank_requests_total{route="POST /v1/payments",status="200"} 1.0',
        'toprank_requests_total{route="POST /v1/payments, lists",status="200"} 1.0',
        'toprank_requests_total{route="POST /v1/payments",status="422"} 1.0',
        'toprank_request_seconds_count{route="POST /v1/payments"} 2.0',
        'toprank_request_seconds_count{route="POST /v1/payments, lists"} 1.0',
        'toprank_labels_total{outcome="unknown"} 1.0',
        "toprank_log_position 3.0",
        'toprank_engine_info{model="0001",rule_set="3"} 1.0',
    ):
        assert line in lines
