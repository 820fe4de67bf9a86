import csv
import io

import pytest

from toprank.live.pages.csv_export import csv_response, csv_text


@pytest.mark.parametrize("begins", ["=", "+", "-", "@", "\t", "\r"])
def test_a_text_that_begins_as_a_formula_gets_an_apostrophe(begins):
    (row,) = csv.reader(io.StringIO(csv_text([begins + "A1"], []), newline=""))
    assert row == [f"'{begins}A1"]


def test_numbers_dates_and_other_texts_stay_as_they_are():
    row = [-1.5, 3, None, "a=b", "a, b", 'say "x"', "zoë", "", "-12.50"]
    (read,) = csv.reader(io.StringIO(csv_text(row, []), newline=""))
    assert read == ["-1.5", "3", "", "a=b", "a, b", 'say "x"', "zoë", "", "-12.50"]


def test_an_export_is_a_file_to_save():
    response = csv_response("decisions-2025", ["card"], [["•••• 1234"]])
    assert response.headers["content-disposition"] == 'attachment; filename="decisions-2025.csv"'
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
