import numpy as np
import pyarrow as pa
import pytest

from toprank.payments.features import (
    FirstTime,
    History,
    KnownPositives,
    LabelRisk,
    Recent,
    SinceLast,
    ToUsual,
    Value,
    Weekend,
)
from toprank.payments.features.history_split import split_history

FEATURES = [
    Value("amount"),
    Recent("sum", "card", "1d", of="amount"),
    LabelRisk("share", "shop", "7d", "2h"),
    Recent("distinct", "card", "7d", of="shop"),
    ToUsual("shop", "points"),
    FirstTime(("card", "shop")),
    KnownPositives("card", "7d", "2h"),
    Recent("max", "shop", "3h", of="amount", until="before"),
    SinceLast("shop"),
    Weekend(),
]
PARTS = [
    [each.name for each in FEATURES if getattr(each, "key", None) == "shop"],
    [each.name for each in FEATURES if getattr(each, "key", None) != "shop"],
]


def table(rng, begin, n):
    return pa.table(
        {
            "id": [f"{begin + place}" for place in range(n)],
            "time": np.sort(rng.integers(begin, begin + n, n)) * 600,
            "card": rng.choice(["A", "B", "C", None], n),
            "shop": rng.choice(["S", "T"], n),
            "amount": rng.choice([0.1, 0.2, 3.3, None], n).astype(float),
            "points": rng.normal(size=n),
        }
    )


@pytest.mark.parametrize("counts_silence", [False, True])
@pytest.mark.parametrize("is_purged", [False, True])
def test_the_parts_of_a_history_give_what_the_whole_gives(counts_silence, is_purged):
    rng = np.random.default_rng(4)
    history = History(FEATURES, row_id="id", counts_silence=counts_silence)
    history.batch(table(rng, 0, 300))
    ids = [str(each) for each in range(0, 300, 3)]
    history.label(ids, rng.random(100) < 0.5, np.full(100, 250 * 600 * 10**6))
    if is_purged:
        history.purge(np.datetime64(100 * 600, "s"))
    parts = [split_history(history, names) for names in PARTS]
    for begin in (300, 500):
        rows = table(rng, begin, 200)
        expected = history.batch(rows)
        for part in parts:
            found = part.batch(rows)
            assert found.column_names == part.names
            for name in part.names:
                np.testing.assert_array_equal(found[name].to_numpy(), expected[name].to_numpy())
        corrected = [str(each) for each in range(begin - 100, begin + 150, 2)]
        known = np.full(len(corrected), (begin + 150) * 600 * 10**6)
        for each in (history, *parts):
            each.label(corrected, np.arange(len(corrected)) % 3 == 0, known, "investigator")
    assert all(each.knows(["301"]).all() for each in (history, *parts))


def test_a_part_shares_nothing_with_the_whole():
    history = History(FEATURES, row_id="id")
    rng = np.random.default_rng(1)
    history.batch(table(rng, 0, 50))
    before = history.n_remembered
    split_history(history, PARTS[0]).batch(table(rng, 50, 50))
    assert history.n_remembered == before


def test_the_features_of_a_key_stay_together():
    with pytest.raises(ValueError, match="'card_distinct_shop_7d' is left out"):
        split_history(History(FEATURES, row_id="id"), ["card_sum_amount_1d", "amount"])
