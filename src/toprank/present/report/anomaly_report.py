"""The report of anomalies: what `toprank anomalies --report` writes.

It looks like the report of a training, but nothing in it depends on labels: the list, the curve
that judges it by space, the tree if there is one, the columns and the parameters.
"""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from toprank import __version__
from toprank.data.atomic import PRIVATE
from toprank.present.report import figures, sections
from toprank.present.report.contents import Alert, ListReport
from toprank.present.report.from_training import columns_of, importance_of, tree_of, values_of
from toprank.present.report.markup import count, interval, section, text
from toprank.present.report.page import whole_page, write_page
from toprank.rankers.anomaly.held_out import HeldOut
from toprank.rankers.trees.reading.words import SPACE
from toprank.workflow.alert_list import AlertList

_ALERTS_SHOWN = 100


@dataclass(frozen=True, kw_only=True)
class AnomalyReport(ListReport):
    """Everything the page of anomalies shows; of `n_listed` rows, it has the first 100."""

    rows: int
    n_listed: int
    detector: str
    held_out: HeldOut


def anomaly_report_of(
    detector: Any,
    alerts: AlertList,
    features: pa.Table,
    held_out: HeldOut,
    *,
    title: str,
    remarks: Sequence[str] = (),
) -> AnomalyReport:
    """Return the contents of the report of a detector that learned from `features`.

    >>> from toprank import AnomalyTreeRank
    >>> from toprank.workflow.alert_list import most_unusual
    >>> from toprank.rankers.anomaly.held_out import held_out_curve
    >>> payments = pa.table({"amount": [*range(1, 201), 900]})
    >>> detector = AnomalyTreeRank().fit(payments)
    >>> alerts, curve = most_unusual(detector, payments, 5), held_out_curve(detector, payments)
    >>> anomaly_report_of(detector, alerts, payments, curve, title="Payments").headline
    'The 5 most unusual of 201 rows'
    """
    n_listed = len(alerts.suspicion)
    is_one = n_listed == 1
    return AnomalyReport(
        title=title,
        headline=f"The {'' if is_one else f'{n_listed:,} '}most unusual of {alerts.n_seen:,} rows",
        alerts=_alerts(detector, alerts),
        importance=importance_of(detector) if hasattr(detector, "feature_importances_") else [],
        columns=columns_of(detector, features),
        parameters={name: str(value) for name, value in detector.get_params().items()},
        remarks=list(remarks),
        made_with=f"toprank {__version__}, Python {platform.python_version()}",
        tree=tree_of(detector, SPACE),
        rows=alerts.n_seen,
        n_listed=n_listed,
        detector=type(detector).__name__,
        held_out=held_out,
    )


def render_anomaly_report(report: AnomalyReport) -> str:
    """Return the whole page; the same report always gives the same page."""
    return whole_page(report, (part(report) for part in _SECTIONS))


def write_anomaly_report(report: AnomalyReport, path: str | os.PathLike[str]) -> None:
    """Write the page to `path`; a reader of that file meets the old page or the whole new one."""
    write_page(render_anomaly_report(report), path, mode=PRIVATE)


def _alerts(detector: Any, alerts: AlertList) -> list[Alert]:
    n_shown = min(_ALERTS_SHOWN, len(alerts.suspicion))
    values = values_of(detector, alerts.rows.slice(0, n_shown))
    rules = [[] if alerts.rules is None else [alerts.rules[i]] for i in range(n_shown)]
    return [
        Alert(
            rank=i + 1,
            row=f"{alerts.row_numbers[i]}",
            suspicion=float(alerts.suspicion[i]),
            probability=None,
            reasons=[*map(str, alerts.reasons[i]), *rules[i]],
            values=values[i],
            is_positive=None,
        )
        for i in range(n_shown)
    ]


def _header(report: AnomalyReport) -> str:
    area = report.held_out.area
    tiles = (
        ("Rows", count(report.rows), "read, and learned from"),
        ("Columns", count(len(report.columns)), "looked at together"),
        ("Listed", count(report.n_listed), "the most unusual first"),
        ("Area under the curve", _area(report), "0.5 by chance; lower is better"),
    )
    words = (
        "Unusual is not wrong: this list was made without labels. A row is on it because few "
        "rows have values near its own, taken together; whether it matters, a check must say."
    )
    if area.value < area.high:
        words += " The range in brackets is the 95% interval."
    return sections.header(report, tiles, words)


def _list(report: AnomalyReport) -> str:
    left_out = report.n_listed - len(report.alerts)
    more = f" The first {count(len(report.alerts))} are shown." if left_out else ""
    return section(
        "alerts",
        "The list",
        "<p>The rows to look at first, with the columns that make each of them unusual and what "
        "is usual there. The suspicion orders the rows: the higher, the less a row is like the "
        f"others.{more}</p>",
        sections.alerts_table(report.alerts),
    )


def _curve(report: AnomalyReport) -> str:
    held_out = report.held_out
    title = f"Share of the box needed to hold a share of the rows; area {_plain_area(report)}"
    volumes = f"measured with {count(held_out.n_points)} points" if held_out.n_points else "exact"
    return section(
        "curve",
        "How tightly the rows are enclosed",
        "<p>Without labels, a ranking is judged by space. Going right, more of the rows are "
        "enclosed, the least suspicious first; the height says how much of the box around all "
        "rows that takes. A good detector holds most rows in little space, so its curve stays "
        "low; the grey line is a detector that knows nothing.</p>",
        sections.figure(figures.mass_volume_figure(held_out.curve, report.detector, title)),
        f"<p>The area under the curve is {_area(report)}. It is that of "
        f"{count(held_out.n_judged)} rows held out from a detector that learned from "
        f"{count(held_out.n_learned)} others; volumes are {volumes}.</p>",
    )


def _data(report: AnomalyReport) -> str:
    return section(
        "data",
        "The data",
        f"<p>{count(report.rows)} rows. All of them were learned from and ranked; no column said "
        "which were right.</p>",
        sections.columns_table(report),
    )


def _area(report: AnomalyReport) -> str:
    return interval(report.held_out.area, _form(report))


def _plain_area(report: AnomalyReport) -> str:
    return text(f"{report.held_out.area.value:{_form(report)}}")


def _form(report: AnomalyReport) -> str:
    """Return how areas are written: with many columns, they are tiny."""
    return ".3f" if report.held_out.area.value >= 0.001 else ".1e"


_SECTIONS = (
    _header,
    _list,
    sections.tree,
    _curve,
    sections.importance,
    _data,
    sections.parameters,
)
