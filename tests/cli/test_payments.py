"""`fit --card` and what follows: lists of cards, histories that go on, labels that come later."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from cli.running import one_sentence, run_main, written
from toprank import files
from toprank.payments.features import History
from toprank.payments.history_store import HistoryStore
from toprank.simulator import Simulation, tables_by_day

PAST = ("--time", "paid_at", "--card", "card", "--terminal", "terminal", "--amount", "amount")
QUICK = ("-k", 5, "--trees", 20, "--minutes", 0.0001, "--jobs", 1)


@pytest.fixture(scope="module")
def payments():
    """60 days of payments, with ids and a column that is no part of the past."""
    days = tables_by_day(Simulation(n_cards=150, n_terminals=60, n_days=60, random_state=3))
    frame = pd.concat([day.to_pandas() for day in days], ignore_index=True)
    frame["card"] = frame["card"].str.removeprefix("card-").str.zfill(6)
    frame["tx"] = np.arange(len(frame)) + 7
    frame["channel"] = np.where(np.arange(len(frame)) % 3 == 0, "web", "shop")
    return frame


@pytest.fixture(scope="module")
def days(payments):
    """All days but the last two, and each of those."""
    day = payments["paid_at"].dt.floor("D")
    first, second = sorted(day.unique())[-2:]
    return payments[day < first], payments[day == first], payments[day == second]


@pytest.fixture(scope="module")
def fitted_once(days, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fitted")
    data = folder / "payments.csv"
    written(days[0], data)
    outcome = run_main("fit", data, "--label", "is_fraud", *PAST, "--id", "tx", *QUICK)
    assert outcome.exit_code == 0, outcome.stderr
    return folder, outcome


@pytest.fixture
def fitted(fitted_once, tmp_path):
    """The model and its history, in the folder the test runs in."""
    shutil.copytree(fitted_once[0], tmp_path, dirs_exist_ok=True)
    return fitted_once[1]


def kept(name="payments.history"):
    """The store that a model has in its folder of histories."""
    (folder,) = Path(name).iterdir()
    return HistoryStore.open(folder)


def in_files(name="payments.history"):
    """All that a folder of histories holds; locks say who wrote last."""
    paths = [path for path in Path(name).rglob("*") if path.is_file() and path.name != "lock"]
    return {str(path): path.read_bytes() for path in paths}


def without_label(frame):
    return frame.drop(columns="is_fraud")


def test_fit_learns_from_the_past_and_says_what_checking_cards_brings(fitted):
    assert fitted.stdout.splitlines()[0].split(", ")[1] == "45 features (1 category)"
    assert "gap 7 days" in fitted.stdout
    assert "Checking 5 cards a day and blocking those found: " in fitted.stdout
    assert "in amounts of their frauds." in fitted.stdout
    assert "payments.toprank" in fitted.stderr
    assert "payments.history" in fitted.stderr
    facts = files.read_manifest("payments.toprank")["facts"]
    assert facts["payments"]["card"] == "card"
    assert 0 < next(iter(facts["test"].values()))["card_precision_ceiling"] <= 1


def test_the_names_of_cards_and_terminals_and_ids_are_not_learned(fitted):
    names = files.load("payments.toprank").schema_.names
    assert "card_count_1h" in names
    assert "channel" in names
    assert not {"card", "terminal", "tx", "paid_at", "is_fraud"} & set(names)


def test_the_report_tells_of_cards(fitted):
    assert "Checking 5 cards a day" in Path("payments.html").read_text()


def test_each_card_is_listed_once_with_the_columns_of_the_data(fitted, days):
    written(without_label(days[1]), "today.csv")
    outcome = run_main("rank", "payments.toprank", "today.csv", "-k", 20, "-o", "alerts.csv")
    assert outcome.exit_code == 0, outcome.stderr
    assert "20 cards listed" in outcome.stderr
    alerts = pd.read_csv("alerts.csv", dtype={"card": str})
    assert alerts["card"].nunique() == len(alerts) == 20
    listed = ["rank", "row", "suspicion", "probability", "reasons", "less_suspicious", "verdict"]
    assert list(alerts.columns) == listed + list(without_label(days[1]).columns)
    assert alerts["card"].str.len().eq(6).all()  # 000012 has not become 12
    assert alerts["verdict"].isna().all()


def test_every_form_of_the_data_gives_the_same_list(fitted, days):
    written(without_label(days[1]), "today.csv")
    without_label(days[1]).to_parquet("today.parquet")
    lists = []
    for name in ("today.csv", "today.parquet"):
        outcome = run_main("rank", "payments.toprank", name, "-k", 20, "--json")
        lists.append([each["row"] for each in json.loads(outcome.stdout)["alerts"]])
    assert lists[0] == lists[1]


def test_ranking_leaves_the_history_as_it_was_unless_asked_to_remember(fitted, days):
    written(without_label(days[1]), "today.csv")
    before = in_files()
    run_main("rank", "payments.toprank", "today.csv")
    run_main("explain", "payments.toprank", "today.csv", "--row", 3)
    assert in_files() == before
    outcome = run_main("rank", "payments.toprank", "today.csv", "--remember")
    assert f"Remembered {len(days[1]):,} rows in payments.history" in outcome.stderr
    assert kept().history.until == days[1]["paid_at"].max().to_datetime64()
    assert kept().rows()["tx"].to_pylist()[-1] == str(days[1]["tx"].iloc[-1])


def test_a_day_remembered_gives_the_features_of_one_long_table(fitted, payments, days):
    written(without_label(days[1]), "today.csv")
    run_main("rank", "payments.toprank", "today.csv", "--remember")
    history = kept().history
    found = history.batch(without_label(days[2]))
    known = payments.assign(is_fraud=payments["is_fraud"].astype("boolean"))
    known.loc[known.index[len(days[0]) :], "is_fraud"] = pd.NA
    whole = History(history.features, time="paid_at", label="is_fraud", row_id="tx").batch(known)
    pd.testing.assert_frame_equal(
        found.to_pandas(),
        whole.to_pandas().tail(len(days[2])).reset_index(drop=True),
        check_exact=False,  # sums of forgotten rows are kept as one number
    )


def test_rows_that_were_remembered_are_recognised_by_their_ids_and_count_once(fitted, days):
    written(without_label(days[1]), "today.csv")
    first = run_main("rank", "payments.toprank", "today.csv", "--remember")
    n_events = kept().history.n_remembered
    again = run_main("rank", "payments.toprank", "today.csv", "--remember")
    assert again.exit_code == 0, again.stderr
    assert again.stdout == first.stdout
    assert f"note: {len(days[1])} rows have the id of an earlier row" in again.stderr
    assert kept().history.n_remembered == n_events
    assert kept().rows().num_rows == len(days[0]) + len(days[1])


def test_a_file_that_goes_a_little_beyond_what_was_remembered_adds_just_that(fitted, days):
    written(without_label(days[1]), "today.csv")
    run_main("rank", "payments.toprank", "today.csv", "--remember")
    written(without_label(pd.concat([days[1], days[2].head(1)])), "more.csv")
    outcome = run_main("rank", "payments.toprank", "more.csv", "--remember")
    assert outcome.exit_code == 0, outcome.stderr
    assert f"{len(days[1])} rows have the id of an earlier row" in outcome.stderr
    assert kept().rows().num_rows == len(days[0]) + len(days[1]) + 1


@pytest.fixture(scope="module")
def without_ids_once(days, tmp_path_factory):
    folder = tmp_path_factory.mktemp("without_ids")
    days[0].drop(columns="tx").to_parquet(folder / "payments.parquet")
    outcome = run_main("fit", folder / "payments.parquet", "--label", "is_fraud", *PAST, *QUICK)
    assert outcome.exit_code == 0, outcome.stderr
    return folder


@pytest.fixture
def without_ids(without_ids_once, tmp_path):
    """A model that knows no ids, in the folder the test runs in."""
    shutil.copytree(without_ids_once, tmp_path, dirs_exist_ok=True)


def test_without_ids_rows_that_were_remembered_are_not_remembered_again(without_ids, days):
    rows = without_label(days[1]).drop(columns="tx")
    written(rows, "today.csv")
    run_main("rank", "payments.toprank", "today.csv", "--remember")
    n_events = kept().history.n_remembered
    outcome = run_main("rank", "payments.toprank", "today.csv", "--remember", "-o", "a.csv")
    assert outcome.exit_code == 1
    assert "rows to remember must be after" in outcome.stderr
    assert "rank them without remembering" in outcome.stderr
    assert not Path("a.csv").exists()
    assert kept().history.n_remembered == n_events
    assert kept().rows().num_rows == len(days[0]) + len(rows)

    more = without_label(pd.concat([days[1], days[2].head(1)])).drop(columns="tx")
    written(more, "more.csv")
    outcome = run_main("rank", "payments.toprank", "more.csv", "--remember")
    assert outcome.exit_code == 1
    assert "were probably remembered before" in outcome.stderr
    assert kept().history.n_remembered == n_events


def test_without_ids_no_row_is_remembered_twice(without_ids, days):
    """Half of the file is known, which was remembered twice with a note."""
    more = without_label(pd.concat([days[0].tail(10), days[1]])).drop(columns="tx")
    written(more, "more.csv")
    n_events = kept().history.n_remembered
    outcome = run_main("rank", "payments.toprank", "more.csv", "--remember")
    assert outcome.exit_code == 1
    assert f"10 of {len(more):,} are, equal in" in outcome.stderr
    assert kept().history.n_remembered == n_events


def test_without_ids_rows_that_may_count_twice_are_noted(without_ids, days):
    written(days[0].tail(50).drop(columns=["tx", "is_fraud"]), "known.csv")
    assert "count twice" in run_main("rank", "payments.toprank", "known.csv").stderr


def test_rows_too_old_for_the_history_are_counted(fitted, days):
    old = days[0].head(200)
    written(old.assign(tx=old["tx"] + 1_000_000), "old.csv")
    outcome = run_main("rank", "payments.toprank", "old.csv")
    assert "note: 200 rows are older than what the history keeps" in outcome.stderr


def test_old_rows_that_the_history_has_already_are_recognised(fitted, days):
    written(days[0].head(200), "old.csv")
    outcome = run_main("rank", "payments.toprank", "old.csv")
    assert "note: 200 rows have the id of an earlier row" in outcome.stderr


def test_the_history_of_another_model_is_refused(fitted, days):
    days[0].to_parquet("other.parquet")
    run_main("fit", "other.parquet", "--label", "is_fraud", *PAST, *QUICK)
    written(without_label(days[1]), "today.csv")
    command = ("rank", "payments.toprank", "today.csv", "--history", "other.history")
    assert "it belongs to another model" in one_sentence(run_main(*command))
    inside = next(Path("other.history").iterdir())
    command = ("rank", "payments.toprank", "today.csv", "--history", inside)
    assert "it belongs to another model" in one_sentence(run_main(*command))
    assert "other.history" in one_sentence(run_main("rank", "other.history", "today.csv"))


def test_a_history_given_for_a_model_is_refused(fitted, days):
    kept().history.save("single.history")
    written(without_label(days[1]), "today.csv")
    sentence = one_sentence(run_main("rank", "single.history", "today.csv"))
    assert "is the history of a model" in sentence


def test_labels_of_another_kind_change_nothing(fitted, days):
    before = in_files()
    verdicts = days[0][["tx"]].assign(is_fraud="fraud")
    written(verdicts, "verdicts.csv")
    sentence = one_sentence(run_main("label", "payments.toprank", "verdicts.csv"))
    assert "must hold True and False; it holds 'fraud'" in sentence
    assert in_files() == before


def test_padded_ids_find_their_rows(days):
    frame = days[0].assign(tx=days[0]["tx"].astype(str).str.zfill(9))
    frame["is_fraud"] = frame["is_fraud"].astype(object)
    frame.loc[frame.index[-500:], "is_fraud"] = None
    written(frame, "payments.csv")
    command = ("fit", "payments.csv", "--label", "is_fraud", *PAST, "--id", "tx", *QUICK)
    assert run_main(*command).exit_code == 0
    written(frame.tail(500)[["tx"]].assign(is_fraud=False), "verdicts.csv")
    outcome = run_main("label", "payments.toprank", "verdicts.csv")
    assert "500 labels: 500 new." in outcome.stderr


def test_a_column_called_as_a_feature_can_be_dropped(days):
    days[0].assign(weekend=1).to_parquet("payments.parquet")
    command = ("fit", "payments.parquet", "--label", "is_fraud", *PAST, *QUICK)
    assert "it has 'weekend'; rename or drop it" in one_sentence(run_main(*command))
    assert run_main(*command, "--drop", "weekend").exit_code == 0


def test_a_folder_that_is_there_already_gets_the_history_and_keeps_the_rest(days):
    days[0].to_parquet("payments.parquet")
    Path("payments.history").mkdir()
    Path("payments.history", "note.txt").write_text("ours")
    outcome = run_main("fit", "payments.parquet", "--label", "is_fraud", *PAST, *QUICK)
    assert outcome.exit_code == 0, outcome.stderr
    assert Path("payments.history", "note.txt").read_text() == "ours"
    assert run_main("rank", "payments.toprank", "payments.parquet").exit_code == 0


def test_a_model_that_cannot_be_written_is_refused_before_the_training(days):
    days[0].to_parquet("payments.parquet")
    Path("payments.toprank").mkdir()
    sentence = one_sentence(run_main("fit", "payments.parquet", "--label", "is_fraud", *PAST))
    assert "payments.toprank must name a file to write; it is a folder" in sentence
    assert not Path("payments.history").exists()


def test_days_between_the_history_and_the_data_are_reported(fitted, days):
    later = without_label(days[2])
    later = later.assign(paid_at=later["paid_at"] + pd.Timedelta(days=5))
    written(later, "later.csv")
    outcome = run_main("rank", "payments.toprank", "later.csv")
    assert "the history ends" in outcome.stderr
    assert "--remember" in outcome.stderr
    written(days[0].tail(50), "known.csv")
    assert "count once" in run_main("rank", "payments.toprank", "known.csv").stderr


def test_labels_that_come_later_raise_the_risk_of_their_terminals(fitted, days):
    written(without_label(days[1]), "today.csv")
    run_main("rank", "payments.toprank", "today.csv", "--remember")
    verdicts = days[1][["tx"]].assign(is_fraud=True, seen=days[1]["paid_at"].max())
    written(verdicts.iloc[:40], "verdicts.csv")
    outcome = run_main("label", "payments.toprank", "verdicts.csv", "--known-at", "seen")
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stderr == "40 labels: 40 new.\n"
    again = run_main("label", "payments.toprank", "verdicts.csv")
    assert again.exit_code == 0
    assert again.stderr == "40 labels: 40 known already.\n"
    after = days[2].assign(paid_at=days[2]["paid_at"] + pd.Timedelta(days=8))
    shops = days[1]["terminal"].iloc[:40]
    rows = after.assign(terminal=shops.iloc[np.arange(len(after)) % 40].to_numpy())
    risk = kept().history.batch(without_label(rows))
    assert min(risk["terminal_risk_30d_delay_7d"].to_pylist()) > 0


def test_evaluate_measures_cards_and_explain_knows_the_past(fitted, days):
    later = pd.concat(days[1:])
    is_large = later["amount"] > later["amount"].quantile(0.99)
    later.assign(is_fraud=later["is_fraud"] | is_large).to_parquet("later.parquet")
    outcome = run_main("evaluate", "payments.toprank", "later.parquet")
    assert outcome.exit_code == 0, outcome.stderr
    assert "Checking 5 cards a day" in outcome.stdout
    figures = json.loads(
        run_main("evaluate", "payments.toprank", "later.parquet", "--json").stdout
    )
    assert figures["card_precision"]["value"] <= figures["card_precision_ceiling"]
    assert figures["money_caught"] <= figures["money_lost"]
    explained = run_main("explain", "payments.toprank", "later.parquet", "--row", 3)
    assert explained.exit_code == 0, explained.stderr
    assert "all other columns" in explained.stdout


def test_features_of_your_own_take_the_place_of_the_usual_ones(days):
    days[0].drop(columns="tx").to_parquet("payments.parquet")
    features = [
        {"kind": "Value", "of": "amount"},
        {"kind": "Recent", "what": "count", "key": ["card", "channel"], "window": "2d"},
    ]
    Path("features.json").write_text(json.dumps(features))
    command = ("fit", "payments.parquet", "--label", "is_fraud", *PAST, *QUICK)
    outcome = run_main(*command, "--features", "features.json")
    assert outcome.exit_code == 0, outcome.stderr
    names = files.load("payments.toprank").schema_.names
    assert sorted(names) == ["amount", "card_and_channel_count_2d", "channel"]
    Path("features.json").write_text('[{"kind": "Recents"}]')
    sentence = one_sentence(run_main(*command, "--features", "features.json"))
    assert "features.json must hold a list of features as JSON" in sentence
    assert "'Recents'" in sentence


def test_a_history_may_lie_elsewhere_and_is_missed_by_name(fitted, days):
    written(without_label(days[1]), "today.csv")
    Path("payments.history").rename("kept.history")
    sentence = one_sentence(run_main("rank", "payments.toprank", "today.csv"))
    assert "there is none at payments.history" in sentence
    assert "--history" in sentence
    named = run_main("rank", "payments.toprank", "today.csv", "--history", "kept.history")
    assert named.exit_code == 0, named.stderr


def test_a_damaged_history_is_reported(fitted, days):
    written(without_label(days[1]), "today.csv")
    (folder,) = Path("payments.history").iterdir()
    (folder / "snapshot-000001").write_bytes(b"no archive")
    sentence = one_sentence(run_main("rank", "payments.toprank", "today.csv"))
    assert "snapshot-000001 cannot be loaded" in sentence
    shutil.rmtree("payments.history")
    Path("payments.history").write_bytes(b"no archive")
    sentence = one_sentence(run_main("rank", "payments.toprank", "today.csv"))
    assert "payments.history cannot be loaded" in sentence


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--card", "card"), "--time must be given with --card"),
        ((*PAST[:4], "--amount", "amount"), "--terminal must be given with --card"),
        (("--delay", 3), "--delay must come with --card"),
        (("--features", "f.json"), "--features must come with --card"),
        ((*PAST, "--id", "card"), "must name different columns"),
        ((*PAST, "--drop", "card"), "--drop must not name a column of --time, --card"),
        ((*PAST, "--cluster", "tcp://a:1"), "--card must be left out with --cluster"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(options, words, days):
    written(days[1], "payments.csv")
    outcome = run_main("fit", "payments.csv", "--label", "is_fraud", *options)
    assert outcome.exit_code == 2
    assert words in outcome.stderr


def test_a_missing_column_of_the_past_is_named(days):
    written(days[1].drop(columns="terminal"), "payments.csv")
    outcome = run_main("fit", "payments.csv", "--label", "is_fraud", *PAST)
    assert "'terminal'" in one_sentence(outcome)


def test_models_without_a_past_know_no_history(days):
    days[0].to_parquet("plain.parquet")
    drop = ("--drop", "card", "--drop", "terminal", "--drop", "tx", "--time", "paid_at")
    assert run_main("fit", "plain.parquet", "--label", "is_fraud", *drop, *QUICK).exit_code == 0
    assert not Path("plain.history").exists()
    outcome = run_main("rank", "plain.toprank", "plain.parquet", "--remember")
    assert outcome.exit_code == 2
    assert "fitted without --card" in outcome.stderr
    Path("a.history").mkdir()
    command = ("rank", "plain.toprank", "plain.parquet", "--history", "a.history")
    sentence = one_sentence(run_main(*command))
    assert "fitted without a card" in sentence
    assert "--history" in sentence
    days[1][["tx", "is_fraud"]].to_parquet("verdicts.parquet")
    sentence = one_sentence(run_main("label", "plain.toprank", "verdicts.parquet"))
    assert "must be fitted with --card and --id" in sentence


def test_rows_out_of_order_are_reported(fitted, days, monkeypatch):
    monkeypatch.setattr("toprank.cli.paths._BATCH_ROWS", 100)
    pq.write_table(pq.read_table(_parquet(without_label(days[1]).iloc[::-1])), "backwards.parquet")
    outcome = run_main("rank", "payments.toprank", "backwards.parquet")
    assert outcome.stderr.count("should be in order of 'paid_at'") == 1


def _parquet(frame):
    frame.to_parquet("frame.parquet")
    return "frame.parquet"
