"""Small histories and payments, and what it means that two histories are the same."""

from inspect import signature

import numpy as np
import pyarrow as pa

from toprank.payments.features import FirstTime, History, LabelRisk, Recent, SinceLast

START = np.datetime64("2025-03-01T00:00:00", "us")


def fresh():
    features = [
        Recent("count", "card", "1d"),
        Recent("mean", "card", "3d", of="amount", until="before"),
        Recent("distinct", "terminal", "3d", of="card"),
        SinceLast("card"),
        FirstTime(("card", "terminal")),
        LabelRisk("share", "terminal", "30d", delay="1h"),
    ]
    return History(features, time="at", label="is_fraud", known_at="known", row_id="tx")


def payment(number, seed=0):
    """One payment; all that it holds follows from its number."""
    rng = np.random.default_rng([seed, number])
    minutes = number * 37 - int(rng.integers(0, 90))  # some come late
    return {
        "tx": f"p{number}",
        "at": (START + np.timedelta64(minutes, "m")).item(),
        "card": f"c{rng.integers(0, 4)}",
        "terminal": int(rng.integers(0, 3)),
        "amount": float(rng.normal(50, 20)),
        "country": str(rng.choice(["FR", "DE"])),  # no feature uses it
        "is_fraud": None,
    }


def payments(start, stop, seed=0):
    return [payment(number, seed) for number in range(start, stop)]


def table(start, stop, seed=0):
    return pa.Table.from_pylist(payments(start, stop, seed), schema=SCHEMA)


SCHEMA = pa.schema(
    [
        ("tx", pa.string()),
        ("at", pa.timestamp("us")),
        ("card", pa.string()),
        ("terminal", pa.int64()),
        ("amount", pa.float64()),
        ("country", pa.string()),
        ("is_fraud", pa.bool_()),
    ]
)


def label_with_source(history, row_id, is_positive, known_at, source):
    """Label rows, with the source if the history takes one."""
    asks = "source" in signature(history.label).parameters
    return history.label(row_id, is_positive, known_at, **({"source": source} if asks else {}))


def assert_same(one, other):
    """Both hold the same to the last bit, and say so in the same order."""
    found, expected = one._to_saved(), other._to_saved()
    ids = found.state.pop("id"), expected.state.pop("id")
    assert all(ids)
    assert found.state == expected.state
    assert found.parameters == expected.parameters
    assert found.arrays.keys() == expected.arrays.keys()
    for name, array in expected.arrays.items():
        np.testing.assert_array_equal(found.arrays[name], array, err_msg=name, strict=True)


def names_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
