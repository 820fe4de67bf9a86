"""Which rows are judged, and which of them are resampled together."""

import numpy as np
import pytest

from toprank.rankers.auto.judged_folds import folds_after, folds_in_time

START = np.datetime64("2025-01-01T00:30", "us")


@pytest.mark.parametrize(
    ("n_days", "unit", "span"),
    [(40, "day", "datetime64[D]"), (300, "week", None), (10, "blocks of rows", None)],
)
def test_judged_rows_are_resampled_by_day_by_week_or_in_blocks(n_days, unit, span):
    time = START + np.sort(np.random.default_rng(0).integers(0, n_days * 24 * 60, 2000)) * (
        np.timedelta64(1, "m")
    )
    judging = folds_in_time(time, np.arange(2000) % 4 == 0, None)
    judged = time[judging.row]

    assert judging.judged_on == f"4 later windows, resampled by {unit}"
    assert judging.blocks.size == judged.size
    if span is not None:
        assert np.array_equal(
            np.unique(judging.blocks, return_inverse=True)[1],
            np.unique(judged.astype(span), return_inverse=True)[1],
        )
    for block in np.unique(judging.blocks):
        rows = np.sort(judged[judging.blocks == block])
        if unit == "week":
            assert rows[-1] - rows[0] < np.timedelta64(7, "D")
        others = judged[judging.blocks != block]
        assert not ((others > rows[0]) & (others < rows[-1])).any()
    if unit == "blocks of rows":
        assert np.unique(judging.blocks).size == 20


def test_a_judged_row_has_the_number_of_its_fold():
    time = START + np.arange(400) * np.timedelta64(1, "h")
    judging = folds_in_time(time, np.arange(400) % 4 == 0, "3h")
    for number, fold in enumerate(judging.folds):
        assert np.array_equal(judging.row[judging.origin == number], fold.judged)


def test_rows_of_an_eval_set_are_one_fold_after_the_training_rows():
    judging = folds_after(5, 3)
    assert judging.row.tolist() == [5, 6, 7]
    assert judging.origin.tolist() == [0, 0, 0]
    assert judging.blocks is None
