"""`toprank anomalies`: the list, what it writes, what comes after it and what it refuses."""

import io
import json
import re
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import toprank
from cli.running import names_here, one_sentence, run_main, written
from cli.test_screen import shown_on_a_terminal
from toprank import AnomalyTreeRank
from toprank.rankers.anomaly.anomaly_forest import AnomalyForest
from toprank.wording import significant

ODD = 700  # the place of a row that is unlike all others
ROWS = 900


@pytest.fixture(scope="session")
def rows():
    generator = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "card": [f"c{i % 90}" for i in range(ROWS)],
            "amount": generator.gamma(2.0, 40.0, ROWS).round(2),
            "country": generator.choice(["FR", "DE", "US"], ROWS, p=[0.7, 0.2, 0.1]),
            "speed": generator.normal(5.0, 1.0, ROWS).round(3),
        }
    )
    frame.loc[ODD, ["amount", "speed"]] = [912.5, 0.5]
    return frame


@pytest.fixture
def data(rows):
    return written(rows, "rows.csv")


@pytest.fixture
def checked(rows):
    """The rows with what few checks found, in a CSV."""
    found = np.full(ROWS, "", dtype=object)
    found[[ODD, *np.argsort(-rows["amount"])[:9]]] = "yes"
    found[:40:2] = "no"
    return written(rows.assign(checked=found), "checked.csv")


def ran(*arguments):
    outcome = run_main("anomalies", *arguments)
    assert outcome.exit_code == 0, outcome.stderr
    return outcome


def listed(outcome):
    return pd.read_csv(io.StringIO(outcome.stdout))


# The list


def test_the_most_unusual_rows_come_first_with_all_their_columns(data, rows):
    outcome = ran(data, "-k", 20, "--drop", "card")
    found = listed(outcome)

    detector = AnomalyForest().fit(rows.drop(columns="card"))
    best = np.argsort(-detector.decision_scores_, kind="stable")[:20]
    assert list(found) == ["rank", "row", "suspicion", "reasons", *rows]
    assert found["row"].tolist() == (best + 1).tolist()
    assert found["suspicion"].tolist() == significant(detector.decision_scores_[best], 4).tolist()
    pd.testing.assert_frame_equal(found[list(rows)], rows.iloc[best].reset_index(drop=True))
    assert outcome.stderr == "900 rows read, the 20 most unusual listed.\n"


def test_the_odd_row_is_first_and_its_columns_are_named_with_what_is_usual(data):
    first = listed(ran(data, "-k", 1, "--drop", "card")).iloc[0]

    assert first["row"] == ODD + 1
    assert re.match(
        r"amount 912\.50; usual [\d.]+-[\d.]+ \| speed 0\.50; usual ", first["reasons"]
    )


def test_no_probability_and_no_count_to_expect_are_given(data):
    plain = ran(data, "-k", 5)
    document = ran(data, "-k", 5, "--json")

    for text in (plain.stdout, plain.stderr, document.stdout, document.stderr):
        assert not re.search("probab|expect|positive", text, re.IGNORECASE)


def test_a_tree_says_the_rule_of_each_row(data, rows):
    found = listed(ran(data, "-k", 5, "--drop", "card", "--detector", "tree"))

    detector = AnomalyTreeRank().fit(rows.drop(columns="card"))
    top = rows.iloc[found["row"] - 1]
    assert found["rule"].tolist() == [path.text("space") for path in detector.paths(top)]


def test_a_forest_with_robust_bounds_is_one_of_density_trees(data, rows):
    found = listed(ran(data, "-k", 20, "--drop", "card", "--bounds", "robust"))
    forest = AnomalyForest(AnomalyTreeRank(bounds="robust")).fit(rows.drop(columns="card"))
    best = np.argsort(-forest.decision_scores_, kind="stable")[:20]
    assert found["row"].tolist() == (best + 1).tolist()


