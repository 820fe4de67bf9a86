"""Arrays of a file by name, and those of its parts."""

import numpy as np
import pytest

from toprank.files.state import part_of, parts_together, stored_vector

VECTOR = np.array([3, 1, 2])


def test_a_valid_vector_is_returned_as_it_is():
    assert stored_vector({"sizes": VECTOR}, "sizes", np.int64) is VECTOR
    assert stored_vector({"sizes": VECTOR}, "sizes", np.int64, 3) is VECTOR


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (VECTOR.astype(float), "array 'sizes' must be one row of 3 int64; got float64"),
        (VECTOR[None, :], r"array 'sizes' must be one row of 3 int64; .* shape \(1, 3\)"),
        (VECTOR[:2], r"array 'sizes' must be one row of 3 int64; .* shape \(2,\)"),
    ],
)
def test_a_vector_of_another_kind_or_length_is_refused(array, reason):
    with pytest.raises(ValueError, match=reason):
        stored_vector({"sizes": array}, "sizes", np.int64, 3)


def test_a_missing_array_is_named():
    with pytest.raises(ValueError, match="array 'sizes' is missing"):
        stored_vector({"size": VECTOR}, "sizes", np.int64)


def test_parts_are_found_whatever_their_names_begin_with():
    parts = {"rows1": {"time": 1, "row-id": 2}, "rows11": {"time": 3}, 1: {"time": 4}, "none": {}}

    together = parts_together(parts)

    assert {part: part_of(together, part) for part in parts} == parts
