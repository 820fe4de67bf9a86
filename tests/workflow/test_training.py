"""Training: parts that never look ahead, the choice between candidates, and names in errors."""

import copy
import itertools
import warnings
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from examples import examples
from toprank import BoostedRanker, MetaAP, RankForest, TreeRank
from toprank.calibration import fit_calibration
from toprank.data.tables import TableError, values
from toprank.registry import fit_choices
from toprank.workflow import backtest, training
from toprank.workflow.backtest import ENOUGH_POSITIVES
from toprank.workflow.task import MoreRows, Task, prepare
from toprank.workflow.training import PLAIN, train

START = np.datetime64("2025-01-01T00:00", "s")
DAY = np.timedelta64(1, "D")
FAST = {"n_estimators": 12, "n_jobs": 1}


def payments(n=1200, seed=0):
    """Payments over 40 days in no order, some without a label."""
    generator = np.random.default_rng(seed)
    amount = generator.gamma(2.0, 40.0, n)
    is_fraud = amount + 30 * generator.normal(size=n) > 190
    outcome = np.where(is_fraud, "fraud", "genuine").astype(object)
    outcome[generator.random(n) < 0.05] = None
    seconds = generator.integers(0, 40 * 86_400, n)
    return pa.table(
        {
            "paid_at": START + seconds,
            "card": [f"c{i % 70}" for i in range(n)],
            "amount": amount,
            "country": generator.choice(["FR", "DE", "US"], n, p=[0.8, 0.1, 0.1]),
            "outcome": pa.array(outcome, pa.string()),
        }
    )


def prepared(table=None, **options):
    settings_ = {"time": "paid_at", "drop": ["card"], **options}
    return prepare(payments() if table is None else table, "outcome", **settings_)


def tried(outcome):
    """What the account says, but for the seconds."""
    account = outcome.ranker.account_
    lines = [(each.words, each.average_precision, each.lead) for each in account.tried]
    return lines, account.winner, account.reason


@pytest.fixture(scope="module")
def trained():
    return train(prepared(), 5, **FAST)


def test_the_task_holds_the_labelled_rows_without_label_time_and_dropped_columns():
    table = payments()
    task = prepared(table)
    texts = np.array(table["outcome"].to_pylist(), dtype=object)
    known = np.flatnonzero(texts != None)  # noqa: E711
    assert task.features.column_names == ["amount", "country"]
    assert task.features.equals(table.select(["amount", "country"]).take(known))
    assert (task.positive, task.negative) == ("fraud", "genuine")
    assert np.array_equal(task.is_positive, texts[known] == "fraud")
    assert np.array_equal(task.row_numbers, known + 1)
    assert task.n_unlabelled == table.num_rows - known.size > 0
    assert np.array_equal(task.time, table["paid_at"].to_numpy()[known])


@examples(30)
@given(st.integers(0, 10_000), st.sampled_from([None, 0, 3]))
def test_every_part_comes_after_the_one_before(seed, gap_days):
    gap = None if gap_days is None else gap_days * DAY
    task = prepared(payments(seed=seed), gap=gap)
    train_times, validation_times, test_times = (
        task.time[rows] for rows in task.split.parts().values()
    )
    assert train_times.max() < validation_times.min()
    assert validation_times.max() < test_times.min()
    assert test_times.min() - validation_times.max() >= (gap_days or 0) * DAY


def test_nothing_that_comes_later_changes_what_is_learned(trained):
    """Test rows are turned upside down: trees, calibration and choice stay the same."""
    task, test = trained.task, trained.task.split.test
    amount = task.features["amount"].to_numpy().copy()
    amount[test] = -amount[test]
    is_positive = task.is_positive.copy()
    is_positive[test] = ~is_positive[test]
    changed = Task(
        task.features.set_column(0, "amount", [amount]),
        is_positive,
        *(task.positive, task.negative, task.time, task.split, task.row_numbers),
        task.n_unlabelled,
    )
    again = train(changed, 5, **FAST)
    rows = task.rows("train")[0]
    for one, other in zip(trained.candidates, again.candidates, strict=True):
        assert one.name == other.name
        assert np.array_equal(one.ranker.suspicion(rows), other.ranker.suspicion(rows))
        assert one.ranker.calibration_ == other.ranker.calibration_
    assert tried(trained) == tried(again)


