"""What features say in words, from their kind and not from their names."""

import math

import pytest

from toprank.payments.feature_words import FeatureWords, Nouns, duration
from toprank.payments.features import (
    FirstTime,
    KnownPositives,
    LabelRisk,
    Night,
    Recent,
    SinceLast,
    ToUsual,
    Value,
    Weekend,
    default_features,
)
from toprank.payments.roles import Roles
from toprank.rankers.reasons import Usual

ROLES = Roles("at", "CUSTOMER_ID", "TERMINAL_ID", "TX_AMOUNT", "tx")
CARD, TERMINAL, AMOUNT = ROLES.card, ROLES.terminal, ROLES.amount


def words_of(*features, names=None):
    return FeatureWords(features, Nouns.of(ROLES, "is_fraud", names), ROLES)


@pytest.mark.parametrize(
    ("feature", "value", "words"),
    [
        (Value(AMOUNT), 414.85, "amount 414.85"),
        (Value("weight_kg"), 3.0, "weight kg 3"),
        (Night(22, 6), 1.0, "at night (22:00-6:00 UTC)"),
        (Night(22, 6), 0.0, "not at night (22:00-6:00 UTC)"),
        (Weekend(), 1.0, "at the weekend"),
        (Weekend(), 0.0, "on a weekday"),
        (Recent("count", CARD, "1h"), 9.0, "9 payments in the last hour"),
        (Recent("count", CARD, "1d"), 1.0, "1 payment in the last 24 hours"),
        (Recent("count", CARD, None), 12.0, "12 payments so far"),
        (
            Recent("count", TERMINAL, "7d", until="7d"),
            3.0,
            "3 payments at this terminal in the 7 days up to 7 days ago",
        ),
        (
            Recent("max", CARD, "7d", of=AMOUNT, until="before"),
            414.85,
            "largest amount 414.85 in the 7 days before",
        ),
        (
            Recent("mean", TERMINAL, "30min", of=AMOUNT, until="before"),
            math.nan,
            "no payment at this terminal in the 30 minutes before",
        ),
        (Recent("sum", CARD, "90s", of=AMOUNT), 7.5, "total amount 7.50 in the last 90 seconds"),
        (
            Recent("distinct", CARD, "30d", of=TERMINAL),
            4.0,
            "4 different terminals in the last 30 days",
        ),
        (
            Recent("distinct", "device_id", "1d", of=CARD),
            4.0,
            "4 different customers of this device in the last 24 hours",
        ),
        (SinceLast(CARD), 45.0, "45 seconds since the last payment of this customer"),
        (SinceLast(TERMINAL), math.nan, "first payment at this terminal"),
        (
            SinceLast((CARD, TERMINAL)),
            259_200.0,
            "3 days since the last payment of this customer at this terminal",
        ),
        (
            ToUsual(CARD, AMOUNT, "30d"),
            5.73,
            "amount 5.7 times the average of this customer in the 30 days before",
        ),
        (
            ToUsual(TERMINAL, AMOUNT),
            math.nan,
            "no earlier payment at this terminal to compare the amount with",
        ),
        (
            FirstTime((CARD, TERMINAL)),
            1.0,
            "first payment of this customer at this terminal",
        ),
        (
            LabelRisk("share", TERMINAL, "30d", "7d"),
            0.56,
            "56 % frauds at this terminal among the labels of the last 30 days",
        ),
        (Recent("count", CARD, "1h"), math.nan, "past of this customer not known"),
        (Value(AMOUNT), math.nan, "amount not known"),
        (
            LabelRisk("count", TERMINAL, None, "7d"),
            12.0,
            "12 payments at this terminal among all labels",
        ),
        (
            KnownPositives(TERMINAL, "1d", "7d"),
            1.0,
            "1 fraud at this terminal that became known in the last 24 hours",
        ),
        (KnownPositives(TERMINAL, None, "7d"), 3.0, "3 frauds at this terminal known so far"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_each_kind_of_feature_has_its_sentence(feature, value, words):
    assert words_of(feature).said(feature.name, value) == words


def test_no_default_feature_is_called_by_its_column_and_its_sentences_have_no_gaps():
    features = default_features(CARD, TERMINAL, AMOUNT)
    words = words_of(*features)
    for each in features:
        for value in (0.0, 1.0, 2.5, math.nan):
            said = words.said(each.name, value)
            assert "_" not in said and "  " not in said and "nan" not in said, said
            assert said == said.strip()


@pytest.mark.parametrize(
    ("feature", "usual", "words"),
    [
        (Recent("count", CARD, "1h"), Usual(1.0, 2.0), "1-2"),
        (Recent("count", CARD, "1h"), Usual(1.0, 1.0), "1"),
        (Recent("mean", CARD, "1h", of=AMOUNT), Usual(), "mostly none"),
        (SinceLast(CARD), Usual(60.0, 86_400.0), "1 minute to 1 day"),
        (LabelRisk("share", TERMINAL, "7d", "7d"), Usual(0.0, 0.0099), "0-0.99 %"),
        (ToUsual(CARD, AMOUNT), Usual(0.2512, 1.823), "0.25-1.8"),
        (FirstTime(CARD), Usual(0.0, 0.0), "rarely"),
        (FirstTime(CARD), Usual(0.0, 1.0), ""),
    ],
)
def test_what_is_usual_is_in_the_unit_of_the_feature(feature, usual, words):
    assert words_of(feature).others(feature.name, usual) == words


def test_names_that_are_given_replace_those_made_of_columns():
    features = [Recent("distinct", CARD, "1d", of=TERMINAL), Value(AMOUNT)]
    words = words_of(*features, names={CARD: "client", TERMINAL: "shop", AMOUNT: "price"})
    assert words.said(features[0].name, 2.0) == "2 different shops in the last 24 hours"
    assert words.said(AMOUNT, 9.5) == "price 9.50"
    assert words.nouns.card == "client"


@pytest.mark.parametrize(
    ("column", "noun"),
    [("card", "card"), ("CUSTOMER_ID", "customer"), ("accountNumber", "account"), ("pan", "card")],
)
def test_the_card_is_called_as_its_column_where_that_is_a_word(column, noun):
    assert Nouns.of(ROLES._replace(card=column), "is_fraud").card == noun


def test_features_that_differ_in_their_window_only_are_about_the_same():
    hour, day = Recent("count", CARD, "1h"), Recent("count", CARD, "1d")
    total, amount = Recent("sum", CARD, "1h", of=AMOUNT), Value(AMOUNT)
    other = Recent("count", TERMINAL, "1h")
    words = words_of(hour, day, total, amount, other)
    assert words.about(hour.name) == words.about(day.name) != words.about(other.name)
    assert words.about(total.name) == words.about(amount.name)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 seconds"), (1, "1 second"), (58, "1 minute"), (3_600, "1 hour"), (90_000, "1 day")],
)
def test_a_duration_has_one_unit(seconds, words):
    assert duration(seconds) == words
