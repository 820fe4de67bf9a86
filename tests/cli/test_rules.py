import json
import shutil

import pytest

from cli.running import one_sentence, run_main
from live import desks


@pytest.fixture(scope="module")
def made_desk(tmp_path_factory):
    """A desk with some weeks of labelled payments in its archive, to be copied."""
    folder = tmp_path_factory.mktemp("rules")
    desks.fitted_model(desks.made_payments()[0], folder / "payments.toprank")
    desks.new_desk(folder / "desk", folder / "payments.toprank").close()
    return folder


@pytest.fixture
def desk(made_desk, tmp_path):
    return shutil.copytree(made_desk / "desk", tmp_path / "desk")


def run(step, *words):
    """Run a command of `toprank rules` that must succeed; return what it prints."""
    outcome = run_main("rules", step, *words)
    assert outcome.exit_code == 0, outcome
    return outcome.stdout


def as_json(step, *words):
    return json.loads(run(step, *words, "--json"))


def refused(step, *words):
    return one_sentence(run_main("rules", step, *words))


def test_a_rule_goes_from_a_text_to_live_and_out_of_use(desk):
    (added,) = as_json("add", desk, "large", "amount > 100", "--kind", "block", "--by", "anna")
    assert (added["version"], added["state"], added["author"]) == (1, "draft", "person:anna")
    assert as_json("stage", desk, "large", "--by", "anna")[0]["state"] == "shadow"
    assert "second person" in refused("approve", desk, "large", "--by", "anna")
    assert as_json("approve", desk, "large", "--by", "ben")[0]["approver"] == "person:ben"
    assert "amount > 100" in run("list", desk)
    run("add", desk, "large", "amount > 200", "--by", "anna")
    assert [each["version"] for each in as_json("show", desk, "large")] == [2, 1]
    assert len(as_json("retire", desk, "large", "--by", "anna")) == 2
    assert as_json("list", desk) == []
    assert len(as_json("list", desk, "--all")) == 2


@pytest.mark.parametrize("source", ["desk", "payments.toprank"])
def test_a_text_is_checked_with_a_desk_or_a_model(made_desk, source):
    text = "amount > 5 * card_max_amount_7d_before AND country <> 'FR'"
    found = as_json("check", made_desk / source, text)
    assert found["fields"] == {
        "amount": "number", "card_max_amount_7d_before": "number", "country": "text",
    }  # fmt: skip
    assert "did you mean 'amount'" in refused("check", made_desk / source, "amuont > 5")
    assert "country (text)" in run("check", made_desk / source, "country = 'FR'")


def test_a_rule_that_is_not_valid_is_not_stored(desk):
    assert "blocking rule" in refused("add", desk, "a", "suspicion > 1", "--kind", "block")
    assert as_json("list", desk, "--all") == []


def test_a_backtest_is_of_a_condition_or_of_a_stored_rule(desk):
    by_text = as_json("backtest", desk, "amount > 100", "--allow-immature")
    assert by_text["matches"]["fraud"] > 0
    run("add", desk, "large", "amount > 100", "--by", "anna")
    assert as_json("backtest", desk, "large", "--allow-immature") == by_text
    shown = run("backtest", desk, "large", "--allow-immature")
    assert "detection rate" in shown and "maturity" in shown
    first = by_text["days"][0]["day"]
    one_day = as_json("backtest", desk, "large", "--until", first, "--allow-immature")
    assert [each["day"] for each in one_day["days"]] == [first]
    assert "there are none" in refused("backtest", desk, "large", "--from", "2100-01-01")


def test_rules_are_suggested_from_the_stored_payments(desk):
    found = as_json("suggest", desk, "-n", "2", "--allow-immature")
    assert 1 <= len(found) <= 2
    text = found[0]["text"]
    assert text in run("suggest", desk, "--allow-immature")
    run("add", desk, "found", text, "--by", "anna")


def test_a_card_is_snoozed_for_a_reason(desk):
    run("add", desk, "large", "amount > 100", "--by", "anna")
    made = as_json("snooze", desk, "C1", "--rule", "large", "--days", 3, "--reason", "x")
    assert (made["card"], made["rule"]) == ("C1", "large")
    assert "all rules for card C2" in run("snooze", desk, "C2", "--days", 3, "--reason", "x")
    assert "180 days" in refused("snooze", desk, "C1", "--days", 181, "--reason", "x")


def test_a_folder_that_is_no_desk_is_refused(tmp_path):
    assert "is not a desk" in refused("list", tmp_path)