@pytest.mark.parametrize("as_dictionary", [False, True])
def test_no_category_is_learned_from_the_test_rows(as_dictionary):
    task = prepared()
    country = np.array(task.features["country"].to_pylist(), dtype=object)
    country[task.split.validation[0]] = "only in validation"
    country[task.split.test[0]] = "only in test"
    column = pa.array(country, pa.string())
    column = column.dictionary_encode() if as_dictionary else column
    features = task.features.set_column(1, "country", [column])
    task = replace(task, features=features)
    for candidate in train(task, 5, **FAST).candidates:
        known = candidate.ranker.schema_.columns[1].categories
        assert set(known) - {"only in validation"} == {"DE", "FR", "US"}


def test_the_labels_of_a_part_are_those_of_the_table():
    table = payments()
    task = prepared(table)
    features, labels = task.rows("validation")
    rows = task.row_numbers[task.split.validation] - 1
    assert labels.tolist() == table["outcome"].take(rows).to_pylist()
    assert features.equals(table.select(["amount", "country"]).take(rows))
    assert np.array_equal(
        task.days("validation"), (table["paid_at"].to_numpy()[rows] - START) // DAY
    )


@pytest.mark.parametrize(
    ("names", "positive"),
    [
        ((False, True), True),
        ((0, 1), 1),
        ((2, 0), 0),
        ((0.0, 1.0), 1),
        ((0.0, 1.5), "1.5"),
        ((Decimal(0), Decimal(1)), 1),
        (("no", "yes"), "yes"),
    ],
    ids=str,
)
def test_labels_of_any_type_are_ranked_by_what_names_itself_or_is_rarer(names, positive):
    table = payments(600)
    texts = table["outcome"].to_pylist()
    values = [None if text is None else names[text == "fraud"] for text in texts]
    table = table.set_column(4, "outcome", [pa.array(values)])
    outcome = train(prepared(table), 5, **FAST)
    ranker = outcome.chosen.ranker
    assert outcome.task.positive == positive
    assert ranker.positive_label_ == positive
    assert outcome.chosen.test.roc_auc.value > 0.8


def test_a_named_positive_label_turns_the_task_around():
    task = prepared(positive_label="genuine")
    assert (task.positive, task.negative) == ("genuine", "fraud")
    assert task.is_positive.mean() > 0.5
    assert train(task, 5, **FAST).chosen.test.roc_auc.value > 0.8


def test_without_times_the_parts_are_drawn_with_equal_shares_of_positives():
    task = prepared(time=None, drop=["card", "paid_at"])
    assert task.time is None
    assert task.days("test") is None
    shares = [task.is_positive[rows].mean() for rows in task.split.parts().values()]
    assert shares == approx([task.is_positive.mean()] * 3, abs=0.01)
    again = prepared(time=None, drop=["card", "paid_at"])
    other = prepared(time=None, drop=["card", "paid_at"], random_state=1)
    assert np.array_equal(task.split.test, again.split.test)
    assert not np.array_equal(task.split.test, other.split.test)
    assert train(task, 5, **FAST).chosen.test.day is None


def test_the_same_seed_gives_the_same_training(trained):
    again = train(prepared(), 5, **FAST)
    assert [each.name for each in trained.candidates] == [each.name for each in again.candidates]
    for one, other in zip(trained.candidates, again.candidates, strict=True):
        assert np.array_equal(one.test.suspicion, other.test.suspicion)
        assert one.test.found == other.test.found
    assert tried(trained) == tried(again)


def test_the_figures_are_those_of_the_test_rows(trained):
    task = trained.task
    features, labels = task.rows("test")
    for candidate in trained.candidates:
        assert np.array_equal(candidate.test.suspicion, candidate.ranker.suspicion(features))
        assert np.array_equal(candidate.test.is_positive, labels == "fraud")
        assert np.array_equal(candidate.test.day, task.days("test"))
        assert candidate.test.probability == approx(candidate.ranker.probability(features))
        assert candidate.test.budget == 5


