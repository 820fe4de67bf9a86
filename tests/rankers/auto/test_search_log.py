"""The log of a search: how it prints, and that a file keeps it."""

import json
import re
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from toprank.metrics import Comparison
from toprank.rankers.auto.judge import RecipeStanding
from toprank.rankers.auto.search import Outcome
from toprank.rankers.auto.search_log import SearchedRecipe, SearchLog, account_of
from toprank.rankers.auto.trial import Trial

PLAIN = SearchedRecipe("log-loss trees", "plain trees", 0.25, Comparison(0.0, 0.0, 0.0, 0.5), 1.25)
FOREST = SearchedRecipe("forest", "a forest", 0.5, Comparison(0.25, -0.0321, 0.4, 0.9), 12.0)
ACCOUNT = SearchLog((PLAIN, FOREST), "a forest", "it leads", "5 folds")


class Named(NamedTuple):
    """The part of a recipe that the log needs."""

    words: str
    name: str = "kind"


def test_it_prints_as_a_table_and_a_verdict():
    assert str(ACCOUNT) == (
        "                 AP  against plain log-loss  seconds\n"
        "plain trees   0.250                              1.2\n"
        "a forest    * 0.500  +.250 (-.032 to +.400)     12.0\n"
        "Judged on 5 folds. Kept a forest: it leads."
    )


def test_it_lists_skipped_recipes():
    account = SearchLog((PLAIN,), "plain trees", "so", "5 folds", ("a forest", "a line"))
    assert str(account).endswith("\nSkipped (time limit): a forest; a line.")
    beyond = replace(account, left_out=(), beyond_effort=("a line",))
    assert str(beyond).endswith("\nSkipped (effort): a line.")
    assert account.is_plain
    assert not ACCOUNT.is_plain
    assert ACCOUNT.chosen is FOREST


def test_it_comes_back_from_json_without_the_seconds():
    written = json.dumps(ACCOUNT.to_json())
    untimed = tuple(replace(each, seconds=None) for each in ACCOUNT.tried)
    again = SearchLog.from_json(json.loads(written))

    assert again == replace(ACCOUNT, tried=untimed)
    assert "a forest    * 0.500  +.250 (-.032 to +.400)\n" in str(again)


def test_it_is_that_of_the_search():
    plain = Trial((Named("plain trees"),), (), RecipeStanding(0.25, np.array([0.2, 0.3])), 1.0)
    other = Trial((Named("a"), Named("b")), (), RecipeStanding(0.5, np.array([0.5, 0.3])), 2.0)
    account = account_of(Outcome([plain, other], other, "why", ["c"]), "the eval_set")

    assert [each.words for each in account.tried] == ["plain trees", "a + b"]
    assert [each.name for each in account.tried] == ["kind", "2 x kind"]
    assert account.winner == "a + b"
    assert account.tried[1].lead.difference == 0.25
    assert account.tried[1].lead.share_above == 0.75
    assert account.left_out == ("c",)
    assert account.judged_on == "the eval_set"
    assert re.search(r"^a \+ b +\* 0\.500", str(account), re.MULTILINE)


@pytest.mark.parametrize(
    "broken",
    [
        {"winner": "a line"},
        {"tried": []},
        {"tried": None},
        {"tried": [{"words": "plain trees"}]},
        {"tried": [{**ACCOUNT.to_json()["tried"][1], "lead": {"difference": 1.0}}]},
        {"tried": [{**ACCOUNT.to_json()["tried"][1], "average_precision": "high"}]},
        {"left_out": None},
    ],
    ids=str,
)
def test_an_inconsistent_log_is_rejected(broken):
    with pytest.raises((ValueError, TypeError, LookupError)):
        SearchLog.from_json({**ACCOUNT.to_json(), **broken})
