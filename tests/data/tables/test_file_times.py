"""Times of a file: day or month first as the model knows it, and the days of a spreadsheet."""

import warnings

import pyarrow as pa
import pytest

from toprank.data.tables import Reading, TableError, TableWarning, read_batches, read_table

DAY_FIRST, MONTH_FIRST = "%d/%m/%Y", "%m/%d/%Y"


@pytest.fixture
def times(tmp_path):
    """Read times for a model that knows their format."""

    def read(*texts, known=None, time_format=None):
        path = tmp_path / "today.csv"
        path.write_text("at,amount\n" + "".join(f"{text},1\n" for text in texts))
        known_times = {} if known is None else {"at": known}
        reading = Reading(times=("at",), known_times=known_times, time_format=time_format)
        return [
            str(each)[:16]
            for batch in read_batches(path, reading=reading, rows=2)
            for each in batch["at"].to_pylist()
        ]

    return read


@pytest.mark.parametrize(
    ("known", "text", "moment"),
    [
        (DAY_FIRST, "03/04/2024", "2024-04-03 00:00"),
        (MONTH_FIRST, "03/04/2024", "2024-03-04 00:00"),
        (f"{DAY_FIRST} %H:%M", "03/04/2024", "2024-04-03 00:00"),
        (MONTH_FIRST, "03-04-24 10:30", "2024-03-04 10:30"),
        (DAY_FIRST, "2024-04-03", "2024-04-03 00:00"),
    ],
)
def test_what_is_unclear_is_read_as_the_model_knows_it(times, known, text, moment):
    assert times(text, known=known) == [moment]


@pytest.mark.parametrize(
    "texts", [["01/13/2024"], ["03/04/2024", "01/13/2024"], ["01/13/2024", "03/04/2024 10:00"]]
)
def test_a_file_that_contradicts_the_model_is_refused(times, texts):
    line = 2 + texts.index("01/13/2024")

    with pytest.raises(TableError, match=f"'at'.*day first.*line {line} has '01/13/2024'") as stop:
        times(*texts, known=DAY_FIRST)
    assert "`time_format='%m/%d/%Y" in str(stop.value)


def test_a_contradiction_in_a_later_batch_is_refused_too(times):
    with pytest.raises(TableError, match=r"'at'.*line 5 has '01/13/2024'"):
        times("03/04/2024", "04/04/2024", "05/04/2024", "01/13/2024", known=DAY_FIRST)


def test_a_format_that_is_given_overrules_the_model(times):
    assert times("03/04/2024", known=DAY_FIRST, time_format=MONTH_FIRST) == ["2024-03-04 00:00"]


def test_days_of_a_spreadsheet_are_dates_with_a_note(times):
    with pytest.warns(TableWarning, match="'at'.*45321 to 45322.5.*from 2024-01-30 00:00:00"):
        assert times("45321", "45322.5") == ["2024-01-30 00:00", "2024-01-31 12:00"]


def test_days_that_the_model_knows_need_no_note(times):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert times("45321", known="Excel days") == ["2024-01-30 00:00"]


@pytest.mark.parametrize("known", [None, "numbers"])
def test_numbers_outside_of_the_range_or_known_as_others_are_seconds(times, known):
    texts = ["45321", "45322"] if known else ["45321", "172792"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert times(*texts, known=known)[0] == "1970-01-01 12:35"


@pytest.mark.filterwarnings("ignore::toprank.data.tables.TableWarning")
@pytest.mark.parametrize(
    ("cells", "known"),
    [([45321, 45322], "Excel days"), ([0, 172792], "numbers"), (["2024-01-30 10:00:00"], None)],
)
def test_a_model_keeps_which_numbers_its_times_were(tmp_path, cells, known):
    path = tmp_path / "payments.csv"
    path.write_text("at,amount\n" + "".join(f"{cell},1\n" for cell in cells))
    table = read_table(path, reading=Reading(times=("at",)))
    found = Reading.from_json(Reading.of(table).to_json()).known_times

    assert found.get("at") == known
    assert pa.types.is_timestamp(table["at"].type) == (known != "numbers")
