"""Evaluation: counts of the budget's checks, by hand and by simulation."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

import reference
from examples import examples
from strategies import rankings
from toprank import BoostedRanker, metrics
from toprank.data import tables
from toprank.workflow.evaluation import Cards, cards_of, evaluate, evaluate_rows


def figures_of(is_positive, suspicion, budget, day=None):
    return evaluate(is_positive, suspicion, np.zeros(len(suspicion)), budget, day)


@examples(100)
@given(rankings(), st.integers(1, 60))
def test_what_one_list_finds_is_found_at_k(sample, budget):
    is_positive, suspicion = sample
    figures = figures_of(is_positive, suspicion, budget)
    k = min(budget, suspicion.size)
    assert figures.found.value == approx(metrics.found_at_k(is_positive, suspicion, k))
    assert figures.found_with(2 * budget) == approx(
        reference.found_at_k(is_positive, suspicion, 2 * budget)
    )


@examples(100)
@given(rankings(), st.integers(1, 60), st.randoms(use_true_random=False))
def test_what_days_find_is_the_mean_over_the_days(sample, budget, random):
    is_positive, suspicion = sample
    day = np.array([random.randint(0, 3) for _ in suspicion])
    by_hand = np.mean(
        [
            reference.found_at_k(is_positive[day == each], suspicion[day == each], budget)
            for each in np.unique(day)
        ]
    )
    figures = figures_of(is_positive, suspicion, budget, day)
    assert figures.found.value == approx(by_hand)
    assert figures.found_with(budget) == approx(by_hand)


@examples(150)
@given(rankings(), st.integers(1, 60), st.booleans(), st.randoms(use_true_random=False))
def test_one_more_list_is_less_sure_than_the_average_list(sample, budget, has_days, random):
    is_positive, suspicion = sample
    day = np.array([random.randint(0, 2) for _ in suspicion]) if has_days else None
    figures = figures_of(is_positive, suspicion, budget, day)
    value, low, high = figures.found
    likely = figures.likely
    assert 0 <= likely.low <= low <= value <= high <= likely.high <= budget
    assert likely.value == value
    assert likely.low.is_integer()
    assert likely.high.is_integer()


def test_a_few_days_by_hand():
    is_positive = [1, 0, 1, 0, 0, 0, 1, 1]
    suspicion = [9, 8, 7, 6, 5, 4, 3, 2]
    day = [4, 4, 4, 6, 6, 6, 9, 9]  # finding 1 of 2, none of none, and 2 of 2
    figures = figures_of(is_positive, suspicion, 2, day)
    assert figures.found.value == 1.0
    assert figures_of(is_positive, suspicion, 1, day).found.value == approx(2 / 3)
    assert figures_of(is_positive, suspicion, 99, day).found.value == approx(4 / 3)
    assert figures.longest_list == 3


def test_tied_rows_are_found_in_expectation():
    figures = figures_of([1, 0, 0, 1, 0], [2, 2, 1, 1, 1], budget=1, day=[0, 0, 1, 1, 1])
    assert figures.found.value == approx((1 / 2 + 1 / 3) / 2)


def test_the_order_of_rows_and_the_numbers_of_days_do_not_matter():
    generator = np.random.default_rng(0)
    is_positive, suspicion = generator.random(400) < 0.1, generator.normal(size=400)
    day = generator.integers(0, 6, 400)
    shuffle = generator.permutation(400)
    one = figures_of(is_positive, suspicion, 10, day)
    other = figures_of(is_positive[shuffle], suspicion[shuffle], 10, 100 - 7 * day[shuffle])
    assert one.found == approx(other.found)
    assert one.likely == approx(other.likely)


def test_finding_nothing_or_everything_so_far_promises_neither():
    generator = np.random.default_rng(0)
    is_positive, day = np.arange(300) % 3 == 0, np.repeat(np.arange(5), 60)
    worst = figures_of(is_positive, -1.0 * is_positive, 10, day)
    best = figures_of(is_positive, is_positive + generator.random(300) / 2, 10, day)
    assert worst.found.value == 0
    assert worst.likely == (0, 0, 1)
    assert best.found.value == 10
    assert best.likely == (10, 9, 10)
    alone = figures_of(is_positive, -1.0 * is_positive, 10)
    assert alone.likely.low == 0
    assert 1 <= alone.likely.high <= 3


@pytest.mark.parametrize("n_lists", [1, 4])
def test_the_luck_of_a_new_list_comes_on_top_of_the_luck_of_those_before(n_lists):
    # each list finds 400 in 1,000 checks, by chance 400 +- 15.5
    is_positive = np.tile(np.arange(1000) % 5 < 2, n_lists)
    is_positive = np.concatenate([is_positive, np.zeros(9000 * n_lists, dtype=bool)])
    day = np.concatenate([np.repeat(np.arange(n_lists), n) for n in (1000, 9000)])
    suspicion = np.repeat([1.0, 0.0], [1000 * n_lists, 9000 * n_lists])
    figures = figures_of(is_positive, suspicion, 1000, day)
    average, new = (1.96 * 15.5 / n_lists**0.5, 1.645 * 15.5 * (1 + 1 / n_lists) ** 0.5)
    assert figures.found == approx((400, 400 - average, 400 + average), abs=0.6)
    assert figures.likely == approx((400, 400 - new, 400 + new), abs=1.1)


def draw_list(generator, n_rows, share):
    is_positive = generator.random(n_rows) < share
    return is_positive, generator.normal(size=n_rows) + 2 * is_positive


@pytest.mark.parametrize(
    ("n_lists", "unrest"), [(1, 0.0), (3, 0.0), (10, 0.0), (10, 0.5), (30, 0.5)]
)
def test_nine_of_ten_new_lists_find_what_is_likely(n_lists, unrest):
    """`unrest` is how much the share of positives differs from day to day."""
    generator = np.random.default_rng(7)
    n_rows, budget, n_cases, n_inside, n_average = 300, 20, 300, 0, 0
    for _ in range(n_cases):
        shares = 0.03 * np.exp(unrest * generator.normal(size=n_lists + 1))
        *known, (is_positive, suspicion) = [draw_list(generator, n_rows, each) for each in shares]
        figures = figures_of(
            np.concatenate([labels for labels, _ in known]),
            np.concatenate([scores for _, scores in known]),
            budget,
            np.repeat(np.arange(n_lists), n_rows) if n_lists > 1 else None,
        )
        found = is_positive[np.argsort(-suspicion)[:budget]].sum()
        n_inside += figures.likely.low <= found <= figures.likely.high
        n_average += figures.found.low <= found <= figures.found.high
    assert 0.84 <= n_inside / n_cases <= 0.96
    assert n_average < n_inside


def test_the_average_day_lies_in_its_interval():
    generator = np.random.default_rng(3)
    n_rows, budget, n_days, n_cases = 300, 20, 8, 300
    days = [draw_list(generator, n_rows, 0.03) for _ in range(3000)]
    truth = np.mean([labels[np.argsort(-scores)[:budget]].sum() for labels, scores in days])
    n_inside = 0
    for case in range(n_cases):
        chosen = [days[(case * n_days + i) % len(days)] for i in range(n_days)]
        labels, scores = (np.concatenate(each) for each in zip(*chosen, strict=True))
        _, low, high = figures_of(labels, scores, budget, np.repeat(np.arange(8), n_rows)).found
        n_inside += low <= truth <= high
    assert 0.92 <= n_inside / n_cases <= 0.99


def test_the_figures_over_all_rows_are_those_of_the_metrics():
    generator = np.random.default_rng(0)
    is_positive, suspicion = draw_list(generator, 500, 0.1)
    figures = figures_of(is_positive, suspicion, 20, np.repeat(np.arange(5), 100))
    for name in ("average_precision", "positives_at_top", "roc_auc"):
        assert getattr(figures, name) == metrics.interval(name, is_positive, suspicion)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"is_positive": [True, False]}, "is_positive must have 3 values, one per score; got 2"),
        ({"is_positive": [True] * 3}, "is_positive must hold both classes"),
        ({"suspicion": [1.0, np.nan, 0.0]}, "suspicion must hold finite numbers"),
        ({"probability": [0.1]}, r"probability must have 3 values, one per score; got shape \(1,"),
        ({"day": [0, 1]}, r"day must have 3 values, one per score; got shape \(2,"),
        ({"budget": 0}, "budget must be at least 1; got 0"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_named(change, sentence):
    good = {
        "is_positive": [True, False, False],
        "suspicion": [3.0, 2.0, 1.0],
        "probability": [0.5, 0.2, 0.1],
        "budget": 1,
    }
    with pytest.raises(ValueError, match=sentence):
        evaluate(**good | change)


def test_no_checks_at_all_are_refused():
    with pytest.raises(ValueError, match="n_checks must be at least 1; got 0"):
        figures_of([True, False], [1.0, 0.0], 1).found_with(0)


@pytest.fixture(scope="module")
def payments():
    generator = np.random.default_rng(0)
    n = 600
    amount = generator.gamma(2.0, 40.0, n)
    outcome = np.where(amount + 20 * generator.normal(size=n) > 150, "fraud", "genuine")
    table = pa.table(
        {
            "paid_at": np.datetime64("2025-03-01T00:00", "s") + np.arange(n) * 900,
            "amount": amount,
            "outcome": [None if i % 50 == 7 else text for i, text in enumerate(outcome)],
        }
    )
    ranker = BoostedRanker(n_estimators=10, n_jobs=1).fit(table.select(["amount"]), outcome)
    return table, ranker


@pytest.mark.parametrize("time", [None, "paid_at"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_scored_in_batches_has_the_figures_of_its_labelled_rows(
    payments, tmp_path, suffix, time
):
    table, ranker = payments
    path = tmp_path / f"payments.{suffix}"
    tables.write_rows(table, path)
    batches = list(tables.read_batches(path, schema=ranker.schema_, rows=90))
    scored = np.concatenate([ranker.suspicion(batch) for batch in batches])
    facts = pa.concat_tables(batches)
    figures = evaluate_rows(ranker, facts, scored, label="outcome", time=time, budget=5)

    labels = np.array(table["outcome"].to_pylist(), dtype=object)
    known = labels != None  # noqa: E711
    suspicion = ranker.suspicion(table)[known]
    day = None if time is None else (np.arange(600) // 96)[known]
    expected = evaluate(
        labels[known] == "fraud", suspicion, ranker.probability(table)[known], 5, day
    )
    assert figures.is_positive.size == known.sum() == 588
    assert figures.found == expected.found
    assert figures.likely == expected.likely
    assert figures.probability == approx(expected.probability)


CARDS = Cards(np.array([0, 0, 1, 0, 1]), np.array([10.0, 20.0, 40.0, 80.0, 160.0]))


def test_cards_are_checked_by_day_and_leave_once_found():
    # day 0: card 0 is checked and found; day 1: it has left, so card 1 is checked, and found
    is_positive, suspicion = [1, 0, 0, 1, 1], [5.0, 1.0, 2.0, 9.0, 1.0]
    day = [0, 0, 0, 1, 1]
    figures = evaluate(is_positive, suspicion, np.zeros(5), 1, day, CARDS).card_checks
    assert figures.precision.value == 1
    assert figures.ceiling == 1
    assert figures.recall == 1
    assert figures.money == (10 + 160, 10 + 80 + 160)


def test_figures_of_cards_need_cards_and_days():
    rows = [1, 0, 0, 1, 1], np.arange(5.0), np.zeros(5), 1
    assert evaluate(*rows, [0] * 5).card_checks is None
    assert evaluate(*rows, cards=CARDS).card_checks is None


def test_without_amounts_there_is_no_money():
    cards = Cards(CARDS.card)
    assert (
        evaluate([1, 0, 0, 1, 1], np.arange(5.0), np.zeros(5), 1, [0] * 5, cards).card_checks[-1]
        is None
    )


def test_cards_come_from_a_table_with_missing_amounts_as_nothing():
    table = pa.table({"card": ["a", "b", "a"], "amount": [1.5, None, 3.0]})
    cards = cards_of(table, "card", "amount", np.array([0, 1, 2]))
    assert cards.card[0] == cards.card[2] != cards.card[1]
    assert cards.amount.tolist() == [1.5, 0, 3]
