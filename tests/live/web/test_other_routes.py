"""Labels in; payments and alerts out."""

import pytest

from live.web.fake_desk import payment
from toprank.live.messages import LabelGiven
from toprank.live.web.service_metrics import ServiceMetrics


@pytest.fixture
def known(client):
    """A client that has sent a payment."""
    client.post("/v1/payments", payment(tx="a/b", expires="2027-01-31"))
    return client


def test_a_label_is_given_in_the_name_of_the_key(known, desk):
    label = {"id": "a/b", "is_fraud": True, "source": "investigator", "known_at": 1_740_834_300}
    assert known.post("/v1/labels", label).json == {
        "new": 1, "corrected": 0, "known": 0, "overruled": 0, "unknown": [],
    }  # fmt: skip
    expected = LabelGiven("a/b", True, 1_740_834_300_000_000, "investigator")
    assert desk.engine.labels == [(expected, "key:loader")]


def test_a_label_is_a_claim_known_from_now_on_unless_it_says_otherwise(known, desk):
    known.post("/v1/labels", {"id": "a/b", "is_fraud": False})
    assert desk.engine.labels[0][0] == LabelGiven("a/b", False, None, "claim")


def test_silence_can_only_say_that_a_payment_is_genuine(known, desk):
    reply = known.post("/v1/labels", {"id": "a/b", "is_fraud": True, "source": "silence"})
    assert "investigator or claim where is_fraud is true" in reply.error["message"]
    known.post("/v1/labels", {"id": "a/b", "is_fraud": False, "source": "silence"})
    assert desk.engine.labels[0][0] == LabelGiven("a/b", False, None, "silence")


def test_labels_of_unknown_payments_are_named_and_one_alone_is_not_found(known):
    labels = [{"id": name, "is_fraud": True} for name in ("x", "a/b", 7)]
    reply = known.post("/v1/labels", {"labels": labels})
    assert (reply.json["new"], reply.json["unknown"]) == (1, ["x", "7"])
    assert known.post("/v1/labels", labels[0]).status == 404


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("id", ""), ("id", None), ("id", []), ("is_fraud", 1), ("is_fraud", "true"),
        ("is_fraud", None), ("source", "rumour"), ("source", 3), ("source", ""), ("source", False),
        ("source", ["claim"]), ("known_at", "soon"), ("known_at", "2096-01-01"),
        ("known_att", 5), ("source", "silence"),
    ],
)  # fmt: skip
def test_a_label_that_is_not_as_expected_is_refused_by_name(known, desk, name, value):
    label = {"id": "a/b", "is_fraud": True, name: value}
    for sent in (label, {"labels": [label]}):
        reply = known.post("/v1/labels", sent)
        assert reply.status == 422
        assert reply.error.get("errors", [reply.error])[0]["field"] == name
    assert not desk.engine.labels


def test_a_payment_is_found_by_its_id_even_if_there_is_a_slash_in_it(known):
    assert known.get("/v1/payments/a/b").json == {"id": "a/b", "card": "c1"}


def test_alerts_come_page_by_page(client):
    numbers, cursor = [], ""
    while cursor is not None:
        page = client.get(f"/v1/alerts?limit=2&cursor={cursor}").json
        numbers += [alert["alert"] for alert in page["alerts"]]
        cursor = page["next"]
    assert numbers == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("state=new", "state"), ("limit=0", "limit"), ("limit=1001", "limit"),
        ("limit=x", "limit"), ("limit=%D9%A3", "limit"), ("limit=1&limit=2", "query"),
        ("sort=x", "query"),
        ("cursor=x", "cursor"), ("cursor=nan_1", "cursor"),
        ("cursor=0x1.0p%2B0_99999999999999999999", "cursor"),
        ("cursor=0x1.0p-1_-1", "cursor"), ("cursor=%00", "cursor"),
        ("limit=" + "1" * 5000, "limit"),
    ],
    ids=lambda value: value[:20],
)  # fmt: skip
def test_a_query_that_is_not_as_expected_is_refused(client, query, field):
    reply = client.get(f"/v1/alerts?{query}")
    assert (reply.status, reply.error["field"]) == (422, field)


def test_the_time_of_answers_is_that_since_it_was_last_asked():
    metrics = ServiceMetrics(dict)
    assert metrics.answers("route") == (0, 0.0)
    for seconds in [0.0012] * 99 + [0.018]:
        metrics.saw_request("route", 200, seconds)
    assert metrics.answers("route") == (100, 0.0015)
    for _ in range(10):
        metrics.saw_request("route", 200, 100.0)
    assert metrics.answers("route") == (10, 60.0)
    assert metrics.answers("route") == (0, 0.0)
