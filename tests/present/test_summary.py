"""Sentences: days or none, one or many, rare shares, and dates as short as they can be."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from toprank import MetaAP, RankForest, TreeRank
from toprank.metrics import Comparison, Interval
from toprank.present import summary
from toprank.rankers.auto.search_log import SearchedRecipe, SearchLog
from toprank.splits import Split
from toprank.wording import percent
from toprank.workflow import training
from toprank.workflow.evaluation import Evaluation, evaluate
from toprank.workflow.plain_facts import training_facts
from toprank.workflow.promise import Promise
from toprank.workflow.task import Task, prepare
from toprank.workflow.usual_rows import UsualRows

HOUR = np.timedelta64(1, "h")


def figures(found, likely, budget, day=None, n_rows=1000, more=0.0):
    """Figures of these counts; the sentences ask for nothing else."""
    test = SimpleNamespace(
        found=Interval(*found),
        likely=Interval(*likely),
        budget=budget,
        day=day,
        is_positive=np.zeros(n_rows, dtype=bool),
        longest_list=n_rows,
        found_with=lambda n_checks: {2 * budget: more, n_rows: more}[n_checks],
        average_precision=Interval(0.71, 0.68, 0.73),
        positives_at_top=Interval(0.123, 0.1, 0.2),
    )
    assert set(vars(test)) <= set(dir(Evaluation)) | set(Evaluation.__dataclass_fields__)
    return test


@pytest.mark.parametrize(
    ("likely", "options", "sentence"),
    [
        (
            (31.4, 24.0, 38.0),
            {"budget": 100, "n_rows": 52_000, "more": 40.2},
            "Expect about 31 frauds in your 100 checks of a list of 52,000 rows (24-38); "
            "200 checks would find 40.",
        ),
        (
            (31.4, 24.0, 38.0),
            {"budget": 1500, "day": 1, "n_rows": 52_000, "more": 1040.2},
            "Expect about 31 frauds in your 1,500 checks a day (most days 24-38); "
            "3,000 checks would find 1,040.",
        ),
        (
            (0.4, 0.0, 1.0),
            {"budget": 1, "day": 1, "more": 0.75},
            "Expect about 0.4 frauds in your 1 check a day (most days 0-1); "
            "2 checks would find 0.8.",
        ),
        (
            (1.0, 0.0, 2.0),
            {"budget": 5, "more": 9.96},
            "Expect about 1 fraud in your 5 checks of a list of 1,000 rows (0-2); "
            "10 checks would find 10.",
        ),
        (
            (12.0, 7.0, 17.0),
            {"budget": 80, "n_rows": 100, "more": 13.0},
            "Expect about 12 frauds in your 80 checks of a list of 100 rows (7-17).",
        ),
        (
            (12.0, 7.0, 17.0),
            {"budget": 100, "n_rows": 80},
            "Expect about 12 frauds in your 100 checks of a list of 80 rows (7-17).",
        ),
    ],
)
def test_the_headline_says_how_many_to_expect(likely, options, sentence):
    assert summary.headline(figures(likely, likely, **options), "frauds") == sentence


def test_the_headline_of_real_figures_has_no_stray_decimals():
    generator = np.random.default_rng(0)
    is_positive = generator.random(400) < 0.1
    suspicion = is_positive + generator.normal(size=400)
    test = evaluate(is_positive, suspicion, suspicion, 20, np.repeat(np.arange(4), 100))
    text = summary.headline(test, "positives")
    _, low, high = test.likely
    assert f"positives in your 20 checks a day (most days {low:.0f}-{high:.0f}); 40 checks" in text


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        ((31.2, 23.6, 38.0), "31 (24-38)"),
        ((1234.5, 1100.0, 1300.0), "1,234 (1,100-1,300)"),
        ((3.4, 2.9, 4.0), "3.4 (2.9-4.0)"),
        ((3.0, 1.0, 6.0), "3 (1-6)"),
        ((0.4, 0.0, 2.0), "0.4 (0-2)"),
        ((9.97, 8.0, 12.5), "10 (8.0-12.5)"),
    ],
)
def test_small_counts_keep_a_decimal(interval, text):
    assert summary.counted(Interval(*interval)) == text


def test_the_noun_follows_the_label():
    assert summary.noun_of("IsFraud") == "frauds"
    assert summary.noun_of("churned") == "positives"


def task_of(times, *, positives=3):
    """A task of rows at these times: half train, then validation, gap and test."""
    times = np.array(times, dtype="datetime64[us]")
    n = times.size
    parts = np.split(np.arange(n), [n // 2, 3 * n // 4, 3 * n // 4 + 1])
    rows = dict(zip(("train", "validation", "gap", "test"), parts, strict=True))
    bounds = {
        name: (times[rows[name]][0], times[rows[name]][-1]) for name in rows if name != "gap"
    }
    return Task(
        pa.table({"x": np.arange(n)}),
        np.arange(n) < positives,
        *(True, False, times, Split(**rows, periods=bounds), np.arange(n) + 1, 0),
    )


@pytest.mark.parametrize(
    ("step", "line"),
    [
        (
            24 * HOUR,
            "train to 31 Mar | validate to 30 Apr | gap 2 days | test 2 May - 30 May",
        ),
        (
            np.timedelta64(10, "m"),
            "train to 31 Jan 09:50 | validate to 31 Jan 14:50 | gap 20 minutes | "
            "test 31 Jan 15:10 - 31 Jan 19:50",
        ),
        (
            np.timedelta64(80, "m"),
            "train to 3 Feb 06:40 | validate to 4 Feb 22:40 | gap 3 hours | "
            "test 5 Feb 01:20 - 6 Feb 14:40",
        ),
        (
            240 * HOUR,
            "train to 13 Sep 2026 | validate to 10 Jul 2027 | gap 20 days | "
            "test 30 Jul 2027 - 5 May 2028",
        ),
    ],
    ids=["months", "a day", "a week", "years"],
)
def test_the_periods_are_written_as_short_as_their_span_allows(step, line):
    assert (
        summary.periods_line(task_of(np.datetime64("2025-01-31") + step * np.arange(120))) == line
    )


@pytest.mark.parametrize(
    ("gap", "text"),
    [
        (np.timedelta64(7, "D"), "7 days"),
        (47 * HOUR, "47 hours"),
        (24 * HOUR, "24 hours"),
        (np.timedelta64(119, "m"), "119 minutes"),
        (np.timedelta64(59, "s"), "59 seconds"),
        (np.timedelta64(0, "us"), "under 2 seconds"),
    ],
    ids=str,
)
def test_a_gap_is_given_in_the_largest_unit_that_fits_twice(gap, text):
    first = np.datetime64("2025-01-01", "us")
    times = [first, first + HOUR, first + 2 * HOUR, first + 2 * HOUR, first + 2 * HOUR + gap]
    parts = {"train": [0, 1], "validation": [2], "gap": [], "test": [4]}
    rows = {name: np.array(each, dtype=int) for name, each in parts.items()}
    bounds = {name: (times[each[0]], times[each[-1]]) for name, each in parts.items() if each}
    task = task_of([first] * 8)
    task = Task(
        *(task.features, task.is_positive, True, False, np.array(times)),
        *(Split(**rows, periods=bounds), task.row_numbers, 0),
    )
    assert f" | gap {text} | " in summary.periods_line(task)


def test_without_times_the_shares_of_the_parts_are_given():
    table = pa.table({"x": np.arange(200), "y": np.arange(200) % 10 == 0})
    line = summary.periods_line(prepare(table, "y"))
    assert line == "drawn at random: train 60 % | validate 15 % | test 25 %"


def trained_on(columns):
    generator = np.random.default_rng(0)
    n = 400
    x = generator.normal(size=n)
    every = {
        "x": x,
        "country": generator.choice(["FR", "DE"], n),
        "card": [f"{i % 9}" for i in range(n)],
    }
    table = pa.table(
        {
            **{name: every[name] for name in columns},
            "paid_at": np.datetime64("2025-01-01", "s") + np.arange(n) * 3600,
            "is_fraud": x + generator.normal(size=n) / 2 > 1.5,
        }
    )
    task = prepare(table, "is_fraud", time="paid_at")
    return training.train(task, 5, n_estimators=5, n_jobs=1)


@pytest.fixture(scope="module")
def trained():
    return trained_on(["x", "country"])


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        (["x"], "1 feature"),
        (["x", "country"], "2 features (1 category)"),
        (["x", "country", "card"], "3 features (2 categories)"),
    ],
    ids=len,
)
def test_the_size_counts_features_and_categories(columns, text):
    outcome = trained_on(columns)
    share = percent(outcome.task.is_positive.mean())
    size = f"400 rows, {text}, {share} frauds (label True)"
    assert summary.size_line(outcome, "frauds") == size


def test_the_table_names_what_is_counted_and_how_well():
    per_day = figures((3.4, 2.9, 4.0), (3.4, 1.0, 7.0), 1500, day=1)
    head, row = summary.figures_rows([("log-loss", per_day)], "frauds")
    assert head == ["", "AP", "frauds in 1,500 a day", "before the first false alarm"]
    assert row == ["log-loss", ".71 (.68-.73)", "3.4 (2.9-4.0)", "12 %"]
    one_list = figures((3.4, 2.9, 4.0), (3.4, 1.0, 7.0), 20)
    assert summary.figures_rows([("a", one_list)], "frauds")[0][2] == "frauds in 20"


def account(winner="forest", share=0.799):
    plain = SearchedRecipe("log-loss trees", "300 trees", 0.5, Comparison(0.0, 0.0, 0.0, 0.5), 1.0)
    forest = SearchedRecipe("forest", "forest", 0.512, Comparison(0.0123, -0.02, 0.05, share), 2.0)
    return SearchLog((plain, forest), winner, "nothing leads it clearly", "the eval_set")


def choice_line(winner, name):
    chosen = SimpleNamespace(name=name)
    return summary.choice_line(SimpleNamespace(chosen=chosen, account=account(winner)))


def test_the_choice_is_given_with_its_reason():
    assert choice_line("forest", "forest") == (
        "Kept forest (2 recipes tried): validation AP +0.012 (-0.020 to +0.050)\n"
        "against plain log-loss, ahead in 79 % of resamples (70 % required)."
    )
    assert choice_line("300 trees", "plain log-loss trees") == (
        "Kept plain log-loss trees (2 recipes tried): nothing leads it clearly."
    )


def test_a_winner_that_nothing_was_required_of_is_not_said_to_have_met_a_rule():
    chosen = SimpleNamespace(name="forest")
    line = summary.choice_line(SimpleNamespace(chosen=chosen, account=account(share=0.4)))
    assert line.endswith("ahead in 40 % of resamples (too few positives to judge by).")


def test_what_was_skipped_is_said_with_the_first_recipes_by_name():
    recipes = ("linear model", "kernel model", "forest", "another forest")
    searched = replace(account(), left_out=recipes, beyond_effort=recipes[:1])
    trained = SimpleNamespace(account=searched, candidates=["the chosen one"])
    assert summary.skipped_lines(trained) == [
        "No time was left for linear model; kernel model; 2 recipes more.",
        "No time was left to measure plain log-loss on the test rows.",
        "A larger effort also tries linear model.",
    ]
    complete = SimpleNamespace(account=account(), candidates=["the chosen one", "plain"])
    assert summary.skipped_lines(complete) == []


def test_the_whole_account_has_its_five_parts_in_order(trained):
    lines = summary.text_of(trained, "frauds").splitlines()
    assert lines[0] == summary.size_line(trained, "frauds")
    assert lines[1] == summary.periods_line(trained.task)
    assert " ".join(lines[2].split()) == "AP frauds in 5 a day before the first false alarm"
    n_models = len(trained.candidates)
    assert [line.split("  ")[0] for line in lines[3 : 3 + n_models]] == [
        each.name for each in trained.candidates
    ]
    assert lines[3 + n_models :] == [
        *summary.choice_line(trained).splitlines(),
        *"\n".join(summary.refit_lines(trained)).splitlines(),
        summary.headline(trained.chosen.test, "frauds", trained.promise),
        *summary.held_lines(trained.promise, trained.chosen.test),
        *summary.cautions(trained.chosen.test, "frauds"),
    ]


def test_the_facts_are_plain_json_and_say_the_same(trained):
    facts = training_facts(trained, "is_fraud", "paid_at")
    assert json.loads(json.dumps(facts)) == facts
    assert facts["rows"] == 400
    assert facts["chosen"] == trained.chosen.name
    assert facts["budget"] == 5
    test = facts["test"][trained.chosen.name]
    assert test["likely"] == trained.chosen.test.likely._asdict()
    assert test["per_day"] is True
    assert facts["learned_from_test"] is True
    assert Promise.from_json(facts["promise"]) == trained.promise
    assert UsualRows.from_json(facts["usual_rows"]) == trained.usual
    begin, end = facts["periods"]["test"]
    assert [np.datetime64(begin), np.datetime64(end)] == list(trained.task.split.periods["test"])


def test_what_was_learned_from_after_the_figures_is_said(trained):
    (text,) = summary.refit_lines(trained)
    assert "all rows up to 17 Jan" in text
    assert "before it also learned from the last 5 days" in text
    measured = replace(trained, ranker=trained.chosen.ranker)
    assert summary.refit_lines(measured) == []


def test_the_range_says_how_often_it_held_or_what_it_takes_for_granted(trained):
    test = trained.chosen.test
    (held,) = summary.held_lines(trained.promise, test)
    n_held, n_lists = trained.promise.held
    assert f"held on {n_held} of its {n_lists} " in held
    (assumed,) = summary.held_lines(None, replace(test, day=None))
    assert "new rows that are like these" in assumed
    assert summary.held_lines(None, test) == []


def test_more_checks_add_to_what_is_promised():
    test = figures((3.4, 2.9, 4.0), (3.4, 1.0, 7.0), 20, day=1)
    promise = SimpleNamespace(likely=Interval(2.0, 0.0, 5.0))
    said = summary.headline(test, "frauds", promise)
    assert said.startswith("Expect about 2 frauds in your 20 checks a day (most days 0-5)")


# Trees


def lines_of(ranker):
    return "\n".join(summary.tree_lines(ranker, "frauds")).splitlines()


def test_a_tree_is_described_by_its_groups_and_the_rules_of_the_first():
    hours = np.arange(24.0)[:, None]
    ranker = MetaAP().fit(hours, np.isin(hours[:, 0], [1, 2, 4, 5, 23]))
    assert lines_of(ranker) == [
        "group  rows  frauds  share",
        "1      6     4       67 %",
        "2      5     1       20 %",
        "3      13    0       0 %",
        "Group 1 contains every row where",
        "  x0 <= 5: 4 frauds in 6",
    ]


def test_of_many_rules_the_first_are_shown_and_the_others_counted():
    generator = np.random.default_rng(0)
    features = generator.integers(0, 6, size=(3000, 5)).astype(float)
    is_fraud = (features > 3).sum(axis=1) + generator.normal(size=3000) / 3 > 2.5
    ranker = MetaAP(global_depth=1, local_depth=5).fit(features, is_fraud)
    lines = lines_of(ranker)
    first = ranker.rules()[0].rules
    assert len(first) > 4
    assert lines[-1] == f"  or one of {len(first) - 3} more rules"
    shown = " ".join(" ".join(lines[4:-1]).split())
    assert shown == " ".join(rule.text("frauds") for rule in first[:3])
    assert max(map(len, lines)) <= 99


def test_a_long_rule_is_broken_between_its_conditions():
    tests = [f"a_column_of_number_{i} <= {i}.5 (or missing)" for i in range(5)]
    text = f"{' and '.join(tests)}: 31 frauds in 44"
    lines = summary.indented(text).splitlines()
    assert len(lines) > 1
    assert all(len(line) <= 99 for line in lines)
    assert all(line.endswith(" and") for line in lines[:-1])
    assert " ".join(" ".join(lines).split()) == text
    assert [line[:5].isspace() for line in lines] == [False] * len(lines)
    assert [len(line) - len(line.lstrip()) for line in lines] == [2] + [4] * (len(lines) - 1)


def test_a_tree_without_a_cut_or_with_too_many_is_said_to_be_one():
    is_fraud = np.arange(200) % 5 == 0
    one = MetaAP().fit(np.zeros((200, 1)), is_fraud)
    assert lines_of(one)[-1] == "It makes no cut: all rows are one group."
    noise = np.random.default_rng(0).normal(size=(2000, 3))
    large = TreeRank(global_depth=4, local_depth=6, min_samples_leaf=1)
    large.fit(noise, np.arange(2000) % 5 == 0)
    assert large.seen_ is None
    assert summary.rules_of(large) is None
    assert lines_of(large)[-1] == "It has too many cuts to be written as rules."


def test_a_tree_of_too_many_paths_has_no_rules():
    def rules():
        raise ValueError("the tree must have at most 5,000 paths")

    assert summary.rules_of(SimpleNamespace(seen_=1, rules=rules)) is None


def test_settings_are_named_where_they_were_chosen_and_not_for_a_forest():
    X, y = np.arange(100.0)[:, None], np.arange(100) >= 90
    tree = MetaAP(global_depth=2, local_depth=3, min_samples_leaf=1, criterion="ap").fit(X, y)
    assert summary.choice_lines(without_account(tree)) == [
        "Settings by cross-validated AP on the training rows: global depth 2, local depth 3,\n"
        "cuts by ap, at least 1 row per leaf, softness 0.25, shrinkage 5."
    ]
    forest = RankForest(n_estimators=2).fit(X, y)
    assert summary.choice_lines(without_account(forest)) == []
    assert summary.tree_lines(forest, "frauds") == []


def without_account(ranker):
    return SimpleNamespace(account=None, chosen=SimpleNamespace(ranker=ranker))


def test_few_positives_and_few_days_are_cautioned_against():
    is_positive = np.arange(200) < 3
    suspicion, probability = np.arange(200.0), np.full(200, 0.01)
    rough = evaluate(is_positive, suspicion, probability, 5, day=np.arange(200) // 100)
    said = summary.cautions(rough, "frauds")
    assert said[0].startswith("Rough figures: the test has only 3 frauds, and with fewer than 10")
    assert said[1].startswith("Rough range: the test covers 2 days, too few")
    assert summary.cautions(evaluate(np.arange(200) < 1, suspicion, probability, 5), "frauds")[
        0
    ].startswith("Rough figures: the test has only 1 fraud,")
    solid = evaluate(np.arange(200) < 30, suspicion, probability, 5, day=np.arange(200) // 20)
    assert summary.cautions(solid, "frauds") == []
