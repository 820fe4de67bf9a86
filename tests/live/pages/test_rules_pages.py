"""The pages of rules: board, rule, editor, backtests; by role, without scripts."""

import re
from html import unescape

import pytest
from markupsafe import escape

from live.monitor import board_desk
from live.pages.board_pages import FinishedProcess, served_board
from toprank.live.desk_clock import wall_time
from toprank.live.pages.rules_pages import counted_board
from toprank.live.rules import rule_life
from toprank.live.rules.rule_trial_runs import RuleTrials, TrialBusyError
from toprank.live.rules.snoozed_cards import snooze
from toprank.live.store import (
    alarm_table,
    alert_table,
    check_table,
    random_check_table,
    rule_table,
    rule_trial_table,
)
from toprank.live.store.alarm_table import DeskAlarm
from toprank.live.store.check_day_table import CheckDay, check_days
from toprank.live.store.check_table import Check
from toprank.live.store.digest_tables import DAY
from toprank.live.store.random_check_table import RandomDraw

HOSTILE = "amount > 1 AND country <> '<script>alert(1)</script>\"><img src=x onerror=alert(1)>'"


@pytest.fixture(scope="module")
def board(model_file, later, tmp_path_factory):
    with served_board(tmp_path_factory.mktemp("board") / "desk", model_file, later) as served:
        yield served


@pytest.fixture
def pages(board):
    return board[0]


@pytest.fixture
def as_role(board):
    return board[1]


