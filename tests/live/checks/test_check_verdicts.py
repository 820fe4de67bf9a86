import pytest

from live.checks.listed_cards import DAY, NOW, SETTINGS, add_alert, later
from toprank.live.checks import actions, check_verdicts, claims
from toprank.live.checks.check_errors import CheckError, TakenError
from toprank.live.checks.day import my_day
from toprank.live.store import alert_table, audit_chain, check_day_table, check_table

ANNA, BEN, CARLA = "person:anna", "person:ben", "person:carla"


@pytest.fixture
def number(connection):
    """The alert that Anna has open, with the payments 1 and 2."""
    found = add_alert(connection, 0.5)
    claims.claim(connection, found, ANNA, NOW, SETTINGS)
    return found


def decided(connection, number, verdict="fraud", positions=(1, 2), who=ANNA, **values):
    said = {"reason_code": "", "note": ""} | values
    return check_verdicts.decide(
        connection, number, who, verdict, positions, said["reason_code"], said["note"], NOW,
        SETTINGS,
    )  # fmt: skip


def finished(connection, check):
    check_verdicts.finish(connection, check, later(31))
    return check._replace(state="finished")


def state_of(connection, number):
    return alert_table.by_number(connection, number).state


def test_a_verdict_is_stored_at_once_and_due_when_it_can_no_longer_be_undone(connection, number):
    check = decided(connection, number, positions=[2])
    assert (check.verdict, check.positions, check.state) == ("fraud", [2], "pending")
    assert (check.probability, check.is_random, check.seen) == (0.5, False, 2)
    assert state_of(connection, number) == "decided"
    assert check_verdicts.due(connection, later(29)) == []
    assert check_verdicts.due(connection, later(30)) == [check]


def test_a_finished_check_is_finished_once_and_closes_its_alert(connection, number):
    check = decided(connection, number)
    assert check_verdicts.finish(connection, check, later(30))
    assert not check_verdicts.finish(connection, check, later(30))
    assert state_of(connection, number) == "closed"
    assert check_verdicts.due(connection, later(60)) == []


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"verdict": "guilty"}, "verdict must be one of"),
        ({"positions": []}, "at least one payment must be ticked for fraud"),
        ({"positions": [1, 77]}, "payment 77 must be one of this alert"),
        ({"verdict": "unsure"}, "a note is required for unsure"),
        ({"verdict": "unsure", "note": "  "}, "a note is required for unsure"),
        ({"note": "x" * 2_001}, "at most 2,000 characters; it has 2,001"),
        ({"reason_code": "bad luck"}, "reason of fraud must be one of"),
    ],
)
def test_a_verdict_that_is_incomplete_is_refused_in_a_sentence(connection, number, said, sentence):
    with pytest.raises(ValueError, match=sentence):
        decided(connection, number, **said)
    assert state_of(connection, number) == "taken"


def test_only_whoever_holds_a_card_decides_on_it(connection, number):
    with pytest.raises(TakenError, match="open at anna"):
        decided(connection, number, who=BEN)
    decided(connection, number)
    with pytest.raises(TakenError, match="not yours, or no longer"):
        decided(connection, number)


def test_undo_gives_the_card_back_to_whoever_decided(connection, number):
    check = decided(connection, number)
    with pytest.raises(CheckError, match="someone else's"):
        check_verdicts.undo(connection, check.number, BEN, later(5), SETTINGS)
    assert (
        check_verdicts.undo(connection, check.number, ANNA, later(29), SETTINGS).state == "undone"
    )
    assert claims.holding(connection, number, ANNA).lease_until == later(29 + 900).wall
    assert check_verdicts.due(connection, later(99)) == []
    assert my_day(connection, ANNA, NOW.day).n_checks == 0
    again = decided(connection, number, "genuine")
    with pytest.raises(CheckError, match="correct it instead"):
        check_verdicts.undo(connection, again.number, ANNA, later(30), SETTINGS)


def test_a_card_that_someone_is_unsure_of_is_out_of_the_queue_with_its_note(connection, number):
    check = decided(connection, number, "unsure", [], note="call the cardholder")
    finished(connection, check)
    assert state_of(connection, number) == "unsure"
    assert claims.claim_next(connection, BEN, NOW, SETTINGS) is None
    assert claims.claim(connection, number, BEN, NOW, SETTINGS)  # it can still be opened


