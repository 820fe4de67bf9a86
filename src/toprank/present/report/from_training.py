"""The report of a training: what `toprank fit` writes next to the model."""

import platform
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from toprank import __version__
from toprank.data.inputs import Encoded, read_features
from toprank.present import summary
from toprank.present.report.contents import (
    Alert,
    CardDays,
    ColumnFacts,
    ModelFigures,
    Period,
    Report,
    Tree,
    TreeGroup,
    TriedRecipe,
)
from toprank.rankers import reasons
from toprank.rankers.auto.search_log import lead_text
from toprank.workflow.alert_list import top_of_scored
from toprank.workflow.task import Task
from toprank.workflow.training import Candidate, Trained

_ALERTS_SHOWN = 10
_VALUES_SHOWN = 6
_RULES_SHOWN = 12


def report_of(
    trained: Trained,
    title: str,
    noun: str,
    remarks: list[str],
    describer: reasons.Describer | None = None,
) -> Report:
    """Return the contents of the report, measured on the test rows.

    `describer` puts reasons into words; without it, columns are called by their names.
    """
    task, chosen = trained.task, trained.chosen
    n_rows, n_positive = task.counts()
    describer = describer or reasons.ColumnNames({})
    return Report(
        title=title,
        headline=summary.headline(chosen.test, noun, trained.promise),
        budget=chosen.test.budget,
        per_day=chosen.test.day is not None,
        rows=n_rows,
        positives=n_positive,
        periods=_periods(task),
        models=[_figures(candidate) for candidate in trained.candidates],
        alerts=_alerts(trained, describer),
        importance=importance_of(chosen.ranker, describer),
        columns=columns_of(chosen.ranker, task.features),
        parameters={name: str(value) for name, value in chosen.ranker.get_params().items()},
        remarks=[
            *summary.held_lines(trained.promise, chosen.test),
            *(line.replace("\n", " ") for line in summary.refit_lines(trained)),
            *summary.cautions(chosen.test, noun),
            *(line.replace("\n", " ") for line in summary.choice_lines(trained)),
            *remarks,
        ],
        made_with=f"toprank {__version__}, Python {platform.python_version()}",
        tried=_tried(trained),
        judged_on=_judged_on(trained),
        tree=tree_of(trained.ranker, noun),
        cards=_card_days(trained, noun),
        period=_period(trained, noun),
    )


def _judged_on(trained: Trained) -> str:
    """Return which rows the recipes were compared on."""
    if trained.account is None or trained.task.time is None:
        return "the validation rows"
    return trained.account.judged_on


def tree_of(ranker: Any, noun: str) -> Tree | None:
    """Return the tree of a ranker, if it is one and people can read it."""
    groups = summary.rules_of(ranker) if hasattr(ranker, "groups_") else None
    if groups is None:
        return None
    return Tree(ranker.to_svg(noun), [_tree_group(group, noun) for group in groups])


def importance_of(
    ranker: Any, describer: reasons.Describer | None = None
) -> list[tuple[str, float]]:
    """Return each column's share of the ranking, the largest first."""
    shares, names = ranker.feature_importances_, ranker.schema_.names
    if describer is not None:
        names = [describer.name(name) or name for name in names]
    return [(names[i], float(shares[i])) for i in np.argsort(-shares, kind="stable")]


def columns_of(ranker: Any, features: pa.Table) -> list[ColumnFacts]:
    """Return kind, share of missing values and usual values of each column learned from."""
    return [
        ColumnFacts(
            column.name,
            column.kind,
            _missing_share(features[column.name]),
            str(usual),
        )
        for column, usual in zip(ranker.schema_.columns, ranker.usual_, strict=True)
    ]


def values_of(
    ranker: Any, rows: Any, describer: reasons.Describer | None = None
) -> list[dict[str, str]]:
    """Return for every row its values, in words, of the columns the ranking depends on most."""
    columns = ranker.schema_.columns
    names = [column.name for column in columns]
    if describer is not None:
        names = [describer.name(name) for name in names]
    shares = getattr(ranker, "feature_importances_", np.zeros(len(columns)))
    order = np.argsort(-shares, kind="stable")
    shown = [i for i in order if names[i] is not None][:_VALUES_SHOWN]
    return [
        {names[i]: reasons.value_text(row[i], columns[i]) for i in shown}
        for row in read_features(ranker, rows)
    ]


