"""What a model knows of its columns decides how a later file is read, or that it is not."""

import warnings
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from toprank.data.tables import (
    Column,
    Reading,
    Schema,
    TableError,
    TableWarning,
    read_batches,
    read_table,
    read_written,
)
from toprank.data.tables.known_numbers import KnownNumbers, may_be_thousands, most_decimals
from toprank.data.tables.number_formats import PLAIN, NumberFormat

SCHEMA = Schema((Column("amount", "number"),))
US, EU = NumberFormat(".", ","), NumberFormat(",", ".")
CENTS = KnownNumbers(PLAIN, "", 2)


@pytest.fixture
def read(tmp_path):
    """Read amounts for a model that knows them: line by line of a CSV, in both ways."""

    def amounts(*texts, known=CENTS, **options):
        path = tmp_path / "today.csv"
        path.write_text("amount;note\n" + "".join(f"{text};x\n" for text in texts))
        reading = Reading(known_numbers={"amount": known}, **options)
        (batch,) = read_batches(path, schema=SCHEMA, reading=reading)
        (written,) = read_written(path, schema=SCHEMA, reading=reading)
        assert written.table["amount"].to_pylist() == batch["amount"].to_pylist()
        return batch["amount"].to_pylist()

    return amounts


@pytest.mark.parametrize("form", [PLAIN, US])
def test_numbers_that_may_be_thousands_are_refused_where_none_had_three_decimals(read, form):
    known = KnownNumbers(form, "", 2)

    with pytest.raises(TableError, match=r"'amount' in today.csv.*'1\.234' in line 3.*1234.*`dec"):
        read("17", "1.234", "2.500", known=known)
    assert read("17", "1.234", known=known, decimal=".") == [17, 1.234]
    assert read("17", "1.234", known=known, thousands=".") == [17, 1234]


def test_commas_are_refused_in_the_same_way(read):
    with pytest.raises(TableError, match=r"'1,234' in line 2.*`thousands=','`"):
        read("1,234", "5", known=KnownNumbers(EU, "", 0))


@pytest.mark.parametrize("texts", [("1.234", "0.5"), ("1.234", "1234"), ("12.5", "7.25")])
def test_numbers_that_cannot_be_thousands_are_read(read, texts):
    assert read(*texts) == [float(text) for text in texts]


@pytest.mark.parametrize("decimals", [3, None])
def test_three_decimals_are_read_where_there_were_some_or_nobody_knows(read, decimals):
    assert read("1.234", known=KnownNumbers(PLAIN, "", decimals)) == [1.234]


def test_thousands_are_read_as_the_model_knows_them(read):
    assert read("1.234", "12,5", known=KnownNumbers(EU, "", 1)) == [1234, 12.5]


@pytest.mark.parametrize(
    ("unit", "text", "words"),
    [
        ("eur", "$12.50", "'eur'.*it is in 'usd'"),
        ("%", "12", "in percent.*it is without a unit"),
        ("", "12 %", "without a unit.*it is in percent"),
    ],
)
def test_another_unit_is_refused(read, unit, text, words):
    with pytest.raises(TableError, match=f"'amount' in today.csv must be.*{words}"):
        read(text, known=KnownNumbers(PLAIN, unit, 2))


@pytest.mark.parametrize(("unit", "text"), [("eur", "12.50"), ("", "12.50 €")])
def test_a_currency_that_is_left_out_or_added_is_noted_once(read, unit, text):
    with pytest.warns(TableWarning) as caught:
        assert read(text, text, known=KnownNumbers(PLAIN, unit, 2)) == [12.5, 12.5]
    noted = [each for each in caught if "taken to be in the same unit" in str(each.message)]
    assert len(noted) == 2, "one for each of the two ways to read"


@pytest.mark.parametrize("unit", ["eur", None])
def test_a_known_unit_however_it_is_written_and_an_unknown_one_are_read_silently(read, unit):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read("€12.50", "EUR 3", known=KnownNumbers(PLAIN, unit, 2)) == [12.5, 3]


def test_two_currencies_in_a_file_to_score_are_refused(read):
    with pytest.raises(TableError, match=r"'amount' in today\.csv.*'eur' and 'usd'.*line 3"):
        read("EUR 1", "USD 2", "EUR 3")


def test_numbers_of_a_typed_file_have_no_unit_and_any_decimals(tmp_path):
    path = tmp_path / "today.parquet"
    pq.write_table(pa.table({"amount": [1.234]}), path)
    read = partial(read_batches, path, schema=SCHEMA)
    (batch,) = read(reading=Reading(known_numbers={"amount": KnownNumbers(PLAIN, "", 2)}))
    assert batch["amount"].to_pylist() == [1.234]
    with pytest.raises(TableError, match="in percent"):
        list(read(reading=Reading(known_numbers={"amount": KnownNumbers(PLAIN, "%", 0)})))


@pytest.mark.parametrize(
    ("texts", "known"),
    [
        (["12.5", "7.25"], KnownNumbers(PLAIN, "", 2)),
        (["12", "7"], KnownNumbers(PLAIN, "", 0)),
        (["12 %", "7 %"], KnownNumbers(PLAIN, "%", 0)),
        (["$1,234.50", "$7"], KnownNumbers(US, "usd", 1)),
    ],
)
def test_unit_and_decimals_are_found_in_the_table_to_learn_from(tmp_path, texts, known):
    path = tmp_path / "payments.csv"
    path.write_text("amount;note\n" + "".join(f"{text};x\n" for text in texts))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        found = Reading.of(read_table(path)).known_numbers
    assert found == {"amount": known}
    assert KnownNumbers.from_json(known.to_json()) == known


@pytest.mark.parametrize(
    ("noted", "found"),
    [
        ([",", "."], KnownNumbers(EU)),  # as files had it before
        ([".", "", 5, "x"], KnownNumbers(PLAIN)),
        ([";", "", "", 0], None),
        ("., ", None),
        ([","], None),
    ],
)
def test_what_a_file_notes_of_a_column_is_read_or_ignored(noted, found):
    assert KnownNumbers.from_json(noted) == found


@pytest.mark.parametrize(
    ("numbers", "row"),
    [
        ([1.234], 0),
        ([np.nan, 17, -2.5, 1.234, 9.876], 3),
        ([999.999], 0),
        ([1.234, 1000.0], None),
        ([1.234, 0.001], None),
        ([1.2345, 1.234], None),
        ([12.34, 1.5, 1.234], None),  # most are no thousands
        ([12.0, np.nan], None),
    ],
)
def test_all_of_the_numbers_must_be_possible_thousands(numbers, row):
    assert may_be_thousands(np.array(numbers)) == row


@pytest.mark.parametrize(
    ("numbers", "most"), [([1, 2], 0), ([1.5, np.nan], 1), ([1.15, 2.675], 3), ([0.07, 1e9], 2)]
)
def test_decimals_are_counted(numbers, most):
    assert most_decimals(np.array(numbers, dtype=float)) == most