def test_robust_bounds_leave_wild_rows_outside_and_say_so(data):
    options = ("-k", 1, "--drop", "card", "--detector", "tree", "--bounds", "robust")
    first = listed(ran(data, *options)).iloc[0]

    assert first["row"] == ODD + 1
    assert first["rule"].startswith("outside the bounds: amount > ")


def test_reasons_are_as_many_as_asked(data):
    for n_reasons in (0, 1, 2):
        document = json.loads(ran(data, "--reasons", n_reasons, "--json").stdout)
        assert max(len(alert["reasons"]) for alert in document["alerts"]) == n_reasons


def test_json_is_all_that_stdout_carries(data, rows):
    document = json.loads(ran(data, "-k", 2, "--json", "--drop", "card").stdout)

    assert set(document) == {"detector", "rows", "alerts"}
    assert (document["detector"], document["rows"]) == ("AnomalyForest", ROWS)
    first = document["alerts"][0]
    assert set(first) == {"rank", "row", "suspicion", "reasons", *rows}
    assert set(first["reasons"][0]) == {"feature", "value", "usual", "contribution", "text"}


@pytest.mark.parametrize("name", ["list.csv", "list.parquet"])
def test_the_list_goes_to_a_file_by_its_suffix(name, data):
    outcome = ran(data, "-k", 4, "-o", name)
    found = pd.read_parquet(name) if name.endswith("parquet") else pd.read_csv(name)

    assert outcome.stdout == ""
    assert outcome.stderr.splitlines()[-1] == f"Wrote {name}"
    assert found["row"].tolist() == listed(ran(data, "-k", 4))["row"].tolist()


def test_parquet_and_csv_give_the_same_list(data, rows):
    rows.to_parquet("rows.parquet")

    assert (
        listed(ran(data, "-k", 9))["row"].tolist()
        == listed(ran("rows.parquet", "-k", 9))["row"].tolist()
    )


def test_the_seed_decides_what_is_drawn(data):
    first, again, other = (
        listed(ran(data, "-k", 9, "--seed", seed))["suspicion"].tolist() for seed in (1, 1, 2)
    )

    assert first == again != other


def test_on_a_terminal_the_list_is_written_for_people(data):
    main = "from toprank.cli import main; main()"
    text = shown_on_a_terminal([sys.executable, "-c", main, "anomalies", str(data), "-k", "2"])

    lines = text.split("most unusual listed.")[1].splitlines()
    heads = [line.split() for line in lines if "suspicion" in line]
    assert [head[:3] for head in heads] == [["1", "row", f"{ODD + 1}"], ["2", "row", heads[1][2]]]
    assert any("amount 912.50; usual" in line for line in lines)
    assert "looking at 900 rows" in text


# The tree


def test_the_tree_and_its_rules_are_printed_where_asked(data):
    options = ("-k", 2, "--drop", "card", "--detector", "tree", "--tree")
    text = ran(data, *options).stdout

    assert re.match(r"1\. .*\?  900 rows in 100 % of the space\n", text)
    assert re.search(r"\n\ngroup 1 of \d: \d+ rows? in ", text)
    assert "   1  row " in text
    document = json.loads(ran(data, *options, "--json").stdout)
    assert sum(group["rows"] for group in document["groups"]) == ROWS
    assert sum(group["volume"] for group in document["groups"]) == pytest.approx(1)


def test_with_a_file_for_the_list_only_the_tree_is_printed(data):
    text = ran(data, "--detector", "tree", "--tree", "-o", "list.csv").stdout

    assert text.startswith("1. ")
    assert "  row " not in text


# The report


@pytest.mark.parametrize("detector", ["forest", "tree"])
def test_the_report_has_the_list_the_curve_and_the_columns(detector, data):
    options = ("-k", 3, "--drop", "card", "--detector", detector)
    outcome = ran(data, *options, "--report", "page.html", "-o", "list.csv")
    page = Path("page.html").read_text()

    assert re.search(
        r"curve of 450 held-out rows: \.\d+ \(\.\d+-\.\d+\); \.5 is chance", outcome[2]
    )
    assert "The 3 most unusual of 900 rows" in page
    assert "amount 912.50; usual" in page
    assert 'id="mass-volume-figure"' in page
    assert ('id="tree-figure"' in page) == (detector == "tree")
    assert ">Suspicion<" in page
    assert ">Probability<" not in page
    assert names_here() == ["list.csv", "page.html", "rows.csv"]


