"""Checks at the door."""

import numpy as np
import pytest

from toprank import BoostedRanker
from toprank.data import checks


@pytest.mark.parametrize("weight", [1e-300, 1e300])
def test_weights_whose_sums_or_quotients_would_not_be_finite_are_refused(weight):
    with pytest.raises(ValueError, match="sample_weight must be 0 or from 1e-35 to 1e\\+35"):
        checks.sample_weight([1.0, weight], 2)
    rows, is_positive = np.arange(20.0)[:, None], np.arange(20) > 15
    with pytest.raises(ValueError, match="multiply all of them by one number"):
        BoostedRanker(n_estimators=1).fit(rows, is_positive, np.full(20, weight))


def test_weights_of_0_are_allowed_among_others():
    assert checks.sample_weight([0.0, 2.0], 2).tolist() == [0.0, 2.0]
