import json

import numpy as np
import pytest
import xgboost
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from files.ubjson_writer import MARKERS, written
from toprank.files import ubjson


def plain(value):
    """Return `value` with its arrays as lists, as JSON has them."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


@pytest.fixture(scope="module")
def booster():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(200, 3))
    X[:, 2] = generator.integers(0, 9, 200)
    matrix = xgboost.DMatrix(
        X, X[:, 0] + (X[:, 2] == 4), feature_types=["q", "q", "c"], enable_categorical=True
    )
    return xgboost.train({"max_depth": 3, "max_cat_to_onehot": 1, "nthread": 1}, matrix, 3)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(width=32, allow_nan=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@examples(100)
@given(values)
def test_a_value_is_read_as_it_was_written(value):
    assert ubjson.read(written(value)) == value


@pytest.mark.parametrize("code", MARKERS)
def test_a_typed_array_keeps_its_type_and_values(code):
    array = np.array([0, 1, 100], dtype=code)

    found = ubjson.read(written(array))

    assert found.dtype == array.dtype
    assert found.tolist() == array.tolist()


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"i\xff", -1),
        (b"U\xff", 255),
        (b"I\x01\x00", 256),
        (b"l\x00\x01\x00\x00", 65536),
        (b"d\x3f\x80\x00\x00", 1.0),
        (b"D\xbf\xf0\x00\x00\x00\x00\x00\x00", -1.0),
        (b"Cx", "x"),
        (b"Si\x02ab", "ab"),
        (b"[i\x01i\x02]", [1, 2]),
        (b"[#i\x02TF", [True, False]),
        (b"{#i\x01i\x01aZ", {"a": None}),
        (b"{$U#i\x02i\x01a\x05i\x01b\x06", {"a": 5, "b": 6}),
    ],
)
def test_every_form_of_value_is_read(raw, value):
    assert ubjson.read(raw) == value


def test_a_booster_is_the_same_in_ubjson_as_in_json(booster):
    found = plain(ubjson.read(bytes(booster.save_raw("ubj"))))
    expected = json.loads(booster.save_raw("json"))

    trees = found["learner"]["gradient_booster"]["model"].pop("trees")
    expected_trees = expected["learner"]["gradient_booster"]["model"].pop("trees")
    assert found == expected
    assert len(trees) == len(expected_trees) == 3
    for tree, expected_tree in zip(trees, expected_trees, strict=True):
        for name in expected_tree:
            if isinstance(expected_tree[name], list):
                np.testing.assert_allclose(tree[name], expected_tree[name], rtol=1e-6, atol=1e-44)
            else:
                assert tree[name] == expected_tree[name]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "1 bytes are needed"),
        (b"ZZ", "must end at byte 1"),
        (b"?", "cannot start with"),
        (b"N", "cannot start with"),
        (b"l\x00", "4 bytes are needed"),
        (b"SL\x7f\xff\xff\xff\xff\xff\xff\xff", "bytes are needed"),
        (b"Si\xffa", "0 or more; got -1"),
        (b"Sd\x3f\x80\x00\x00a", "must be an integer"),
        (b"Si\x01\xff", "must be UTF-8"),
        (b"[#L\x7f\xff\xff\xff\xff\xff\xff\xff", "no room for the 9223372036854775807"),
        (b"[$L#i\x02" + bytes(15), "16 bytes are needed and 15 are left"),
        (b"[$Z#L\x00\x00\x00\xff\xff\xff\xff\xff", "type must be a number"),
        (b"[$l]", "must announce its length"),
        (b"[i\x01", "1 bytes are needed"),
        (b"{i\x01aTi\x01aF}", "comes twice"),
        (b"[" * 100_000, "nest at most 64 deep"),
        (b"{i\x01a" * 100_000, "nest at most 64 deep"),
    ],
)
def test_malformed_bytes_are_refused_with_the_reason(raw, reason):
    with pytest.raises(ValueError, match=reason):
        ubjson.read(raw)


def test_values_nest_as_deep_as_64_levels():
    assert ubjson.read(b"[" * 64 + b"]" * 64) is not None


def test_more_values_than_the_limit_are_refused(monkeypatch):
    monkeypatch.setattr(ubjson, "_MOST_VALUES", 5)

    assert ubjson.read(b"[ZZZZ]") == [None] * 4
    with pytest.raises(ValueError, match="at most 5 values"):
        ubjson.read(b"[ZZZZZ]")


def test_a_booster_truncated_anywhere_is_refused(booster):
    raw = bytes(booster.save_raw("ubj"))
    for length in range(0, len(raw), 7):
        with pytest.raises(ValueError, match="UBJSON"):
            ubjson.read(raw[:length])


@examples(300)
@given(st.lists(st.sampled_from([*b"[]{}$#iUIlLdDCSZTF", 0, 1, 2, 255]), max_size=40).map(bytes))
def test_any_bytes_give_a_value_or_a_value_error(raw):
    try:
        ubjson.read(raw)
    except ValueError as error:
        assert str(error).startswith("UBJSON")
