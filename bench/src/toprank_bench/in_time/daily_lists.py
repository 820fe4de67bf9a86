"""`toprank fit` on the labelled rows, and the list that its model makes of each later day."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from toprank.payments.payment_model import PaymentModel
from toprank_bench.in_time.time_tables import LABEL, TimeTable


class DailyList(NamedTuple):
    """The positives to expect in a day's list, the range of nine days in ten, and those found."""

    expected: float
    low: float
    high: float
    found: int

    @property
    def is_covered(self) -> bool:
        """Whether the range contains what was found.

        >>> DailyList(3.2, 1, 6, found=6).is_covered
        True
        """
        return self.low <= self.found <= self.high


def fitted_model(table: TimeTable, seed: int, parameters: Mapping[str, Any]) -> PaymentModel:
    """Return the model that `toprank fit` writes, with its defaults but for one thread."""
    options: dict[str, Any] = {**table.roles, **parameters, "budget": table.budget}
    model = PaymentModel(LABEL, **options, random_state=seed, n_jobs=1)
    return model.fit(table.rows.slice(0, table.n_labelled))


def daily_lists(model: PaymentModel, table: TimeTable) -> list[DailyList]:
    """Return the list of each later day, made when the days before it are known.

    With cards, every day is remembered once its list is made; labels count 7 days later.
    """
    has_cards = "card" in table.roles
    if has_cards and table.n_labelled < table.first_later:
        model.remember(table.rows.slice(table.n_labelled, table.first_later - table.n_labelled))
    rows = table.rows if has_cards else table.rows.drop_columns([LABEL])
    lists = []
    for day in table.later_days():
        today = rows.slice(day.start, day.stop - day.start)
        alerts = model.rank(today, table.budget, n_reasons=0, remember=has_cards)
        found = np.count_nonzero(table.is_positive[day][alerts.row_numbers - 1])
        assert alerts.expected is not None
        lists.append(DailyList(*alerts.expected, found=int(found)))
    return lists
