"""All rows of some days of a folder, scored part by part."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.data import tables
from toprank.payments.feature_folder.feature_folder import FeatureFolder
from toprank.rankers.progress import Progress, silent
from toprank.workflow.evaluation import cards_of
from toprank.workflow.task import ScoredTest


class ScoredDays:
    """The labelled rows of some days; only what the figures need of each is kept in memory."""

    def __init__(
        self, folder: FeatureFolder, days: NDArray[np.datetime64], progress: Progress | None = None
    ) -> None:
        self._folder, self._days, self._report = folder, days, progress or silent

    def scored(self, ranker: Any) -> ScoredTest:
        """Return the rows as a ranker scores them."""
        settings = self._folder.settings
        roles, label = settings.roles, settings.label
        facts = list(dict.fromkeys([roles.time, roles.card, roles.amount, label]))
        suspicion, kept = [], []
        for number, day in enumerate(self._days):
            self._report("scoring the test days", number, len(self._days))
            for batch in self._folder.batches([day]):
                suspicion.append(ranker.suspicion(batch))
                kept.append(batch.select(facts))
        self._report("scoring the test days", len(self._days), len(self._days))
        rows = pa.concat_tables(kept)
        is_positive, known = self._labels(rows)
        return ScoredTest(
            is_positive[known],
            np.concatenate(suspicion)[known],
            tables.time_column(rows, roles.time)[known],
            None,
            cards_of(rows, roles.card, roles.amount, known),
        )

    def features(self, places: NDArray[np.intp]) -> pa.Table:
        """Return some of these rows with all their columns, by their places among them."""
        order, found, n_before = np.sort(places), [], 0
        for batch in self._folder.batches(list(self._days)):
            known = self._labels(batch)[1]
            first, end = np.searchsorted(order, [n_before, n_before + known.size])
            found.append(batch.take(pa.array(known[order[first:end] - n_before])))
            n_before += known.size
        return pa.concat_tables(found).take(pa.array(np.argsort(np.argsort(places))))

    def names(self, places: NDArray[np.intp]) -> list[str]:
        """Return the ids of some of these rows; without ids, their times."""
        roles = self._folder.settings.roles
        return [
            str(each) for each in self.features(places)[roles.row_id or roles.time].to_pylist()
        ]

    def _labels(self, rows: pa.Table) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
        """Return whether each row is positive, and the places of the rows that have a label."""
        labels = tables.truths(rows, self._folder.settings.label, *self._folder.classes)
        is_positive = labels.fill_null(False).to_numpy(zero_copy_only=False)
        return is_positive, np.flatnonzero(labels.is_valid().to_numpy(zero_copy_only=False))