def test_an_atom_is_noted_and_is_in_the_report(rows):
    tips = np.where(np.arange(ROWS) % 4 == 0, np.arange(ROWS) / 7, 0.0)
    data = written(rows.assign(tip=tips), "rows.csv")
    outcome = ran(data, "--drop", "card", "--report", "page.html", "-o", "list.csv")

    assert outcome.stderr.startswith("note: 'tip' is 0 in 75 % of the rows: ")
    shown = re.sub("</?span.*?>", "", Path("page.html").read_text())
    assert "is 0 in 75 % of the rows" in shown


def test_a_column_that_only_names_its_rows_is_left_out(rows):
    twice = pd.concat([rows, rows])
    data = written(twice.assign(payment=np.arange(2 * ROWS) + 10_000), "rows.csv")

    assert "note: column 'payment' is left out" in ran(data).stderr


# The model, and what other commands make of it


@pytest.fixture(scope="session")
def models(rows, tmp_path_factory):
    """The model of a forest and that of a tree, and the rows they were made from."""
    folder = tmp_path_factory.mktemp("models")
    data = written(rows, folder / "rows.csv")
    for detector in ("forest", "tree"):
        options = ("-k", 7, "--drop", "card", "--detector", detector)
        ran(data, *options, "--model", folder / f"{detector}.toprank")
    return folder


@pytest.mark.parametrize("detector", ["forest", "tree"])
def test_rank_lists_what_anomalies_listed(detector, models, data):
    outcome = run_main("rank", models / f"{detector}.toprank", data)
    assert outcome.exit_code == 0, outcome.stderr

    # 7 is the budget that the model was made with
    assert outcome.stderr == "900 rows scored, 7 listed.\n"
    same = ran(data, "-k", 7, "--drop", "card", "--detector", detector)
    pd.testing.assert_frame_equal(listed(outcome), listed(same))


def test_rank_of_new_rows_says_what_lies_outside(models, rows):
    data = written(rows[:3].assign(amount=[1e6, 50.0, 60.0], speed=[5.0, None, 5.0]), "new.csv")
    outcome = run_main("rank", models / "tree.toprank", data, "-k", 2, "--json")
    document = json.loads(outcome.stdout)

    assert set(document) == {"rows", "alerts"}
    assert [alert["row"] for alert in document["alerts"]] == [1, 2]
    assert document["alerts"][0]["rule"].startswith("outside the bounds: amount > ")
    assert document["alerts"][1]["rule"] == "outside the bounds: speed is missing"


def test_explain_adds_up_and_knows_no_probability(models, data):
    outcome = run_main("explain", models / "forest.toprank", data, "--row", ODD + 1)
    head, *lines = outcome.stdout.splitlines()

    suspicion = toprank.load(models / "forest.toprank").suspicion(pd.read_csv(data))[ODD]
    assert head == f"row {ODD + 1}: suspicion {suspicion:.2f}"
    assert sum(float(line.split()[0]) for line in lines) == pytest.approx(suspicion, abs=0.04)


def test_explain_tells_the_group_of_a_row_or_that_it_is_outside(models, rows):
    data = written(rows[:2].assign(amount=[1e6, 50.0]), "new.csv")
    outside, inside = (
        run_main("explain", models / "tree.toprank", data, "--row", row) for row in (1, 2)
    )
    document = json.loads(
        run_main("explain", models / "tree.toprank", data, "--row", 1, "--json").stdout
    )

    assert outside.stdout.splitlines()[1].startswith("  outside the bounds: amount > ")
    assert re.match(r"  in group \d of \d \(.* of the space\): ", inside.stdout.splitlines()[1])
    assert document["rows"][0]["path"]["group"] is None
    assert "probability" not in document["rows"][0]


