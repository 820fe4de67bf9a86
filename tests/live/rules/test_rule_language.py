import math
import sqlite3
from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from toprank.live.rules.rule_fields import DTYPES, LARGEST, RuleError, RuleFields
from toprank.live.rules.rule_language import parse
from toprank.live.rules.rule_set import ActiveRule, RuleSet

FIELDS = RuleFields(
    {
        "amount": "number",
        "card_mean_amount_30d": "number",
        "country": "text",
        "card_country": "text",
        "online": "boolean",
        "paid_at": "time",
        "Order ID": "text",
    }
)
NAMES = list(FIELDS.types)


def frame(*rows):
    """Return a frame of rows in the order of the fields."""
    return pl.DataFrame(rows, schema=FIELDS.dtypes("block"), orient="row")


def matches(text, *rows):
    """Return what a rule gives for each row: true, false, or None if it is not known."""
    expression = parse(text, FIELDS, "block").expression
    return frame(*rows).select(expression).to_series().to_list()


MIDNIGHT = datetime(2025, 3, 2, 0, 30, tzinfo=UTC)  # a Sunday
PAYMENT = (900.0, 50.0, "DE", "FR", False, MIDNIGHT, "A_1%")
EMPTY = (None,) * 7


HUGE = "amount * 1e99 * amount * 1e99 * amount * 1e99 * amount"  # more than a number can be


# One row per part of the language; all of them hold for PAYMENT.
@pytest.mark.parametrize(
    "text",
    [
        "amount > 5 * card_mean_amount_30d AND country <> card_country AND NOT online",
        "amount BETWEEN 900 AND 901 AND amount NOT BETWEEN 1 AND 2",
        "country IN ('DE', 'IT') AND country NOT IN ('FR') AND amount IN (1, 900)",
        "online = FALSE AND online IS FALSE AND online IS NOT TRUE AND NOT online = TRUE",
        "amount IS NOT NULL AND NOT amount IS NULL",
        "amount / 2 - 50 + 1 = 401 AND amount % 7 = 4 AND -amount < -1 AND +1 = 1",
        "(amount = 1 OR country = 'DE') AND TRUE",
        "CASE WHEN online THEN 1 WHEN amount > 800 THEN 2 ELSE 3 END = 2",
        "abs(-amount) = 900 AND round(2.5) = 3 AND round(1.26, 1) = 1.3",
        "floor(1.5) = 1 AND ceil(1.5) = 2 AND least(amount, 3) = 3 AND greatest(1, 2) = 2",
        "coalesce(amount, 0) = 900 AND lower(country) = 'de' AND upper('x') = 'X'",
        "length(country) = 2",
        "country LIKE 'D%' AND country LIKE '%E' AND country LIKE '%D%' AND country LIKE 'D_'",
        "country NOT LIKE 'E%' AND country LIKE 'DE' AND country NOT LIKE 'd%'",
        "hour(paid_at) = 0 AND minute(paid_at) = 30 AND weekday(paid_at) = 7",
        "day(paid_at) = 2 AND month(paid_at) = 3",
        "paid_at > '2025-03-02' AND paid_at < '2025-03-02 00:30:01'",
        "paid_at BETWEEN '2025-03-01' AND '2025-03-03' AND paid_at IN ('2025-03-02 00:30:00')",
        "AMOUNT > 1 AND \"Order ID\" = 'A_1%'",
        "'it''s' = 'it''s' AND amount >= .5e2 AND amount != 1 AND amount == 900",
    ],
)
def test_every_part_of_the_language_holds_where_sql_says_so(text):
    assert matches(text, PAYMENT, PAYMENT) == [True, True]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("amount > 5", None),
        ("NOT amount > 5", None),
        ("amount > 5 AND FALSE", False),
        ("amount > 5 OR TRUE", True),
        ("amount NOT IN (1, 2)", None),
        ("country LIKE '%'", None),
        ("1 / (amount - amount) > 0", None),
        ("amount IS NULL", True),
        ("online IS NOT TRUE", True),
        ("coalesce(amount, 7) = 7", True),
        ("least(amount, 7) = 7", True),
        ("hour(paid_at) > 3", None),
        ("CASE WHEN online THEN 1 ELSE 2 END = 2", True),
    ],
)
def test_a_missing_value_is_unknown(text, value):
    assert matches(text, EMPTY) == [value]


