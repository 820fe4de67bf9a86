"""Lines processed together give what lines one by one give, to the byte."""

import io
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

import toprank
from cli.running import run_main
from examples import examples
from toprank.cli.stream_input import CsvEvents, Fields, JsonEvents
from toprank.cli.stream_lines import LONGEST_LINE, Lines, Position

FIELDS = Fields("id", "label", ("note",))
HEADER = "id,amount,country,age,label,note"


class Pieces(io.BytesIO):
    """Bytes of a pipe that come in pieces of these sizes."""

    def __init__(self, raw, sizes):
        super().__init__(raw)
        self._sizes, self._n_read = sizes, 0

    def read1(self, size=-1):
        own = self._sizes[self._n_read % len(self._sizes)]
        self._n_read += 1
        return super().read1(own if size < 0 else min(own, size))


amounts = st.one_of(
    st.floats(-1e6, 1e6).map(repr),
    st.sampled_from(
        ["", "7", "007", "1,5", "EUR 12.50", "1.234,56", "1e400", "inf", "nan", "-0.0"]
    ),
)
countries = st.sampled_from(["FR", "DE", "", "12", " x ", "1_000", "0", "EUR", "2024-01-01", "é"])
csv_lines = st.one_of(
    st.tuples(
        st.sampled_from("abc"), amounts, countries, st.sampled_from(["", "30", "x"]),
        st.sampled_from(["", "", "1", "0", "yes"]), st.sampled_from(["", "n"]),
    ).map(lambda cells: ",".join(f'"{cell}"' if "," in cell else cell for cell in cells)),
    st.sampled_from(["", "a,b", 'a,"open,FR,1,0,', "a,,,,1,", "b,,,,0,", "a,1,FR,3,1,\r"]),
)  # fmt: skip
json_values = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.floats(-2, 2), st.just(10**400),
    st.sampled_from(["FR", "12", "1,5", "007", "EUR 3", ""]),
)  # fmt: skip
json_lines = st.one_of(
    st.fixed_dictionaries(
        {"id": st.sampled_from(["a", "b", 7])},
        optional={
            "amount": json_values,
            "country": json_values,
            "label": st.sampled_from([None, 0, 1, "1"]),
            "note": st.sampled_from([1, "x", [{}]]),
        },
    ).map(json.dumps),
    st.sampled_from(
        [
            "", "[1]", "{}", '{"amount": 1', '"b": 2}', '{"a": [{"b": 1}', '{"c": 2}]}',
            '{"amount": 1}, {"amount": 2}', '{"amount": NaN}', '{"amount": Infinity}',
            '{"amount": {}}', '{"id": "a", "label": 1}', '{"id": "b", "label": 0}',
        ]
    ),
)  # fmt: skip
sizes = st.lists(st.integers(1, 80), min_size=1, max_size=5)


def read_in_batches(make, lines, counts):
    """What a reader makes of lines, so many of them at a time, and what it knows then."""
    reader, found, start = make(), [], 0
    while start < len(lines):
        count = counts[len(found) % len(counts)]
        found += reader.events([line.encode() for line in lines[start : start + count]])
        start += count
    return [str(each) if isinstance(each, Exception) else each for each in found], reader.state()


@examples(200)
@given(st.lists(csv_lines, max_size=25), st.lists(st.integers(1, 9), min_size=1))
def test_lines_of_csv_read_together_are_those_read_one_by_one(lines, counts):
    def make():
        return CsvEvents(FIELDS, HEADER.encode())

    assert repr(read_in_batches(make, lines, counts)) == repr(read_in_batches(make, lines, [1]))


@examples(200)
@given(st.lists(json_lines, max_size=25), st.lists(st.integers(1, 9), min_size=1))
def test_lines_of_json_read_together_are_those_read_one_by_one(lines, counts):
    def make():
        return JsonEvents(FIELDS)

    found, numbers = read_in_batches(make, lines, counts)
    expected, same_numbers = read_in_batches(make, lines, [1])

    assert repr(found) == repr(expected)
    assert numbers == same_numbers


