"""`toprank history`: what a model remembers, and undoing its last change."""

import json

import pyarrow.parquet as pq
import pytest

from cli.running import one_sentence, run_main
from payments.payment_days import N_LATER, copied, joined, made_days, new_model, unlabelled
from toprank.payments.payment_model import PaymentModel


@pytest.fixture(scope="module")
def days():
    return made_days(30)


@pytest.fixture(scope="module")
def saved(days, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    fitted = new_model().fit(joined(days[:-N_LATER]))
    fitted.save(folder / "payments.toprank")
    fitted.close()
    return folder


@pytest.fixture(autouse=True)
def model(saved, days, tmp_path, monkeypatch):
    """A model in the folder the test runs in, and two days of files."""
    monkeypatch.chdir(tmp_path)
    copied(saved, tmp_path)
    for number in (1, 2):
        pq.write_table(unlabelled(days[number - 1 - N_LATER]), f"day{number}.parquet")


def shown():
    return json.loads(run_main("history", "show", "payments.toprank", "--json").stdout)


def remember(number):
    outcome = run_main("rank", "payments.toprank", f"day{number}.parquet", "--remember")
    assert outcome.exit_code == 0, outcome.stderr


def test_show_prints_what_is_remembered(days):
    remember(1)
    lines = run_main("history", "show", "payments.toprank").stdout.splitlines()
    known = joined(days[: 1 - N_LATER])
    first, last = (str(known["paid_at"][row].as_py()) for row in (0, -1))
    assert lines[0].startswith("payments.history/")
    assert lines[1] == f"rows         {known.num_rows:,}, {first} to {last}"
    assert lines[2] == f"cards        {len(set(known['card'].to_pylist()))}"
    n_new = days[-N_LATER].num_rows
    assert f"0 in the ledger; {n_new} rows have no label yet" in lines[4]
    assert lines[7].startswith(f"last change  {n_new} rows, ")
    assert lines[8] == "To undo the last change: toprank history restore payments.toprank"


def test_restore_undoes_what_was_remembered_and_it_can_be_remembered_again():
    before = shown()
    remember(1)
    once = shown()
    outcome = run_main("history", "restore", "payments.toprank")
    assert outcome.exit_code == 0
    assert outcome.stderr.startswith(f"Undid {once['last_change']['n_rows']} remembered rows, ")
    after = shown()
    for name in ("n_rows", "last", "n_events", "n_cards", "last_change"):
        assert after[name] == before[name], name
    remember(1)
    assert {**shown(), "n_bytes": 0} == {**once, "n_bytes": 0}


def test_a_list_of_rows_that_were_undone_is_not_judged():
    """What a list promised is compared with what was found in it, of rows that are known."""
    remember(1)
    run_main("history", "restore", "payments.toprank")
    with PaymentModel.load("payments.toprank", for_writing=True) as payments:
        assert (payments.state_.folder / "lists.ndjson").exists()
        payments.label(["0000001"], [True])
        assert payments.promise_now() is payments.promise_


def test_what_cannot_be_undone_is_said(days):
    sentence = one_sentence(run_main("history", "restore", "payments.toprank"))
    assert "has no change to undo" in sentence
    assert (
        run_main("history", "show", "payments.toprank")
        .stdout.splitlines()[-1]
        .endswith("none that can be undone")
    )


def test_a_model_without_cards_has_no_history(days):
    table = joined(days[:-N_LATER])
    new_model(card=None, terminal=None, amount=None, row_id=None, time=None).fit(
        table.select(["amount", "channel", "is_fraud"])
    ).save("plain.toprank")
    for command in ("show", "restore"):
        outcome = run_main("history", command, "plain.toprank")
        assert "plain.toprank was fitted without --card and has no history" in outcome.stderr
        assert outcome.exit_code == 1
