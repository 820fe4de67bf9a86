"""The report of a fitted ranker: one HTML file to read, print or send.

Fill a `Report`, then `write_report(report, "report.html")`. The file needs no network and no
scripts: its figures and its style are inside.
"""

from toprank.present.report.contents import (
    Alert,
    ColumnFacts,
    ModelFigures,
    Period,
    Report,
    Tree,
    TreeGroup,
)
from toprank.present.report.from_training import report_of
from toprank.present.report.page import render_report, write_report

__all__ = [
    "Alert",
    "ColumnFacts",
    "ModelFigures",
    "Period",
    "Report",
    "Tree",
    "TreeGroup",
    "render_report",
    "report_of",
    "write_report",
]