def test_explain_shows_the_tree_of_a_tree(models):
    outcome = run_main("explain", models / "tree.toprank", "--tree", "-o", "tree.svg")

    assert outcome.stdout.startswith("1. ")
    assert "rows in 100 % of the space" in outcome.stdout
    assert "positives" not in outcome.stdout
    assert Path("tree.svg").read_text().startswith("<svg")
    groups = json.loads(run_main("explain", models / "tree.toprank", "--tree", "--json").stdout)
    assert set(groups["groups"][0]) == {"group", "rows", "volume", "rules"}


def test_a_forest_has_no_tree_to_show(models):
    assert one_sentence(run_main("explain", models / "forest.toprank", "--tree")) == (
        "forest.toprank must hold a single tree for --tree; its learner is AnomalyForest; make "
        "one with toprank anomalies --detector tree, or ask about a row of DATA with --row."
    )


def test_evaluate_names_the_command_that_judges_detectors(models, data):
    call = ("evaluate", models / "forest.toprank", data, "--label", "country")
    sentence = one_sentence(run_main(*call))

    assert sentence.startswith("forest.toprank must come from labelled rows to be measured;")
    assert "toprank anomalies DATA --label COLUMN --compare" in sentence


# Few labels, and detectors side by side


def test_labels_choose_the_detector_and_are_never_learned_from(checked, rows):
    options = ("-k", 5, "--drop", "card", "--label", "checked")
    outcome = ran(checked, *options, "--model", "m.toprank", "--report", "page.html", "--json")

    n_labels = pd.read_csv(checked)["checked"].count()
    words = rf"Chose (\w+) among 3 that give reasons: AP \d\.\d\d on {n_labels} labelled rows\."
    chosen = re.search(words, outcome.stderr)
    assert json.loads(outcome.stdout)["detector"] == chosen[1]
    model = toprank.load("m.toprank")
    assert model.schema_.names == ["amount", "country", "speed"]
    assert chosen[0] in Path("page.html").read_text()


def test_labels_of_one_kind_leave_the_choice_to_space(checked, rows):
    frame = pd.read_csv(checked).assign(checked=["yes"] * 3 + [None] * (ROWS - 3))
    options = ("-k", 5, "--drop", "card", "--label", "checked")
    stderr = ran(written(frame, "checked.csv"), *options).stderr

    assert "note: y has 3 labelled rows, all positive" in stderr
    assert re.search("Chose .*: the smallest area under the mass-volume curve, ", stderr)


def test_compare_prints_a_line_per_detector(data):
    outcome = ran(data, "--drop", "card", "--compare")
    head, *lines = outcome.stdout.splitlines()

    assert head.split()[0] == "detector"
    assert "AP" not in head
    assert {line.split()[0] for line in lines} >= {
        "AnomalyForest",
        "AnomalyTreeRank",
        "IsolationForest",
    }
    assert names_here() == ["rows.csv"]


def test_compare_uses_labels_and_looks_at_some_of_very_many_rows(checked, monkeypatch):
    # the package's attribute of this name is the command, not its module
    monkeypatch.setattr(import_module("toprank.cli.anomalies"), "_MOST_JUDGED", 400)
    outcome = ran(checked, "--drop", "card", "--compare", "--label", "checked", "--json")
    judged = json.loads(outcome.stdout)

    assert re.search(r"note: detectors are judged by 4[0-3]\d of the 900 rows\.", outcome.stderr)
    assert all(0 < each["average_precision"] <= 1 for each in judged)
    assert all(each["area"]["low"] <= each["area"]["high"] for each in judged)


