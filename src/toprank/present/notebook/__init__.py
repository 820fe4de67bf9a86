"""Results as a notebook shows them: HTML that follows the notebook's light or dark theme."""

from functools import singledispatch
from typing import Any

from toprank.present.notebook import alert_view, comparison_view, figures_view, tree_view
from toprank.rankers.trees.readable import Readable
from toprank.workflow.alert_list import AlertList
from toprank.workflow.comparison.imbalance import ComparedMethods
from toprank.workflow.comparison.learner_comparison import Compared
from toprank.workflow.evaluation import Evaluation
from toprank.workflow.training import Trained


@singledispatch
def html_of(shown: Any) -> str:
    """Return a result as HTML.

    >>> from toprank.workflow.evaluation import evaluate
    >>> figures = evaluate([1, 0, 1, 0, 0], [5, 4, 3, 2, 1], [.9, .5, .5, .1, .1], budget=2)
    >>> "Expect about 1 positive in your 2 checks" in html_of(figures)
    True
    """
    raise TypeError(f"there is no HTML of a {type(shown).__name__}.")


html_of.register(AlertList, alert_view.view_of_alerts)
html_of.register(Evaluation, figures_view.view_of_evaluation)
html_of.register(Trained, figures_view.view_of_training)
html_of.register(Compared, comparison_view.view_of_learners)
html_of.register(ComparedMethods, comparison_view.view_of_methods)
html_of.register(Readable, tree_view.view_of_tree)