def test_a_payment_that_came_after_the_verdict_brings_the_card_back(connection, number):
    check = decided(connection, number, "genuine")
    alert_table.add_payments(connection, [(number, 3)])
    finished(connection, check)
    assert state_of(connection, number) == "open"


def test_ones_own_final_verdict_is_corrected_by_one_more_check(connection, number):
    check = finished(connection, decided(connection, number, "genuine"))
    with pytest.raises(CheckError, match="with a note that says why"):
        check_verdicts.correct(connection, check.number, ANNA, "fraud", "", "", NOW, SETTINGS)
    found = check_verdicts.correct(
        connection, check.number, ANNA, "fraud", "", "claimed by phone", later(60), SETTINGS
    )
    assert (found.state, found.corrects, found.positions) == ("pending", check.number, [1, 2])
    assert check_verdicts.due(connection, later(90)) == [found]
    check_verdicts.finish(connection, found, later(90))
    assert check_day_table.counted(connection, NOW.day).n_found == 1
    assert check_table.by_number(connection, check.number).verdict == "genuine"
    assert my_day(connection, ANNA, NOW.day)[:4] == (1, 0, 1, 0)


def test_the_final_verdict_of_someone_else_is_corrected_by_two_people(connection, number):
    check = finished(connection, decided(connection, number))
    found = check_verdicts.correct(
        connection, check.number, BEN, "genuine", "", "he was on holiday", later(60), SETTINGS
    )
    assert found.state == "proposed" and check_verdicts.proposed(connection) == [found]
    assert check_verdicts.due(connection, later(1_000)) == []
    with pytest.raises(CheckError, match="a second person must approve"):
        check_verdicts.approve(connection, found.number, BEN, later(61), SETTINGS)
    approved = check_verdicts.approve(connection, found.number, CARLA, later(61), SETTINGS)
    assert check_verdicts.due(connection, later(91)) == [approved]
    with pytest.raises(CheckError, match="must be a proposed correction"):
        check_verdicts.reject(connection, found.number, CARLA, later(62))


def test_a_rejected_correction_changes_nothing(connection, number):
    check = finished(connection, decided(connection, number))
    found = check_verdicts.correct(
        connection, check.number, BEN, "genuine", "", "why not", later(60), SETTINGS
    )
    check_verdicts.reject(connection, found.number, CARLA, later(61))
    assert check_verdicts.due(connection, later(1_000)) == []
    assert check_day_table.counted(connection, NOW.day).n_found == 1


def test_a_verdict_that_is_not_final_is_undone_and_not_corrected(connection, number):
    check = decided(connection, number)
    with pytest.raises(CheckError, match="must be finished to be corrected; it is pending"):
        check_verdicts.correct(connection, check.number, ANNA, "genuine", "", "n", NOW, SETTINGS)


def test_a_snoozed_card_is_away_until_its_time_and_then_in_the_queue_again(connection, number):
    until = NOW.desk + 3 * DAY
    actions.snooze(connection, number, ANNA, "travels, and said so", until, NOW)
    assert claims.claim_next(connection, BEN, NOW, SETTINGS) is None
    awake = NOW._replace(desk=until)
    assert claims.claim_next(connection, BEN, awake, SETTINGS).alert == number


def test_an_escalated_card_needs_a_note_and_goes_to_the_seniors(connection, number):
    with pytest.raises(CheckError, match="note must be given"):
        actions.escalate(connection, number, ANNA, " ", NOW)
    actions.escalate(connection, number, ANNA, "an employee's card", NOW)
    assert state_of(connection, number) == "escalated"


def test_every_step_is_in_the_audit_and_no_entry_names_a_card(connection, number):
    actions.add_note(connection, number, ANNA, "asked the shop", NOW)
    check = decided(connection, number)
    check_verdicts.undo(connection, check.number, ANNA, later(1), SETTINGS)
    finished(connection, decided(connection, number))
    found = list(audit_chain.entries(connection))
    assert [each.action for each in found] == [
        "check begun", "note added", "verdict given", "verdict undone", "verdict given",
        "verdict final",
    ]  # fmt: skip
    assert "card-0001" not in str(found)
    audit_chain.verify(connection)
