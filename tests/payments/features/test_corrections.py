"""Labels that are corrected: examples worked out by hand."""

import numpy as np
import pyarrow as pa
import pytest
from numba.extending import is_jitted

from toprank.payments.features import History, LabelRisk, window_kernel
from toprank.payments.features.questions import LabelTimes
from toprank.payments.features.row_labels import RowLabel, holdings, with_label

pytestmark = pytest.mark.kernel

SHARE, COUNT = "card_risk_all_delay_10s", "card_labels_20s_delay_10s"
FEATURES = (LabelRisk("share", "card", None, "10s"), LabelRisk("count", "card", "20s", "10s"))


def history_with(*ids, **options):
    history = History(FEATURES, row_id="tx", **options)
    for i, row_id in enumerate(ids):
        history.commit({"time": i, "card": "A", "tx": row_id})
    return history


def share(history, *moments):
    return [history.look({"time": at, "card": "A"})[SHARE] for at in moments]


def count(history, *moments):
    return [history.look({"time": at, "card": "A"})[COUNT] for at in moments]


def test_a_claim_after_a_verdict_counts_from_the_claim_on():
    history = history_with("p")
    assert history.label("p", False, 15, "investigator")[:4] == (1, 0, 0, 0)
    assert history.label("p", True, 30, "claim")[:4] == (0, 1, 0, 0)
    assert share(history, 14, 15, 29, 30, 1000) == [0, 0, 0, 1, 1]
    assert count(history, 14, 15, 29, 30, 49, 50) == [0, 1, 1, 1, 1, 0]


def test_a_verdict_after_a_claim_counts_from_the_verdict_on():
    history = history_with("p")
    history.label("p", False, 30, "investigator")
    assert history.label("p", True, 15, "claim").n_overruled == 1
    assert share(history, 14, 15, 29, 30) == [0, 1, 1, 0]


def test_at_equal_times_the_investigator_holds_and_then_what_was_given_last():
    history = history_with("p")
    history.label("p", False, 15, "investigator")
    assert history.label("p", True, 15, "claim").n_overruled == 1
    assert share(history, 15) == [0]
    assert history.label("p", True, 15, "investigator").n_corrected == 1
    assert share(history, 15) == [1]


def test_silence_holds_only_without_a_verdict_or_claim():
    history = history_with("p", "q")
    assert history.label(["p", "q"], [False, False], 20, "silence").n_new == 2
    history.label("p", True, 40)
    assert share(history, 20, 39, 40) == [0, 0, 0.5]
    history.label("q", True, 15)  # a claim that was known before, and came late
    assert share(history, 15, 39, 40) == [1, 0.5, 1]
    assert history.label("q", False, 90, "silence").n_known == 1
    assert share(history, 90) == [1]


def test_a_label_that_came_with_its_row_can_be_corrected():
    history = History(FEATURES, label="fraud", row_id="tx")
    history.batch(
        pa.table({"time": [0, 1], "card": ["A", "A"], "fraud": [True, False], "tx": [1, 2]})
    )
    assert history.label([1, 2], [False, False], 50)[:4] == (0, 1, 1, 0)
    assert share(history, 11, 49, 50) == [0.5, 0.5, 0]
    assert history.label(1, True).n_overruled == 1  # without a time: known before the others


def test_labels_without_a_time_correct_each_other_from_the_delay_on():
    history = history_with("p")
    history.label("p", False)
    assert history.label("p", True).n_corrected == 1
    assert share(history, 9, 10) == [0, 1]
    assert history.n_remembered == 1


def test_one_call_may_contain_several_labels_of_one_row():
    history = history_with("p", "q")
    found = history.label(["p", "q", "p", "p"], [0, 1, 1, 1], [15, 15, 20, 25])
    assert found[:5] == (2, 1, 1, 0, ())
    assert share(history, 15, 20) == [0.5, 1]


@pytest.mark.parametrize("row_id", [None, "", float("nan")])
def test_no_row_has_an_empty_id(row_id):
    history = history_with(None, "", "p")
    assert history.label([row_id], [True])[:5] == (0, 0, 0, 1, (0,))
    assert history.label([row_id, "p"], [True, True])[:5] == (1, 0, 0, 1, (0,))
    assert count(history, 13) == [1]
    assert history.label([], [])[:5] == (0, 0, 0, 0, ())


def test_an_unknown_source_is_refused():
    history = history_with("p")
    with pytest.raises(ValueError, match="source must be one of 'investigator', 'claim'"):
        history.label("p", True, 15, "rumour")
    with pytest.raises(ValueError, match="source must have 1 values, one per id; got 2"):
        history.label("p", True, 15, ["claim", "claim"])


