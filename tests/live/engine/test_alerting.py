from dataclasses import replace

import pytest

from live import desks
from toprank.live.messages import LabelGiven
from toprank.live.store import alert_table, audit_chain


@pytest.fixture
def live(model_file, tmp_path):
    with desks.new_desk(tmp_path / "desk", model_file, alert_from=0.0) as desk:
        found = desks.live(desk)
        yield found
        found.close()


def scored(live, payments):
    live.decide(payments)
    while live.n_unscored:
        live.score_some(64)
    return live.alerts("open", 1_000, None)


def test_a_card_has_one_open_alert_with_the_reasons_of_its_worst_payment(live, later):
    found = scored(live, later[:400])
    cards = [each["card"] for each in found]
    assert sorted(cards) == sorted({each.card for each in later[:400]})
    chances = [each["probability"] for each in found]
    assert chances == sorted(chances, reverse=True)
    worst = {
        each.card: max(
            live.payment(other.id)["score"]["probability"]
            for other in later[:400] if other.card == each.card
        )
        for each in later[:400]
    }  # fmt: skip
    assert {each["card"]: each["probability"] for each in found} == worst
    assert all(isinstance(text, str) for each in found for text in each["reasons"])


def test_alerts_are_returned_page_by_page(live, later):
    found = scored(live, later[:400])
    pages = [live.alerts("open", 7, None)]
    while pages[-1]:
        pages.append(live.alerts("open", 7, pages[-1][-1]["cursor"]))
    assert [each for page in pages for each in page] == found
    with pytest.raises(ValueError, match="cursor"):
        live.alerts("open", 7, "nonsense")


def test_a_card_that_is_known_as_fraud_is_taken_off_the_list_and_not_put_on_it_again(live, later):
    card = later[0].card
    own = [each for each in later if each.card == card][:6]
    scored(live, own[:3])
    live.label([LabelGiven(own[0].id, True, None, "claim")], "key:claims")
    assert [each["card"] for each in live.alerts("closed", 10, None)] == [card]
    assert scored(live, own[3:]) == []


def test_an_alert_whose_payments_all_have_labels_is_closed(live, later):
    own = [each for each in later if each.card == later[0].card][:3]
    scored(live, own)
    for each in own[:2]:
        live.label([LabelGiven(each.id, False, None, "claim")], "key:claims")
    assert len(live.alerts("open", 10, None)) == 1
    live.label([LabelGiven(own[2].id, False, None, "claim")], "key:claims")
    assert live.alerts("open", 10, None) == []
    (again,) = scored(live, [replace(own[0], id="new", body=own[0].body | {"tx": "new"})])
    assert again["alert"] == 2


def test_every_change_of_an_alert_is_in_the_audit(live, later):
    own = [each for each in later if each.card == later[0].card][:2]
    scored(live, own[:1])
    scored(live, own[1:])
    live.label([LabelGiven(own[0].id, True, None, "claim")], "key:claims")
    with live.desk.database.reading() as connection:
        assert audit_chain.verify(connection).n_entries == 5
        actions = [each.action for each in audit_chain.entries(connection)]
    assert actions == [
        "desk made",
        "alert opened",
        "alert updated",
        "labels added",
        "alert closed",
    ]


def test_an_alert_that_has_a_payment_before_it_is_scored_lists_it_once(live, later):
    own = [each for each in later if each.card == later[0].card][:3]
    (alert,) = scored(live, own[:1])
    live.decide(own[1:])
    last = live.history.position
    with live.desk.database.writing() as connection:  # as a random check does
        alert_table.add_payments(connection, [(alert["alert"], last)])
    live.score_some(64)
    (alert,) = live.alerts("open", 10, None)
    assert alert["payments"] == [each.id for each in reversed(own)]
