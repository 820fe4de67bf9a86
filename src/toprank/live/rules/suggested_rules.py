"""Rules read off ranking trees: grown on earlier days, backtested on later ones.

A tree's group is the payments that meet any of a few conditions; each such condition is a
candidate. It is written in the language of rules with thresholds of few digits, rounded so that no
fraud is lost, and without tests that do not help. Those that also hold on the later days are
suggested, as long as each finds frauds that the ones before do not.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from toprank.live.rules.rule_backtest import LEAST_MATURITY, RuleBacktest, backtest
from toprank.live.rules.rule_fields import RuleError, RuleFields, RuleKind
from toprank.live.rules.rule_language import Condition, parse
from toprank.live.rules.rule_rows import typed_columns
from toprank.live.rules.tree_conditions import TreeCondition, tree_conditions
from toprank.metrics.shares import wilson_bounds
from toprank.rankers.trees.meta_ap import MetaAP
from toprank.rankers.trees.tree_rank import TreeRank

MOST_GENUINE = 50_000
MOST_CATEGORIES = 50
LEAST_FRAUDS = 5

_EARLIER = 0.7  # of the payments
_KEPT_PRECISION = 0.95  # of that with exact thresholds and all tests
_LEAST_LIFT = 3.0  # times the share of frauds among all payments


class SuggestedRule(NamedTuple):
    """A rule with its precision on the days it was grown on, and its backtest on later days."""

    text: str
    grown_precision: float
    later: RuleBacktest


class _Growing(NamedTuple):
    """The payments that rules are grown on; a genuine one counts `weight` times."""

    features: pl.DataFrame
    is_fraud: NDArray[np.bool_]
    weight: NDArray[np.float64]

    def precision(self, condition: Condition) -> float:
        """Return the share of frauds among the matches."""
        is_met = _is_met(self.features, condition)
        mass = self.weight[is_met].sum()
        return float(self.weight[is_met & self.is_fraud].sum() / mass) if mass else 0.0


def suggest(
    payments: pl.LazyFrame,
    fields: RuleFields,
    kind: RuleKind = "alert",
    k: int = 100,
    *,
    most: int = 10,
    others: Sequence[Condition] = (),
    least_maturity: float = LEAST_MATURITY,
    random_state: int = 0,
) -> list[SuggestedRule]:
    """Return at most so many rules, those with the surest precision on later days first.

    `payments` is what `backtest` takes. Frauds that `others`, such as the rules in use, match
    already do not count as found.
    """
    border = _border(payments)
    growing = _growing(payments.filter(pl.col("paid_at") < border), fields, random_state)
    candidates = _candidates(growing, fields, kind)
    later = payments.filter(pl.col("paid_at") >= border)
    kept = _validated(later, candidates, fields, others)[:most]
    found = []
    for place, condition in enumerate(kept):
        before = [*others, *kept[:place]]
        result = backtest(
            later, condition, fields, k, others=before, least_maturity=least_maturity
        )
        found.append(SuggestedRule(condition.text, growing.precision(condition), result))
    return found


def _validated(
    later: pl.LazyFrame,
    candidates: Sequence[Condition],
    fields: RuleFields,
    others: Sequence[Condition],
) -> list[Condition]:
    """Return the conditions that hold on later days, the surest first.

    Each finds frauds that neither the others nor those before it find.
    """
    known = later.filter(pl.col("is_fraud").is_not_null())
    names = {name for each in (*candidates, *others) for name in each.names}
    label = pl.col("is_fraud").alias("_is_fraud")
    rows = known.select(label, *typed_columns(fields, names)).collect()
    is_fraud = rows["_is_fraud"].to_numpy()
    is_found = np.zeros(is_fraud.size, dtype=bool)
    for each in others:
        is_found |= _is_met(rows, each)
    met = {each.text: _is_met(rows, each) for each in candidates}
    sure = {text: _lower_precision(is_fraud[is_met]) for text, is_met in met.items()}
    kept = []
    for each in sorted(candidates, key=lambda each: -sure[each.text]):
        is_met = met[each.text]
        is_better = sure[each.text] >= _LEAST_LIFT * is_fraud.mean()
        if is_better and np.any(is_met & is_fraud & ~is_found):
            kept.append(each)
            is_found |= is_met
    return kept


def _is_met(rows: pl.DataFrame, condition: Condition) -> NDArray[np.bool_]:
    return rows.select(condition.expression.fill_null(False)).to_series().to_numpy()


def _candidates(growing: _Growing, fields: RuleFields, kind: RuleKind) -> list[Condition]:
    """Return conditions read off several trees."""
    least = _LEAST_LIFT * float(growing.weight[growing.is_fraud].sum() / growing.weight.sum())
    found: dict[str, Condition] = {}
    for tree in _trees():
        tree.fit(growing.features, growing.is_fraud, growing.weight)
        for each in tree_conditions(tree, LEAST_FRAUDS):
            condition = _readable(each, growing, fields, kind)
            if condition is not None and growing.precision(condition) >= least:
                found[condition.text] = condition
    return list(found.values())


def _trees() -> Iterator[MetaAP | TreeRank]:
    for depth in (2, 3):
        yield MetaAP(local_depth=depth, min_samples_leaf=10)
        yield TreeRank(local_depth=depth, min_samples_leaf=10)


def _readable(
    tree: TreeCondition, growing: _Growing, fields: RuleFields, kind: RuleKind
) -> Condition | None:
    """Return a tree's condition with short thresholds and no needless tests, nearly as precise."""
    try:
        exact = parse(tree.text(), fields, kind)
    except RuleError:  # such as one with too many categories
        return None
    enough = _KEPT_PRECISION * growing.precision(exact)

    def is_enough(each: TreeCondition) -> bool:
        return growing.precision(parse(each.text(), fields, kind)) >= enough

    for digits in range(1, 7):
        if is_enough(tree.rounded(digits)):
            tree = tree.rounded(digits)
            break
    for test in tree.tests:
        shorter = tree.without(test)
        if shorter.tests and is_enough(shorter):
            tree = shorter
    return parse(tree.text(), fields, kind)


