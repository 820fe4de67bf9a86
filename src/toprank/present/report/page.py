"""The report as one HTML page, and the page as a file."""

import os
from collections.abc import Iterable
from importlib.resources import files

from toprank.data.atomic import atomic_path
from toprank.present.report import sections
from toprank.present.report.contents import ListReport, Report
from toprank.present.report.markup import text


def render_report(report: Report) -> str:
    """Return the whole page; the same report always gives the same page.

    >>> import numpy as np
    >>> from toprank.metrics import Interval
    >>> from toprank.present.report import ModelFigures
    >>> y, suspicion = np.array([True, False, True, False]), np.array([0.9, 0.4, 0.3, 0.1])
    >>> found, share = Interval(1, 1, 1), Interval(0.83, 0.5, 1)
    >>> model = ModelFigures("ours", share, found, share, share, y, suspicion, suspicion)
    >>> report = Report(
    ...     title="Payments", headline="Expect 1 fraud in your 1 check", budget=1, per_day=False,
    ...     rows=4, positives=2, periods=[], models=[model], alerts=[], importance=[],
    ...     columns=[], parameters={"loss": "log"}, remarks=[], made_with="toprank",
    ... )
    >>> render_report(report).splitlines()[0]
    '<!DOCTYPE html>'
    """
    if not report.models:
        raise ValueError("models must hold at least one model, the chosen one first; got 0.")
    return whole_page(report, (section(report) for section in _SECTIONS))


def write_report(report: Report, path: str | os.PathLike[str]) -> None:
    """Write the page to `path`; a reader of that file meets the old page or the whole new one."""
    write_page(render_report(report), path)


def whole_page(report: ListReport, parts: Iterable[str]) -> str:
    """Return the page of these sections, with its style in it; empty sections are left out."""
    body = "\n".join(filter(None, parts))
    style = files("toprank.present.report").joinpath("style.css").read_text(encoding="utf-8")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{text(report.title)}</title>
<style>
{style}</style>
</head>
<body>
<main>
{body}
</main>
{sections.made_with(report)}
</body>
</html>
"""


def write_page(page: str, path: str | os.PathLike[str], mode: int | None = None) -> None:
    """Write a page to `path` in one step; a new file has `mode`, if it is given."""
    with atomic_path(path, mode=mode) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")


_SECTIONS = (
    sections.key_figures,
    sections.alert_list,
    sections.tree,
    sections.by_checks,
    sections.cards,
    sections.models_compared,
    sections.curves,
    sections.calibration,
    sections.importance,
    sections.data_summary,
    sections.parameters,
)