def words(text):
    """What a page says, without its elements."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", text)))


def write(browser, name, text="amount > 30", kind="alert", step="save", **more):
    browser.get("/new-rule")
    fields = {"name": name, "text": text, "kind": kind, "description": "", "step": step}
    return browser.post("/new-rule", fields | more)


def step(browser, name, what, version=1):
    browser.get(f"/rules/{name}")
    return browser.post(f"/rules/{name}/{what}", {"version": version})


def state_of(pages, name):
    with pages.database.reading() as connection:
        return [each.state for each in rule_table.versions_of(connection, name)]


def test_the_board_shows_every_rule_and_the_model_with_their_figures(pages, as_role):
    found = counted_board(pages, 30).board
    text = words(as_role("auditor").get("/rules?days=30").content.decode())
    for name in board_desk.RULES:
        assert name in text
    assert f"Model {pages.live.model_name}" in text
    (everything,) = [row for row in found.rows if row.name == "all"]
    assert f"{everything.matches.total:,} {everything.n_alerts}" in text
    assert f"{everything.n_cards} of {found.period.n_fraud_cards}" in text
    assert "Retire?" in text  # the rule that matches everything


def test_a_period_that_the_board_does_not_know_is_refused(as_role):
    assert as_role("auditor").get("/rules?days=7000").status == 400


def test_a_rule_goes_from_its_text_to_retired_by_buttons_and_two_people(pages, as_role):
    author, approver = as_role("rule-author"), as_role("approver")
    reply = write(author, "large-amount", "amount > 30 AND country = 'FR'")
    assert "Version 1 is stored as a draft" in words(reply.content.decode())
    assert state_of(pages, "large-amount") == ["draft"]
    assert step(author, "large-amount", "stage").status == 200
    assert step(author, "large-amount", "approve").status == 403
    assert state_of(pages, "large-amount") == ["shadow"]
    assert step(approver, "large-amount", "approve").status == 200
    assert state_of(pages, "large-amount") == ["live"]
    write(author, "large-amount", "amount > 50")
    assert state_of(pages, "large-amount") == ["draft", "live"]
    assert step(approver, "large-amount", "retire").status == 200
    text = words(approver.get("/rules/large-amount").content.decode())
    assert state_of(pages, "large-amount") == ["draft", "retired"]
    assert "approver live 1" in text and "rule-author to shadow 1" in text


def test_the_author_of_a_rule_does_not_let_it_go_live_as_approver_either(pages, as_role):
    with pages.database.writing() as connection:
        rule_life.add_rule(connection, wall_time(), "person:approver", "own", "amount > 30",
                           "alert", rule_fields_of(pages))  # fmt: skip
        rule_life.stage(connection, wall_time(), "person:approver", "own")
    approver = as_role("approver")
    assert "a second person lets it go live" in words(approver.get("/rules/own").content.decode())
    reply = step(approver, "own", "approve")
    assert reply.status == 409 and "a second person" in words(reply.content.decode())
    assert state_of(pages, "own") == ["shadow"]


def rule_fields_of(pages):
    from toprank.live.rules.model_fields import rule_fields

    return rule_fields(pages.live.model)


@pytest.mark.parametrize("what", ["stage", "approve", "retire"])
def test_a_step_that_a_rule_cannot_take_is_a_sentence(as_role, what):
    browser = as_role("rule-author" if what == "stage" else "approver")
    browser.get("/rules/night")
    reply = browser.post(f"/rules/{'night'}/{what}", {"version": 1 if what != "retire" else 77})
    assert reply.status == 409
    assert "night" in words(reply.content.decode())
    assert browser.post("/rules/night/" + what, {"version": "x"}).status == 400


def test_a_mistake_in_a_text_is_a_sentence_beside_it_and_nothing_is_lost(as_role):
    browser = as_role("rule-author")
    reply = write(browser, "typo", "amuont > 30", description="of some use")
    page = reply.content.decode()
    assert reply.status == 400 and "did you mean 'amount'?" in words(page)
    assert "amuont &gt; 30</textarea>" in page and "of some use</textarea>" in page
    assert 'aria-invalid="true" aria-describedby="error"' in page
    assert write(browser, "Not A Name").status == 400


def test_a_text_can_be_checked_and_fields_found_without_storing_anything(pages, as_role):
    browser = as_role("rule-author")
    text = words(write(browser, "only-checked", step="check").content.decode())
    assert "The rule can be used; it reads amount ." in text.replace(".", " .")
    found = write(browser, "only-checked", step="search", search="MAX amount").content.decode()
    names = re.findall(r"<code>([^<]*)</code>", found)
    assert names and all("max" in each and "amount" in each for each in names)
    assert "amount &gt; 30</textarea>" in found
    assert state_of(pages, "only-checked") == []


def test_the_editor_lists_fields_features_and_the_score_with_their_types(pages, as_role):
    page = as_role("rule-author").get("/new-rule").content.decode()
    names = re.findall(r"<code>([^<]*)</code>", page)
    assert names == [*names[:-1], "suspicion"]
    assert set(names) == {*rule_fields_of(pages).types, "suspicion"}


def test_a_rule_page_shows_why_the_breaker_paused_it_and_which_cards_are_snoozed(pages, as_role):
    sentence = "rule 'night' blocked <b>9</b> of 10 payments."
    with pages.database.writing() as connection:
        rule_life.trip(connection, wall_time(), "night", 1, sentence)
        snooze(connection, pages.now(), "person:senior", "secret-card-4711", "night",
               "on <i>holiday</i>", pages.now() + 10**12)  # fmt: skip
    page = as_role("auditor").get("/rules/night").content.decode()
    assert "Paused by the circuit breaker" in page and str(escape(sentence)) in page
    assert "•••• 4711" in page and "secret-card" not in page
    assert "on &lt;i&gt;holiday" in page
    assert str(escape(sentence)) in as_role("auditor").get("/rules").content.decode()
    with pages.database.writing() as connection:
        rule_life.approve(connection, wall_time(), "person:ben", "night", 1)
    again = as_role("auditor").get("/rules/night").content.decode()
    assert "Paused by" not in again and "paused by the circuit breaker" in again


def test_hostile_texts_and_names_are_shown_as_text(pages, as_role):
    author = as_role("rule-author")
    page = write(author, "hostile", HOSTILE, description="</textarea><script>x</script>").content
    assert b"<script>alert" not in page and b"<img" not in page and b"<script>x" not in page
    for path in ("/rules", "/rules/hostile", "/new-rule?name=hostile", "/trials",
                 "/new-rule?text=</textarea><script>alert(1)</script>&kind=<b>"):  # fmt: skip
        shown = author.get(path.replace("<", "%3C").replace(">", "%3E")).content
        assert b"<script>" not in shown and b"<img" not in shown
        assert b"onerror" not in shown or b"onerror=alert(1)&gt;" in shown
    author.get("/rules")
    refused = author.post("/new-rule", {"name": "<script>alert(2)</script>", "kind": "alert",
                                        "text": "amount > 1", "step": "save"})  # fmt: skip
    assert refused.status == 400 and b"<script>alert" not in refused.content
    assert author.get("/rules/%3Cscript%3Ealert(3)").status == 404
    assert b"<script>alert" not in author.page.content


def test_a_backtest_is_kept_with_its_figures_and_without_whole_cards(pages, as_role, later):
    author = as_role("rule-author")
    author.get("/rules/large")
    reply = author.post("/rules/large/backtest", {"version": 1, "allow_immature": "y"})
    text = words(reply.content.decode())
    assert "Backtest of large" in text and "Precision on mature days" in text
    with pages.database.reading() as connection:
        (trial,) = rule_trial_table.newest(connection, "backtest", "large")
        stored = rule_trial_table.by_number(connection, trial.number)
    assert stored.state == "done" and stored.text == board_desk.RULES["large"][1]
    assert f"{sum(stored.result['matches'].values()):,}" in text
    assert all(len(each["card"]) <= 4 for each in stored.result["examples"])
    assert f"/trials/{trial.number}" in as_role("approver").get("/rules/large").content.decode()


def test_a_backtest_of_a_text_that_is_no_rule_or_of_too_few_labels_says_so(as_role):
    author = as_role("rule-author")
    author.get("/new-rule")
    wrong = author.post("/trials/backtest", {"text": "amuont > 1", "kind": "alert"})
    assert wrong.status == 400 and "did you mean" in words(wrong.content.decode())
    assert b"amuont &gt; 1</textarea>" in wrong.content
    author.get("/new-rule")
    fields = {"text": "amount > 1", "kind": "alert", "since": "yesterday"}
    assert author.post("/trials/backtest", fields).status == 400
    author.get("/new-rule")
    late = author.post("/trials/backtest", fields | {"since": "2030-01-01"})
    assert late.status == 200 and "there are none" in words(late.content.decode())


def test_suggestions_are_shown_with_a_way_to_write_them(pages, as_role):
    text = "amount > 70 AND country <> 'FR'"
    later = {"matches": {"fraud": 4, "genuine": 1, "unknown": 2}, "detection_rate": 0.25,
             "only_fraud": 3, "maturity": 0.5}  # fmt: skip
    before, pages.trials = pages.trials, RuleTrials(pages.database, lambda *_: FinishedProcess())
    try:
        author = as_role("rule-author")
        author.get("/trials")
        author.post("/trials/suggest", {"kind": "block"}, follow=False)
    finally:
        pages.trials = before
    with pages.database.writing() as connection:
        (number,) = rule_trial_table.running(connection)
        result = [{"text": text, "grown_precision": 0.8, "later": later}]
        rule_trial_table.finish(connection, number, 1, result)
    page = author.get(f"/trials/{number}").content.decode()
    assert "4 frauds and 1 genuine payments, detection rate 25 %, 3 frauds" in words(page)
    link = unescape(re.search(r'href="(/new-rule\?[^"]*)"', page)[1])
    written = author.get(link).content.decode()
    assert f"{escape(text)}</textarea>" in written
    assert '<option value="block" selected>' in written


class NeverEnding(FinishedProcess):
    def poll(self):
        return None


def test_one_backtest_runs_at_a_time_and_its_page_looks_again_by_itself(
    pages, as_role, monkeypatch
):
    before, pages.trials = pages.trials, RuleTrials(pages.database, lambda *_: NeverEnding())
    try:
        number = pages.trials.start("backtest", "person:anna", "amount > 1", "alert")
        reply = as_role("auditor").get(f"/trials/{number}")
        assert reply.headers["refresh"] == "2" and "It is running" in words(reply.content.decode())
        with pytest.raises(TrialBusyError, match="another backtest is running"):
            pages.trials.start("backtest", "person:anna", "amount > 1", "alert")
        author = as_role("rule-author")
        author.get("/trials")
        assert author.post("/trials/suggest", {"kind": "alert"}).status == 409
    finally:
        pages.trials = before
    # a server that was started anew knows no such process, and another server's had the time
    monkeypatch.setattr("toprank.live.rules.rule_trial_runs._LONGEST_START", -1)
    text = words(as_role("auditor").get(f"/trials/{number}").content.decode())
    assert "it was stopped" in text and "refresh" not in as_role("auditor").page.headers


def test_who_may_only_read_sees_no_buttons_and_is_refused(as_role):
    auditor = as_role("auditor")
    page = auditor.get("/rules/large").content.decode()
    assert "/stage" not in page and "/retire" not in page and "/new-rule" not in page
    assert auditor.post("/rules/large/retire", {"version": 1}).status == 403
    assert auditor.get("/new-rule").status == 403
    assert as_role("admin").get("/rules").status == 403
    assert as_role("investigator").get("/monitor").status == 403


def test_an_unknown_rule_or_backtest_is_a_page_that_says_so(as_role):
    assert as_role("auditor").get("/rules/lagre").status == 404
    assert "did you mean 'large'" in words(as_role("auditor").page.content.decode())
    assert as_role("auditor").get("/trials/99999").status == 404
    assert as_role("auditor").get("/trials/x").status == 404
    assert as_role("rule-author").get("/new-rule?name=nothing").status == 404


def test_the_monitor_shows_what_came_in_and_how_mature_it_is(pages, as_role):
    reply = as_role("auditor").get("/monitor")
    text = words(reply.content.decode())
    assert reply.status == 200 and pages.live.model_name in text
    quality = "Prevalence-adjusted AP of 1 week, with 95 % intervals."
    for part in (
        "Payments per hour",
        "Maturity",
        "How long until a fraud is known",
        "claim",
        "How well payments were ranked",
        quality,
        "Labels are final; of 3 later days",
    ):
        assert part in text
    assert "No payment was sent since the server started" in text


@pytest.mark.slow
def test_a_backtest_and_suggestions_run_in_a_process_of_their_own(pages):
    trials = RuleTrials(pages.database)
    for task, text in (("backtest", "amount > 30"), ("suggest", "")):
        number = trials.start(task, "person:anna", text, "alert", None, {"allow_immature": True})
        assert trials.find(number).state in ("running", "done")
        trials.wait()
        found = trials.find(number)
        assert (found.state, found.error) == ("done", None)
    assert isinstance(found.result, list)


def test_an_alarm_is_on_its_page_and_acknowledged_by_a_senior(pages, as_role):
    assert "No alarm is open" in as_role("auditor").get("/alarms").content.decode()
    alarm = DeskAlarm(0, "recall", 5, 0.1, 0.3, "recall is 10 %, at most 20 %; 30 % is the limit.")
    with pages.database.writing() as connection:
        number = alarm_table.add(connection, alarm).number
    page = as_role("auditor").get("/alarms").content.decode()
    assert "30 % is the limit" in page and "acknowledge" not in page
    senior = as_role("senior")
    assert "acknowledge" in senior.get("/alarms").content.decode()
    assert senior.post(f"/alarms/{number}/acknowledge").status == 200
    assert "senior" in words(senior.get("/alarms").content.decode())
    assert senior.post(f"/alarms/{number}/acknowledge").status == 409
    assert as_role("auditor").post(f"/alarms/{number}/acknowledge").status == 403


def test_the_monitor_shows_recall_and_how_often_the_range_held(pages, as_role):
    today = pages.now() // DAY
    counts = CheckDay(today - 1, 40, 20, 20.0, 10.0, 0, 0, "[[0,40]]")
    draw = RandomDraw(today - 1, (today - 1) * DAY, (today - 2) * DAY, 500, 1, "seed")
    with pages.database.writing() as connection:
        connection.execute(check_days.insert().values(counts._asdict()))
        number = alert_table.in_order(connection, "open", 1)[0].number
        random_check_table.add(connection, draw, [number])
        check_table.add(
            connection,
            Check(0, number, "person:senior", "genuine", [], "", "", "finished", 0, today - 1, 0,
                  0, 0.1, True, 0),
        )  # fmt: skip
    text = words(as_role("auditor").get("/monitor").content.decode())
    assert "The range held on 1 of them, where 1 are to be expected" in text
    assert "Missed per day" in text and "cards drawn at random had a fraud" in text