def slope():
    """A line across two columns, which trees can only climb in steps."""
    features = np.random.default_rng(0).normal(size=(1500, 2))
    table = pa.table({"a": features[:, 0], "b": features[:, 1], "y": features.sum(axis=1) > 2.8})
    return prepare(table, "y")


@pytest.mark.parametrize(("time_limit", "is_measured"), [(39, False), (41, True)])
def test_plain_log_loss_is_left_out_if_it_would_exceed_the_time_limit(
    monkeypatch, time_limit, is_measured
):
    # every look at the clock is 10 seconds later, so that the refit takes 10
    moments = itertools.count(0, 10)
    monkeypatch.setattr(training, "clock", SimpleNamespace(monotonic=lambda: next(moments)))
    outcome = train(slope(), 10, **FAST, time_limit=time_limit)
    names = [each.name for each in outcome.candidates]
    assert names == [outcome.ranker.account_.chosen.name, *([PLAIN] if is_measured else [])]


def test_plain_log_loss_is_shown_next_to_another_winner():
    outcome = train(slope(), 10, **FAST)
    assert not outcome.ranker.account_.is_plain
    assert [each.name for each in outcome.candidates] == [
        outcome.ranker.account_.chosen.name,
        PLAIN,
    ]
    assert outcome.chosen.ranker.account_ == outcome.ranker.account_


def test_plain_log_loss_is_shown_alone_when_nothing_leads_it():
    generator = np.random.default_rng(0)
    flag = generator.random(400) < 0.2
    table = pa.table({"flag": flag, "y": flag & (generator.random(400) < 0.7)})
    outcome = train(prepare(table, "y"), 10, **FAST)
    assert outcome.ranker.account_.is_plain
    assert [each.name for each in outcome.candidates] == [PLAIN]


def test_recipes_are_judged_in_time_before_the_test_and_the_winner_learns_from_all_of_that(
    trained,
):
    assert trained.ranker.account_.judged_on == "2 later windows, resampled by day"
    task = trained.task
    judged = task.rows_in("train", "validation")[trained.chosen.ranker.judged_.row]
    assert np.unique(judged).size == judged.size
    assert task.time[judged].max() == task.split.periods["validation"][1]
    features, labels = task.rows("train", "validation")
    assert features.num_rows == task.split.train.size + task.split.validation.size
    plain = trained.candidates[-1]
    assert plain.name == PLAIN
    again = BoostedRanker("log", positive_label="fraud", **FAST).fit(features, labels)
    assert np.array_equal(plain.ranker.suspicion(features), again.suspicion(features))


# Ranking trees

TREES = {"metaap": MetaAP, "treerank": TreeRank, "rank-forest": RankForest}


@pytest.fixture(
    scope="module",
    params=["treerank", "rank-forest", pytest.param("metaap", marks=pytest.mark.slow)],
)
def grown(request):
    return request.param, train(prepared(payments(900)), 5, learner=request.param, **FAST)


def test_every_learner_but_auto_is_a_tree_or_a_forest():
    assert ["auto", *TREES] == list(fit_choices())


def test_a_tree_comes_before_plain_log_loss_and_has_no_account(grown):
    learner, outcome = grown
    assert type(outcome.ranker) is TREES[learner]
    assert type(outcome.chosen.ranker) is TREES[learner]
    assert [each.name for each in outcome.candidates][1:] == [PLAIN]
    assert outcome.account is None
    assert outcome.chosen.test.roc_auc.value > 0.8


def test_a_tree_learns_from_validation_too_but_its_probabilities_from_train_alone(grown):
    learner, outcome = grown
    measured = outcome.chosen.ranker
    task, kept = outcome.task, measured.get_params(deep=False)
    again = TREES[learner](**kept).fit(*task.rows("train", "validation"))
    rows = task.rows("test")[0]
    assert np.array_equal(measured.suspicion(rows), again.suspicion(rows))
    apart = TREES[learner](**kept).fit(*task.rows("train"))
    features, labels = task.rows("validation")
    calibration = fit_calibration(labels == "fraud", apart.suspicion(features))
    assert measured.calibration_ == calibration


