from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from live.checks.listed_cards import NOW, SETTINGS, add_alert, later
from toprank.live.checks import claims
from toprank.live.checks.check_errors import NoAlertError, TakenError
from toprank.live.store import alert_table, audit_chain, label_table
from toprank.live.store.label_table import DeskLabel

ANNA, BEN = "person:anna", "person:ben"


def test_a_card_that_someone_has_open_cannot_be_claimed_and_the_sentence_says_by_whom(connection):
    number = add_alert(connection, 0.5)
    found = claims.claim(connection, number, ANNA, NOW, SETTINGS)
    assert found == (number, ANNA, NOW.wall + 900_000_000)
    with pytest.raises(TakenError, match="open at anna"):
        claims.claim(connection, number, BEN, NOW, SETTINGS)
    assert claims.claim(connection, number, ANNA, later(60), SETTINGS).lease_until > found[2]


def test_a_lease_that_is_over_returns_the_card_to_the_queue(connection):
    number = add_alert(connection, 0.5)
    claims.claim(connection, number, ANNA, NOW, SETTINGS)
    assert claims.n_over(connection, later(899)) == 0
    with pytest.raises(TakenError):
        claims.claim(connection, number, BEN, later(899), SETTINGS)
    claims.renew(connection, number, ANNA, later(600), SETTINGS)
    with pytest.raises(TakenError):
        claims.claim(connection, number, BEN, later(901), SETTINGS)
    assert claims.n_over(connection, later(1501)) == 1
    assert claims.claim(connection, number, BEN, later(1501), SETTINGS).who == BEN
    with pytest.raises(TakenError, match="open at ben"):
        claims.renew(connection, number, ANNA, later(1502), SETTINGS)
    actions = [each.action for each in audit_chain.entries(connection)]
    assert actions == ["check begun", "lease ended", "check begun"]


def test_a_card_that_a_claim_closes_while_it_is_open_says_so(connection):
    number = add_alert(connection, 0.5)
    claims.claim(connection, number, ANNA, NOW, SETTINGS)
    card = alert_table.by_number(connection, number).card
    label = DeskLabel(1, "p", card, True, NOW.desk, "claim", "key:bank", 1, NOW.desk)
    label_table.add(connection, [label])
    alert_table.close(connection, [card], NOW.desk)
    with pytest.raises(TakenError, match="the holder of the card has claimed a fraud"):
        claims.holding(connection, number, ANNA)
    with pytest.raises(TakenError, match="the holder of the card has claimed a fraud"):
        claims.claim(connection, number, BEN, NOW, SETTINGS)


def test_a_card_that_is_released_is_the_next_one_again(connection):
    best, _ = add_alert(connection, 0.9), add_alert(connection, 0.5)
    assert claims.claim_next(connection, ANNA, NOW, SETTINGS).alert == best
    with pytest.raises(TakenError):
        claims.release(connection, best, BEN, NOW)
    claims.release(connection, best, ANNA, NOW)
    assert claims.claim_next(connection, BEN, NOW, SETTINGS).alert == best


def test_a_card_can_be_taken_over_which_ends_the_claim_of_whoever_held_it(connection):
    number = add_alert(connection, 0.5)
    claims.claim(connection, number, ANNA, NOW, SETTINGS)
    assert claims.take_over(connection, number, BEN, NOW, SETTINGS).who == BEN
    with pytest.raises(TakenError):
        claims.holding(connection, number, ANNA)
    *_, last = audit_chain.entries(connection)
    assert last.action == "check taken over" and last.details == {"from": ANNA}


def test_the_next_card_is_the_first_free_one_and_there_may_be_none(connection):
    second, first = add_alert(connection, 0.3), add_alert(connection, 0.4)
    taken = [claims.claim_next(connection, ANNA, NOW, SETTINGS) for _ in range(3)]
    assert [each and each.alert for each in taken] == [first, second, None]


def test_an_escalated_card_is_on_the_list_of_seniors_alone(connection):
    number = add_alert(connection, 0.4, state="escalated", escalated_by=ANNA)
    assert claims.claim_next(connection, ANNA, NOW, SETTINGS) is None
    assert claims.claim_next(connection, BEN, NOW, SETTINGS, is_escalated=True).alert == number
    claims.release(connection, number, BEN, NOW)
    assert alert_table.by_number(connection, number).state == "escalated"


def test_there_is_no_claim_on_what_is_closed_or_not_there(connection):
    number = add_alert(connection, 0.4, state="closed")
    with pytest.raises(TakenError, match="closed"):
        claims.claim(connection, number, ANNA, NOW, SETTINGS)
    with pytest.raises(NoAlertError, match="no alert 99"):
        claims.claim(connection, 99, ANNA, NOW, SETTINGS)


def test_of_many_who_claim_at_once_each_card_has_one_holder(database):
    with database.writing() as connection:
        numbers = [add_alert(connection, 0.5, 1) for _ in range(100)]

    def try_all(who):
        held = []
        for number in numbers:
            try:
                with database.writing() as connection:
                    held.append(claims.claim(connection, number, who, NOW, SETTINGS).alert)
            except TakenError:
                pass
        return held

    people = [f"person:{name}" for name in "abcd"]
    with ThreadPoolExecutor(len(people)) as pool:
        held = dict(zip(people, pool.map(try_all, people), strict=True))
    assert Counter(each for some in held.values() for each in some) == Counter(numbers)
    with database.reading() as connection:
        stored = {each.number: each.held_by for each in alert_table.in_queue(connection, 1_000)}
        audit_chain.verify(connection)
    assert stored == {number: who for who, some in held.items() for number in some}
