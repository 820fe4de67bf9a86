"""Codes in a CSV keep their zeros, and NA among codes of two letters is one of them."""

import warnings

import pytest

from toprank.data.tables import Schema, TableWarning, read_batches, read_table


@pytest.fixture
def file(tmp_path):
    def write(*cells):
        path = tmp_path / "payments.csv"
        path.write_text("x,amount\n" + "".join(f"{cell},1.5\n" for cell in cells))
        return path

    return write


@pytest.mark.parametrize(
    "cells", [["01234", "75001", ""], ["75001", "007", "NA"], ["00012345678901234567890", "5"]]
)
def test_numbers_with_a_zero_in_front_are_codes_with_a_note(file, cells):
    path = file(*cells)

    with pytest.warns(TableWarning, match="'x' is read as categories.*start with a zero") as notes:
        table = read_table(path)
    assert len(notes) == 1
    assert table["x"].to_pylist() == [None if cell in ("", "NA") else cell for cell in cells]


def test_codes_are_found_also_among_words_for_missing(file):
    with pytest.warns(TableWarning, match="'01234'"):
        assert read_table(file("unknown", "01234", "75001"))["x"][1].as_py() == "01234"


@pytest.mark.parametrize("cells", [["0", "10"], ["0.5", "1"], ["-7", "70"], ["007.5", "1"]])
def test_other_numbers_are_numbers_without_a_note(file, cells):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_table(file(*cells))["x"].to_pylist() == [float(cell) for cell in cells]


def test_na_is_a_value_among_codes_of_two_letters(file):
    with pytest.warns(TableWarning, match="'x' has 'NA' in 2 rows.*'DE', 'FR'"):
        table = read_table(file("FR", "NA", "DE", "", "NA", "null"))
    assert table["x"].to_pylist() == ["FR", "NA", "DE", None, "NA", None]


@pytest.mark.parametrize("cells", [["France", "NA", "Spain"], ["A", "NA", "B"], ["FR", "", "DE"]])
def test_na_is_missing_elsewhere(file, cells):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = read_table(file(*cells))
    assert table["x"].to_pylist() == [None if cell in ("", "NA") else cell for cell in cells]


@pytest.mark.filterwarnings("ignore::toprank.data.tables.TableWarning")
@pytest.mark.parametrize("cells", [["01234", "75001"], ["NA", "FR", "DE", "NA", ""]])
def test_a_table_and_the_next_file_give_codes_the_same_numbers(file, cells):
    path = file(*cells)
    table = read_table(path)
    schema = Schema.of(table)
    (batch,) = read_batches(path, schema=schema)

    assert schema.encode(batch).tobytes() == schema.encode(table).tobytes()
    row = {"x": cells[0], "amount": 1.5}
    assert schema.encode_row(row).tolist() == schema.encode(batch)[0].tolist()
