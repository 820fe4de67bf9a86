"""A file in batches, each as the model reads it and as it is written: parsed once for both."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toprank.data.tables import (
    Column,
    Schema,
    TableError,
    delimited,
    read_batches,
    read_written,
    rows_as_written,
)

SCHEMA = Schema(
    (Column("amount", "number"), Column("vip", "boolean"), Column("shop", "category", ("A",)))
)
NUMBERS = st.sampled_from(
    ["1", "1.50", " 2", "3\t", "+4", "-.5", "6.", "1e5", "1E-400", "inf", "NAN", "", "NA", "nan"]
)
TRUTHS = st.sampled_from(["1", "0", "true", "False", "TRUE", "", "null"])
TEXTS = st.sampled_from(["A", "NA", "", "007", 'say ""hi""', "two\nlines"])


def csv_of(rows, delimiter=","):
    lines = [delimiter.join(f'"{field}"' for field in row) for row in rows]
    return "\n".join([delimiter.join(("amount", "vip", "shop", "card")), *lines, ""])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(NUMBERS, TRUTHS, TEXTS, TEXTS), min_size=1, max_size=9), st.integers(1, 4)
)
def test_every_batch_is_what_two_separate_readings_give(tmp_path, rows, size):
    path = tmp_path / "today.csv"
    path.write_text(csv_of(rows))
    batches = list(read_written(path, schema=SCHEMA, rows=size))
    for one, other in zip(batches, read_batches(path, schema=SCHEMA, rows=size), strict=True):
        assert one.table.schema == other.schema
        assert str(one.table.to_pylist()) == str(other.to_pylist())  # NaN is not equal to itself
    written = pa.concat_tables([batch.written for batch in batches])
    assert written.equals(rows_as_written(path, range(1, len(rows) + 1)))


@pytest.mark.parametrize(
    ("amount", "vip"), [("x", "1"), ("1,5,6", "1"), ("1", "yes"), ("1", " true")]
)
def test_a_value_of_another_type_is_refused_in_the_same_words(tmp_path, amount, vip):
    path = tmp_path / "today.csv"
    path.write_text(csv_of([("1", "1", "A", "7"), (amount, vip, "A", "7")]))
    sentences = []
    for read in (read_batches, read_written):
        with pytest.raises(TableError) as refused:
            list(read(path, schema=SCHEMA))
        sentences.append(str(refused.value))
    assert sentences[0] == sentences[1]
    assert "today.csv" in sentences[0] and "line 3" in sentences[0]


@pytest.mark.filterwarnings("ignore::toprank.data.tables.TableWarning")
@pytest.mark.parametrize(
    "amounts",
    [("1,5", "1234,25"), ("1,5", "1.234,5"), ("0,5", "2.5"), ("1", " "), ("EUR 5", "unknown")],
)
def test_numbers_as_people_write_them_are_read_or_refused_alike(tmp_path, amounts):
    path = tmp_path / "today.csv"
    path.write_text(csv_of([(amount, "1", "A", "7") for amount in amounts], delimiter=";"))
    found = []
    for read in (read_batches, read_written):
        try:
            (batch,) = read(path, schema=SCHEMA)
            found.append(getattr(batch, "table", batch)["amount"].to_pylist())
        except TableError as error:
            found.append(str(error))
    assert found[0] == found[1]


def test_a_file_is_parsed_once(tmp_path, monkeypatch):
    path = tmp_path / "today.csv.gz"
    path.write_bytes(gzip.compress(csv_of([("1", "1", "A", "7")] * 50).encode()))
    opened = []
    parsed = delimited._parsed_blocks
    monkeypatch.setattr(
        delimited, "_parsed_blocks", lambda *given: opened.append(given) or parsed(*given)
    )
    assert sum(batch.table.num_rows for batch in read_written(path, schema=SCHEMA, rows=20)) == 50
    assert len(opened) == 1


def test_parquet_rows_are_written_as_they_are_read(tmp_path):
    table = pa.table({"amount": [1.5, 2.0], "vip": [True, False], "shop": ["A", "B"]})
    pq.write_table(table, tmp_path / "today.parquet")
    (batch,) = read_written(tmp_path / "today.parquet", schema=SCHEMA)
    assert batch.table.equals(table)
    assert batch.written.equals(table)


def test_without_a_schema_text_is_all_there_is(tmp_path):
    path = tmp_path / "today.csv"
    path.write_text("card,amount\n007,1.50\n")
    (batch,) = read_written(path)
    assert batch.table.to_pylist() == [{"card": "007", "amount": "1.50"}]


def test_a_missing_column_is_named(tmp_path):
    path = tmp_path / "today.csv"
    path.write_text("amuont,vip,shop\n1,1,A\n")
    with pytest.raises(TableError, match=r"'amount' is not in today\.csv; did you mean 'amuont'"):
        list(read_written(path, schema=SCHEMA))
