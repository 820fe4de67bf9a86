import random

import pytest

from toprank.live.stages.ordered_merge import NumberedItem, OrderedMerge


@pytest.mark.parametrize("seed", range(20))
def test_entries_come_in_order_whatever_the_delays(seed):
    drawn = random.Random(seed)
    inputs = {name: [] for name in "abc"}
    numbers = sorted(drawn.sample(range(1, 2_000), 300))
    for number in numbers:
        inputs[drawn.choice("abc")].append(NumberedItem(number, f"item {number}"))
    merged, found = OrderedMerge(dict.fromkeys("abc", 0)), []
    places, last = dict.fromkeys("abc", 0), numbers[-1]
    while min(places.values()) < last:
        name = drawn.choice("abc")
        until = min(places[name] + drawn.randrange(150), last)
        # a writer that was replaced sends again what it had sent
        begin = max(places[name] - drawn.choice([0, 0, 200]), 0)
        merged.add(name, [each for each in inputs[name] if begin < each.number <= until], until)
        places[name] = max(places[name], until)
        found += merged.released()
        assert merged.until == min(places.values())
    assert [each.number for each in found] == numbers
    assert all(merged.n_waiting(name) == 0 for name in "abc")


def test_what_was_released_before_a_restart_is_left_out():
    merged = OrderedMerge({"a": 5, "b": 3})
    merged.add("a", [NumberedItem(4, "old"), NumberedItem(6, "new")], 7)
    merged.add("b", [NumberedItem(3, "old"), NumberedItem(4, "also new")], 7)
    assert [each.number for each in merged.released()] == [4, 6]
