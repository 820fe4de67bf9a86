import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from toprank.rankers.online import pending as pending_rows
from toprank.rankers.online.pending import LONGEST_ID, ArrivedRows, PendingRows, Scored, check_id
from toprank.rankers.online.stream_columns import EncodedEvent, StreamColumns

N_BUCKETS = 16


def row(*values):
    """A row of numbers and texts."""
    columns = StreamColumns(N_BUCKETS)
    columns.add([f"column {j}" for j in range(len(values))])
    return columns.encode_one({f"column {j}": value for j, value in enumerate(values)})


def scored(number=0.0):
    return Scored(float(number), 0.25, is_alert=False)


def add(pending, event_id, encoded, said):
    """Keep one row, a batch of its own."""
    pending.enter(event_id, 0, encoded.values.shape[1])
    pending.store(ArrivedRows(encoded, *(np.array([each]) for each in said[:3])))


def take(pending, event_id):
    """Remove and return a row with its score; None if there is none."""
    place = pending.leave(event_id)
    if place is None:
        return None
    stored = pending.stored(np.array([place]))
    own = slice(0, stored.n_columns[0])
    encoded = EncodedEvent(stored.values[:, own], stored.buckets[:, own])
    columns = (stored.suspicion, stored.probability, stored.is_alert)
    return encoded, Scored(*(column.item() for column in columns))


def filled(most, ids):
    pending = PendingRows(most)
    for number, event_id in enumerate(ids):
        add(pending, event_id, row(number, "FR", None), scored(number))
    return pending


def restored(pending):
    return PendingRows.from_state(*pending.to_state(), N_BUCKETS)


def same_rows(one, other):
    (settings_one, arrays_one), (settings_other, arrays_other) = one.to_state(), other.to_state()
    return settings_one == settings_other and all(
        arrays_one[name].tobytes() == arrays_other[name].tobytes() for name in arrays_one
    )


def test_a_row_is_returned_unchanged_and_only_once():
    pending = PendingRows(10)
    add(pending, "a", row(9.5, "FR", None), Scored(-2.5, 0.125, is_alert=True))

    (values, buckets), said = take(pending, "a")

    expected = row(9.5, "FR", None)
    np.testing.assert_array_equal(values, expected.values)
    np.testing.assert_array_equal(buckets, expected.buckets)
    assert said == (-2.5, 0.125, True, None)
    assert take(pending, "a") is None


def test_a_row_that_was_taken_keeps_its_cells_when_others_come():
    pending = filled(2, ["a", "b"])
    taken = take(pending, "a")[0]
    add(pending, "c", row(77.0, "DE", 1), scored())

    assert taken.values[0, 0] == 0.0


def test_the_oldest_is_dropped_when_too_many_are_pending():
    pending = filled(3, "abcde")

    assert len(pending) == 3
    assert [event_id in pending for event_id in "abcde"] == [False, False, True, True, True]
    assert pending.n_dropped == 2


def test_a_row_that_never_gets_its_label_does_not_shorten_the_queue():
    pending = filled(3, ["old"])
    for number in range(100):
        add(pending, str(number), row(number), scored())
        take(pending, str(number))

    assert "old" in pending
    assert pending.n_dropped == 0


def test_the_newer_row_of_an_id_replaces_the_older_and_counts_as_the_newest():
    pending = filled(2, ["a", "b", "a"])
    assert (pending.n_replaced, pending.n_dropped) == (1, 0)
    add(pending, "c", row(3), scored(3))

    assert "b" not in pending
    assert take(pending, "a")[1].suspicion == 2


def test_rows_keep_their_own_columns_when_later_ones_have_more():
    pending = PendingRows(10)
    add(pending, "short", row(1.0, "FR"), scored())
    add(pending, "long", row(*range(40)), scored())

    np.testing.assert_array_equal(take(pending, "short")[0].buckets, row(1.0, "FR").buckets)
    np.testing.assert_array_equal(take(pending, "long")[0].values[0], np.arange(40.0))


def test_memory_levels_off_at_the_maximum_of_pending_rows():
    def n_bytes(pending):
        return sum(array.nbytes for array in pending._cells), len(pending._place_of)

    pending = filled(200, map(str, range(200)))
    before = n_bytes(pending)
    for number in range(1000):
        add(pending, f"later {number}", row(number, "FR", None), scored())

    assert n_bytes(pending) == before
    assert len(pending._free) <= 200


def test_rows_of_many_columns_are_dropped_earlier(monkeypatch):
    monkeypatch.setattr(pending_rows, "_MOST_CELLS", 30)
    pending = filled(100, "abcdefghijklm")  # of 3 columns: 10 have room
    assert (len(pending), pending.n_dropped) == (10, 3)

    add(pending, "wide", row(*range(10)), scored())

    assert (len(pending), pending.n_dropped) == (3, 11)
    assert len(restored(pending)) == 3


operations = st.lists(
    st.tuples(st.sampled_from(["add", "take", "save"]), st.integers(0, 12), st.integers(1, 4)),
    max_size=60,
)


