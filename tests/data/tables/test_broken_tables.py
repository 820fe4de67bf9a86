"""Five hundred broken tables: each is refused in one sentence or read and encoded."""

import gzip
import io
import re
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from toprank.data.tables import Schema, TableWarning, read_batches, read_table

N_TABLES = 500
N_GROUPS = 20
WRONG_CELLS = [
    "abc", "2018-04-01", "2018-04-01T10:00:00Z", "10:30:00", "inf", "-Infinity", "1e400", "NaN",
    "", '"', '""', '"a\nb"', "'", "é", "\u2028", "99999999999999999999999", "true", "1,5",
    "\\", "=1+1",
]  # fmt: skip


@pytest.mark.parametrize("group", range(N_GROUPS))
def test_a_broken_table_is_refused_in_one_sentence_or_used(group, tmp_path):
    for seed in range(group, N_TABLES, N_GROUPS):
        rng = np.random.default_rng(seed)
        name, content = broken_file(rng)
        path = tmp_path / name
        path.write_bytes(content)
        for use in (whole, in_batches):
            try:
                use(path)
            except (ValueError, OSError) as error:
                assert_is_one_plain_sentence(str(error), seed)


def test_the_broken_tables_are_neither_all_hopeless_nor_all_harmless(tmp_path):
    refused = 0
    for seed in range(N_TABLES):
        name, content = broken_file(np.random.default_rng(seed))
        path = tmp_path / name
        path.write_bytes(content)
        try:
            read_table(path)
        except (ValueError, OSError):
            refused += 1

    assert N_TABLES // 5 < refused < N_TABLES * 4 // 5


def whole(path):
    table = read_table(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        matrix = Schema.of(table).encode(table)
    assert matrix.shape == (table.num_rows, table.num_columns)
    assert not np.isinf(matrix).any()


def in_batches(path):
    for table in read_batches(path, schema=HEALTHY_SCHEMA, rows=7):
        matrix = HEALTHY_SCHEMA.encode(table)
        assert matrix.shape == (table.num_rows, len(HEALTHY_SCHEMA.names))
        assert not np.isinf(matrix).any()


def assert_is_one_plain_sentence(message, seed):
    assert 20 < len(message) < 500, (seed, message)
    assert "\n" not in message, (seed, message)
    assert message[-1] in ".?", (seed, message)
    jargon = r"arrow|Traceback|0x[0-9a-f]{6}|CSV parse error|conversion error|thrift|codec|Errno"
    assert not re.search(jargon, message, re.IGNORECASE), (seed, message)


def healthy_table(rng, n_rows=40):
    return pa.table(
        {
            "amount": rng.exponential(50, n_rows).round(2),
            "n_items": rng.integers(0, 9, n_rows),
            "is_night": rng.random(n_rows) < 0.3,
            "country": rng.choice(["FR", "DE", "IT"], n_rows),
        }
    )


HEALTHY_SCHEMA = Schema.of(healthy_table(np.random.default_rng(0)))


def broken_file(rng):
    if rng.random() < 0.3:
        content = io.BytesIO()
        pq.write_table(oddly_typed(healthy_table(rng), rng), content)
        parquet = content.getvalue()
        suffix = rng.choice(["parquet", "pq", "csv"])
        return f"events.{suffix}", broken_bytes(parquet, rng) if rng.random() < 0.5 else parquet
    lines = delimited_lines(healthy_table(rng), rng)
    for _ in range(rng.integers(1, 4)):
        lines = TEXT_BREAKAGES[rng.integers(len(TEXT_BREAKAGES))](lines, rng)
    content = "\n".join(lines).encode()
    if rng.random() < 0.3:
        content = broken_bytes(content, rng)
    if rng.random() < 0.1:
        content = broken_bytes(gzip.compress(content, mtime=0), rng)
    suffix = "parquet" if rng.random() < 0.05 else rng.choice(["csv", "tsv", "txt", "gz", "data"])
    return f"events.{suffix}", content


def oddly_typed(table, rng):
    columns = {
        "same": table["amount"],
        "when": pa.array(np.arange(40), pa.timestamp("us")),
        "nested": pa.array([[1, 2]] * 40),
        "raw": pa.array([b"\xff"] * 40),
        "nothing": pa.nulls(40),
        "infinite": pa.array([np.inf] * 40),
        "coded": table["country"].combine_chunks().dictionary_encode(),
        "amount": pa.array(["text"] * 40),
        "country": pa.array(np.arange(40) * 1e300),
    }
    name = rng.choice(list(columns))
    return pa.Table.from_arrays([*table.columns, columns[name]], [*table.column_names, str(name)])


def delimited_lines(table, rng):
    rows = [table.column_names, *(map(str, row.values()) for row in table.to_pylist())]
    delimiter = rng.choice([",", ";", "\t", "|"])
    return [delimiter.join(row) for row in rows]


def broken_bytes(content, rng):
    choice = rng.integers(5)
    if choice == 0:
        return content[: rng.integers(len(content) + 1)]
    if choice == 1:
        return rng.bytes(rng.integers(300))
    if choice == 2:
        return b"\x89PNG\r\n\x1a\n" + content if rng.random() < 0.5 else b"PK\x03\x04" + content
    flipped = np.frombuffer(content, np.uint8).copy()
    places = rng.integers(flipped.size, size=rng.integers(1, 20)) if flipped.size else []
    flipped[places] = rng.integers(256, size=len(places))
    return flipped.tobytes()


def without_a_line(lines, rng):
    gone = rng.integers(len(lines)) if lines else 0
    return lines[:gone] + lines[gone + 1 :]


def with_a_line_twice(lines, rng):
    again = rng.integers(len(lines)) if lines else 0
    return lines[: again + 1] + lines[again:]


def with_swapped_delimiters(lines, rng):
    return [line.replace(",", ";") if rng.random() < 0.3 else line for line in lines]


def with_a_wrong_cell(lines, rng):
    lines = list(lines)
    for place in rng.integers(len(lines), size=rng.integers(1, 5)) if lines else []:
        delimiter = max(",;\t|", key=lines[place].count)
        cells = lines[place].split(delimiter)
        cells[rng.integers(len(cells))] = str(rng.choice(WRONG_CELLS))
        lines[place] = delimiter.join(cells)
    return lines


def with_a_wrong_column(lines, rng):
    cell = str(rng.choice(WRONG_CELLS))
    delimiter = max(",;\t|", key=lines[0].count) if lines else ","
    return [f"{line}{delimiter}{'extra' if i == 0 else cell}" for i, line in enumerate(lines)]


def with_a_column_name_twice(lines, rng):
    return [lines[0].replace("n_items", "amount"), *lines[1:]] if lines else lines


def with_a_cut_line(lines, rng):
    lines = list(lines)
    if lines:
        place = rng.integers(len(lines))
        lines[place] = lines[place][: rng.integers(len(lines[place]) + 1)]
    return lines


def with_an_open_quote(lines, rng):
    lines = list(lines)
    if lines:
        place = rng.integers(len(lines))
        lines[place] = '"' + lines[place]
    return lines


def with_few_lines(lines, rng):
    return lines[: rng.integers(3)]


def with_odd_line_ends(lines, rng):
    return [line + str(rng.choice(["\r", "", " ", "\n", "\x0b"])) for line in lines]


TEXT_BREAKAGES = [
    without_a_line,
    with_a_line_twice,
    with_swapped_delimiters,
    with_a_wrong_cell,
    with_a_wrong_cell,
    with_a_wrong_column,
    with_a_column_name_twice,
    with_a_cut_line,
    with_an_open_quote,
    with_few_lines,
    with_odd_line_ends,
]
