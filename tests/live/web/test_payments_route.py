"""What happens to payments that are sent."""

import json
import time

import pytest

from live.web.fake_desk import FakeDesk, client_of, payment
from toprank.live.web.batches import LARGEST_ITEM, MOST_ITEMS

CARD_NUMBER = "4539148803436467"


def refusal(client, **changes):
    """The error of a payment with these changes; those of None leave a field out."""
    sent = {name: value for name, value in payment(**changes).items() if value is not None}
    reply = client.post("/v1/payments", sent)
    assert reply.status == 422, reply.content
    return reply.error


def test_a_payment_is_decided_and_its_answer_has_no_score(client, desk):
    sent = payment(country="FR", online=True, expires="2027-01-31")
    reply = client.post("/v1/payments", sent)
    assert (reply.status, reply.json) == (
        200,
        {"id": "t1", "decision": "accept", "rules": [], "repeated": False},
    )
    (taken,) = desk.engine.payments.values()
    assert (taken.id, taken.card, taken.terminal) == ("t1", "c1", "s1")
    assert taken.paid_at == taken.body["paid_at"] == round(sent["paid_at"] * 1_000_000)
    assert taken.body["expires"] == 1_801_353_600_000_000
    assert {name: taken.body[name] for name in ("amount", "country", "online")} == {
        "amount": 12.5, "country": "FR", "online": True,
    }  # fmt: skip


def test_a_blocked_payment_names_its_rules(client):
    reply = client.post("/v1/payments", payment(shop="blocked"))
    assert (reply.json["decision"], reply.json["rules"]) == ("block", ["blocked shop"])


def test_a_payment_sent_again_is_repeated_and_one_with_other_content_a_conflict(client):
    sent = payment()
    client.post("/v1/payments", sent)
    assert client.post("/v1/payments", sent).json["repeated"]
    conflict = client.post("/v1/payments", {**sent, "amount": 13})
    assert (conflict.status, conflict.error["field"], conflict.error["value"]) == (409, "id", "t1")


def test_a_batch_is_answered_in_its_order(client):
    sent = [payment(tx=f"t{i}", shop="blocked" if i == 1 else "s") for i in range(3)]
    answers = client.post("/v1/payments", {"payments": sent}).json["answers"]
    assert [each["id"] for each in answers] == ["t0", "t1", "t2"]
    assert [each["decision"] for each in answers] == ["accept", "block", "accept"]


def test_of_a_batch_with_invalid_payments_none_is_taken_and_each_fault_has_its_index(client, desk):
    sent = [payment(tx="a"), payment(tx="b", amount="12"), payment(tx="c"), payment(tx="")]
    reply = client.post("/v1/payments", {"payments": sent})
    assert reply.status == 422
    assert [(each["index"], each["field"]) for each in reply.error["errors"]] == [
        (1, "amount"), (3, "tx"),
    ]  # fmt: skip
    assert not desk.engine.payments


@pytest.mark.parametrize("n_items", [0, MOST_ITEMS + 1])
def test_a_batch_must_have_1_to_1000_payments(client, n_items):
    reply = client.post("/v1/payments", {"payments": [{}] * n_items})
    assert (reply.status, reply.error["field"], reply.error["value"]) == (422, "payments", n_items)


def test_the_errors_of_a_batch_are_listed_up_to_a_hundred(client):
    error = client.post("/v1/payments", {"payments": [{}] * MOST_ITEMS}).error
    assert len(error["errors"]) == 100
    assert "1000 of 1000" in error["message"]


@pytest.mark.parametrize("value", [[], "text", 3, None, [{"tx": "t1"}]], ids=repr)
def test_what_is_no_object_is_refused(client, value):
    assert client.post("/v1/payments", value).status == 422