@examples(100)
@given(operations, st.integers(1, 6))
def test_it_does_what_a_dict_of_rows_does_however_often_it_is_saved(steps, most):
    pending, plain, n_dropped = PendingRows(most), {}, 0
    for number, (step, name, n_columns) in enumerate(steps):
        event_id = f"é{name}"
        if step == "save":
            pending = restored(pending)
        elif step == "take":
            expected = plain.pop(event_id, None)
            found = take(pending, event_id)
            assert (found is None) == (expected is None)
            if found is not None:
                assert found[1].suspicion == expected
                assert found[0].values[0, 0] == expected
        else:
            plain.pop(event_id, None)
            if len(plain) == most:
                del plain[next(iter(plain))]
                n_dropped += 1
            plain[event_id] = float(number)
            add(pending, event_id, row(*[number] * n_columns), scored(number))

    assert {each for each in plain if each in pending} == set(plain)
    assert (len(pending), pending.n_dropped) == (len(plain), n_dropped)


def test_the_state_does_not_depend_on_the_places_of_rows():
    one = filled(8, "abcdefgh")
    other = filled(8, "xyabcdefgh")
    for name in "abc":
        for pending in (one, other):
            pending.leave(name)
    other.n_dropped = 0
    for number, event_id in enumerate("defgh", start=3):  # the same rows, put elsewhere
        add(other, event_id, row(number, "FR", None), scored(number))
    other.n_replaced = 0

    assert same_rows(one, other)
    assert same_rows(one, restored(one))


@pytest.mark.parametrize(
    ("event_id", "error", "sentence"),
    [
        (7, TypeError, "id must be text; got 7"),
        ("a" * (LONGEST_ID + 1), ValueError, "id must have at most 256 characters; got 257"),
    ],
)
def test_an_id_must_be_a_short_text(event_id, error, sentence):
    with pytest.raises(error, match=sentence):
        check_id(event_id)


def test_an_id_may_be_any_text():
    ids = ["", "\ud800", "naïve\n", "😀"]

    assert all(event_id in restored(filled(9, ids)) for event_id in ids)


def changed(name, change):
    """Return the state of two pending rows with one invalid array."""
    state, arrays = filled(5, ["a", "bc"]).to_state()
    return state, arrays | {name: change(arrays[name].copy())}


def with_value(index, value):
    def change(array):
        array[index] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("ids", lambda array: array[:-1]),
        ("ids", with_value(0, 0xFF)),
        ("ids", lambda array: array.astype(np.int64)),
        ("id_bytes", with_value(0, -1)),
        ("id_bytes", with_value(0, 2**62)),
        ("id_bytes", lambda array: array[:1]),
        ("values", with_value((0, 0), np.inf)),
        ("values", with_value((0, 0), np.nan)),
        ("values", with_value((0, 1), 4.0)),
        ("values", lambda array: array[:1]),
        ("values", lambda array: array[:, :2]),
        ("values", lambda array: array.astype(np.float32)),
        ("values", lambda array: array.ravel()),
        ("buckets", with_value((0, 1), N_BUCKETS)),
        ("buckets", with_value((0, 1), -2)),
        ("buckets", lambda array: array.astype(np.int64)),
        ("n_columns", with_value(0, 4)),
        ("n_columns", with_value(0, -1)),
        ("suspicion", with_value(0, np.nan)),
        ("suspicion", lambda array: array[:1]),
        ("probability", with_value(0, 1.5)),
        ("probability", with_value(0, np.nan)),
        ("is_alert", lambda array: array.astype(np.uint8)),
    ],
)
def test_a_broken_array_is_refused(name, change):
    with pytest.raises(ValueError, match=r"must|codec"):
        PendingRows.from_state(*changed(name, change), N_BUCKETS)


@pytest.mark.parametrize("name", filled(5, "ab").to_state()[1])
def test_a_missing_array_is_refused(name):
    state, arrays = filled(5, "ab").to_state()
    del arrays[name]
    with pytest.raises(ValueError, match=name):
        PendingRows.from_state(state, arrays, N_BUCKETS)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"most": 1}, "pending rows must be at most 1; got 2"),
        ({"most": 0}, "most must be between 1"),
        ({"n_dropped": -1}, "n_dropped must be at least 0"),
        ({"n_replaced": -1}, "n_replaced must be at least 0"),
        ({"more": 1}, "settings of pending rows must be most, n_dropped, n_replaced"),
    ],
)
def test_broken_settings_are_refused(change, sentence):
    state, arrays = filled(5, "ab").to_state()
    with pytest.raises(ValueError, match=sentence):
        PendingRows.from_state(state | change, arrays, N_BUCKETS)


def test_duplicate_ids_are_rejected():
    state, arrays = filled(5, "ab").to_state()
    arrays["ids"] = np.frombuffer(b"aa", dtype=np.uint8)
    with pytest.raises(ValueError, match="ids of pending rows must be distinct"):
        PendingRows.from_state(state, arrays, N_BUCKETS)


def test_nothing_is_pending_in_an_empty_state():
    again = restored(PendingRows(3))
    add(again, "a", EncodedEvent(np.array([[1.0]]), np.array([[-1]], dtype=np.int32)), scored())

    assert len(again) == 1
