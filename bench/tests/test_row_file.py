"""Rows on disk: whole or not there, whatever happens to the process that writes them."""

import lzma
import re
import signal
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from toprank_bench.row_file import read_rows, rows_file, writing


@pytest.fixture
def path(tmp_path):
    return rows_file(tmp_path, "rows")


def open_file(path):
    """Where the rows of a run at work are."""
    return path.with_suffix("")


@examples(40)
@given(n_rows=st.integers(0, 4), n_cut=st.integers(0, 60))
def test_an_open_file_cut_anywhere_has_whole_rows_and_takes_more(tmp_path_factory, n_rows, n_cut):
    path = rows_file(tmp_path_factory.mktemp("rows"), "rows")
    rows = [{"number": number, "text": "né\nx"} for number in range(n_rows)]
    with writing(path) as writer:
        for row in rows:
            writer.append(row)
        whole = open_file(path).read_bytes()
    path.unlink(missing_ok=True)  # as if the process had been killed before it compressed
    open_file(path).write_bytes(whole[: max(0, len(whole) - n_cut)])
    kept = read_rows(path)
    with writing(path) as writer:
        writer.append({"number": 99})

    assert kept == rows[: len(kept)]
    assert len(kept) >= n_rows - 1 - n_cut // 20
    assert read_rows(path) == [*kept, {"number": 99}]


def test_rows_are_compressed_when_a_run_ends_also_by_an_error(path):
    with pytest.raises(KeyboardInterrupt), writing(path) as writer:
        writer.append({"a": 1})
        raise KeyboardInterrupt
    with writing(path) as writer:
        writer.append({"a": 2})

    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert lzma.decompress(path.read_bytes()) == b'{"a": 1}\n{"a": 2}\n'


def test_equal_rows_give_equal_files_however_often_they_were_resumed(tmp_path):
    once, twice = (rows_file(tmp_path, name) for name in ("once", "twice"))
    with writing(once) as writer:
        writer.append({"a": 1})
        writer.append({"a": 2})
    for number in (1, 2):
        with writing(twice) as writer:
            writer.append({"a": number})

    assert once.read_bytes() == twice.read_bytes()


def test_a_run_without_new_rows_leaves_the_file_as_it_is(path):
    with writing(path) as writer:
        writer.append({"a": 1})
    before = path.stat()
    with writing(path):
        pass

    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert not open_file(path).exists()


def test_rows_in_both_files_count_once(path):
    with writing(path) as writer:
        writer.append({"a": 1})
    open_file(path).write_text('{"a": 1}\n{"a": 2}\n')  # killed before the file was deleted

    assert read_rows(path) == [{"a": 1}, {"a": 2}]


def test_a_killed_process_loses_no_row(path):
    code = (
        "import sys; from pathlib import Path; from toprank_bench.row_file import writing\n"
        "with writing(Path(sys.argv[1])) as writer:\n"
        "    writer.append({'a': 1}); print('written', flush=True); sys.stdin.read()"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    run.stdout.readline()
    run.kill()
    run.communicate()

    assert run.returncode == -signal.SIGKILL
    assert read_rows(path) == [{"a": 1}]
    with writing(path) as writer:
        writer.append({"a": 2})
    assert read_rows(path) == [{"a": 1}, {"a": 2}]


def test_a_broken_line_among_others_is_reported_with_its_number(path):
    open_file(path).write_text('{"a": 1}\n[1]\n{"a": 2}\n')
    with pytest.raises(ValueError, match=re.escape(f"row 2 of {path} must be a JSON object")):
        read_rows(path)


def test_only_one_process_writes(path):
    with writing(path), pytest.raises(ValueError, match="written by another"), writing(path):
        pass


def test_a_number_that_json_lacks_is_not_written(path):
    with writing(path) as writer, pytest.raises(ValueError, match="JSON"):
        writer.append({"value": float("nan")})
    assert not path.exists()
