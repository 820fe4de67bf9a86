"""Bodies that cannot be read, or not in time, or not in one piece of memory."""

import json

import pytest

from live.web.asgi_client import DISCONNECT, WAIT
from live.web.fake_desk import client_of, payment
from toprank.live.web.batches import LARGEST_BATCH, LARGEST_ITEM
from toprank.live.web.request_body import BodyReader


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"{]", b"nonsense", b'{"tx": NaN}', b'{"tx": Infinity}', b'{"tx": -Infinity}',
        b'{"a": 1, "a": 1}', b'{"payments": [{"tx": 1, "tx": 2}]}', b'{"tx": 01}', b"{'tx': 1}",
        b'{"tx": "a\nb"}', b'{"tx": "\\x41"}', b'{"tx": 1} {"tx": 2}', b'\xff\xfe{\x00}\x00',
        b'{"tx": "\xff"}', b'{"tx": "\xed\xa0\x80"}', b"[" * 60_000, b'{"a":' * 10_000,
        b"1" * 60_000, b"\x00", b'{"tx": 1,}', b"\xef\xbb\xbf", '{"tx": 1}'.encode("utf-16"),
    ],
    ids=lambda body: repr(body[:24]),
)  # fmt: skip
def test_what_is_not_strictly_json_is_malformed(client, body):
    for path in ("/v1/payments", "/v1/labels"):
        reply = client.post(path, body)
        assert (reply.status, reply.error["code"]) == (400, "malformed")


def test_a_number_too_large_for_a_float_is_refused_where_it_is_used(client):
    body = json.dumps(payment(amount=0)).replace('"amount": 0', '"amount": 1e400').encode()
    assert client.post("/v1/payments", body).error["field"] == "amount"


def test_the_bytes_that_some_editors_put_before_utf_8_are_ignored(client):
    assert (
        client.post("/v1/payments", b"\xef\xbb\xbf" + json.dumps(payment()).encode()).status == 200
    )


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": None}, {"content-type": "text/plain"}, {"content-type": ""},
        {"content-type": "application/json; charset=latin-1"}, {"content-encoding": "gzip"},
        {"content-type": "application/x-www-form-urlencoded"},
    ],
    ids=str,
)  # fmt: skip
def test_a_body_that_is_not_json_by_its_headers_is_refused(client, headers):
    reply = client.post("/v1/payments", payment(), headers=headers)
    assert (reply.status, reply.error["code"]) == (415, "unsupported_type")


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "Application/JSON; charset=UTF-8", 'application/json;charset="utf-8"'],
)
def test_json_may_name_its_encoding(client, content_type):
    headers = {"content-type": content_type}
    assert client.post("/v1/payments", payment(), headers=headers).status == 200


def test_a_body_in_pieces_is_joined(client):
    body = json.dumps(payment()).encode()
    pieces = [body[i : i + 7] for i in range(0, len(body), 7)]
    assert client.post("/v1/payments", [*pieces, b""]).status == 200


def test_a_body_above_8_mib_is_refused_by_its_length_or_while_it_comes(client):
    declared = client.post(
        "/v1/payments", b"{}", headers={"content-length": str(LARGEST_BATCH + 1)}
    )
    n_pieces = LARGEST_BATCH // 65_536 + 1
    pieces = client.post("/v1/payments", [b" " * 65_536] * n_pieces)
    endless = client.post("/v1/payments", [b" " * 65_536] * 10 * n_pieces)
    for reply in (declared, pieces, endless):
        assert (reply.status, reply.error["code"]) == (413, "too_large")
        assert reply.headers["connection"] == "close"


def test_nothing_is_answered_to_a_client_that_left(client):
    assert client.post("/v1/payments", [b"{", DISCONNECT]) is None


def test_a_body_that_does_not_end_is_given_up(desk):
    bodies = BodyReader(timeout=0.02)
    with client_of(desk, bodies=bodies) as client:
        reply = client.post("/v1/payments", [b"{", WAIT])
        assert (reply.status, reply.error["code"]) == (408, "too_slow")
        assert client.post("/v1/payments", payment()).status == 200


def test_only_a_few_large_bodies_are_in_memory_at_a_time(desk):
    bodies = BodyReader(timeout=0.1, most_large=2)
    with client_of(desk, bodies=bodies) as client:
        large = b" " * (LARGEST_ITEM + 1)
        replies = client.together("/v1/payments", [[large, WAIT]] * 3)
        assert sorted(reply.status for reply in replies) == [408, 408, 503]
        assert client.post("/v1/payments", [large, b"1"]).status == 413