def test_a_payment_above_64_kib_is_refused_alone_and_in_a_batch(client):
    large = payment(note="x" * LARGEST_ITEM)
    assert client.post("/v1/payments", large).status == 413
    nested = payment(note=[["x" * LARGEST_ITEM]])
    reply = client.post("/v1/payments", {"payments": [payment(), large, nested]})
    codes = [(each["index"], each["code"]) for each in reply.error["errors"]]
    assert codes == [(1, "too_large"), (2, "too_large")]


def test_a_large_batch_of_small_payments_is_taken(client, desk):
    sent = [payment(tx=f"t{i}", country="x" * 500) for i in range(MOST_ITEMS)]
    assert client.post("/v1/payments", {"payments": sent}).status == 200
    assert len(desk.engine.payments) == MOST_ITEMS


@pytest.mark.parametrize("name", ["tx", "card", "shop", "paid_at", "amount"])
def test_a_required_field_must_be_there(client, name):
    assert refusal(client, **{name: None})["field"] == name
    explicit = client.post("/v1/payments", payment(**{name: ""}))
    assert (explicit.status, explicit.error["field"]) == (422, name)


def test_missing_and_empty_values_of_other_fields_are_left_out(client, desk):
    client.post("/v1/payments", {**payment(country=""), "online": None})
    assert not {"country", "online", "expires"} & set(desk.engine.payments["t1"].body)


def test_fields_that_the_desk_does_not_know_are_ignored_and_not_kept(client, desk):
    assert client.post("/v1/payments", payment(device={"os": [1]}, is_fraud=1)).status == 200
    assert not {"device", "is_fraud"} & set(desk.engine.payments["t1"].body)


@pytest.mark.parametrize(("wrong", "meant"), [("contry", "country"), ("Online", "online")])
def test_a_field_whose_name_is_nearly_that_of_a_missing_one_is_refused(client, wrong, meant):
    error = refusal(client, **{wrong: "x"})
    assert error["field"] == wrong and meant in error["expected"]


def test_a_required_field_that_is_misspelt_is_named(client):
    error = refusal(client, amount=None, amuont=3)
    assert error["field"] == "amount" and "amuont" in error["message"]


def test_a_name_like_that_of_a_field_that_is_there_is_ignored(client):
    assert client.post("/v1/payments", payment(amount2=1, cards=2)).status == 200


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("amount", "12.50"), ("amount", True), ("amount", [1]), ("amount", {"a": 1}),
        ("amount", 2**53 + 1), ("amount", -(2**53) - 1), ("amount", 10**400),
        ("tx", "x" * 201), ("tx", " t1"), ("tx", "t\n1"), ("tx", 1.5), ("tx", True),
        ("tx", 2**53 + 1), ("tx", "a\x00b"), ("tx", "a\ud800"), ("card", ["c1"]),
        ("shop", "\x7f"), ("shop", "\u00a0"), ("country", 3), ("country", "a\x1b[31m"),
        ("country", "\udfff"), ("country", "x" * 1001), ("country", "tab\t"),
        ("online", 1), ("online", "true"), ("expires", "31.01.2027"), ("expires", "2027-02-30"),
        ("expires", "2027-01-31x12:00"), ("expires", "２０２７-01-31"), ("expires", 1e12),
        ("expires", "2027-01-31T12:60:00"), ("expires", "2027-01-31T12:00:00+99:99"),
        ("paid_at", "2027-01-31"), ("paid_at", True), ("paid_at", []),
    ],
    ids=lambda value: ascii(value)[:20],
)  # fmt: skip
def test_a_value_that_is_not_as_expected_is_refused_by_name(client, desk, name, value):
    error = refusal(client, **{name: value})
    assert error["field"] == name
    assert error["expected"]
    assert len(json.dumps(error)) < 1_000
    assert not desk.engine.payments


@pytest.mark.parametrize("value", [2**53, -(2**53), 0, -0.0, 1e-320, 3], ids=repr)
def test_numbers_within_the_limits_are_taken_as_they_are(client, desk, value):
    assert client.post("/v1/payments", payment(amount=value)).status == 200
    assert desk.engine.payments["t1"].body["amount"] == value