@pytest.mark.parametrize(
    "text",
    [
        "1 / (amount - 900) > 0",
        "NOT 1 / (amount - 900) > 0",
        "amount % (amount - 900) = 0",
        f"{HUGE} * (amount - 900) = 0",
        f"{HUGE} - {HUGE} = 0",
    ],
)
def test_divisions_by_zero_and_undefined_numbers_are_unknown(text):
    assert matches(text, PAYMENT) == [None]


@pytest.mark.parametrize("text", ["TRUE", "1 < 2", "NULL", "'a' = 'b'", "NOT NULL"])
@pytest.mark.parametrize("n_rows", [0, 1, 3])
def test_a_condition_without_fields_has_a_value_for_every_row(text, n_rows):
    expected = {"TRUE": True, "1 < 2": True, "'a' = 'b'": False}.get(text)
    assert matches(text, *[PAYMENT] * n_rows) == [expected] * n_rows


def test_only_alert_rules_may_use_the_suspicion():
    assert parse("suspicion > 0.9", FIELDS, "alert").names == ("suspicion",)
    with pytest.raises(RuleError, match="blocking rule cannot use suspicion"):
        parse("suspicion > 0.9", FIELDS, "block")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("amuont > 5", "'amuont' is not a field .* did you mean 'amount'"),
        ("'Order' = \"order id\"", "'order id' is not a field"),
        ("hours(paid_at) = 3", "'hours' is not a function .* did you mean 'hour'"),
        ("country > 5", "country is a text and 5 is a number"),
        ("amount = '5'", "amount is a number and '5' is a text"),
        ("online = 1", "online is a boolean and 1 is a number"),
        ("online > FALSE", "have no order"),
        ("amount AND online", "AND needs a boolean; amount is a number"),
        ("country + 1 > 2", r"\+ needs a number; country is a text"),
        ("amount", "must be true or false; amount is a number"),
        ("amount = NULL", "write amount IS NULL"),
        ("amount IN (1, NULL)", "not NULL or fields"),
        ("amount IN ()", "cannot be read|at least one value"),
        ("country LIKE card_country", "text in single quotes"),
        ("paid_at > '31.12.2025'", "must be written as '2025-03-31'"),
        ("paid_at > '2025-02-30'", "must be written as '2025-03-31'"),
        ("abs(amount, 2) > 1", "takes 1 arguments; got 2"),
        ("round(amount, amount) > 1", "whole number from 0 to 6"),
        ("coalesce(amount, 'x') = 'x'", "number and text"),
        ("CASE WHEN online THEN 1 ELSE 'x' END = 1", "number and text"),
        ("CASE amount WHEN 1 THEN TRUE END", "THIS is not part of rules"),
        ("amount / 0 > 1", "divides by zero"),
        ("amount > 1e400", "at most 1e.100"),
        ("amount > 5 -- large", "comments"),
        ("amount > 5; DROP TABLE rules", "semicolon"),
        ("amount > > 5 AND", "cannot be read .* from 'AND' on"),
        ("amount >\n\n5 5", r"character 3 of line 3"),
        ("x" * 2001, "at most 2,000 characters"),
        ("1=1 AND " * 240 + "TRUE", "at most 600 words"),
        ("(" * 21 + "TRUE" + ")" * 21, "at most 20 levels"),
        ("NOT " * 300 + "online", "at most 20 levels"),
        ("- " * 300 + "1 > 0", "at most 20 levels"),
        ("", "is empty"),
        (" \n", "is empty"),
        (None, "is empty"),
        ("amount > 5\0", r"character '\\x00'"),
        ("amount > 5\u202e", r"character '\\u202e'"),
    ],
)
def test_a_mistake_gets_a_sentence(text, message):
    with pytest.raises(RuleError, match=message) as caught:
        parse(text, FIELDS, "block")
    assert str(caught.value).endswith((".", "?"))