def test_settings_of_a_tree_are_chosen_on_train_and_kept_as_parameters(grown):
    learner, outcome = grown
    if learner == "rank-forest":  # it has none to choose
        assert not hasattr(outcome.ranker, "settings_")
        return
    kept, rows = outcome.chosen.ranker, outcome.task.rows("train")
    chosen = TREES[learner](depth="cv", positive_label="fraud").fit(*rows)
    assert kept.settings_ == chosen.settings_
    assert kept.depth is None
    assert TREES[learner](**kept.get_params()).fit(*rows).to_text() == chosen.to_text()


def test_labels_and_values_of_the_test_rows_change_nothing_in_a_tree():
    task = prepared(payments(300))
    test = task.split.test
    amount, is_positive = task.features["amount"].to_numpy().copy(), task.is_positive.copy()
    amount[test], is_positive[test] = -amount[test], ~is_positive[test]
    features = task.features.set_column(0, "amount", [amount])
    changed = replace(task, features=features, is_positive=is_positive)
    trainings = [train(each, 5, learner="treerank", **FAST) for each in (task, changed)]
    one, other = (each.chosen.ranker for each in trainings)
    assert one.to_text() == other.to_text()
    assert one.calibration_ == other.calibration_


def test_progress_of_a_tree_ends_at_its_total():
    seen = {}
    train(
        prepared(payments(300)),
        5,
        learner="treerank",
        **FAST,
        progress=lambda what, done, total: seen.__setitem__(what, (done, total)),
    )
    assert seen["growing TreeRank, one tree"] == (2, 2)
    assert seen["plain log-loss, to compare with"] == (12, 12)


def test_an_unknown_learner_is_refused():
    with pytest.raises(ValueError, match=r"learner must be .*'metaap'.*; got 'meta-ap'"):
        train(prepared(), 5, learner="meta-ap")


@pytest.mark.parametrize(
    ("time", "learner"),
    [
        ("paid_at", "auto"),
        (None, "treerank"),
        (None, "rank-forest"),
        *(
            pytest.param(time, learner, marks=pytest.mark.slow)
            for time, learner in [
                (None, "auto"),
                (None, "metaap"),
                *(("paid_at", each) for each in TREES),
            ]
        ),
    ],
)
def test_three_positives_in_each_part_are_enough(time, learner):
    n = 60
    is_fraud = np.isin(np.arange(n), [2, 9, 20, 38, 41, 43, 50, 55, 58])
    amount = np.where(is_fraud, 100.0, 0.0) + np.arange(n) * 7 % 13
    table = pa.table({"amount": amount, "y": is_fraud, "paid_at": START + np.arange(n) * DAY})
    if time is None:
        task = prepare(table, "y", drop=["paid_at"])
    else:
        task = prepare(table, "y", time=time, gap=0 * DAY)
        counts = [task.is_positive[rows].sum() for rows in task.split.parts().values()]
        assert counts == [3, 3, 3]
    outcome = train(task, 3, learner=learner, **FAST)
    assert np.isfinite(outcome.chosen.test.suspicion).all()
    probability = outcome.chosen.ranker.calibration_.probability([-1e6, 0.0, 1e6])
    assert np.isfinite(probability).all()
    assert 0 <= outcome.chosen.test.likely.low <= outcome.chosen.test.likely.high <= 3


def test_a_budget_beyond_the_rows_finds_every_positive():
    task = prepared(payments(500), time=None, drop=["card", "paid_at"])
    outcome = train(task, 10_000, **FAST)
    n_positive = task.is_positive[task.split.test].sum()
    assert outcome.chosen.test.found.value == n_positive
    assert outcome.chosen.test.found_with(20_000) == n_positive


def test_progress_says_what_is_being_done():
    seen = []
    train(prepared(payments(500)), 5, **FAST, progress=lambda *what: seen.append(what))
    assert {"trying recipes", "fitting the winner"} <= {name for name, _, _ in seen}
    assert all(0 <= done <= total for _, done, total in seen)