@pytest.mark.parametrize(
    "value", ["é" * 200, 7, "a b", "../x?y=%2F", "\U0001f4b3"], ids=lambda value: ascii(value)[:20]
)
def test_ids_are_texts_or_integers(client, desk, value):
    assert client.post("/v1/payments", payment(tx=value)).json["id"] == str(value)
    assert desk.engine.payments[str(value)].body["tx"] == value


@pytest.mark.parametrize(
    ("written", "microseconds"),
    [
        ("2027-03-01T14:05:00Z", 1_803_909_900_000_000),
        ("2027-03-01t14:05:00z", 1_803_909_900_000_000),
        ("2027-03-01 14:05", 1_803_909_900_000_000),
        ("2027-03-01T16:05:00+02:00", 1_803_909_900_000_000),
        ("2027-03-01T14:05:00.123456789Z", 1_803_909_900_123_456),
        (1_803_909_900, 1_803_909_900_000_000),
        (1_803_909_900.25, 1_803_909_900_250_000),
        ("2027-03-01", 1_803_859_200_000_000),
        ("0001-01-01T00:00:00+14:00", -62_135_647_200_000_000),
    ],
)
def test_times_are_iso_8601_or_seconds(client, desk, written, microseconds):
    client.post("/v1/payments", payment(expires=written))
    assert desk.engine.payments["t1"].body["expires"] == microseconds


@pytest.mark.parametrize("days", [-190, 0.01], ids=["too old", "in the future"])
def test_a_payment_must_be_of_the_last_six_months(client, days):
    error = refusal(client, paid_at=time.time() + days * 86_400)
    assert (error["field"], error["code"]) == ("paid_at", "out_of_time")


def test_with_the_clock_of_the_payments_a_pause_of_months_is_taken_and_a_wrong_century_is_not(
    stored,
):
    desk = FakeDesk(*stored, clock="payments")
    with client_of(desk) as client:
        later = time.time() + 300 * 86_400
        assert client.post("/v1/payments", payment(paid_at=later)).status == 200
        assert refusal(client, paid_at="2399-01-01T00:00")["code"] == "out_of_time"


@pytest.mark.parametrize("written", [CARD_NUMBER, int(CARD_NUMBER), "4539 1488-0343 6467"])
def test_a_card_number_is_refused_and_never_repeated(client, written):
    error = refusal(client, card=written)
    assert (error["code"], error["field"], error["value"]) == ("card_number", "card", "...6467")
    assert "45391488" not in json.dumps(error)


@pytest.mark.parametrize("name", ["amount", "tx", "country", "paid_at", "Country"])
def test_a_card_number_in_another_field_is_not_repeated_in_its_error(client, name):
    wrong = f"\n{CARD_NUMBER}" if name != "amount" else 10 * int(CARD_NUMBER)
    shown = json.dumps(refusal(client, **{name: wrong}))
    assert CARD_NUMBER[:10] not in shown


def test_digits_without_the_check_digit_are_no_card_number(client):
    assert client.post("/v1/payments", payment(card="4539148803436468")).status == 200


def test_card_numbers_are_taken_by_a_desk_that_stores_them_as_hashes(stored):
    desk = FakeDesk(*stored, is_tokenising=True)
    with client_of(desk) as client:
        assert client.post("/v1/payments", payment(card=CARD_NUMBER)).status == 200


def test_with_too_many_waiting_payments_the_client_is_asked_to_come_back(client, desk):
    desk.engine.is_busy = True
    reply = client.post("/v1/payments", payment())
    assert (reply.status, reply.error["code"], reply.headers["retry-after"]) == (503, "busy", "2")


def test_a_desk_that_is_not_ready_takes_nothing(client, desk):
    desk.engine.is_ready = False
    assert client.post("/v1/payments", payment()).error["code"] == "not_ready"
    assert client.post("/v1/labels", {}).error["code"] == "not_ready"
    assert client.get("/ready").status == 503
    assert client.get("/health").status == 200
