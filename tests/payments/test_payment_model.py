"""The payment model: one list in Python, by the command line and payment by payment."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from cli.running import run_main
from payments.payment_days import (
    N_LATER,
    as_frame,
    bytes_in,
    copied,
    joined,
    listed,
    made_days,
    new_model,
    unlabelled,
)
from toprank.data.tables import TableError, TableWarning
from toprank.payments.features import LabelRisk, Recent, Value
from toprank.payments.ledger.holding import LAST_KNOWN
from toprank.payments.new_version import refit
from toprank.payments.payment_model import PaymentModel
from toprank.workflow import evaluation

FIT = ("--label", "is_fraud", "--time", "paid_at", "--card", "card", "--terminal", "terminal")
FIT += ("--amount", "amount", "--id", "tx", "-k", 5, "--trees", 20, "--minutes", 0.0001)
FIT += ("--jobs", 1)


@pytest.fixture(scope="module")
def days():
    return made_days()


@pytest.fixture(scope="module")
def known(days):
    return joined(days[:-N_LATER])


@pytest.fixture(scope="module")
def today(days):
    return unlabelled(days[-N_LATER])


@pytest.fixture(scope="module")
def saved(known, tmp_path_factory):
    """The folder of a model that is saved; nobody may write there."""
    folder = tmp_path_factory.mktemp("saved")
    model = new_model().fit(known)
    model.save(folder / "payments.toprank")
    model.close()
    return folder


@pytest.fixture
def path(saved, tmp_path):
    return copied(saved, tmp_path / "copy")


@pytest.fixture
def model(path):
    with PaymentModel.load(path, for_writing=True) as model:
        yield model


# One list


@pytest.mark.parametrize("suffix", ["csv", pytest.param("parquet", marks=pytest.mark.slow)])
def test_python_command_line_and_one_at_a_time_give_the_same_list_to_the_last_bit(
    known, today, path, tmp_path, monkeypatch, suffix
):
    monkeypatch.chdir(tmp_path)
    in_memory = new_model().fit(known)
    by_python = listed(in_memory.rank(today, 8))
    without_past = listed(in_memory.rank(today, 8, compare_past=False))

    with PaymentModel.load(path) as loaded:
        assert listed(loaded.rank(today, 8)) == by_python
    for name, table in (("payments", known), ("today", today)):
        if suffix == "csv":
            as_frame(table).to_csv(f"{name}.csv", index=False)
        else:
            pq.write_table(table, f"{name}.parquet")
    fitted = run_main("fit", f"payments.{suffix}", *FIT, "-o", f"{suffix}.toprank")
    assert fitted.exit_code == 0, fitted.stderr
    assert rows_of_command(f"{suffix}.toprank", f"today.{suffix}", 8) == by_python
    assert one_at_a_time(in_memory, today, 8) == without_past
    assert without_past[:3] == by_python[:3]


def rows_of_command(model, data, k):
    outcome = run_main("rank", model, data, "-k", k, "--json")
    assert outcome.exit_code == 0, outcome.stderr
    alerts = json.loads(outcome.stdout)["alerts"]
    why = [[(each["text"], each["contribution"]) for each in row["reasons"]] for row in alerts]
    return *([row[name] for row in alerts] for name in ("row", "suspicion", "probability")), why


def one_at_a_time(model, table, k):
    """The list made of scores that were given payment by payment, each then remembered."""
    rows = table.to_pylist()
    scores = [model.score(row, remember=True) for row in rows]
    falling = sorted(range(len(rows)), key=lambda i: -scores[i].suspicion)
    best = {}
    for i in falling:
        best.setdefault(rows[i]["card"], i)
    top = list(best.values())[:k]
    return (
        [i + 1 for i in top],
        [scores[i].suspicion for i in top],
        [scores[i].probability for i in top],
        [[(str(each), each.contribution) for each in scores[i].reasons] for i in top],
    )


def test_a_score_sees_what_was_remembered_whether_kept_in_memory_or_in_a_folder(
    known, days, model
):
    in_memory = new_model().fit(known)
    for day in days[-N_LATER:]:
        rows = unlabelled(day)
        expected = in_memory.ranker_.suspicion(in_memory.with_features(rows))
        assert [model.score(row, remember=True).suspicion for row in rows.to_pylist()] == (
            expected.tolist()
        )
        in_memory.remember(rows)


def test_tables_one_after_the_other_give_the_list_of_one(model, today):
    whole = listed(model.rank(today, 8))
    parts = [today.slice(0, 7), today.slice(7, 11), today.slice(18)]
    assert listed(model.rank(parts, 8)) == whole
    assert listed(model.rank(iter(parts), 8)) == whole


# What is kept


def test_nothing_but_remember_and_label_changes_the_history(path, days, today):
    before = bytes_in(path.parent)
    with PaymentModel.load(path, for_writing=True) as model:
        model.rank(today, 5)
        model.score(today.to_pylist()[0])
        model.evaluate(joined(days[-N_LATER:]))
        model.explain(today, 3)
        model.explain(today, 3, above=4)
        model.with_features(today)
        first = listed(model.rank(today, 5))
        assert listed(model.rank(today, 5)) == first
    assert bytes_in(path.parent) == before
    with PaymentModel.load(path, for_writing=True) as model:
        model.remember(today)
    assert bytes_in(path.parent) != before


def test_remembering_is_there_when_the_model_is_loaded_again(path, days, today):
    with PaymentModel.load(path, for_writing=True) as model:
        model.rank(today, 5, remember=True)
        tomorrow = listed(model.rank(unlabelled(days[-2]), 5))
    with PaymentModel.load(path) as again:
        assert listed(again.rank(unlabelled(days[-2]), 5)) == tomorrow
        assert again.state_.history.until == max(today["paid_at"].to_numpy())


def test_a_payment_sent_again_counts_once(model, today):
    row = today.to_pylist()[-1]
    first = model.score(row, remember=True)
    n_events, n_rows = model.state_.history.n_remembered, model.state_.rows().num_rows
    for _ in range(3):
        assert model.score(row, remember=True) == first
    with pytest.warns(TableWarning, match="1 rows have the id of an earlier row"):
        model.remember(today.slice(today.num_rows - 1))
    assert model.state_.history.n_remembered == n_events
    assert model.state_.rows().num_rows == n_rows


@pytest.mark.parametrize("take_in", [False, True])
def test_a_payment_that_cannot_be_scored_is_not_remembered(model, today, take_in):
    payment = {**today.to_pylist()[0], "tx": "odd"}
    column = next(each for each in model.schema_.names if each not in model.state_.history.names)
    lacking = {name: value for name, value in payment.items() if name != column}
    before = model.state_.history.n_remembered
    for row, n_reasons in ((lacking, 5), (payment, -1)):
        with pytest.raises(ValueError, match=r"column|n_reasons"):
            if take_in:
                model.take_in(row, n_reasons=n_reasons)
            else:
                model.score(row, n_reasons=n_reasons, remember=True)
    assert model.state_.history.n_remembered == before


def test_labels_of_another_length_are_refused_and_the_model_still_works(model, known):
    ids = known["tx"].to_pylist()[-2:]
    with pytest.raises(ValueError, match="each id must have one label; got 2 ids and 1 labels"):
        model.label(ids, [True])
    with pytest.raises(ValueError, match="one for each of the 2 ids; got 1"):
        model.label(ids, [True, False], known_at=["2030-01-01"])
    assert model.label(ids, [True, False]).n_unknown == 0


def test_ids_of_several_types_in_one_list_find_their_payments(model, today):
    model.remember(today.slice(0, 1).set_column(
        today.column_names.index("tx"), "tx", pa.array(["712"])
    ))  # fmt: skip
    assert model.label([712, "712", 712.0], [True] * 3).n_unknown == 0


def test_a_model_with_the_name_of_a_version_keeps_the_history_of_the_other(path, known):
    for _ in range(3):
        other = new_model().fit(known)
        other.save(path.with_name("payments.v2.toprank"))
        other.close()
    assert PaymentModel.load(path).state_ is not None


def test_in_memory_a_payment_sent_again_is_kept_once(known, today):
    model = new_model().fit(known)
    n_events = model.state_.history.n_remembered
    row = today.to_pylist()[0]
    for _ in range(3):
        model.score(row, remember=True)
    assert model.state_.rows()["tx"].to_pylist() == [*known["tx"].to_pylist(), row["tx"]]
    assert model.state_.history.n_remembered > n_events


def test_tables_are_remembered_all_or_none(known, today, path):
    odd = today.drop_columns(["amount"])
    in_memory = new_model().fit(known)
    before = listed(in_memory.rank(today, 5))
    n_rows = in_memory.state_.rows().num_rows
    with pytest.raises(ValueError, match="amount"):
        in_memory.remember([today.slice(0, 9), odd])
    assert listed(in_memory.rank(today, 5)) == before
    assert in_memory.state_.rows().num_rows == n_rows

    files = bytes_in(path.parent)
    with PaymentModel.load(path, for_writing=True) as model:
        with pytest.raises(ValueError, match="amount"):
            model.remember([today.slice(0, 9), odd])
        assert listed(model.rank(today, 5)) == before
    assert bytes_in(path.parent) == files
    with PaymentModel.load(path, for_writing=True) as model:
        with pytest.raises(TableError, match="channel"):
            model.rank([today.slice(0, 9), today.drop_columns(["channel"])], remember=True)
        assert listed(model.rank(today, 5)) == before
        model.remember(today)  # the failure before does not matter
        assert model.state_.history.n_repeated == 0


def test_without_ids_rows_that_were_probably_remembered_before_are_refused(known, today):
    model = new_model(row_id=None).fit(known.drop_columns(["tx"]))
    rows = today.drop_columns(["tx"])
    model.remember(rows)
    n_events = model.state_.history.n_remembered
    with pytest.raises(ValueError, match="were probably remembered before"):
        model.remember(rows)
    assert model.state_.history.n_remembered == n_events


# Files


def test_all_parameters_come_back(known, tmp_path):
    frame = as_frame(known)
    frame["outcome"] = np.where(frame.pop("is_fraud"), "bad", "good")
    features = [
        Value("amount"),
        Recent("count", ("card", "channel"), "2d"),
        LabelRisk("share", "terminal", "10d", "5d"),
    ]
    given = new_model(
        label_column="outcome", positive_label="bad", features=features, gap="3d", delay="5d",
        drop=["channel2"], losses=["log"], random_state=4,
    )  # fmt: skip
    given.fit(frame.assign(channel2="x"))
    given.save(tmp_path / "payments.toprank")
    with PaymentModel.load(tmp_path / "payments.toprank") as loaded:
        assert loaded.classes_ == given.classes_ == ("bad", "good")
        expected, found = given.get_params(deep=False), loaded.get_params(deep=False)
        assert found.pop("gap") == np.timedelta64(3, "D")
        assert list(found.pop("features")) == features
        assert list(found.pop("drop")) == ["channel2"]
        assert list(found.pop("losses")) == ["log"]
        del found["n_jobs"]  # the machine's, not the model's
        assert found == {name: expected[name] for name in found}
        rows = frame.tail(30).drop(columns="outcome")
        assert listed(loaded.rank(rows, 5)) == listed(given.rank(rows, 5))
        again = tmp_path / "again"
        again.mkdir()
        loaded.save(again / "payments.toprank")
    with PaymentModel.load(again / "payments.toprank") as moved:  # its history is there as well
        assert list(moved.drop) == ["channel2"]
        assert moved.gap == np.timedelta64(3, "D")
        assert listed(moved.rank(rows, 5)) == listed(given.rank(rows, 5))
        assert moved.state_.rows().num_rows == given.state_.rows().num_rows
    given.close()


def test_labels_given_before_saving_are_in_the_ledger_afterwards(known, tmp_path):
    model = new_model().fit(known)
    last = known["tx"].to_pylist()[-2:]
    model.label(last, [True, False], who="Ada")
    model.save(tmp_path / "payments.toprank")
    model.close()
    with PaymentModel.load(tmp_path / "payments.toprank", for_writing=True) as loaded:
        assert loaded.state_.ledger.as_known(LAST_KNOWN, last).is_positive.tolist() == [
            True,
            False,
        ]
        assert loaded.label(last, [True, False])[:3] == (0, 0, 2)
        assert len(loaded.known_cards().blocked) == 1


def test_a_model_without_its_history_names_what_is_missing(path, tmp_path):
    (path.parent / "payments.history").rename(tmp_path / "kept.history")
    with pytest.raises(
        FileNotFoundError, match="needs the history of its cards, and there is none"
    ):
        PaymentModel.load(path)
    with PaymentModel.load(path, history=tmp_path / "kept.history") as model:
        assert model.state_ is not None


def test_the_history_of_another_model_is_refused(path, known, tmp_path):
    other = new_model().fit(known)
    other.save(tmp_path / "other.toprank")
    other.close()
    with pytest.raises(ValueError, match="it belongs to another model"):
        PaymentModel.load(path, history=other.state_.folder)


def test_a_model_saved_over_another_replaces_it_with_a_history_of_its_own(path, known, today):
    with PaymentModel.load(path, for_writing=True) as model:
        model.remember(today)
    for _ in range(3):
        new = new_model().fit(known)
        new.save(path)
        new.close()
    folders = [each.name for each in (path.parent / "payments.history").iterdir()]
    assert len(folders) == 2  # its own, and the one before
    assert new.state_.history.id in folders
    with PaymentModel.load(path) as loaded:
        assert loaded.state_.history.until == max(known["paid_at"].to_numpy())


# Without a card


def test_without_a_card_it_is_a_plain_ranker(known, today, tmp_path):
    plain = known.select(["amount", "channel", "is_fraud"])
    model = PaymentModel("is_fraud", budget=4, n_estimators=20, time_limit=0.01, n_jobs=1)
    model.fit(plain)
    assert model.state_ is None
    alerts = model.rank(today)
    assert len(alerts.suspicion) == 4
    assert alerts.cleared is None
    row = today.to_pylist()[alerts.row_numbers[0] - 1]
    score = model.score(row)
    assert (score.suspicion, score.probability) == (alerts.suspicion[0], alerts.probability[0])
    model.save(tmp_path / "plain.toprank")
    assert [each.name for each in tmp_path.iterdir()] == ["plain.toprank"]
    with PaymentModel.load(tmp_path / "plain.toprank") as loaded:
        assert listed(loaded.rank(today)) == listed(alerts)
    with pytest.raises(ValueError, match="without a card and has no history"):
        PaymentModel.load(tmp_path / "plain.toprank", history=tmp_path)
    with pytest.raises(ValueError, match=r"fitted with card .*row_id"):
        model.label(["0000001"], [True])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"card": None}, "terminal must come with card"),
        ({"card": None, "terminal": None, "amount": None}, "row_id must come with card"),
        ({"terminal": None}, "terminal must be given with card"),
        ({"time": None}, "time must be given with card"),
        ({"terminal": "card"}, "each role must have a column of its own"),
        ({"drop": ["cannel"]}, "'cannel'.*did you mean 'channel'"),
    ],
)
def test_parameters_that_do_not_fit_together_are_refused(known, changes, words):
    with pytest.raises(ValueError, match=words):
        new_model(**changes).fit(known.slice(0, 50))


@pytest.mark.parametrize("k", [0, -1])
def test_a_list_of_nothing_is_refused(model, today, k):
    with pytest.raises(ValueError, match="budget must be"):
        model.rank(today, k)


# Measuring and explaining


def test_evaluate_is_measuring_the_scores_by_hand(model, days):
    rows = joined(days[-N_LATER:])
    found = model.evaluate([rows.slice(0, 40), rows.slice(40)], 3)
    by_hand = evaluation.evaluate_rows(
        model.ranker_,
        rows,
        model.ranker_.suspicion(model.with_features(rows)),
        label="is_fraud",
        time="paid_at",
        budget=3,
        card="card",
        amount="amount",
    )
    assert found.average_precision == by_hand.average_precision
    assert found.roc_auc == by_hand.roc_auc
    assert found.is_positive.tolist() == rows["is_fraud"].to_pylist()


def test_rows_without_times_are_one_list_with_a_warning(known, days):
    model = PaymentModel("is_fraud", time="paid_at", n_estimators=20, time_limit=0.01, n_jobs=1)
    model.fit(known.drop_columns(["card", "terminal", "tx"]))
    with pytest.warns(TableWarning, match="there is no column 'paid_at'"):
        model.evaluate(joined(days[-N_LATER:]).drop_columns(["paid_at"]), 3)


def test_explain_has_the_reasons_of_the_list_among_its_own(model, today):
    alerts = model.rank(today, 3, compare_past=False)
    first = int(alerts.row_numbers[0]) - 1
    explained = model.explain(today, first, n_reasons=100)
    assert all(reason in explained for reason in alerts.reasons[0] + alerts.less_suspicious[0])
    said = [str(reason) for reason in explained]
    assert all(any(each in text for text in said) for each in alerts.together[0])
    last = int(np.argmin(model.ranker_.suspicion(model.with_features(today))))
    differences = model.explain(today, first, above=last, n_reasons=3)
    assert 1 <= len(differences) <= 3


# Labels and known cards


def test_labels_by_id_are_new_corrected_known_or_unknown(model, today):
    model.remember(today)
    ids = today["tx"].to_pylist()
    counts = model.label([ids[0], ids[1], "nobody"], [True, False, True])
    assert counts == (2, 0, 0, 1, (2,), 0)
    assert model.label(ids[:2], [True, True])[:4] == (0, 1, 1, 0)
    newest = max(today["paid_at"].to_numpy())
    as_known = model.state_.ledger.as_known(LAST_KNOWN, ids[:2])
    assert as_known.known.tolist() == [newest.astype("datetime64[us]").item()] * 2
    assert as_known.is_positive.tolist() == [True, True]


def test_in_memory_each_label_keeps_its_own_time_where_some_ids_are_unknown(known):
    model = new_model().fit(known)
    ids = known["tx"].to_pylist()[-2:]
    times = np.array(["2030-01-01", "2030-01-02", "2030-01-03"], "datetime64[us]")
    counts = model.label([ids[0], "nobody", ids[1]], [True, True, False], known_at=times)
    assert counts.n_unknown == 1
    as_known = model.state_.ledger.as_known(LAST_KNOWN, ids)
    assert [str(each)[:10] for each in as_known.known] == ["2030-01-01", "2030-01-03"]


def test_labels_find_old_payments_whatever_the_features_are(known, tmp_path):
    features = [Value("amount"), Recent("count", "terminal", "1d")]  # none of labels or cards
    model = new_model(features=features).fit(known)
    model.save(tmp_path / "payments.toprank")
    first = known.to_pylist()[0]
    assert model.label([first["tx"]], [True]).n_unknown == 0
    assert model.known_cards().blocked == {first["card"]}
    model.close()


def test_cards_known_as_fraud_leave_the_list_and_come_back_when_corrected(model, days, today):
    first = model.rank(today, 3)
    cards = first.rows["card"].to_pylist()
    past = joined(days[:-N_LATER]).to_pylist()
    row_id = next(row["tx"] for row in past if row["card"] == cards[0])
    model.label([row_id], [True])

    alerts = model.rank(today, 3)
    assert model.known_cards().blocked == {cards[0]}
    assert alerts.rows["card"].to_pylist()[:2] == cards[1:]
    n_of_card = today["card"].to_pylist().count(cards[0])
    assert alerts.n_left_out == n_of_card

    model.label([row_id], [False])
    again = model.rank(today, 3)
    assert again.rows["card"].to_pylist() == cards
    assert not np.isnat(again.cleared[0])  # the investigator changed his mind today
    assert np.isnat(again.cleared[1:]).all()


def test_labels_of_fit_block_no_card(model, known):
    assert any(known["is_fraud"].to_pylist())
    assert model.known_cards().blocked == frozenset()


def test_cards_cleared_within_the_time_are_flagged_and_not_after(model, known, today):
    alerts = model.rank(today, 2)
    card = alerts.rows["card"][0].as_py()
    until = model.state_.history.until
    rows = [row for row in known.to_pylist() if row["card"] == card]
    model.label([rows[-1]["tx"]], [False], known_at=until - np.timedelta64(13, "D"))
    marked = model.rank(today, 2)
    assert marked.cleared[0] == until - np.timedelta64(13, "D")
    assert "cleared" in marked.to_table().column_names
    within = model.rank(today, 2, cleared_within="12d")
    assert np.isnat(within.cleared).all()
    assert "cleared" not in within.to_table().column_names


def test_a_claim_that_a_payment_was_genuine_clears_no_card(model, known):
    model.label([known["tx"][-1].as_py()], [False], source="claim")
    assert model.known_cards().cleared == {}


def test_all_cards_known_as_fraud_give_an_empty_list(model, known, today):
    rows = pd.DataFrame(known.to_pydict()).drop_duplicates("card")
    model.label(rows["tx"].to_numpy(), np.ones(len(rows), bool))
    only = today.filter(pa.array(np.isin(today["card"].to_pylist(), rows["card"])))
    alerts = model.rank(only, 5)
    assert len(alerts.suspicion) == 0
    assert alerts.n_left_out == only.num_rows
    assert alerts.to_table(for_verdicts=True).num_rows == 0


# Several threads


@pytest.mark.parametrize("is_saved", [False, True])
def test_threads_that_score_at_once_get_what_one_thread_gets(known, today, path, is_saved):
    model = PaymentModel.load(path, for_writing=True) if is_saved else new_model().fit(known)
    with model:
        rows = today.to_pylist()[:60]
        alone = [model.score(row).suspicion for row in rows]
        with ThreadPoolExecutor(4) as pool:
            together = [each.suspicion for each in pool.map(model.score, rows * 3)]
        assert together == alone * 3


# In words


def test_reasons_compare_a_row_with_its_card_and_with_others(model, today):
    alerts = model.rank(today, 10)
    texts = [str(reason) for row in alerts.reasons for reason in row]
    assert any("; this card: " in text for text in texts)
    assert any("; others: " in text for text in texts)
    assert not any("_" in text for text in texts)
    own = {reason.feature for row in alerts.reasons for reason in row if reason.own}
    assert not any(name.startswith("terminal_") for name in own)


def test_names_in_words_are_saved_with_the_model(known, today, tmp_path):
    names = {"amount": "price", "card": "client"}
    new_model(names=names).fit(known).save(tmp_path / "m.toprank")
    with PaymentModel.load(tmp_path / "m.toprank") as loaded:
        assert loaded.names == names
        texts = [str(each) for row in loaded.rank(today, 10).reasons for each in row]
    assert any("price" in text for text in texts)
    assert any("this client" in text for text in texts)


@pytest.mark.parametrize("remember", [False, True])
def test_recent_payments_are_those_of_the_card_with_what_is_known_of_them(
    remember, model, known, today
):
    alerts = model.rank(today, 5, remember=remember)
    found = model.recent_payments(alerts, 30, [] if remember else [today])
    both = pa.concat_tables([known, today], promote_options="default")
    for fact, rows in zip(alerts.facts.to_pylist(), found, strict=True):
        since = fact["time"] - timedelta(days=30)
        expected = [
            (row["tx"], row["is_fraud"])
            for row in both.sort_by("paid_at").to_pylist()
            if row["card"] == fact["card"] and row["paid_at"] > since
        ]
        assert [(row["tx"], row["is_fraud"]) for row in rows.to_pylist()] == expected


def test_recent_payments_know_the_verdicts_of_the_ledger(model, known, today):
    alerts = model.rank(today, 1)
    card = alerts.facts["card"][0].as_py()
    own = known.filter(pc.equal(known["card"], card)).sort_by("paid_at")
    last, was = own["tx"][-1].as_py(), own["is_fraud"][-1].as_py()
    model.label([last], [not was])
    (rows,) = model.recent_payments(alerts, 400)
    said = dict(zip(rows["tx"].to_pylist(), rows["is_fraud"].to_pylist(), strict=True))
    assert said[last] is not was


def test_cards_are_ranked_by_a_loss_of_cards_in_python_and_by_the_command_line(
    known, today, tmp_path
):
    model = new_model(loss="ap-card", time_limit=None).fit(known)
    assert model.training_.chosen.name == "log-loss + ap-card trees"
    model.save(tmp_path / "cards.toprank")
    expected = model.rank(today, 5).rows
    model.close()
    with PaymentModel.load(tmp_path / "cards.toprank", for_writing=True) as loaded:
        assert loaded.loss == loaded.ranker_.loss == "ap-card"
        assert loaded.rank(today, 5).rows.equals(expected)
        again = refit(loaded)
        assert again.model.ranker_.loss == "ap-card"
    as_frame(known).to_csv(tmp_path / "known.csv", index=False)
    options = [each for each in FIT if each not in ("--minutes", 0.0001)]
    output = ("-o", tmp_path / "cli.toprank")
    outcome = run_main("fit", tmp_path / "known.csv", *options, "--loss", "ap-card", *output)
    assert outcome.exit_code == 0, outcome.stderr
    assert "log-loss + ap-card trees" in outcome.stdout


def test_a_loss_of_cards_needs_cards(known):
    with pytest.raises(ValueError, match="`card` and `time` must be given"):
        PaymentModel("is_fraud", time="paid_at", loss="ap-card", n_jobs=1).fit(known)
