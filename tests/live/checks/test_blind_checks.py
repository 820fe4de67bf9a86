"""Cards that are decided on without reasons: who is drawn, what is hidden, what is stored."""

import pytest

from live.checks.listed_cards import DAY, NOW, SETTINGS, add_alert, later
from toprank.live.checks import blind_checks, check_verdicts, claims, queue
from toprank.live.desk_settings import DeskSettings
from toprank.live.monitor.blind_comparison import blind_comparison
from toprank.live.store import alert_table, audit_chain, check_table

ALL = DeskSettings(capacity=20, blind_share=1.0)
TODAY = NOW.desk // DAY


def alert(connection, number):
    return alert_table.by_number(connection, number)


def is_blind(connection, number, share=1.0):
    return blind_checks.blind_alerts(connection, [alert(connection, number)], share) == {number}


def decide(connection, number, verdict="fraud", settings=ALL, who="person:anna", now=NOW):
    claims.claim(connection, number, who, now, settings)
    positions = alert_table.positions_of(connection, number)
    return check_verdicts.decide(
        connection, number, who, verdict, positions, "", "a note", now, settings
    )


def finish(connection, check):
    assert check_verdicts.finish(connection, check, later(100))


def test_the_share_that_is_asked_for_is_drawn_whatever_the_chance_of_fraud(connection):
    found = [alert(connection, add_alert(connection, 0.1 + 0.2 * (i % 2))) for i in range(600)]
    drawn = blind_checks.blind_alerts(connection, found, 0.3)
    assert 130 < len(drawn) < 230
    assert sum(each.expected > 0.2 for each in found if each.number in drawn) / len(drawn) > 0.35
    assert blind_checks.blind_alerts(connection, found, 0.3) == drawn
    assert drawn < blind_checks.blind_alerts(connection, found, 0.6)
    assert not blind_checks.blind_alerts(connection, found, 0.0)


def test_another_desk_draws_other_cards(connection):
    found = [alert(connection, add_alert(connection, 0.1)) for _ in range(50)]
    before = blind_checks.blind_alerts(connection, found, 0.5)
    audit_chain.add(connection, 1, "person:anna", "desk made", "desk")
    assert blind_checks.blind_alerts(connection, found, 0.5) != before


def test_the_queue_has_no_reasons_of_a_card_that_is_drawn(connection):
    add_alert(connection, 0.3)
    (row,) = queue.queue(connection, blind_share=1.0)
    assert (row.is_blind, row.why, row.reasons, row.raised_by) == (True, "", [], [])
    (row,) = queue.queue(connection)
    assert (row.is_blind, row.why, row.raised_by) == (False, "a reason", ["model"])


def test_reasons_stay_hidden_until_the_verdict_can_no_longer_be_undone(connection):
    number = add_alert(connection, 0.3)
    check = decide(connection, number)
    assert is_blind(connection, number)
    check_verdicts.undo(connection, check.number, "person:anna", later(5), ALL)
    assert is_blind(connection, number)
    finish(connection, decide(connection, number))
    assert not is_blind(connection, number)


@pytest.mark.parametrize("state", ["escalated", "unsure", "closed"])
def test_other_cards_are_shown_as_they_are(connection, state):
    assert not is_blind(connection, add_alert(connection, 0.3, state=state))


def test_an_escalated_card_has_reasons_while_a_senior_holds_it(connection):
    number = add_alert(connection, 0.3, escalated_by="person:anna", state="taken")
    assert not is_blind(connection, number)


def test_only_first_verdicts_that_could_be_either_are_compared(connection):
    for share, verdict in ((1.0, "fraud"), (1.0, "genuine"), (1e-9, "fraud"), (1e-9, "unsure")):
        settings = DeskSettings(blind_share=share)
        finish(connection, decide(connection, add_alert(connection, 0.25), verdict, settings))
    # neither a second verdict on a card, one without a draw, nor one that is not final
    again = add_alert(connection, 0.25)
    finish(connection, decide(connection, again))
    alert_table.change_state(connection, again, "closed", "open")
    finish(connection, decide(connection, again))
    finish(connection, decide(connection, add_alert(connection, 0.25), settings=SETTINGS_OFF))
    decide(connection, add_alert(connection, 0.25))

    found = blind_comparison(connection, TODAY, TODAY)
    assert found.blind == (2, 1, 0, pytest.approx(0.75))
    assert found.shown == (1, 0, 1, pytest.approx(0.5))
    assert found.difference.value == pytest.approx(1 - 2 / 3)
    assert not found.is_significant
    assert blind_comparison(connection, TODAY - 9, TODAY - 1).difference is None


SETTINGS_OFF = DeskSettings(blind_share=0.0)


def test_a_correction_is_no_verdict_of_its_own(connection):
    check = decide(connection, add_alert(connection, 0.25))
    finish(connection, check)
    found = check_table.by_number(connection, check.number)
    check_verdicts.correct(
        connection, found.number, "person:anna", "genuine", "", "seen again", later(200), ALL
    )
    assert blind_comparison(connection, TODAY, TODAY).blind.n_checks == 1


def test_a_difference_beyond_chance_is_found(connection):
    for share, verdict in ((1.0, "genuine"), (1e-9, "fraud")):
        settings = DeskSettings(blind_share=share)
        for _ in range(15):
            finish(connection, decide(connection, add_alert(connection, 0.5), verdict, settings))
    found = blind_comparison(connection, TODAY, TODAY)
    assert found.is_significant and found.difference.value == 1.0


def test_settings_say_what_share_is_possible():
    with pytest.raises(ValueError, match=r"blind_share.*1\.5"):
        DeskSettings(blind_share=1.5)
    assert SETTINGS.blind_share == 0.05
