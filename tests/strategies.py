"""Small generated inputs, rich in the cases that matter."""

import numpy as np
from hypothesis import strategies as st


@st.composite
def rankings(draw, max_rows=40):
    """Labels and suspicions of 2 to `max_rows` rows, both classes present, many of them tied."""
    n = draw(st.integers(2, max_rows))
    widest = draw(st.sampled_from([1, 3, 1000]))
    suspicion = draw(st.lists(st.integers(-widest, widest), min_size=n, max_size=n))
    is_positive = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    first, second = draw(st.permutations(range(n)))[:2]
    is_positive[first], is_positive[second] = True, False
    return np.array(is_positive), np.array(suspicion, dtype=float)