# A slow twin: SQLite on the same text and rows. Whole numbers in halves keep sums exact.
numbers = st.integers(-8, 8).map(lambda half: half / 2)
texts = st.sampled_from(["", "a", "ab", "B", "a%", "é"])


def number_texts(inner):
    """Return texts of numbers built of others."""
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*/"), inner),
        st.builds("(-{})".format, inner),
        st.builds("abs({})".format, inner),
        st.builds("coalesce({}, {})".format, inner, inner),
        st.builds("(CASE WHEN {} < {} THEN {} END)".format, inner, inner, inner),
    )


number = st.recursive(
    st.one_of(st.sampled_from(["x", "y"]), numbers.map(lambda value: f"({value})")),
    number_texts,
    max_leaves=4,
)
sign = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
listed = st.sampled_from(["IN", "NOT IN"])
quoted = texts.map(lambda text: f"'{text}'")
leaf = st.one_of(
    st.builds("{} {} {}".format, number, sign, number),
    st.builds("{} {} {}".format, st.sampled_from("st"), sign, quoted),
    st.builds("s {} t".format, sign),
    st.builds("{} {} ({}, {})".format, number, listed, numbers, numbers),
    st.builds("s {} ({}, {})".format, listed, quoted, quoted),
    st.builds("{} BETWEEN {} AND {}".format, number, number, number),
    st.builds("s {} {}".format, st.sampled_from(["LIKE", "NOT LIKE"]),
              st.sampled_from(["'a%'", "'%b'", "'%a%'", "'_'", "'a_'", "'%'", "''", "'%%a%_'"])),
    st.builds("{} IS {}".format, st.sampled_from(["x", "s", "b", "(x / y)"]),
              st.sampled_from(["NULL", "NOT NULL"])),
    st.builds("b IS {}".format, st.sampled_from(["TRUE", "NOT TRUE", "FALSE", "NOT FALSE"])),
    st.sampled_from(["b", "NOT b", "TRUE", "FALSE", "b = TRUE"]),
    st.sampled_from(["length(s) > 1", "lower(s) = 'b'"]),
)  # fmt: skip
condition = st.recursive(
    leaf,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["AND", "OR"]), inner),
        st.builds("NOT ({})".format, inner),
        st.builds("(CASE WHEN {} THEN {} ELSE {} END)".format, inner, inner, inner),
    ),
    max_leaves=4,
)
rows = st.lists(
    st.tuples(
        st.none() | numbers, st.none() | numbers, st.none() | texts, st.none() | texts,
        st.none() | st.booleans(),
    ),
    min_size=1, max_size=4,
)  # fmt: skip
TWIN = RuleFields({"x": "number", "y": "number", "s": "text", "t": "text", "b": "boolean"})


def sqlite_answers(text, rows):
    """Return what SQLite answers to a condition on each row."""
    with sqlite3.connect(":memory:") as connection:
        connection.execute("PRAGMA case_sensitive_like = ON")
        connection.execute("CREATE TABLE r (x REAL, y REAL, s TEXT, t TEXT, b INTEGER)")
        connection.executemany("INSERT INTO r VALUES (?, ?, ?, ?, ?)", rows)
        found = connection.execute(f"SELECT {text} FROM r ORDER BY rowid").fetchall()
    connection.close()
    return [None if answer is None else bool(answer) for (answer,) in found]


def accepted(text):
    """Return the condition of a text; divisions by a written zero and the like are refused."""
    try:
        return parse(text, TWIN, "block")
    except RuleError as error:
        assert "divides by zero" in str(error) or "NULL" in str(error)
        reject()