def _figures(candidate: Candidate) -> ModelFigures:
    test = candidate.test
    return ModelFigures(
        candidate.name,
        test.average_precision,
        test.found,
        test.positives_at_top,
        test.roc_auc,
        test.is_positive,
        test.suspicion,
        test.probability,
    )


def _card_days(trained: Trained, noun: str) -> CardDays | None:
    test, time = trained.chosen.test, trained.task.time
    if test.card_checks is None or time is None:
        return None
    by_day = test.card_checks.by_day
    every = [(each.name, each.test.card_checks) for each in trained.candidates]
    return CardDays(
        " ".join(summary.card_lines(test, noun)).replace("\n", " "),
        time.min().astype("datetime64[D]") + by_day.day,
        {name: checks.by_day.found / test.budget for name, checks in every if checks},
        np.minimum(by_day.positive, test.budget) / test.budget,
    )


def _tried(trained: Trained) -> list[TriedRecipe]:
    account = trained.account
    if account is None:
        return []
    return [
        TriedRecipe(
            each.words,
            each.average_precision,
            "" if each is account.tried[0] else lead_text(each.lead),
            each.words == account.winner,
        )
        for each in account.tried
    ]


def _tree_group(group: Any, noun: str) -> TreeGroup:
    """Return a group with the rules that training rows met, those with most positives first."""
    head, *_ = group.text(noun).splitlines()
    met = [rule for rule in group.rules if rule.tally.n_rows][:_RULES_SHOWN]
    rules = [(str(rule), rule.text(noun).removeprefix(f"{rule}: ")) for rule in met]
    return TreeGroup(head, rules, n_more=len(group.rules) - len(met))


def _period(trained: Trained, noun: str) -> str:
    """Return which rows the report is about, so that nobody takes its list for today's."""
    task, is_positive = trained.task, trained.chosen.test.is_positive
    counts = f"{is_positive.size:,} rows with {int(is_positive.sum()):,} {noun}"
    if task.split.periods is None:
        rows = f"the test rows, drawn at random: {counts}"
    else:
        begin, end = (
            summary.date_text(moment.astype("datetime64[s]").item())
            for moment in task.split.periods["test"]
        )
        days = begin if begin == end else f"{begin} to {end}"
        rows = f"the test period, {days}: {counts}"
    return (
        f"This report shows {rows} that the model did not learn from. Its list is of the past, to "
        "judge the model by; today's list comes from toprank rank."
    )


def _alerts(trained: Trained, describer: reasons.Describer) -> list[Alert]:
    """Return the top of the test rows, with what became of each."""
    task, chosen = trained.task, trained.chosen
    suspicion = chosen.test.suspicion
    places = np.argsort(-suspicion, kind="stable")[:_ALERTS_SHOWN]
    features = task.test_features(places)
    encoded = Encoded(read_features(chosen.ranker, features))
    top = top_of_scored(
        chosen.ranker, features, suspicion[places], places.size, encoded=encoded,
        describer=describer,
    )  # fmt: skip
    names = task.test_names(places)
    values = values_of(chosen.ranker, encoded, describer)
    assert top.probability is not None and top.less_suspicious is not None
    return [
        Alert(
            rank=i + 1,
            row=names[i],
            suspicion=float(top.suspicion[i]),
            probability=float(top.probability[i]),
            reasons=top.reason_texts(i),
            values=values[i],
            is_positive=bool(chosen.test.is_positive[places[i]]),
            less_suspicious=[str(reason) for reason in top.less_suspicious[i]],
        )
        for i in range(len(top.suspicion))
    ]


def _missing_share(values: pa.ChunkedArray) -> float:
    """Return the share of rows without a value; NaN is none."""
    return float(pc.mean(pc.is_null(values, nan_is_null=True).cast("float64")).as_py())


def _periods(task: Task) -> list[Period]:
    parts = {**task.split.parts(), "gap": task.split.gap}
    names = [name for name in ("train", "validation", "gap", "test") if parts[name].size]
    bounds = task.split.periods or {}
    return [
        Period(
            name,
            *_bounds(bounds.get(name)),
            *task.counts(parts[name]),
        )
        for name in names
    ]


def _bounds(moments: tuple[np.datetime64, np.datetime64] | None) -> tuple[str, str]:
    if moments is None:
        return "", ""
    begin, end = (str(moment.astype("datetime64[s]")) for moment in moments)
    return begin, end
