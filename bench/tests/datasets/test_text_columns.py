"""Texts become numbers where all of them are numbers."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from toprank_bench.datasets.text_columns import number_or_category, plain_text

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
AROUND = st.sampled_from(["{}", " {}", "{} ", "'{}'", " '{}' "])


@given(st.lists(st.tuples(FLOATS | st.none(), AROUND), min_size=1))
def test_numbers_come_back_from_their_texts(cells):
    texts = [around.format("?" if number is None else repr(number)) for number, around in cells]
    column = number_or_category(plain_text(pa.chunked_array([texts])))
    assert column.type == pa.float64()
    assert column.to_pylist() == [number for number, _ in cells]


@given(st.lists(FLOATS.map(repr)), st.sampled_from(["a", "1a", "x y", "1,5"]))
def test_one_text_makes_a_column_categories(numbers, text):
    column = number_or_category(plain_text(pa.chunked_array([[*numbers, text]])))
    assert pa.types.is_dictionary(column.type)
    assert column.to_pylist() == [*numbers, text]
