"""The time of each row, however it is stored."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from toprank.data.tables import TableError, time_column

NOON = datetime.datetime(2018, 4, 1, 12)
STORED_NOONS = {
    "timestamp": pa.table({"at": [NOON]}),
    "nanoseconds": pa.table({"at": pa.array([NOON], pa.timestamp("ns"))}),
    "zone": pa.table({"at": [NOON.replace(tzinfo=datetime.UTC)]}),
    "other zone": pd.DataFrame({"at": pd.to_datetime(["2018-04-01 14:00+02:00"])}),
    "paris": pl.DataFrame({"at": [NOON]}).with_columns(
        pl.col("at").dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Paris")
    ),
    "text": pa.table({"at": ["2018-04-01 12:00:00"]}),
    "text with T": pa.table({"at": ["2018-04-01T12:00"]}),
    "text in UTC": pa.table({"at": ["2018-04-01T12:00:00Z"]}),
    "text with offset": pa.table({"at": ["2018-04-01T14:00:00+02:00"]}),
    "text with nanoseconds": pa.table({"at": ["2018-04-01T12:00:00.000000000"]}),
    "category of text": pd.DataFrame({"at": ["2018-04-01 12:00:00"]}, dtype="category"),
    "seconds": pa.table({"at": [1522584000]}),
    "float seconds": pd.DataFrame({"at": [1522584000.0]}),
    "seconds as text": pa.table({"at": ["1522584000"]}),
    "milliseconds": pa.table({"at": [1522584000000]}),
    "microseconds": pa.table({"at": [1522584000000000]}),
    "day first": pa.table({"at": ["01/04/2018 12:00"]}),
    "month first": pa.table({"at": ["04/01/2018 12:00:00 PM", "04/13/2018 1:00 AM"]}),
    "points": pa.table({"at": ["01.04.2018 12:00"]}),
    "month by name": pa.table({"at": ["1-Apr-2018 12:00"]}),
    "digits": pa.table({"at": ["20180401120000"]}),
    "whole number of digits": pa.table({"at": [20180401120000]}),
    "short year first": pa.table({"at": ["18-04-01 12:00", "18-04-13 01:00"]}),
    "short year last": pa.table({"at": ["01/04/18 12:00", "13/04/18 01:00"]}),
    "weekday": pa.table({"at": ["Sun, 01 Apr 2018 14:00:00 +0200"]}),
}


@pytest.mark.parametrize("name", STORED_NOONS)
def test_noon_is_noon_however_it_is_stored(name):
    time_format = "%d/%m/%Y %H:%M" if name == "day first" else None
    times = time_column(STORED_NOONS[name], "at", time_format)

    assert times.dtype == np.dtype("datetime64[us]")
    assert times.tolist()[0] == NOON


@pytest.mark.parametrize("date", [NOON.date(), 20180401, "20180401", "01.04.2018", "2018/04/01"])
def test_a_date_is_its_midnight(date):
    times = time_column(pa.table({"on": [date]}), "on")

    assert times.tolist() == [datetime.datetime(2018, 4, 1)]


@examples(60)
@given(
    st.lists(
        st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2200, 1, 1)), min_size=1
    )
)
def test_times_survive_being_written_as_text(times):
    texts = [time.isoformat(" ", "microseconds") for time in times]

    assert time_column(pa.table({"at": texts}), "at").tolist() == times


@pytest.mark.parametrize(
    "values",
    [
        [NOON, None],
        ["2018-04-01", None],
        ["2018-04-01", ""],
        ["2018-04-01", "NA"],
        [1.0, None],
        [1.0, np.nan],
        ["1.0", ""],
    ],
)
def test_missing_times_are_refused_with_their_count(values):
    with pytest.raises(TableError, match=r"'at' must give every row its time; 1 of 2 .*in row 2"):
        time_column(pa.table({"at": values}), "at")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["2018-04-01", "yesterday"], "'at' .*%Y-%m-%d.*; row 2 has 'yesterday'"),
        (["Paris", "Rome"], "'at' must hold times; row 1 has 'Paris'"),
        (["2018-04-01", "2018-04-01T10:00Z"], "one format, %Y-%m-%d.*row 2 has .*10:00Z"),
        ([np.inf], "'at' must hold times; row 1 has an infinite"),
        ([True], "'at' must hold times; it holds values of type bool"),
        ([[1]], "'at' must hold times"),
        ([datetime.time(1)], "'at' must hold times"),
    ],
)
def test_what_is_no_time_is_refused_in_words(values, message):
    with pytest.raises(TableError, match=message):
        time_column(pa.table({"at": values}), "at")


def test_a_time_column_that_is_not_there_is_named_with_the_nearest():
    with pytest.raises(TableError, match=r"column 'tiem' is not in .*; did you mean 'time'\?$"):
        time_column(pa.table({"time": [1]}), "tiem")
