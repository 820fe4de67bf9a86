"""A comparison in a notebook: the table that `toprank compare` prints, and its verdicts."""

from toprank.metrics import Interval
from toprank.present import summary
from toprank.present.comparison import learner_summary, remedy_summary
from toprank.present.notebook.frame import figures_table, frame, paragraphs, range_bar
from toprank.present.report.markup import prose
from toprank.workflow.comparison.imbalance import ComparedMethods
from toprank.workflow.comparison.learner_comparison import Compared

_AP = "AP, with 95 % interval"


def view_of_learners(compared: Compared) -> str:
    """Return the learners, the best first, and which differences are significant."""
    noun = compared.task.noun
    head, *rows = learner_summary.figures_rows(compared, noun)
    bars = _bars([each.test.average_precision for each in compared.judged])
    cells = [[*_with_bar(row, 1, each)] for row, each in zip(rows, bars, strict=False)]
    cells += [_failed(name, why, len(head)) for name, why in compared.failed.items()]
    return frame(
        f"{len(compared.judged)} learners on the same test rows, the best first",
        paragraphs([summary.periods_line(compared.task)]),
        figures_table(["Learner", _AP, *map(prose, head[2:])], cells),
        paragraphs([*learner_summary.verdicts(compared, noun),
                    *summary.cautions(compared.best.test, noun)]),
    )  # fmt: skip


def view_of_methods(compared: ComparedMethods) -> str:
    """Return the remedies for imbalance, and what to do."""
    noun = compared.task.noun
    (head, *rows), failures = remedy_summary.figures_rows(compared)
    tried = {str(each.trial): each.test.average_precision for each in compared.tried}
    bars = iter(_bars(list(tried.values())))
    cells = [
        _failed(" ".join(row[:2]), failures[place], len(head) - 1)
        if place in failures
        else [*_with_bar([_named(row), *row[2:]], 1, next(bars))]
        for place, row in enumerate(rows, start=1)
    ]
    star = [remedy_summary.STAR] if any("*" in row[1] for row in rows) else []
    return frame(
        f"Remedies for imbalance, with {compared.base} on the same test rows",
        paragraphs([summary.periods_line(compared.task)]),
        figures_table(["Method", _AP, *map(prose, head[3:])], cells),
        paragraphs([*star, *remedy_summary.verdicts(compared, noun),
                    *summary.cautions(compared.baseline.test, noun)]),
    )  # fmt: skip


def _named(row: list[str]) -> str:
    return f"{row[0]}, ratio {row[1]}" if row[1] else row[0]


def _bars(intervals: list[Interval]) -> list[str]:
    most = max((each.high for each in intervals), default=1.0) or 1.0
    return [range_bar(each.value, each.low, each.high, most) for each in intervals]


def _with_bar(row: list[str], place: int, drawn: str) -> list[str]:
    cells = [*map(prose, row)]
    cells[place] = f"{cells[place]} {drawn}"
    return cells


def _failed(name: str, why: str, n_columns: int) -> list[str]:
    return [prose(name), f"failed: {prose(why)}", *[""] * (n_columns - 2)]
