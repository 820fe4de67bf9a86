"""What a report says, before it becomes a page."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from toprank.metrics import Interval


@dataclass(frozen=True)
class Alert:
    """One row of the list: why it is there and, when known, whether it was right.

    Without labels to learn from, there is no probability.
    """

    rank: int
    row: str
    suspicion: float
    probability: float | None
    reasons: list[str]
    values: dict[str, str]
    is_positive: bool | None
    less_suspicious: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ModelFigures:
    """How one model ranked the test rows.

    `found` counts the positives in the budget's checks: of a day when the budget is per day.
    """

    name: str
    average_precision: Interval
    found: Interval
    positives_at_top: Interval
    roc_auc: Interval
    y: NDArray[np.bool_]
    suspicion: NDArray[np.float64]
    probability: NDArray[np.float64]


@dataclass(frozen=True)
class TriedRecipe:
    """One recipe, judged on held-out rows; `lead` is over plain log-loss, in words."""

    words: str
    average_precision: float
    lead: str
    is_kept: bool


@dataclass(frozen=True)
class TreeGroup:
    """A group of a tree in words: its counts, and rules of the rows in it, each with its counts.

    `n_more` rules are left out.
    """

    counts: str
    rules: list[tuple[str, str]]
    n_more: int = 0


@dataclass(frozen=True)
class Tree:
    """A ranking tree: its picture, a whole SVG, and its groups, the most suspicious first."""

    svg: str
    groups: list[TreeGroup]


@dataclass(frozen=True)
class CardDays:
    """Cards checked day by day: what it comes to in words, and by model the share that was right.

    `possible` is the share that could have been right each day, for the first of the models.
    """

    words: str
    dates: NDArray[np.datetime64]
    shares: dict[str, NDArray[np.float64]]
    possible: NDArray[np.float64]


@dataclass(frozen=True)
class ColumnFacts:
    """One column of the data; `missing` is a share, `usual` the usual values in words."""

    name: str
    kind: str
    missing: float
    usual: str


@dataclass(frozen=True)
class Period:
    """One stretch of the data: train, validation, gap or test."""

    name: str
    begin: str
    end: str
    rows: int
    positives: int


@dataclass(frozen=True, kw_only=True)
class ListReport:
    """What every page about a list shows; `tree` is that of the ranker, if it is one."""

    title: str
    headline: str
    alerts: list[Alert]
    importance: list[tuple[str, float]]
    columns: list[ColumnFacts]
    parameters: dict[str, str]
    remarks: list[str]
    made_with: str
    tree: Tree | None = None


@dataclass(frozen=True, kw_only=True)
class Report(ListReport):
    """Everything the page of a training shows; the first of `models` is the chosen one.

    `period` says which rows the page is about: those of the test, not of today.
    """

    budget: int
    per_day: bool
    rows: int
    positives: int
    periods: list[Period]
    models: list[ModelFigures]
    tried: list[TriedRecipe] = field(default_factory=list)
    judged_on: str = ""
    cards: CardDays | None = None
    period: str = ""