# What it refuses


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["-k", "0"], "--budget"),
        (["--detector", "svm"], "--detector"),
        (["--tree"], "--tree must come with --detector tree: a forest has no single tree"),
        (["--label", "country", "--drop", "country"], "--drop must not name the label"),
        (["--label", "x", "--detector", "tree"], "--detector must be left out with --label: the"),
        (["--label", "x", "--bounds", "robust"], "--bounds must be left out with --label: the"),
        (["--compare", "-k", "5"], "--budget must be left out with --compare: it lists no rows"),
        (["--compare", "-o", "a.csv"], "--output must be left out with --compare: it lists no"),
        (["--compare", "--model", "m"], "--model must be left out with --compare: it keeps none"),
        (["--compare", "--detector", "tree"], "--detector must be left out with --compare: sev"),
        (["--report", "a.csv", "-o", "a.csv"], "-o, --model and --report must name different"),
        (["--report", "rows.csv"], "rows.csv is the data itself"),
    ],
    ids=str,
)
def test_a_wrong_call_exits_2_and_touches_nothing(options, sentence, data):
    before = data.read_bytes()
    outcome = run_main("anomalies", data, *options)

    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    assert sentence in " ".join(outcome.stderr.split())
    assert names_here() == ["rows.csv"]
    assert data.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        (
            lambda frame: frame.assign(paid_at="2024-01-31 10:00:00"),
            [],
            "column holds dates or times: 'paid_at'; leave out with --drop paid_at, or turn them "
            "into numbers such as the hour of the day.",
        ),
        (
            lambda frame: frame.assign(day="31.01.2024"),
            [],
            "column 'day' holds dates as text",
        ),
        (
            lambda frame: frame,
            ["--drop", "amuont"],
            "column 'amuont' is not in rows.csv; did you mean 'amount'?",
        ),
        (
            lambda frame: frame,
            ["--label", "country"],
            "label column 'country' must hold two classes; it holds 3 different values",
        ),
        (
            lambda frame: frame[["card"]],
            ["--drop", "card"],
            "the table must have a column to look at in addition to the label and the dropped "
            "ones; got only 'card'.",
        ),
        (
            lambda frame: frame.assign(amount=np.inf),
            [],
            "column 'amount' must hold finite numbers",
        ),
        (
            lambda frame: frame.assign(amount=np.nan),
            [],
            "column holds no value at all: 'amount'; ",
        ),
        (lambda frame: frame[:0], [], "rows.csv must hold at least one row"),
        (lambda frame: frame[:1], ["--report", "page.html"], "table must have at least 2 rows"),
    ],
)
def test_rows_that_cannot_be_ranked_are_refused_in_one_sentence(change, options, sentence, rows):
    data = written(change(rows), "rows.csv")
    outcome = run_main("anomalies", data, *options, "-o", "list.csv")

    assert outcome.exit_code == 1
    *_, last = outcome.stderr.splitlines()
    assert last.startswith(f"toprank: {sentence}")
    assert names_here() == ["rows.csv"]


@pytest.mark.parametrize(
    ("option", "place", "sentence"),
    [
        ("-o", "list.xlsx", "list.xlsx must end in one of .csv"),
        ("-o", "lists/list.csv", "there is no folder lists to write list.csv to."),
        ("--model", "models/m.toprank", "there is no folder models to write m.toprank to."),
        ("--report", "pages/page.html", "there is no folder pages to write page.html to."),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_any_row_is_read(option, place, sentence):
    Path("not-read-yet.csv").touch()
    outcome = run_main("anomalies", "not-read-yet.csv", option, place)

    assert one_sentence(outcome).startswith(sentence)


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_very_few_rows_are_all_listed(n_rows, rows):
    found = listed(ran(written(rows[:n_rows], "rows.csv")))

    assert sorted(found["row"]) == list(range(1, n_rows + 1))


def test_equal_rows_are_listed_in_their_order(rows):
    found = listed(ran(written(rows[:1].loc[[0] * 50], "rows.csv"), "-k", 5))

    assert found["row"].tolist() == [1, 2, 3, 4, 5]
    assert found["reasons"].isna().all()
