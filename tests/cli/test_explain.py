"""`toprank explain`: reasons of a row, and what parts two."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from pytest import approx

from cli.running import names_here, one_sentence, run_main, written
from toprank import TreeRank, files


@pytest.fixture
def suspicion(payments, fitted):
    return files.load(fitted.model).suspicion(payments)


def test_a_row_gets_its_score_and_reasons(csv, fitted, suspicion):
    row = int(suspicion.argmax()) + 1
    outcome = run_main("explain", fitted.model, csv, "--row", row)
    head, *reasons = outcome.stdout.splitlines()

    assert outcome.exit_code == 0
    assert outcome.stderr == ""
    assert head.startswith(f"row {row:,}: suspicion {suspicion.max():.2f}, probability ")
    *reasons, others, start = reasons
    assert all(reason[2] in "+-" and "usual" in reason for reason in reasons)
    assert 1 <= len(reasons) <= 3
    assert others.endswith("  all other columns")
    assert start.endswith("  where every row starts")
    parts = [float(line.split()[0]) for line in (*reasons, others, start)]
    assert sum(parts) == approx(suspicion.max(), abs=0.03)


def test_the_row_is_that_of_the_file_in_every_form(payments, fitted, suspicion):
    payments.to_parquet("payments.parquet", row_group_size=50)
    written(payments, "payments.csv.gz")
    for name in ("payments.parquet", "payments.csv.gz"):
        for row in (1, 333, 600):
            outcome = run_main("explain", fitted.model, name, "--row", row, "--json")
            (scored,) = json.loads(outcome.stdout)["rows"]
            assert scored["row"] == row
            assert scored["suspicion"] == approx(suspicion[row - 1])


def test_what_parts_two_rows_adds_up_to_their_gap(csv, fitted, suspicion):
    high, low = int(suspicion.argmax()) + 1, int(suspicion.argmin()) + 1
    arguments = ("explain", fitted.model, csv, "--row", high, "--above", low)
    document = json.loads(run_main(*arguments, "--json").stdout)

    assert [row["row"] for row in document["rows"]] == [high, low]
    total = sum(reason["contribution"] for reason in document["reasons"])
    assert total == approx(suspicion.max() - suspicion.min(), abs=1e-4)
    assert " against " in run_main(*arguments).stdout


def test_a_row_below_the_other_is_remarked_on(csv, fitted, suspicion):
    high, low = int(suspicion.argmax()) + 1, int(suspicion.argmin()) + 1
    outcome = run_main("explain", fitted.model, csv, "--row", low, "--above", high)

    assert outcome.stderr == (
        f"note: row {low} is below row {high}; the reasons say how they differ.\n"
    )


def test_equal_rows_differ_by_nothing(payments, fitted):
    data = written(payments.iloc[[4, 4]], "pair.csv")
    outcome = run_main("explain", fitted.model, data, "--row", 1, "--above", 2)

    assert outcome.stdout.splitlines()[-1] == "  no column distinguishes them"


def test_as_many_reasons_as_asked(csv, fitted):
    outcome = run_main("explain", fitted.model, csv, "--row", 1, "--reasons", 1, "--json")

    assert len(json.loads(outcome.stdout)["reasons"]) == 1


def test_a_row_beyond_the_last_is_refused(csv, fitted):
    sentence = one_sentence(run_main("explain", fitted.model, csv, "--row", 601))

    assert sentence == "row 601 is not in payments.csv: it has 600 rows."


# Trees


def test_the_tree_is_printed_and_then_the_rules_of_every_group(tree):
    outcome = run_main("explain", tree.model, "--tree")
    ranker = files.load(tree.model)
    rules = [group.text("frauds") for group in ranker.rules()]

    assert outcome.exit_code == 0
    assert outcome.stderr == ""
    assert outcome.stdout == "\n\n".join([ranker.to_text("frauds"), *rules]) + "\n"


def test_the_rules_are_json_for_a_program(tree):
    document = json.loads(run_main("explain", tree.model, "--tree", "--json").stdout)

    assert document["learner"] == "MetaAP"
    assert [group["group"] for group in document["groups"]] == [
        *range(1, len(document["groups"]) + 1)
    ]
    for group in document["groups"]:
        for count in ("rows", "weight", "positives"):
            assert group[count] == sum(rule[count] for rule in group["rules"])
        assert all(rule["text"].startswith(rule["tests"][0]) for rule in group["rules"])


@pytest.mark.parametrize("name", ["tree.svg", "tree.dot", "TREE.SVG"])
def test_the_tree_is_drawn_where_asked(name, tree):
    Path(name).write_text("<svg>old</svg>")
    outcome = run_main("explain", tree.model, "--tree", "-o", name)
    drawn = Path(name).read_text()

    assert outcome.stderr == f"Wrote {name}\n"
    assert names_here() == [name]
    if name.lower().endswith(".svg"):
        assert ET.fromstring(drawn).tag == "{http://www.w3.org/2000/svg}svg"
    else:
        assert drawn.startswith("digraph ")
    assert "country is US?" in drawn


def test_a_row_of_a_tree_gets_its_path_above_the_reasons(csv, payments, tree):
    ranker = files.load(tree.model)
    row = int(ranker.suspicion(payments).argmax()) + 1
    (path,) = ranker.paths(payments.iloc[[row - 1]])
    outcome = run_main("explain", tree.model, csv, "--row", row)
    head, path_text, *reasons = outcome.stdout.splitlines()

    assert head.startswith(f"row {row:,}: suspicion ")
    assert path_text.strip() == path.text("frauds")
    assert path_text.startswith("  in group 1 of ")
    parts = [float(line.split()[0]) for line in reasons]
    assert sum(parts) == approx(ranker.suspicion(payments).max(), abs=0.03)


def test_json_of_a_row_has_its_path(csv, tree):
    document = json.loads(
        run_main("explain", tree.model, csv, "--row", 3, "--above", 9, "--json").stdout
    )

    for row in document["rows"]:
        path = row["path"]
        assert 1 <= path["group"] <= path["groups"]
        assert path["text"].startswith(f"in group {path['group']} of {path['groups']} (")
        assert " and ".join(path["tests"]) in path["text"]


def test_small_parts_keep_the_digits_that_tell_them_from_nothing(csv, payments, tree):
    ranker = files.load(tree.model)
    row = int(ranker.suspicion(payments).argmin()) + 1
    _, _, first, *others = run_main("explain", tree.model, csv, "--row", row).stdout.splitlines()

    assert float(first.split()[0]) != 0
    assert not any(line.split()[0].strip("-0.") == "" for line in (first, *others))


def test_a_tree_that_nobody_reads_is_printed_without_rules():
    ranker = TreeRank(global_depth=4, local_depth=6, min_samples_leaf=1)
    noise = np.random.default_rng(0).normal(size=(3000, 4))
    ranker.fit(noise, np.arange(3000) % 3 == 0)
    assert ranker.seen_ is None
    files.save(ranker, "large.toprank")
    outcome = run_main("explain", "large.toprank", "--tree")

    assert outcome.stdout == ranker.to_text("positives") + "\n"
    assert outcome.stderr == (
        "note: the tree is too large to be written as rules; toprank explain large.toprank DATA "
        "--row N gives the rule of one row.\n"
    )
    document = json.loads(run_main("explain", "large.toprank", "--tree", "--json").stdout)
    assert document == {"learner": "TreeRank", "groups": None}


def test_a_model_without_a_tree_names_its_learner_and_the_way_out(fitted):
    sentence = one_sentence(run_main("explain", fitted.model, "--tree"))

    assert sentence == (
        "payments.toprank must hold a single tree for --tree; its learner is AutoRanker; fit one "
        "with --learner metaap or treerank, or ask about a row of DATA with --row."
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "DATA must be given, or --tree to see the model's tree."),
        (["--row", "1"], "DATA must be given, or --tree to see the model's tree."),
        (["payments.csv"], "--row must be given, or --tree to see the model's tree."),
        (["payments.csv", "--tree"], "DATA must be left out with --tree: no row is looked at."),
        (["--tree", "--row", "1"], "--row must be left out with --tree: no row is looked at."),
        (["--tree", "--above", "1"], "--above must be left out with --tree: no row is looked at."),
        (["--tree", "-o", "t.png"], "-o must name a picture, .svg or .dot; got 't.png'."),
        (["payments.csv", "--row", "1", "-o", "t.svg"], "-o must come with --tree: it names"),
    ],
    ids=str,
)
def test_a_wrong_call_exits_2_and_writes_nothing(options, sentence, csv, tree):
    outcome = run_main("explain", tree.model, *options)

    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    assert sentence in " ".join(outcome.stderr.split())
    assert names_here() == [csv.name]
