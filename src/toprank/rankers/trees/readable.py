"""A ranker of one tree described: rules, a row's path, text and pictures."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from toprank.data import inputs
from toprank.data.inputs import TrainingRows
from toprank.data.tables import Schema
from toprank.notebook_views import ShownWhenFitted, html_of
from toprank.rankers.trees.kernel.meta_tree import MetaTrees
from toprank.rankers.trees.reading.compact import Cut, Graph, compact
from toprank.rankers.trees.reading.conditions import OneOf
from toprank.rankers.trees.reading.drawing import as_dot, as_svg, as_text
from toprank.rankers.trees.reading.rules import GroupRules, Path, path_of, rules_of
from toprank.rankers.trees.reading.seen import Seen, seen_in

_MOST_CUTS_READ = 100
_SEEN = "seen_"


class Readable(ShownWhenFitted):
    """A ranker with `tree_`, `std_` and `schema_` that can be read.

    `seen_` is what is needed of the training rows: exact counts for rules, and thresholds in few
    digits. For a tree with more than 100 cuts, which nobody reads, it is None.
    """

    tree_: MetaTrees
    std_: NDArray[np.float64]
    schema_: Schema
    seen_: Seen | None

    def rules(self) -> list[GroupRules]:
        """Return the groups in words, the most suspicious first: which rows fall in each.

        >>> from toprank import MetaAP
        >>> hours = np.arange(24.0)[:, None]
        >>> for group in MetaAP().fit(hours, hours[:, 0] < 6).rules():
        ...     print(group.text("frauds"))
        group 1 of 2: 6 frauds in 6 (100 %)
          x0 <= 5: 6 frauds in 6
        group 2 of 2: 0 frauds in 18 (0 %)
          x0 > 5: 0 frauds in 18
        """
        return rules_of(self._graph(), self.seen_)

    def paths(self, X: Any) -> list[Path]:
        """Return for every row its group, the rule that puts it there, and what it is close to.

        >>> from toprank import MetaAP
        >>> hours = np.arange(24.0)[:, None]
        >>> ranker = MetaAP().fit(hours, hours[:, 0] < 6)
        >>> ranker.paths([[2.0]])[0].text("frauds")
        'in group 1 of 2 (6 frauds in 6): x0 <= 5: 6 frauds in 6'
        """
        graph = self._graph()
        features = inputs.read_features(self, X)
        return [path_of(graph, row, self.seen_, std=self.std_) for row in features]

    def to_text(self, noun: str = "positives") -> str:
        """Return the tree as text, one question per line."""
        return as_text(self._graph(), self.seen_, noun)

    def to_dot(self, noun: str = "positives") -> str:
        """Return the tree for Graphviz."""
        return as_dot(self._graph(), self.seen_, noun)

    def to_svg(self, noun: str = "positives", title: str = "Ranking tree") -> str:
        """Return a picture of the tree; a group that several paths lead to is one box."""
        return as_svg(self._graph(), self.seen_, noun, title)

    def _learned_html(self) -> str:
        return html_of(self) if hasattr(self, "tree_") else ""

    def _graph(self) -> Graph:
        check_is_fitted(self)
        return compact(self.tree_, self.schema_)

    def _see(self, rows: TrainingRows) -> None:
        """Keep what is needed of the training rows to describe the tree."""
        self.seen_ = None
        if np.count_nonzero(self.tree_.nodes.column >= 0) <= _MOST_CUTS_READ:
            self.seen_ = seen_in(self._graph(), rows.features, rows.is_positive, rows.weight)

    def _seen_arrays(self) -> dict[str, NDArray]:
        """Return what a model file keeps of `seen_`."""
        if self.seen_ is None:
            return {}
        return {_SEEN + name: values for name, values in self.seen_._asdict().items()}

    def _restore_seen(self, arrays: Mapping[str, NDArray]) -> None:
        """Restore what `_seen_arrays` gave; ValueError if it does not fit the tree."""
        kept = {name: arrays[_SEEN + name] for name in Seen._fields if _SEEN + name in arrays}
        if kept and len(kept) < len(Seen._fields):
            raise ValueError(
                f"arrays of training facts must be complete; got only {', '.join(kept)}."
            )
        self.seen_ = None
        if not kept:
            return
        seen = Seen(**kept)
        _check_seen(seen, self._graph().cuts, len(self.schema_.columns))
        self.seen_ = seen


def _check_seen(seen: Seen, cuts: Sequence[Cut], n_columns: int) -> None:
    shapes = {
        "below": ("f8", (len(cuts),)),
        "above": ("f8", (len(cuts),)),
        "has_missing": ("?", (n_columns,)),
        "is_whole": ("?", (n_columns,)),
        "path": ("u8", (seen.path.size,)),
        "totals": ("f8", (seen.path.size, 3)),
    }
    for name, (kind, shape) in shapes.items():
        values = getattr(seen, name)
        if values.dtype != np.dtype(kind) or values.shape != shape:
            raise ValueError(
                f"array {_SEEN + name!r} must be {np.dtype(kind)} of shape {shape}; got "
                f"{values.dtype} of shape {values.shape}."
            )
    if not (np.isfinite(seen.totals).all() and (seen.path[1:] > seen.path[:-1]).all()):
        raise ValueError("arrays of training facts must be finite, with paths in rising order.")
    is_category = [isinstance(cut.yes_if, OneOf) for cut in cuts]
    for values in (seen.below, seen.above):
        if not np.array_equal(np.isnan(values), is_category):
            raise ValueError("values around a threshold must be numbers, and NaN for categories.")