def _border(payments: pl.LazyFrame) -> datetime:
    """Return the midnight that splits the payments into earlier and later ones."""
    at = pl.col("paid_at")
    border = payments.select(at.cast(pl.Datetime("us")).quantile(_EARLIER).dt.truncate("1d"))
    found = border.collect().item()
    if found is None:
        raise RuleError("rules are suggested from payments; there are none in this period.")
    return found


def _growing(payments: pl.LazyFrame, fields: RuleFields, random_state: int) -> _Growing:
    """Return all frauds and a sample of the genuine payments, with the columns that trees use."""
    columns = payments.collect_schema()
    types = fields.of_kind("block")
    names = [name for name, each in types.items() if name in columns and each != "time"]
    known = payments.filter(pl.col("is_fraud").is_not_null())
    label = pl.col("is_fraud").alias("_is_fraud")
    rows = known.select(label, *typed_columns(fields, names)).collect()
    frauds, genuine = rows.filter("_is_fraud"), rows.filter(~pl.col("_is_fraud"))
    if frauds.height < LEAST_FRAUDS or not genuine.height:
        raise RuleError(
            f"rules are suggested from at least {LEAST_FRAUDS} frauds, and genuine payments; the "
            f"earlier days have {frauds.height} and {genuine.height}."
        )
    some = genuine.sample(min(MOST_GENUINE, genuine.height), seed=random_state)
    sample = pl.concat([frauds, some])
    is_fraud = sample["_is_fraud"].to_numpy()
    weight = np.where(is_fraud, 1.0, genuine.height / some.height)
    usable = [
        name
        for name in names
        if (types[name] != "text" or sample[name].n_unique() <= MOST_CATEGORIES)
        and sample[name].drop_nulls().n_unique() > 1
    ]
    return _Growing(sample.select(usable), is_fraud, weight)


def _lower_precision(is_fraud: NDArray[np.bool_], z: float = 1.645) -> float:
    """Return Wilson's lower 95 % bound of the share of frauds: few matches prove little."""
    if not is_fraud.size:
        return 0.0
    return float(wilson_bounds(is_fraud.mean(), is_fraud.size, z)[0])
