import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toprank.rankers.online.classes import Classes


def places_of(classes, *labels):
    return [classes.place(label) for label in labels]


@pytest.mark.parametrize(
    ("labels", "places"),
    [
        ([False, True], [0, 1]),
        ([True, False], [1, 0]),
        ([0, 1], [0, 1]),
        ([1, 0, 1], [1, 0, 1]),
        ([-1, 1], [0, 1]),
        ([1.0, -1.0], [1, 0]),
        (["no", "yes"], [0, 1]),
        (["yes", "no"], [1, 0]),
        (["x", "no"], [0, 1]),
        (["Fraud", "genuine"], [1, 0]),
        ([3, 1, 2, 3], [0, 1, 2, 0]),
        ([3, 5, 1], [0, 1, 2]),
    ],
    ids=str,
)
def test_a_positive_name_is_never_first_and_others_keep_their_order(labels, places):
    assert places_of(Classes(), *labels) == places


@given(st.permutations(["genuine", "fraud", "doubtful", "lost"]))
def test_the_positive_label_has_place_1_whenever_it_comes(labels):
    classes = Classes(positive_label="fraud")
    for label in labels:
        assert (classes.place(label) == 1) == (label == "fraud")
    assert sorted(classes.places.values()) == [0, 1, 2, 3]
    assert classes.n_outputs == 3
    assert classes.positive == "fraud"


def test_there_is_one_score_for_every_place_but_the_first():
    classes = Classes()
    found = [classes.n_outputs]
    for label in (0, 1, 2, 3):
        classes.place(label)
        found.append(classes.n_outputs)
    assert found == [1, 1, 1, 2, 3]
    expecting = Classes(positive_label="fraud")
    places_of(expecting, "genuine", "doubtful")
    assert expecting.n_outputs == 2  # the place of the positive label is kept free


@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        ([], None),
        ([0], 1),
        ([1], 1),
        ([0, 1], 1),
        ([False, True], True),
        ([-1], 1),
        ([-1, 1], 1),
        (["no"], "yes"),
        (["No", "Yes"], "Yes"),
        (["fraud", "genuine"], "fraud"),
        (["ok"], None),
        (["ok", "bad"], None),
        (["yes", "fraud"], None),
        ([1, 2], None),
        ([0, 1, 2], None),
        ([-1, 0], None),
    ],
    ids=str,
)
def test_labels_say_what_is_positive_where_they_can(labels, positive):
    classes = Classes()
    places_of(classes, *labels)
    assert classes.positive == positive
    assert type(classes.positive) is type(positive)
    named = Classes(positive_label="fraud")
    assert named.positive == "fraud"


def test_a_copy_is_independent():
    classes = Classes(positive_label=2, most=3)
    places_of(classes, 1, 2)
    again = classes.copy()
    again.place(3)
    assert classes.places == {1: 0, 2: 1}
    assert again.places == {1: 0, 2: 1, 3: 2}
    assert (again.positive_label, again.most) == (2, 3)


def test_labels_are_sorted_as_scikit_learn_has_them():
    classes = Classes()
    assert classes.places_of(["b", "c", "a", "b"]).tolist() == [0, 1, 2, 0]
    assert classes.sorted().tolist() == ["a", "b", "c"]


def test_labels_of_numpy_are_plain_ones():
    classes = Classes()
    places_of(classes, np.int64(0), np.float64(1.0), np.int8(2))
    assert [type(label) for label in classes.places] == [int, float, int]
    text = Classes()
    text.place(np.str_("no"))
    assert [type(label) for label in text.places] == [str]
    assert text.place("no") == 0


@pytest.mark.parametrize(
    "label", [None, math.nan, [1], {}, b"no", 1j, np.datetime64("2024-01-01")], ids=repr
)
def test_an_invalid_label_is_rejected(label):
    classes = Classes()
    classes.place(0)
    with pytest.raises(
        ValueError,
        match=r"^a label must be true or false, a number or text; got .*leave out rows",
    ):
        classes.place(label)
    assert classes.places == {0: 0}


def test_text_and_numbers_do_not_mix():
    classes = Classes()
    classes.place("no")
    with pytest.raises(ValueError, match=r"^labels must be all text or all numbers; got 1 after"):
        classes.place(1)


def test_one_class_too_many_is_refused():
    classes = Classes(most=2)
    places_of(classes, "no", "yes")
    with pytest.raises(
        ValueError, match=r"^labels must be of 2 classes; got 'maybe' .*'no' and 'yes'"
    ):
        classes.place("maybe")
    assert classes.place("yes") == 1


def test_the_positive_label_still_fits_where_others_came_first():
    classes = Classes(positive_label="fraud", most=2)
    assert places_of(classes, "genuine", "fraud") == [0, 1]
    crowded = Classes(positive_label="fraud", most=2)
    crowded.place("genuine")
    with pytest.raises(ValueError, match="labels must be of 2 classes"):
        places_of(crowded, "doubtful", "fraud")


@given(st.lists(st.integers(0, 6), min_size=1), st.none() | st.integers(0, 6))
def test_classes_are_restored(labels, positive_label):
    classes = Classes(positive_label)
    classes.places_of(labels)
    pairs = [list(pair) for pair in classes.places.items()]
    assert Classes.restored(positive_label, None, pairs).places == classes.places


@pytest.mark.parametrize(
    "pairs", [[[0, 1]], [[1, 1], [0, 2]], [["a", 0], ["b", 0]], [[0, 0], [0, 1]]], ids=str
)
def test_places_that_do_not_follow_are_refused(pairs):
    with pytest.raises(ValueError, match=r"^place of label .* must be the next free one"):
        Classes.restored(None, None, pairs)


def test_classes_that_an_earlier_version_placed_are_restored():
    classes = Classes.restored(None, None, [["yes", 0], ["no", 1]])
    assert classes.places == {"yes": 0, "no": 1}
    assert classes.positive is None  # whose score at place 1 is that of "no"
    assert classes.copy().place("maybe") == 2