@examples(40)
@given(st.lists(json_lines, min_size=1, max_size=40), sizes, st.sampled_from([1, 3, 7, 1000]))
def test_a_pipe_in_any_pieces_gives_the_bytes_and_the_model_of_lines_one_by_one(
    lines, own, checkpoint_every
):
    raw = "".join(f"{line}\n" for line in ['{"id": "x", "amount": 1}', *lines]).encode()
    with TemporaryDirectory() as folder:
        found = streamed(Path(folder), Pieces(raw, own), checkpoint_every)
        expected = streamed(Path(folder), Pieces(raw, [len(raw)]), 1)  # batches of one line each

    assert found == expected


def streamed(folder, stdin, checkpoint_every):
    """The scores, bad lines and the model file's content of a run over stdin."""
    model, scores = folder / "m.toprank", folder / "scores.ndjson"
    model.unlink(missing_ok=True)
    scores.unlink(missing_ok=True)
    with patch.object(sys, "stdin", io.TextIOWrapper(stdin)):
        outcome = run_main(
            "stream", "--model", model, "-o", scores, "--drop", "note", "--learner", "onlb",
            "--checkpoint-every", checkpoint_every, "--threshold", 0.2,
        )  # fmt: skip
    skipped = sorted(line for line in outcome.stderr.splitlines() if "is skipped" in line)
    if not model.exists():
        return outcome.exit_code, skipped
    saved = toprank.load(model)._to_saved()
    arrays = {name: array.tobytes() for name, array in saved.arrays.items()}
    return outcome.exit_code, skipped, scores.read_bytes(), saved.state, arrays


@examples(100)
@given(
    st.lists(st.sampled_from(["", "a", "bb", "\r", "ü" * 30]), max_size=30),
    st.booleans(), sizes, st.integers(1, 10),
)  # fmt: skip
def test_lines_come_whole_whatever_the_pieces(texts, is_whole, own, most):
    raw = "\n".join(texts).encode() + b"\n" * is_whole
    lines, found = Lines(Pieces(raw, own), Position()), []
    while (batch := lines.take(most)) is not None:
        assert len(batch.lines) <= most
        assert batch.after(len(batch.lines)) == batch.end == lines.position
        begin = batch.start.n_bytes
        for n in range(len(batch.lines) + 1):
            after = batch.after(n)
            assert after == batch.start.after(raw[begin : after.n_bytes], n)
        found += batch.lines

    assert found == io.BytesIO(raw).read().split(b"\n")[: len(found)]
    assert lines.position.n_bytes == len(raw)
    assert lines.position == Position().after(raw, len(found))


def test_of_a_line_that_is_too_long_only_the_start_is_kept():
    raw = b"a\n" + b"x" * (3 * LONGEST_LINE) + b"\nb\n"
    lines = Lines(io.BytesIO(raw), Position())
    found = []
    while (batch := lines.take(10)) is not None:
        found += batch.lines

    assert [line[:1] for line in found] == [b"a", b"x", b"b"]
    assert LONGEST_LINE <= len(found[1]) < 3 * LONGEST_LINE
    assert lines.position == Position().after(raw, 3)


def test_a_large_file_is_recognised_by_its_end_alone(tmp_path):
    path = tmp_path / "events.ndjson"
    raw = b"".join(b"%d\n" % number for number in range(100_000))
    path.write_bytes(raw + b"more\n")
    with path.open("rb") as file:
        position = Position().after(raw, 100_000).in_file(file)
    with Counting(path.open("rb", buffering=0)) as file:
        assert position.is_in(file)
        assert file.n_read < 100_000 < len(raw)
    path.write_bytes(raw[:-3] + b"8\n\n")
    with path.open("rb") as file:
        assert not position.is_in(file)


class Counting:
    """A file that counts the bytes that were read."""

    def __init__(self, file):
        self._file, self.n_read = file, 0

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    def read(self, size):
        raw = self._file.read(size)
        self.n_read += len(raw)
        return raw
