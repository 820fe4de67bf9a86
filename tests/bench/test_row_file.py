"""Rows on disk: whole or not there, whatever happens to the process that writes them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from toprank.bench.row_file import read_rows, writing


@examples(40)
@given(n_rows=st.integers(0, 4), n_torn=st.integers(0, 60))
def test_a_file_cut_anywhere_has_whole_rows_and_takes_more(tmp_path_factory, n_rows, n_torn):
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    rows = [{"number": number, "text": "né\nx"} for number in range(n_rows)]
    with writing(path) as writer:
        for row in rows:
            writer.append(row)
    whole = path.read_bytes()
    path.write_bytes(whole[: max(0, len(whole) - n_torn)])
    kept = read_rows(path)
    with writing(path) as writer:
        writer.append({"number": 99})

    assert kept == rows[: len(kept)]
    assert len(kept) >= n_rows - 1 - n_torn // 20
    assert read_rows(path) == [*kept, {"number": 99}]


def test_a_broken_line_among_others_is_told_with_its_number(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n[1]\n{"a": 2}\n')
    with pytest.raises(ValueError, match=re.escape(f"line 2 of {path} must be a row in JSON")):
        read_rows(path)


def test_only_one_process_writes(tmp_path):
    path = tmp_path / "rows.jsonl"
    with writing(path), pytest.raises(ValueError, match="written by another"), writing(path):
        pass


def test_a_number_that_json_lacks_is_not_written(tmp_path):
    path = tmp_path / "rows.jsonl"
    with writing(path) as writer, pytest.raises(ValueError, match="JSON"):
        writer.append({"value": float("nan")})
    assert path.read_bytes() == b""
