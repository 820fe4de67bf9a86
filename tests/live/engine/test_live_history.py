import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from live import desks
from toprank.live.desk import stored_payments
from toprank.live.engine.live_history import LiveHistory
from toprank.live.messages import LabelGiven
from toprank.live.snapshots import LogPlace
from toprank.live.store import purge_table
from toprank.payments.payment_model import PaymentModel

START = LogPlace()
DAY = 86_400_000_000


def new_history(model_file):
    return LiveHistory(PaymentModel.load(model_file), START)


def in_parts(history, payments, sizes):
    """The features of payments that wait together in groups of these sizes."""
    found, start = [], 0
    while start < len(payments):
        size = sizes[len(found) % len(sizes)]
        found.append(history.take_in(payments[start : start + size]))
        start += size
    return np.concatenate(found)


def test_features_are_those_of_a_table(model_file, made, later):
    with PaymentModel.load(model_file) as model:
        table = model.with_features(made[1])
    history = new_history(model_file)
    expected = np.column_stack([table[name].to_numpy() for name in history.names])
    np.testing.assert_array_equal(in_parts(history, later, [1]), expected)
    assert history.position == len(later)


@given(st.lists(st.integers(1, 90), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_features_do_not_depend_on_which_payments_waited_together(
    model_file, later, sizes, random
):
    some = later[:300]
    for _ in range(5):  # some come late
        place = random.randrange(len(some) - 40)
        some = [*some[:place], *some[place + 1 : place + 30], some[place], *some[place + 30 :]]
    one_by_one = in_parts(new_history(model_file), some, [1])
    np.testing.assert_array_equal(in_parts(new_history(model_file), some, sizes), one_by_one)


def test_a_desk_forgets_once_a_day_after_its_hour(desk, later):
    live = desks.live(desk)
    since, n_remembered = live.history.history.since, []
    for payment in later:
        live.decide([payment])
        live.purge_if_due()
        n_remembered.append(live.history.history.n_remembered)
    days = {each.paid_at // DAY for each in later if each.paid_at % DAY >= 4 * DAY / 24}
    with desk.database.reading() as connection:
        purges = purge_table.after(connection, 0)
    assert len(purges) == len(days) == live.history.place.purge_number
    assert all(later[each.after_position - 1].paid_at % DAY >= 4 * DAY / 24 for each in purges)
    assert live.history.history.since > since
    assert min(np.diff(n_remembered)) < 0


def test_a_snapshot_and_the_log_after_it_give_the_history_of_an_unbroken_run(
    desk, later, tmp_path
):
    live = desks.live(desk)
    some = later[::4]  # of several days
    for start in range(0, 400, 7):
        live.decide(some[start : start + 7])
        if start == 203:
            desk.snapshots.write(live.history.history, live.history.place)
        live.purge_if_due()
        if start % 21 == 0:
            labels = [
                LabelGiven(each.id, start % 2 == 0, None, "claim") for each in later[:start:9]
            ]
            live.label(labels, "key:claims")
    again = desks.live(desk)
    assert desk.snapshots.all()[-1].position == 210
    assert again.history.place == live.history.place
    assert again.history.place.purge_number > 0
    assert again.history.history.since == live.history.history.since
    np.testing.assert_array_equal(
        again.history.take_in(later[406:700]), live.history.take_in(later[406:700])
    )


def test_a_snapshot_that_cannot_be_read_is_replaced_by_the_one_before(desk, later):
    live = desks.live(desk)
    live.decide(later[:50])
    desk.snapshots.write(live.history.history, live.history.place)
    desk.snapshots.path(live.history.place).write_bytes(b"broken")
    assert desks.live(desk).history.position == 50


def test_the_log_can_be_run_up_to_any_of_its_payments(desk, later):
    live = desks.live(desk)
    live.decide(later[:80])
    model = desk.load_model(START)
    with desk.database.reading() as connection:
        part = LiveHistory.caught_up(model, START, connection, stored_payments(model), until=30)
    assert part.position == 30


def test_values_of_mixed_types_are_taken_in_one_by_one(model_file, later):
    numbers = [
        each.__class__(each.id, each.card, each.terminal, each.paid_at,
                       each.body | {"terminal": 7 if place % 2 else "7"})
        for place, each in enumerate(later[:60])
    ]  # fmt: skip
    together = new_history(model_file).take_in(numbers)
    np.testing.assert_array_equal(together, in_parts(new_history(model_file), numbers, [1]))
