"""Arrays in a file."""

import numpy as np
import pytest

from files.packing import npy_of, refused, rewrite, with_member
from files.tiny_ranker import fitted
from toprank.files import load, save

pytestmark = pytest.mark.usefixtures("tiny_known")

NO_ARRAY = "center.npy must be a .npy array of numbers or strings"


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((0, 3)),
        np.array(7),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array([True, False]),
        np.array(["été", ""]),
        np.arange(5, dtype=">i2"),
        np.array([np.nan, np.inf]),
    ],
    ids=str,
)
def test_an_array_is_read_as_it_was_written(array, tmp_path):
    other = fitted()
    other.center_ = array
    save(other, tmp_path / "model.toprank")

    found = load(tmp_path / "model.toprank").center_

    assert found.dtype == array.dtype
    assert found.shape == array.shape
    np.testing.assert_array_equal(found, array)


def test_an_array_of_objects_is_refused(tmp_path):
    model = fitted()
    model.center_ = np.array([None])
    with pytest.raises(
        ValueError, match="array 'center' must contain numbers or strings; got object"
    ):
        save(model, tmp_path / "model.toprank")


def npy(header, data=b""):
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def header(descr, shape):
    return f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", NO_ARRAY),
        (b"\x93NUMPY\x02\x00", NO_ARRAY),
        (npy("(" * 110), NO_ARRAY),
        (npy_of(np.array([None]), allow_pickle=True), NO_ARRAY),
        (npy(header("|V8", (1,)), bytes(8)), NO_ARRAY),
        (npy(header("<f8", (-1, -1)), bytes(8)), NO_ARRAY),
        (npy(header("<f3", (1,)), bytes(3)), "data type '<f3'"),
        (npy(header("<U0", (10**15,))), "it has 0 bytes"),
        (npy(header("<f8", (10**12,)), bytes(8)), "it has 8 bytes"),
        (npy(header("|b1", (2,)), b"\x01\x02"), "neither 0 nor 1"),
    ],
)
def test_a_member_that_is_no_array_is_refused(raw, reason, saved_file):
    rewrite(saved_file, with_member("center.npy", raw))

    with refused(reason):
        load(saved_file)
