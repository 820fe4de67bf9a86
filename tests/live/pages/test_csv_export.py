import csv
import io

import pytest

from toprank.live.pages.csv_export import csv_response, csv_text


@pytest.mark.parametrize("begins", ["=", "+", "-", "@", "\t", "\r", "\n", " =", "\t@"])
def test_a_text_that_begins_as_a_formula_gets_a_quote(begins):
    (row,) = csv.reader(io.StringIO(csv_text([begins + "1"], []), newline=""))
    assert row == [f"'{begins}1"]


def test_numbers_dates_and_other_texts_stay_as_they_are():
    row = [-1.5, 3, None, "a=b", "a, b", 'say "x"', "zoë", "", True]
    (read,) = csv.reader(io.StringIO(csv_text(row, []), newline=""))
    assert read == ["-1.5", "3", "", "a=b", "a, b", 'say "x"', "zoë", "", "True"]


def test_an_export_is_a_file_to_save():
    response = csv_response("decisions-2025", ["card"], [["•••• 1234"]])
    assert response.headers["content-disposition"] == 'attachment; filename="decisions-2025.csv"'
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
