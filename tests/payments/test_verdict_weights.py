import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toprank.payments.verdict_weights import label_weights


@given(
    st.lists(st.sampled_from(["anna", "ben", "cleo", "dora", ""]), max_size=60),
    st.sampled_from([0.2, 0.3, 0.5, 1.0]),
)
def test_no_person_has_more_than_the_cap_and_nobody_loses_more_than_needed(who, cap):
    weights = label_weights(who, cap)
    people = {name: weights[np.array(who) == name].sum() for name in who if name}
    total = sum(people.values())
    assert len(weights) == len(who) and np.all((weights > 0) & (weights <= 1))
    assert all(weights[place] == 1 for place, name in enumerate(who) if not name)
    if len(people) * cap >= 1:
        assert all(each <= cap * total * (1 + 1e-9) for each in people.values())
        # whoever is weighted down is at the cap
        for name, weight in people.items():
            if weight < who.count(name) * (1 - 1e-9):
                assert weight == pytest.approx(cap * total)
    elif people:
        assert max(people.values()) == pytest.approx(min(people.values()))


def test_a_cap_outside_of_0_to_1_is_refused():
    with pytest.raises(ValueError, match="cap must be"):
        label_weights(["anna"], 0.0)


def test_verdicts_of_people_who_are_left_out_have_no_weight_and_do_not_count_for_the_cap():
    who = ["anna"] * 8 + ["ben"] * 2 + ["cleo"] * 2 + [""]
    weights = label_weights(who, 0.5, without=["anna"])
    assert weights.tolist() == [0.0] * 8 + [1.0] * 5
