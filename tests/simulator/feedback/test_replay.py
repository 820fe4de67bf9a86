"""A replay looks at nothing before it is known, and counts as the metrics do."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from simulator.feedback.made_days import COLUMNS, SPANS, MeanDifference, made_payments
from toprank.metrics import card_precision_ceiling, checks_by_day
from toprank.simulator.feedback import STRATEGIES, replay
from toprank.simulator.feedback.replayed_payments import NEVER, read_payments
from toprank.splits import days as days_of

N_DAYS, DAYS, BUDGET = 36, 9, 3
FIRST = N_DAYS - DAYS


def replayed(payments, **options):
    given_or_usual = {"budget": BUDGET, "days": DAYS, **COLUMNS, **SPANS, **options}
    return replay(payments, MeanDifference(), **given_or_usual)


def claim_days(payments):
    return read_payments(payments, **COLUMNS, claimed=None, claim_days=7, random_state=0).claim_day


def with_labels(payments, is_fraud):
    place = payments.column_names.index("is_fraud")
    return payments.set_column(place, "is_fraud", pa.array(is_fraud))


@pytest.fixture(scope="module")
def payments():
    return made_payments(N_DAYS)


@pytest.fixture(scope="module")
def usual(payments):
    return replayed(payments)


@pytest.fixture(scope="module")
def day(payments):
    return days_of(payments["at"].to_numpy())


# a failure is not made smaller: it would take minutes, and the day is all there is to read
@pytest.mark.slow
@settings(deadline=None, max_examples=8, phases=[Phase.explicit, Phase.generate])
@given(st.integers(FIRST, N_DAYS - 1), st.integers(0, 2**16), st.floats(0.02, 0.3))
def test_labels_not_yet_known_on_any_day_change_no_score(payments, usual, day, today, seed, share):
    check_unknown_labels(payments, usual, day, today, seed, share)


def test_labels_not_yet_known_change_no_score(payments, usual, day):
    check_unknown_labels(payments, usual, day, today=FIRST + 5, seed=0, share=0.2)


def check_unknown_labels(payments, usual, day, today, seed, share):
    is_fraud = payments["is_fraud"].to_numpy()
    changes = unknown_on(today, payments, usual)
    changes &= np.random.default_rng(seed).random(day.size) < share
    # a payment that becomes a fraud may be claimed too early: it is not changed
    changes &= claim_days(with_labels(payments, is_fraud ^ changes)) >= today
    assert changes.any()
    other = replayed(with_labels(payments, is_fraud ^ changes))

    until = day[day >= FIRST] <= today
    for strategy in STRATEGIES:
        before, after = (each.strategies[strategy].suspicion[until] for each in (usual, other))
        np.testing.assert_array_equal(after, before)


def unknown_on(today, payments, usual):
    """Return the payments no strategy has a label of as a day begins."""
    time = payments["at"].to_numpy()
    begin = time[0].astype("datetime64[D]") + today
    is_unknown = (claim_days(payments) >= today) & (time + np.timedelta64(8, "D") >= begin)
    for strategy in usual.strategies.values():
        is_verdict = (strategy.known.source == "investigator") & (strategy.known.known < begin)
        is_unknown[strategy.known.ids[is_verdict]] = False
    return is_unknown


def test_labels_that_are_known_do_change_scores(payments, usual, day):
    """The twin of the test above: scores are not the same whatever the labels are."""
    is_fraud = payments["is_fraud"].to_numpy()
    checked = usual.strategies["static"].known
    verdicts = checked.ids[(checked.source == "investigator") & (day[checked.ids] == FIRST)]
    is_other = is_fraud.copy()
    is_other[verdicts] = ~is_other[verdicts]
    other = replayed(with_labels(payments, is_other))

    tested = day[day >= FIRST]
    for strategy in STRATEGIES:
        before, after = (each.strategies[strategy].suspicion for each in (usual, other))
        np.testing.assert_array_equal(after[tested == FIRST], before[tested == FIRST])
        assert not np.array_equal(after, before, equal_nan=True), strategy


def test_checks_are_counted_as_the_metrics_count_them(payments, day):
    listed = replayed(payments, random_share=0.0)
    rows = np.flatnonzero(day >= FIRST)
    is_fraud, amount = (payments[name].to_numpy()[rows] for name in ("is_fraud", "amount"))
    card = payments["card"].to_numpy()[rows]
    for strategy in listed.strategies.values():
        suspicion = np.nan_to_num(strategy.suspicion, nan=-1e9)
        counted = checks_by_day(is_fraud, suspicion, card, day[rows], BUDGET, amount)
        assert strategy.found.tolist() == counted.found.tolist()
        assert strategy.positive.tolist() == counted.positive.tolist()
        assert strategy.checked.tolist() == counted.checked.tolist()
        np.testing.assert_allclose(strategy.money, counted.money)
        assert strategy.found.sum() > 0


def test_a_card_found_has_no_score_from_the_next_day_on(payments, usual, day):
    rows = np.flatnonzero(day >= FIRST)
    card, is_fraud = (payments[name].to_numpy()[rows] for name in ("card", "is_fraud"))
    for strategy in usual.strategies.values():
        verdict = np.zeros(day.size, dtype=bool)
        verdict[strategy.known.ids[strategy.known.source == "investigator"]] = True
        found = verdict[rows] & is_fraud
        for name in np.unique(card[found]):
            last = day[rows][found & (card == name)][0]
            has_score = ~np.isnan(strategy.suspicion[card == name])
            assert has_score.tolist() == (day[rows][card == name] <= last).tolist()
        assert np.isnan(strategy.suspicion).any()


def test_the_ceiling_is_that_of_the_metrics(payments, usual, day):
    rows = np.flatnonzero(day >= FIRST)
    is_fraud, card = (payments[name].to_numpy()[rows] for name in ("is_fraud", "card"))
    ample = replayed(payments, budget=60, strategies=["static"])
    highest = card_precision_ceiling(is_fraud, card, day[rows], 60)

    assert ample.ceiling.mean() == pytest.approx(highest)
    assert (ample.strategies["static"].found == ample.ceiling * 60).all()  # all cards are checked
    assert (usual.ceiling <= 1).all()


def test_trained_strategies_begin_with_the_same_model(usual, day):
    first_day = day[day >= FIRST] == FIRST
    static, nightly, feedback = (
        usual.strategies[strategy].suspicion[first_day]
        for strategy in ("static", "nightly", "feedback")
    )

    np.testing.assert_array_equal(nightly, static)
    assert np.argsort(feedback).tolist() == np.argsort(static).tolist()


def test_only_the_static_strategy_never_learns_again(usual):
    assert usual.strategies["static"].seconds.size == DAYS
    assert usual.strategies["static"].seconds[1:].max() < 0.01
    for strategy in usual.strategies.values():
        assert strategy.seconds[0] > 0


def test_strategies_do_not_affect_each_other(payments, usual):
    for strategy in ("feedback", "online"):
        alone = replayed(payments, strategies=[strategy])
        np.testing.assert_array_equal(
            alone.strategies[strategy].suspicion, usual.strategies[strategy].suspicion
        )


def test_the_order_of_the_rows_does_not_matter(payments, usual):
    order = np.random.default_rng(5).permutation(payments.num_rows)
    with_claims = payments.append_column("claimed", dates_of_claims(payments))
    shuffled = replayed(
        with_claims.take(pa.array(order)), claimed="claimed", strategies=["feedback"]
    )

    np.testing.assert_array_equal(
        shuffled.strategies["feedback"].suspicion, usual.strategies["feedback"].suspicion
    )


def dates_of_claims(payments):
    """Return the claims that are drawn at random, as a column."""
    claims = claim_days(payments)
    first = payments["at"].to_numpy()[0].astype("datetime64[D]")
    return pa.array(first + np.where(claims == NEVER, 0, claims), mask=claims == NEVER)


def test_claims_come_from_the_day_after_on_and_one_in_ten_never(payments, day):
    payments = made_payments(200, 60)
    is_fraud, claims = payments["is_fraud"].to_numpy(), claim_days(payments)
    wait = (claims - days_of(payments["at"].to_numpy()))[claims != NEVER]

    assert (claims[~is_fraud] == NEVER).all()
    assert wait.min() == 1
    assert wait.mean() == pytest.approx(7.5, abs=0.8)
    assert np.mean(claims[is_fraud] == NEVER) == pytest.approx(0.1, abs=0.03)


def test_labels_known_at_the_end_are_verdicts_claims_and_silence(payments, usual, day):
    is_fraud = payments["is_fraud"].to_numpy()
    for strategy in usual.strategies.values():
        known, time = strategy.known, payments["at"].to_numpy()[strategy.known.ids]
        spoken = np.isin(known.source, ["investigator", "claim"])
        is_old = time + np.timedelta64(8, "D") < known.moment
        assert (known.is_positive[spoken] == is_fraud[known.ids][spoken]).all()
        assert (known.has_label == (spoken | is_old)).all()
        assert strategy.maturity == known.has_label.mean()


def test_progress_is_reported_for_each_day(payments):
    reported = []
    replayed(payments, strategies=["online"], progress=lambda *each: reported.append(each))

    assert reported == [("replaying days", done, DAYS) for done in range(1, DAYS + 1)]


def test_days_without_payments_are_not_counted(payments, day):
    kept = payments.filter(pa.array((day != FIRST + 3) & (day != 10)))
    holiday = replayed(kept, strategies=["static", "feedback"])

    assert holiday.dates.size == DAYS - 1
    for strategy in holiday.strategies.values():
        assert strategy.found.size == strategy.seconds.size == holiday.ceiling.size == DAYS - 1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"strategies": ["statc"]},
            "strategies must be among .*got 'statc'; did you mean 'static'?",
        ),
        ({"strategies": []}, r"strategies must name at least one strategy, each once; got \[\]"),
        (
            {"strategies": ["static", "static"]},
            "strategies must name at least one strategy, each once",
        ),
        ({"budget": 0}, "budget must be at least 1; got 0"),
        ({"days": N_DAYS}, "days must leave a warm-up .*got 36 of 36 days"),
        (
            {"days": N_DAYS - 7},
            "the warm-up must contain both claimed frauds .* replay fewer days",
        ),
        ({"window": "8d"}, "window must be longer than silence, 8 days, .*; got 8 days"),
        ({"claim_days": 0}, "claim_days must be greater than 0; got 0"),
        ({"terminal": "card"}, "each column must have one role; 'card' has 2"),
        ({"amount": "amuont"}, "column 'amuont' is not in the table; did you mean 'amount'?"),
    ],
    ids=str,
)
def test_what_cannot_be_replayed_is_refused(payments, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        replayed(payments, **options)


def test_a_claim_before_its_payment_is_refused(payments):
    too_early = pa.array(np.full(payments.num_rows, np.datetime64("2025-03-02")))
    with pytest.raises(ValueError, match="column 'claimed' must hold dates on or after the pay"):
        replayed(payments.append_column("claimed", too_early), claimed="claimed")


def test_a_truth_with_gaps_is_refused(payments):
    labels = payments["is_fraud"].to_pylist()
    with pytest.raises(ValueError, match="label 'is_fraud' must be known of every payment"):
        replayed(with_labels(payments, [None, *labels[1:]]))


def test_days_without_frauds_are_refused(payments, day):
    is_fraud = payments["is_fraud"].to_numpy() & (day < FIRST)
    with pytest.raises(ValueError, match="the days to replay must contain frauds and genuine"):
        replayed(with_labels(payments, is_fraud))