@given(condition, rows)
def test_a_rule_answers_as_sqlite_does(text, rows):
    frame = pl.DataFrame(rows, schema=TWIN.dtypes("block"), orient="row")
    found = accepted(text)
    answers = frame.select(found.expression).to_series().to_list()
    assert answers == sqlite_answers(text, rows)
    if found.of_row is not None:
        assert [found.of_row(row) for row in frame.to_dicts()] == answers


odd_numbers = st.none() | st.floats(-LARGEST, LARGEST, exclude_min=True, exclude_max=True)


@given(condition, st.lists(st.tuples(odd_numbers, odd_numbers), min_size=1, max_size=4))
def test_a_single_row_answers_as_a_table_does_whatever_its_numbers(text, pairs):
    rows = [(x, y, "a", None, True) for x, y in pairs]
    frame = pl.DataFrame(rows, schema=TWIN.dtypes("block"), orient="row")
    found = accepted(text)
    if found.of_row is not None:
        answers = frame.select(found.expression).to_series().to_list()
        assert [found.of_row(row) for row in frame.to_dicts()] == answers


@pytest.mark.parametrize(
    "text",
    [
        "hour(at) >= 22", "weekday(at) IN (6, 7)", "day(at) + month(at) = minute(at)",
        "at > '2025-03-01'", "at BETWEEN '2025-01-01' AND '2025-12-31 12:00:00'", "at IS NULL",
        "greatest(x, y, 3) > least(x, y)",
    ],
)  # fmt: skip
def test_times_and_extremes_of_a_single_row_are_those_of_a_table(text):
    fields = RuleFields({"at": "time", "x": "number", "y": "number"})
    moments = [datetime(2025, 3, 1, 22, 23, tzinfo=UTC), datetime(2024, 2, 29, tzinfo=UTC), None]
    rows = [(at, x, None) for at in moments for x in (None, -2.5, 9.0)]
    frame = pl.DataFrame(rows, schema=fields.dtypes("block"), orient="row")
    found = parse(text, fields, "block")
    answers = frame.select(found.expression).to_series().to_list()
    assert [found.of_row(row) for row in frame.to_dicts()] == answers
    assert len(set(answers)) > 1


@given(
    condition, st.lists(st.floats(allow_nan=False, min_value=-1e99, max_value=1e99), min_size=1)
)
def test_no_number_makes_an_evaluation_fail(text, values):
    frame = pl.DataFrame(
        {"x": values, "y": values[::-1]}, schema={"x": DTYPES["number"], "y": DTYPES["number"]}
    ).with_columns(s=pl.lit("a"), t=pl.lit("b"), b=pl.lit(True))
    found = frame.select(accepted(text).expression).to_series()
    assert found.dtype == pl.Boolean
    assert len(found) == len(values)


@given(st.lists(condition, min_size=2, max_size=5), rows)
def test_rules_evaluated_together_match_what_each_matches_alone(texts, rows):
    frame = pl.DataFrame(rows, schema=TWIN.dtypes("block"), orient="row")
    conditions = [accepted(text) for text in texts]
    rules = [ActiveRule(str(place), 1, "live", each) for place, each in enumerate(conditions)]
    together = [[match.name for match in row] for row in RuleSet(rules).matches(frame)]
    alone = [sqlite_answers(each.text, rows) for each in conditions]
    assert together == [
        [str(place) for place, answers in enumerate(alone) if answers[row]]
        for row in range(len(rows))
    ]


def test_a_condition_is_the_same_on_one_row_and_in_a_table():
    text = "amount / card_mean_amount_30d > 3 OR country = 'FR'"
    table = frame(PAYMENT, EMPTY, (math.pi, 1.0, "FR", None, None, None, None))
    expression = parse(text, FIELDS, "block").expression
    alone = [table[place : place + 1].select(expression).item() for place in range(3)]
    assert table.select(expression).to_series().to_list() == alone == [True, None, True]
