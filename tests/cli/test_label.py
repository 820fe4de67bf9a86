"""`toprank label`: the list of `rank` filled in by people, and tables of claims."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.running import one_sentence, run_main, written
from payments.payment_days import (
    N_LATER,
    as_frame,
    bytes_in,
    copied,
    made_days,
    new_model,
)
from toprank.payments.ledger.holding import LAST_KNOWN
from toprank.payments.payment_model import PaymentModel

ODD_IDS = ["=7", "007", "7", "+A1", "-5", "@x", "'=7", "'tis", "0x1F", "1e3"]


@pytest.fixture(scope="module")
def days():
    return [as_frame(day) for day in made_days()]


@pytest.fixture(scope="module")
def today(days):
    """A day whose first payments have ids that a spreadsheet would change."""
    frame = days[-N_LATER].drop(columns="is_fraud").copy()
    frame.loc[frame.index[: len(ODD_IDS)], "tx"] = ODD_IDS
    frame.loc[frame.index[0], "terminal"] = "=HYPERLINK(1)"
    return frame


@pytest.fixture(scope="module")
def saved(days, today, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    model = new_model().fit(pd.concat(days[:-N_LATER]))
    model.remember(today)
    model.save(folder / "payments.toprank")
    model.close()
    return folder


@pytest.fixture
def model(saved, tmp_path):
    """The model, in the folder the test runs in."""
    copied(saved, tmp_path)
    return "payments.toprank"


def held(ids):
    """What the ledger of the model in this folder says of payments: id to label and source."""
    with PaymentModel.load("payments.toprank") as model:
        found = model.state_.ledger.as_known(LAST_KNOWN, ids)
    facts = zip(ids, found.has_label, found.is_positive, found.source, strict=True)
    return {
        row_id: (bool(is_positive), str(source))
        for row_id, has_label, is_positive, source in facts
        if has_label
    }


def alerts_of(model, frame, name="alerts.csv"):
    written(frame, "today.csv")
    outcome = run_main("rank", model, "today.csv", "-k", 50, "-o", name)
    assert outcome.exit_code == 0, outcome.stderr
    return pd.read_csv(name, dtype=str, keep_default_na=False)


def test_the_list_is_read_back_as_it_is_with_formulas_and_padded_ids(model, today):
    alerts = alerts_of(model, today.head(len(ODD_IDS)))
    escaped = {"=7": "'=7", "+A1": "'+A1", "@x": "'@x", "'=7": "''=7"}
    assert set(alerts["tx"]) <= {escaped.get(each, each) for each in ODD_IDS}
    assert (alerts["verdict"] == "").all()
    of_id = {escaped.get(each, each): each for each in ODD_IDS}
    alerts["verdict"] = np.where(np.arange(len(alerts)) % 2, "genuine", "fraud")
    written(alerts, "alerts.csv")

    outcome = run_main("label", model, "alerts.csv")
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stderr == f"{len(alerts)} labels: {len(alerts)} new.\n"
    expected = {
        of_id[row.tx]: (row.verdict == "fraud", "investigator") for row in alerts.itertuples()
    }
    assert held(list(expected)) == expected


def test_formulas_are_harmless_in_the_file_and_on_stdout_and_whole_in_json_and_parquet(
    model, today
):
    rows = today.head(1)
    alerts = alerts_of(model, rows)
    assert alerts["terminal"].tolist() == ["'=HYPERLINK(1)"]
    printed = run_main("rank", model, "today.csv").stdout
    assert "'=HYPERLINK(1)" in printed
    assert '"=HYPERLINK(1)' not in printed
    (as_json,) = json.loads(run_main("rank", model, "today.csv", "--json").stdout)["alerts"]
    assert as_json["terminal"] == "=HYPERLINK(1)"
    assert as_json["tx"] == "=7"
    run_main("rank", model, "today.csv", "-o", "alerts.parquet")
    in_parquet = pd.read_parquet("alerts.parquet")
    assert in_parquet["terminal"].tolist() == ["=HYPERLINK(1)"]
    assert in_parquet["verdict"].isna().all()


def test_a_list_in_parquet_is_read_back_too(model, today):
    run_main("rank", model, written(today, "today.csv"), "-k", 5, "-o", "alerts.parquet")
    alerts = pd.read_parquet("alerts.parquet")
    alerts["verdict"] = "fraud"
    alerts.to_parquet("alerts.parquet")
    assert run_main("label", model, "alerts.parquet").stderr == "5 labels: 5 new.\n"
    assert set(held(alerts["tx"].tolist()).values()) == {(True, "investigator")}


def test_empty_and_unsure_verdicts_record_nothing(model, today):
    alerts = alerts_of(model, today).head(4)
    alerts["verdict"] = ["Fraud", "OK", "unsure", ""]
    written(alerts, "alerts.csv")
    outcome = run_main("label", model, "alerts.csv")
    assert outcome.exit_code == 0
    assert "2 labels: 2 new." in outcome.stderr
    assert "1 rows have no verdict, 1 are unsure: nothing was recorded" in outcome.stderr
    assert len(held(alerts["tx"].tolist())) == 2


def test_a_list_that_nobody_filled_in_changes_nothing_and_exits_1(model, today):
    alerts_of(model, today)
    with PaymentModel.load(model, for_writing=True):
        pass  # as a writer leaves the folder
    before = bytes_in_history()
    outcome = run_main("label", model, "alerts.csv")
    assert outcome.exit_code == 1
    assert "rows have no verdict, 0 are unsure: nothing was recorded" in outcome.stderr
    assert bytes_in_history() == before


def bytes_in_history():
    return bytes_in(Path("payments.history"))


def test_an_unknown_word_is_refused_and_nothing_is_recorded(model, today):
    alerts = alerts_of(model, today).head(2)
    alerts["verdict"] = ["fraud", "perhaps"]
    written(alerts, "alerts.csv")
    assert "'perhaps'" in one_sentence(run_main("label", model, "alerts.csv"))
    assert held(alerts["tx"].tolist()) == {}


def test_new_corrected_known_and_unknown_labels_are_counted_apart(model, today):
    ids = today["tx"].iloc[20:23].tolist()
    written(pd.DataFrame({"tx": ids, "is_fraud": [True, False, False]}), "claims.csv")
    assert run_main("label", model, "claims.csv").stderr == "3 labels: 3 new.\n"
    claims = pd.DataFrame({"tx": [*ids, "nobody"], "is_fraud": [True, True, False, True]})
    outcome = run_main("label", model, written(claims, "claims.csv"))
    assert outcome.exit_code == 0
    first, note = outcome.stderr.splitlines()
    assert first == "4 labels: 1 corrected, 2 known already."
    assert "no payment for 1 of the ids in 'tx', such as 'nobody'" in note
    assert held(ids)[ids[1]] == (True, "claim")


def test_an_overruled_claim_is_said_to_be_so_with_the_label_that_holds(model, today):
    row_id = today["tx"].iloc[30]
    verdict = {"tx": [row_id], "verdict": ["genuine"], "on": ["2030-02-01"]}
    written(pd.DataFrame(verdict), "verdicts.csv")
    run_main("label", model, "verdicts.csv", "--known-at", "on")
    claim = {"tx": [row_id], "is_fraud": [True], "on": ["2030-01-01"]}
    written(pd.DataFrame(claim), "claims.csv")
    outcome = run_main("label", model, "claims.csv", "--known-at", "on")

    assert outcome.exit_code == 0
    first, note = outcome.stderr.splitlines()
    assert first == "1 label: 1 overruled."
    assert f"payment {row_id!r} stays genuine" in note
    assert "an investigator's verdict known since 2030-02-01" in note
    assert held([row_id])[row_id] == (False, "investigator")


def test_the_exit_code_is_1_where_no_label_found_its_payment(model):
    claims = pd.DataFrame({"tx": ["nobody", "no one"], "is_fraud": [True, True]})
    outcome = run_main("label", model, written(claims, "claims.csv"))
    assert outcome.exit_code == 1
    assert "2 labels: none found its payment." in outcome.stderr
    assert "'nobody', 'no one'" in outcome.stderr


def test_labels_that_were_known_already_are_no_failure(model, today):
    claims = pd.DataFrame({"tx": today["tx"].iloc[20:21], "is_fraud": [True]})
    written(claims, "claims.csv")
    run_main("label", model, "claims.csv")
    assert run_main("label", model, "claims.csv").exit_code == 0


def test_the_time_at_which_labels_became_known_is_read_from_a_column(model, today):
    ids = today["tx"].iloc[20:22].tolist()
    times = ["2031-05-06 07:08:09", "2031-05-07"]
    claims = pd.DataFrame({"tx": ids, "is_fraud": [True, True], "reported": times})
    written(claims, "claims.csv")
    assert run_main("label", model, "claims.csv", "--known-at", "reported").exit_code == 0
    with PaymentModel.load(model) as loaded:
        known = loaded.state_.ledger.as_known(LAST_KNOWN, ids).known
    assert [str(each)[:10] for each in known] == ["2031-05-06", "2031-05-07"]
    sentence = one_sentence(run_main("label", model, "claims.csv", "--known-at", "repotred"))
    assert "did you mean 'reported'" in sentence


def test_times_of_verdicts_follow_their_rows_past_empty_ones(model, today):
    alerts = alerts_of(model, today).head(3)
    alerts["verdict"] = ["", "fraud", "genuine"]
    alerts["seen"] = ["2031-01-01", "2031-01-02", "2031-01-03"]
    written(alerts, "alerts.csv")
    run_main("label", model, "alerts.csv", "--known-at", "seen")
    with PaymentModel.load(model) as loaded:
        known = loaded.state_.ledger.as_known(LAST_KNOWN)
    assert sorted(str(each)[:10] for each in known.known) == ["2031-01-02", "2031-01-03"]


def test_without_a_time_labels_are_known_from_the_newest_payment_on(model, today):
    row_id = today["tx"].iloc[20]
    claims = pd.DataFrame({"tx": [row_id], "is_fraud": [True]})
    run_main("label", model, written(claims, "claims.csv"))
    with PaymentModel.load(model) as loaded:
        (known,) = loaded.state_.ledger.as_known(LAST_KNOWN, [row_id]).known
    assert known == today["paid_at"].max().to_datetime64()


def test_where_labels_come_from_may_be_said(model, today):
    ids = today["tx"].iloc[20:22].tolist()
    claims = pd.DataFrame({"tx": ids, "is_fraud": [True, False]})
    written(claims, "checks.csv")
    command = ("label", model, "checks.csv", "--source", "investigator", "--who", "team 2")
    assert run_main(*command).exit_code == 0
    assert {source for _, source in held(ids).values()} == {"investigator"}
    assert run_main("label", model, "checks.csv", "--source", "rumour").exit_code == 2


def test_labels_make_cards_leave_the_list_or_flag_them(model, today):
    alerts = alerts_of(model, today)
    alerts["verdict"] = ["fraud", "genuine", *[""] * (len(alerts) - 2)]
    written(alerts, "alerts.csv")
    run_main("label", model, "alerts.csv")
    outcome = run_main("rank", model, "today.csv", "-k", 50, "-o", "again.csv")
    again = pd.read_csv("again.csv", dtype=str, keep_default_na=False)
    blocked, cleared = alerts["card"].iloc[:2]
    assert blocked not in set(again["card"])
    assert "rows of cards known as fraud were left out" in outcome.stderr
    assert "1 of the cards was cleared lately" in outcome.stderr
    assert again.loc[again["cleared"] != "", "card"].tolist() == [cleared]
    later = run_main("rank", model, "today.csv", "--cleared-within", "0s", "--json")
    assert later.exit_code == 0
    wrong = run_main("rank", model, "today.csv", "--cleared-within", "soon")
    assert wrong.exit_code == 2
    assert "--cleared-within must be a span of time" in wrong.stderr


def test_a_list_all_of_whose_cards_are_known_as_fraud_is_empty_and_says_so(model, today):
    alerts = alerts_of(model, today).head(2)
    alerts["verdict"] = "fraud"
    written(alerts, "alerts.csv")
    run_main("label", model, "alerts.csv")
    rows = today[today["card"].isin(alerts["card"])]
    written(rows, "known.csv")
    outcome = run_main("rank", model, "known.csv", "-o", "empty.csv")
    assert outcome.exit_code == 0, outcome.stderr
    assert f"{len(rows)} rows scored, 0 cards listed" in outcome.stderr
    assert f"{len(rows)} rows of cards known as fraud were left out" in outcome.stderr
    empty = pd.read_csv("empty.csv")
    assert len(empty) == 0
    assert list(empty.columns[:3]) == ["rank", "row", "suspicion"]
    assert json.loads(run_main("rank", model, "known.csv", "--json").stdout)["alerts"] == []
    printed = run_main("rank", model, "known.csv")
    assert printed.exit_code == 0
    assert len(printed.stdout.splitlines()) == 1
    assert run_main("rank", model, "known.csv", "-o", "empty.parquet").exit_code == 0


def test_a_model_without_ids_cannot_be_labelled(days, tmp_path):
    frame = pd.concat(days[:-N_LATER]).drop(columns="tx")
    new = new_model(row_id=None).fit(frame)
    new.save("payments.toprank")
    new.close()
    claims = pd.DataFrame({"tx": ["1"], "is_fraud": [True]})
    sentence = one_sentence(run_main("label", "payments.toprank", written(claims, "c.csv")))
    assert "must be fitted with --card and --id" in sentence


def test_a_table_without_ids_or_labels_is_refused_by_name(model):
    for columns, words in (({"tx": ["1"]}, "'is_fraud'"), ({"is_fraud": [True]}, "'tx'")):
        written(pd.DataFrame(columns), "c.csv")
        assert words in one_sentence(run_main("label", model, "c.csv"))
