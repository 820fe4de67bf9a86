"""The figures of a ranking in a notebook: what to expect, a table, and what qualifies it."""

from toprank.present import summary
from toprank.present.notebook.frame import figures_table, frame, paragraphs
from toprank.present.report.markup import prose
from toprank.workflow.evaluation import Evaluation
from toprank.workflow.training import Trained


def view_of_evaluation(figures: Evaluation) -> str:
    """Return the figures of one ranking."""
    noun = figures.noun
    n_rows, n_positive = figures.is_positive.size, int(figures.is_positive.sum())
    return frame(
        summary.headline(figures, noun),
        _table([("the ranking", figures)], noun),
        paragraphs(
            [
                f"{n_rows:,} rows, {n_positive:,} of them {noun}; ranges are 95 % intervals.",
                " ".join(summary.card_lines(figures, noun)),
                *summary.cautions(figures, noun),
            ]
        ),
    )


def view_of_training(trained: Trained) -> str:
    """Return what a training found, in the words that `toprank fit` prints."""
    test, noun = trained.chosen.test, trained.task.noun
    models = [(each.name, each.test) for each in trained.candidates]
    return frame(
        summary.headline(test, noun, trained.promise),
        paragraphs([summary.size_line(trained, noun), summary.periods_line(trained.task)]),
        _table(models, noun),
        paragraphs(
            [
                *summary.choice_lines(trained),
                *summary.refit_lines(trained),
                *summary.held_lines(trained.promise, test),
                " ".join(summary.card_lines(test, noun)),
                *summary.cautions(test, noun),
            ]
        ),
    )


def _table(models: list[tuple[str, Evaluation]], noun: str) -> str:
    head, *rows = summary.figures_rows(models, noun)
    headings = ["Model", "average precision", *map(prose, head[2:])]
    return figures_table(headings, [[*map(prose, row)] for row in rows])
