"""A density tree described: rules with their volume, text and pictures."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toprank.data import inputs
from toprank.data.inputs import TrainingRows
from toprank.rankers.anomaly.box import Box
from toprank.rankers.anomaly.volume_bins import MISSING_SHARE
from toprank.rankers.trees.readable import Readable
from toprank.rankers.trees.reading.compact import Tally
from toprank.rankers.trees.reading.conditions import OneOf
from toprank.rankers.trees.reading.drawing import as_dot, as_svg, as_text
from toprank.rankers.trees.reading.rules import GroupRules, Path, Rule, path_of, rules_of
from toprank.rankers.trees.reading.words import SPACE


class ReadableSpace(Readable):
    """A detector with `tree_`, `box_` and `schema_` that can be read."""

    box_: Box

    def rules(self) -> list[GroupRules]:
        """Return the groups in words, the emptiest first: which rows fall in each.

        >>> from toprank import AnomalyTreeRank
        >>> hours = np.append(np.arange(100) % 12 + 1.0, 24.0)[:, None]
        >>> for group in AnomalyTreeRank(global_depth=1).fit(hours).rules():
        ...     print(group.text("space"))
        group 1 of 2: 9 rows in 63 % of the space (0.1 x as dense)
          x0 > 11: 9 rows in 63 % of the space
        group 2 of 2: 92 rows in 37 % of the space (2.4 x as dense)
          x0 <= 11: 92 rows in 37 % of the space
        """
        return [
            replace(group, rules=tuple(self._measured(rule) for rule in group.rules))
            for group in rules_of(self._graph(), self.seen_)
        ]

    def paths(self, X: Any) -> list[Path]:
        """Return for every row its group and the rule that puts it there."""
        graph = self._graph()
        return [
            replace(path, rule=self._measured(path.rule))
            for row in inputs.read_features(self, X)
            for path in [path_of(graph, row, self.seen_)]
        ]

    def to_text(self, noun: str = SPACE) -> str:
        """Return the tree as text, one question per line."""
        return as_text(self._graph(), self.seen_, noun)

    def to_dot(self, noun: str = SPACE) -> str:
        """Return the tree for Graphviz."""
        return as_dot(self._graph(), self.seen_, noun)

    def to_svg(self, noun: str = SPACE, title: str = "Anomaly tree") -> str:
        """Return a picture of the tree, the emptiest group on the left."""
        return as_svg(self._graph(), self.seen_, noun, title)

    def _see(self, rows: Any) -> None:
        """Keep what is needed of the training rows to describe the tree."""
        features: NDArray[np.float32] = rows
        super()._see(TrainingRows(features, np.zeros(len(features), dtype=bool), None))

    def _measured(self, rule: Rule) -> Rule:
        """Return the rule with its rows and the volume of its box."""
        if rule.tally is None:
            return rule
        volume = float(np.prod([self._length(*each) for each in rule.conditions.items()]))
        n_rows = rule.tally.n_rows
        share = n_rows / self.tree_.unions.n_rows[0]
        return replace(rule, tally=Tally(n_rows, share + volume, volume))

    def _length(self, column: int, condition: Any) -> float:
        """Return a condition's share of a column's length."""
        missing = 0.0 if self.box_.is_whole[column] else MISSING_SHARE
        if isinstance(condition, OneOf):
            present = len(condition.codes) / max(condition.n_codes, 1)
        else:
            low = max(condition.low, self.box_.low[column])
            high = min(condition.high, self.box_.high[column])
            present = max(high - low, 0.0) / self.box_.width[column]
            if self.box_.low[column] == self.box_.high[column]:
                present = float(low <= high)
        return (1 - missing) * present + missing * condition.with_missing
