import pytest

from toprank.live.checks.unusual_cells import HOUR, CardPayment, unusual_cells

DAY, HOURS = 86_400_000_000, 3_600_000_000


def paid(day, amount=20.0, hour=12, is_usual=True, **texts):
    return CardPayment(day * DAY + hour * HOURS, amount, texts, is_usual)


def last(payments):
    return set(unusual_cells(payments, "amount")[-1])


@pytest.mark.parametrize(
    ("amount", "is_unusual"),
    [(20.0, False), (60.0, False), (900.0, True), (0.0, True), (-50.0, True)],
)
def test_an_amount_is_unusual_far_outside_what_the_card_paid_before(amount, is_unusual):
    before = [
        paid(day, each) for day, each in enumerate([9.0, 12.0, 18.0, 20.0, 25.0, 33.0, 40.0])
    ]
    assert last([*before, paid(8, amount)]) == ({"amount"} if is_unusual else set())


def test_equal_amounts_leave_room_for_a_factor_of_two():
    before = [paid(day, 10.0) for day in range(10)]
    assert last([*before, paid(10, 19.0)]) == set()
    assert last([*before, paid(10, 25.0)]) == {"amount"}


def test_a_new_country_is_unusual_for_a_card_that_never_left_its_own():
    before = [paid(day, country="FR") for day in range(5)]
    assert last([*before, paid(5, country="US")]) == {"country"}
    assert last([*before, paid(5, country="FR")]) == set()


def test_a_new_shop_is_not_unusual_for_a_card_that_is_often_in_new_shops():
    roaming = [paid(day, shop=f"shop {day}") for day in range(10)]
    loyal = [paid(day, shop=f"shop {day % 2}") for day in range(10)]
    assert last([*roaming, paid(10, shop="another")]) == set()
    assert last([*loyal, paid(10, shop="another")]) == {"shop"}


def test_a_time_of_day_is_unusual_if_no_payment_was_near_it_midnight_included():
    before = [paid(day, hour=22) for day in range(15)]
    assert last([*before, paid(15, hour=12)]) == {HOUR}
    assert last([*before, paid(15, hour=0)]) == set()


def test_nothing_is_unusual_for_a_card_of_which_little_is_known():
    assert last([paid(0, country="FR"), paid(1, 9_000.0, 3, country="US")]) == set()
    assert unusual_cells([], "amount") == []


def test_a_series_of_suspicious_payments_stays_unusual_to_its_end():
    before = [paid(day, country="FR") for day in range(8)]
    series = [paid(9, 700.0, country="US", is_usual=False) for _ in range(4)]
    found = unusual_cells([*before, *series], "amount")[-4:]
    assert all(set(each) == {"amount", "country"} for each in found)


def test_a_payment_is_compared_with_earlier_ones_only():
    first = paid(0, 900.0, country="US")
    rest = [paid(day, country="FR") for day in range(1, 9)]
    assert unusual_cells([first, *rest], "amount")[0] == {}