def test_dropping_a_column_twice_or_the_label_itself_drops_no_other():
    task = prepared(drop=["card", "card", "outcome", "paid_at"])
    assert task.features.column_names == ["amount", "country"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"drop": ["crad"]}, "column 'crad' is not in the table; did you mean 'card'?"),
        ({"time": "payd_at"}, "column 'payd_at' is not in the table; did you mean 'paid_at'?"),
        ({"time": "country"}, "column 'country' must hold times; row 1 has"),
        ({"time": "outcome"}, "`time` must be another column than `label`; got 'outcome' for"),
        ({"positive_label": "froud"}, "`positive_label` must be one of .*; did you mean 'fraud'?"),
        ({"drop": ["card", "amount", "country"]}, "must have a column to learn from in addition"),
        ({"gap": 400 * DAY}, "there would be no .* rows.*shorter `gap`"),
    ],
    ids=str,
)
def test_what_does_not_fit_the_table_is_named(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        prepared(**options)


def test_a_label_that_is_not_there_is_named():
    with pytest.raises(TableError, match="column 'outcom' is not in the table; did you mean"):
        prepare(payments(), "outcom")


def test_parts_without_positives_are_refused():
    table = pa.table(
        {"t": START + np.arange(100) * DAY, "x": np.arange(100.0), "y": np.arange(100) < 5}
    )
    with pytest.raises(ValueError, match="the validation rows must have both classes; got 0"):
        prepare(table, "y", time="t")


def test_a_budget_of_nothing_is_refused_before_training():
    with warnings.catch_warnings(), pytest.raises(ValueError, match="budget must be at least 1"):
        warnings.simplefilter("error")
        train(prepared(), 0)


@pytest.mark.parametrize("row", [0, -1])
def test_an_infinite_number_is_refused_before_any_training(row):
    table = payments()
    amounts = table["amount"].to_numpy().copy()
    amounts[row] = np.inf
    table = table.set_column(table.column_names.index("amount"), "amount", pa.array(amounts))
    with pytest.raises(ValueError, match="column 'amount' must hold finite numbers"):
        prepare(table, "outcome", time="paid_at")


def test_the_scores_that_calibrate_plain_log_loss_are_those_of_the_search(trained):
    """AutoRanker's search has scored the judged rows by plain log-loss: once is enough."""
    task, plain = trained.task, trained.candidates[-1].ranker
    ranker = trained.chosen.ranker
    judged = task.rows_in("train", "validation")[ranker.judged_.row]
    assert task.is_positive[judged].sum() < ENOUGH_POSITIVES  # so all of them calibrate
    newest = np.argsort(-ranker.judged_.origin, kind="stable")
    calibration = fit_calibration(task.is_positive[judged][newest], ranker.plain_scores_[newest])
    assert plain.calibration_ == calibration


# The model that is written


def test_the_ranker_to_use_has_learned_from_all_rows_also_those_of_the_gap(trained):
    task = trained.task
    features, labels = task.rows()
    assert (
        features.num_rows
        == task.is_positive.size
        > sum(rows.size for rows in task.split.parts().values())
    )
    assert trained.is_refitted
    again = copy.copy(trained.chosen.ranker).refit(features, labels)
    assert np.array_equal(trained.ranker.suspicion(features), again.suspicion(features))
    test = task.rows("test")[0]
    assert not np.array_equal(trained.ranker.suspicion(test), trained.chosen.test.suspicion)


@pytest.mark.parametrize("learner", ["treerank", "rank-forest"])
def test_a_tree_to_use_has_learned_from_all_rows_with_the_settings_that_were_chosen(learner):
    outcome = train(prepared(payments(300)), 5, learner=learner, **FAST)
    features, labels = outcome.task.rows()
    kept = outcome.chosen.ranker.get_params(deep=False)
    again = TREES[learner](**kept).fit(features, labels)
    assert np.array_equal(outcome.ranker.suspicion(features), again.suspicion(features))


def test_probabilities_to_use_come_from_the_newest_rows_as_scored_before_they_were_learned_from(
    monkeypatch,
):
    monkeypatch.setattr(backtest, "ENOUGH_POSITIVES", 5)  # of which the test rows have more
    outcome = train(prepared(), 5, **FAST)
    test = outcome.chosen.test
    assert outcome.ranker.calibration_ == fit_calibration(test.is_positive, test.suspicion)


def test_without_a_refit_the_ranker_is_the_one_that_was_measured():
    outcome = train(prepared(payments(500)), 5, refit=False, **FAST)
    assert outcome.ranker is outcome.chosen.ranker
    assert not outcome.is_refitted
    assert outcome.promise.until == outcome.task.split.periods["validation"][1]


def test_the_promise_is_of_the_newest_row_and_counts_the_days_of_the_test(trained):
    task, promise = trained.task, trained.promise
    assert promise.until == task.time.max()
    assert promise.held.n_lists == np.unique(task.days("test")).size
    assert 0 <= promise.likely.low <= promise.likely.value <= promise.likely.high <= 5
    oldest = (task.time.max() - task.split.periods["validation"][1]) / DAY
    assert promise.drift.oldest == approx(oldest, abs=1)


def test_without_times_nothing_is_promised_of_later_days():
    outcome = train(prepared(time=None, drop=["card", "paid_at"]), 5, **FAST)
    assert outcome.promise is None
    assert outcome.is_refitted


@pytest.mark.parametrize("is_sorted", [True, False])
def test_encoded_rows_are_the_rows_of_the_table_encoded(is_sorted):
    table = payments().sort_by("paid_at") if is_sorted else payments()
    task = prepared(table)
    for parts in (["train"], ["train", "validation"], ["test"]):
        features, labels = task.rows(*parts)
        schema = task.schema("train")
        encoded, same = task.encoded(schema, *parts)
        assert np.array_equal(encoded.features, schema.encode(features), equal_nan=True)
        assert np.array_equal(labels, same)
        assert encoded.columns.schema == schema


def test_a_training_casts_every_column_once(monkeypatch):
    cast = []
    numbers = values.finite_numbers
    monkeypatch.setattr(
        values, "finite_numbers", lambda column, name: cast.append(name) or numbers(column, name)
    )
    table = payments()
    labelled = table.filter(table["outcome"].is_valid())
    train(prepare(labelled, "outcome", time="paid_at"), 5, **FAST)
    assert cast == ["amount"]


def test_a_loss_takes_the_place_of_the_search():
    task = prepared(drop=["card"], card="card")
    outcome = train(task, 5, loss="ap-card", **FAST)
    assert [each.name for each in outcome.candidates] == ["log-loss + ap-card trees", PLAIN]
    assert (outcome.ranker.loss, outcome.account) == ("ap-card", None)
    expected = BoostedRanker("ap-card", positive_label="fraud", random_state=0, **FAST)
    rows = task.encoded(task.schema())
    expected.fit(*rows, groups=task.card_days())
    assert np.array_equal(expected.suspicion(rows[0]), outcome.ranker.suspicion(rows[0]))
    alone = train(task, 5, loss="log", **FAST)
    assert [each.name for each in alone.candidates] == [PLAIN]


def test_a_loss_of_cards_needs_cards_and_times_and_no_other_learner():
    with pytest.raises(ValueError, match=r"`card` and `time` must be .* got no card"):
        train(prepared(), 5, loss="ap-card", **FAST)
    with pytest.raises(ValueError, match="got no time"):
        train(
            prepared(time=None, card="card", drop=["card", "paid_at"]), 5, loss="ap-card", **FAST
        )
    with pytest.raises(ValueError, match="`loss` must be left out with another `learner`"):
        train(prepared(), 5, loss="log", learner="metaap", **FAST)


def test_card_days_are_numbered_by_card_and_day_with_further_rows_apart():
    task = prepared(drop=["card"], card="card")
    day = task.time.astype("datetime64[D]")
    pairs = {}
    for number, *pair in zip(task.card_days(), task.cards.card, day, strict=True):
        pairs.setdefault(number, set()).add(tuple(pair))
    assert all(len(each) == 1 for each in pairs.values())
    assert len(pairs) == len({pair for each in pairs.values() for pair in each})
    more = MoreRows(task.features.slice(0, 3), task.is_positive[:3], task.time[:3], np.arange(3))
    numbers = task.with_more(more).card_days()
    assert not np.isin(numbers[-3:], numbers[:-3]).any()
    assert np.unique(numbers[-3:]).size == 3