def test_corrections_outlive_purges_and_files(tmp_path):
    history = history_with("p", "q")
    history.label(["p", "q"], [False, False], 15, "investigator")
    history.label("p", True, 500)
    for before in (100, 300, 499):
        history.purge(before)
        history.save(tmp_path / "h.history")
        history = History.load(tmp_path / "h.history")
        assert share(history, 499, 500) == [0, 0.5]
    history.purge(500)
    assert share(history, 500, 900) == [0.5, 0.5]
    assert history._past._remembered.corrected == {}  # what nobody can see is forgotten
    history.label("p", False, 200)  # too late to be seen by anyone
    assert share(history, 500) == [0.5]
    history.label("p", False, 800)
    assert share(history, 799, 800) == [0.5, 0]


def test_corrections_of_forgotten_rows_and_cards_are_forgotten():
    history = History(FEATURES, row_id="tx")
    for card, time in (("A", 0), ("B", 100), ("C", 600)):
        history.commit({"time": time, "card": card, "tx": card})
    history.label(["A", "B", "C"], [False] * 3, [20, 700, 700])
    history.label(["A", "B", "C"], [True] * 3, [30, 800, 800])
    history.purge(650, forget=500)
    assert history.label(["A", "B", "C"], [True] * 3, 900).unknown == (0, 1)
    looks = {
        card: [history.look({"time": at, "card": card})[SHARE] for at in (700, 799, 800)]
        for card in "ABC"
    }
    assert looks == {"A": [0, 0, 0], "B": [0, 0, 1], "C": [0, 0, 1]}


def test_many_corrections_at_once_all_count():
    n_rows = 500
    history = History(FEATURES, row_id="tx")
    cards = np.arange(n_rows) % 50
    history.batch(pa.table({"time": np.zeros(n_rows), "card": cards, "tx": np.arange(n_rows)}))
    assert history.label(np.arange(n_rows), np.zeros(n_rows), 15).n_new == n_rows
    assert history.label(np.arange(n_rows), np.arange(n_rows) % 2, 25).n_corrected == 250
    table = pa.table({"time": [24] * 50 + [25] * 50, "card": [*range(50)] * 2})
    found = history.look_batch(table)
    assert found[SHARE].to_pylist() == [0] * 50 + [0, 1] * 25
    assert found[COUNT].to_pylist() == [10] * 100


def test_a_damaged_file_of_corrections_is_refused():
    history = history_with("p", "q")
    history.label("p", False, 15, "investigator")
    history.label("p", True, 30)
    saved = history._to_saved()
    for name, spoil in (
        ("ids-corrected", lambda array: array + 7),
        ("ids-corrected", lambda array: array[::-1].copy()),
        ("ids-label", lambda array: array + 9),
        ("ids-lengths", lambda array: array * 0),
        ("ids-bytes", lambda array: array * 0),
        ("ids-n_before", lambda array: array[:, 1:]),
        ("labels0-ended_key", lambda array: array + 5),
        ("labels0-ended_until", lambda array: array * 0),
        ("labels0-ended_label", lambda array: array + 0.5),
    ):
        arrays = saved.arrays | {name: spoil(saved.arrays[name])}
        with pytest.raises(ValueError):
            History._from_saved(saved.parameters, saved._replace(arrays=arrays))


def test_labels_that_never_hold_are_not_kept():
    verdict, claim = RowLabel(5, 0, False), RowLabel(5, 1, True)
    silence = RowLabel(9, 2, False)
    assert with_label([verdict], claim) == [verdict]
    assert with_label([claim], verdict) == [verdict]
    assert with_label([claim], silence) == [claim]
    assert with_label([silence], claim) == [claim]
    early = RowLabel(3, 2, False)
    assert with_label([early], claim) == [early, claim]
    late, soon = LabelTimes(7, 7), LabelTimes(4, 4)
    # both count from the delay on: the first of them never holds
    assert [each[:2] for each in holdings([early, claim], 0, late, 0)] == [(7, 2**62)]
    assert [each[:2] for each in holdings([early, claim], 0, soon, 0)] == [(4, 5), (5, 2**62)]
    assert [each[:2] for each in holdings([early, claim], 0, soon, 5)] == [(5, 2**62)]


@pytest.mark.skipif(not is_jitted(window_kernel.insert), reason="kernels are not compiled")
def test_labels_that_come_later_need_no_kernel_of_their_own():
    history = History(
        [LabelRisk("share", key, None, "10s") for key in ("card", "shop")], row_id="tx"
    )
    rows = {"time": [0, 1], "card": ["A", "B"], "shop": ["C", "D"], "tx": ["p", "q"]}
    history.batch(pa.table(rows))
    history.label(["p", "q"], [True, False], 20)
    layouts = {kind.layout for kinds in window_kernel.insert.signatures for kind in kinds[1:10]}
    assert layouts == {"C"}
