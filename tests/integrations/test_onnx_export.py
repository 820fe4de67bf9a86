"""ONNX models score as the rankers they were made from, in onnxruntime."""

import json

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from cli.running import one_sentence, run_main
from integrations.made_rows import new_payments, payments
from toprank import (
    AutoRanker,
    BoostedRanker,
    CostBoost,
    MetaAP,
    NonLinearBoost,
    PaymentModel,
    RankBoost,
    RankForest,
    RankRLS,
    save,
)
from toprank.integrations.onnx_export import to_onnx
from toprank.rankers.auto.boosted import BoostedTrees
from toprank.rankers.auto.forest_member import RandomisedForest
from toprank.rankers.auto.kernel_member import KernelModel
from toprank.rankers.auto.smooth_member import SmoothModel
from toprank.simulator import Simulation, tables_by_day

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'toprank[integrations]'")
onnxruntime = pytest.importorskip(
    "onnxruntime", reason="onnxruntime is not installed: pip install 'toprank[integrations]'"
)

N_ROWS = 4000


@pytest.fixture(scope="module")
def table():
    return payments(N_ROWS)[0]


@pytest.fixture(scope="module")
def is_fraud():
    return payments(N_ROWS)[1]


@pytest.fixture(scope="module")
def new(table):
    return new_payments(3000, table)


def scores(model, rows, n_threads):
    """Suspicion and probability by onnxruntime; several threads may add floats in any order."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString(), options)
    return [column[:, 0] for column in session.run(None, fed(model, rows))]


def fed(model, rows):
    """A table as the inputs of the ONNX model: texts, and floats."""
    if not hasattr(model, "feature_names_in_"):
        return {"X": np.asarray(rows, dtype=np.float32)}
    return {
        column.name: rows[[column.name]].fillna("").astype(str).to_numpy(object)
        if column.kind == "category"
        else rows[[column.name]].to_numpy(np.float32)
        for column in model.schema_.columns
    }


def largest_differences(model, rows, n_threads=1):
    suspicion, probability = scores(model, rows, n_threads)
    return (
        np.abs(suspicion - model.suspicion(rows)).max(),
        np.abs(probability - model.probability(rows)).max(),
    )


def blended(table, is_fraud, recipes, scales):
    """An AutoRanker that blends members of these kinds, without a search."""
    auto = AutoRanker(n_estimators=1, time_limit=1e-9).fit(table, is_fraud)
    rows = auto._training_rows(table, is_fraud, None)
    auto.members_ = [
        recipe.fit(rows, auto.schema_.columns, seed=0, n_threads=1) for recipe in recipes
    ]
    auto.scales_ = scales
    return auto


LEARNERS = [
    BoostedRanker(n_estimators=60),
    BoostedRanker("ap-exp", n_estimators=40, max_depth=6),
    BoostedRanker(n_estimators=20, engine_options={"max_cat_to_onehot": 1}),
    RankBoost(n_estimators=20),
    CostBoost(n_estimators=10),
    RankForest(n_estimators=3),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_scores_and_probabilities_are_those_of_the_ranker(learner, table, is_fraud, new):
    ranker = learner.fit(table, is_fraud)
    for n_threads in (1, 2):
        assert max(largest_differences(ranker, new, n_threads)) < 1e-5
    assert max(largest_differences(ranker, new)) < 1e-12  # added in XGBoost's order


RECIPES = {
    "boosted trees, averaged": [BoostedTrees(n_trees=10, random_share=0.5, n_bags=3)],
    "forest": [RandomisedForest(n_trees=20)],
    "linear model": [SmoothModel(degree=1)],
    "all": [BoostedTrees(n_trees=10), RandomisedForest(n_trees=10), SmoothModel(degree=2)],
}


@pytest.mark.parametrize("kinds", RECIPES)
def test_blends_are_exported_with_their_scales(kinds, table, is_fraud, new):
    recipes = RECIPES[kinds]
    scales = [(-3.0 - number, 0.5 + number) for number in range(len(recipes))]
    auto = blended(table, is_fraud, recipes, scales)
    assert np.ptp(auto.suspicion(new)) > 1
    assert max(largest_differences(auto, new)) < 1e-5


@pytest.mark.parametrize("columns", [["country"], ["amount", "gap"]], ids=str)
@pytest.mark.parametrize("kinds", ["forest", "linear model"])
def test_members_without_numbers_or_without_categories(kinds, columns, table, is_fraud, new):
    auto = blended(table[columns], is_fraud, RECIPES[kinds], [(0.0, 1.0)])
    assert max(largest_differences(auto, new[columns])) < 1e-5


@pytest.mark.parametrize("method", ["sigmoid", "beta", "isotonic", "smooth"])
def test_every_calibration_is_exported(method, table, is_fraud, new):
    ranker = BoostedRanker(n_estimators=20).fit(table, is_fraud)
    ranker.calibrate(*payments(2000, seed=5), method=method)
    assert largest_differences(ranker, new)[1] < 1e-12


def test_a_ranker_of_an_array_takes_one_matrix(table, is_fraud, new):
    columns = ["amount", "hour", "gap"]
    for learner in (BoostedRanker(n_estimators=20), RankForest(n_estimators=2)):
        ranker = learner.fit(table[columns].to_numpy(), is_fraud)
        assert max(largest_differences(ranker, new[columns].to_numpy())) < 1e-5


def test_a_ranker_of_sparse_rows_reads_zeros_as_missing(table, is_fraud):
    rows = np.column_stack([table["hour"] % 5, table["online"] * table["amount"]])
    ranker = BoostedRanker(n_estimators=20).fit(sp.csr_array(rows), is_fraud)
    assert max(largest_differences(ranker, rows)) < 1e-5


def test_a_ranker_without_any_cut_gives_every_row_the_same_score():
    rows, labels = np.zeros((40, 2), np.float32), np.arange(40) < 4
    rows[0, 0] = np.nan
    for learner in (BoostedRanker(n_estimators=2), RankForest(n_estimators=2)):
        assert max(largest_differences(learner.fit(np.zeros((40, 2)), labels), rows)) < 1e-6


def test_the_model_says_what_it_is(table, is_fraud):
    ranker = BoostedRanker(n_estimators=2).fit(table, np.where(is_fraud, "fraud", "genuine"))
    model = to_onnx(ranker)
    facts = {each.key: each.value for each in model.metadata_props}
    assert facts["learner"] == "BoostedRanker"
    assert json.loads(facts["classes"]) == ["fraud", "genuine"]
    assert json.loads(facts["positive_label"]) == "fraud"
    assert [each.name for each in model.graph.input] == list(table.columns)
    assert [each.name for each in model.graph.output] == ["suspicion", "probability"]


@pytest.mark.parametrize(
    ("learner", "sentence"),
    [
        (NonLinearBoost(n_estimators=2), "combines its trees in latents has no ONNX form"),
        (MetaAP(), "along soft paths has no ONNX form"),
        (RankRLS(), "a RankRLS has no ONNX form; those of AutoRanker, BoostedRanker"),
    ],
)
def test_what_has_no_onnx_form_is_refused(learner, sentence):
    rows = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(TypeError, match=sentence):
        to_onnx(learner.fit(rows, rows[:, 0] > 1))


def test_a_blend_with_a_kernel_model_is_refused_with_the_way_out(table, is_fraud):
    auto = blended(table[:300], is_fraud[:300], [KernelModel()], [(0.0, 1.0)])
    with pytest.raises(TypeError, match=r"kernel model.*on more than 5,000 rows"):
        to_onnx(auto)


def test_a_column_that_is_called_like_an_output_is_refused(table, is_fraud):
    renamed = table.rename(columns={"amount": "suspicion"})
    with pytest.raises(ValueError, match="'suspicion' is: rename it and fit again"):
        to_onnx(BoostedRanker(n_estimators=2).fit(renamed, is_fraud))


def test_other_objects_and_unfitted_rankers_are_refused():
    with pytest.raises(TypeError, match=r"to_onnx takes a fitted AutoRanker, .*; got dict"):
        to_onnx({})
    with pytest.raises(ValueError, match="not fitted"):
        to_onnx(BoostedRanker())


class TestCommand:
    def test_it_writes_what_onnxruntime_reads(self, tmp_path, table, is_fraud, new):
        ranker = BoostedRanker(n_estimators=5).fit(table, is_fraud)
        save(ranker, tmp_path / "payments.toprank")
        for _ in range(2):  # its own file is replaced
            outcome = run_main(
                "export", tmp_path / "payments.toprank", "-o", tmp_path / "payments.onnx"
            )
            assert outcome.exit_code == 0, outcome.stderr
        session = onnxruntime.InferenceSession(tmp_path / "payments.onnx")
        suspicion, _ = session.run(None, fed(ranker, new))
        assert np.abs(suspicion[:, 0] - ranker.suspicion(new)).max() < 1e-5

    def test_it_says_that_no_payment_is_remembered(self, tmp_path):
        world = pa.concat_tables(tables_by_day(Simulation(n_cards=100, n_terminals=20, n_days=60)))
        model = PaymentModel(
            "is_fraud", time="paid_at", card="card", terminal="terminal", amount="amount",
            n_estimators=5, effort="quick", loss="log",
        ).fit(world)  # fmt: skip
        model.save(tmp_path / "cards.toprank")
        model.close()
        outcome = run_main("export", tmp_path / "cards.toprank", "-o", tmp_path / "cards.onnx")
        assert outcome.exit_code == 0, outcome.stderr
        assert "remembers no payment" in outcome.stderr

    def test_mistakes_are_named(self, tmp_path, table, is_fraud):
        model = tmp_path / "payments.toprank"
        save(BoostedRanker(n_estimators=2).fit(table, is_fraud), model)
        outcome = run_main("export", model, "-o", tmp_path / "payments.pb")
        assert outcome.exit_code == 2
        assert "-o must name a file that ends in .onnx; got 'payments.pb'" in outcome.stderr
        (tmp_path / "mine.onnx").write_bytes(b"something else")
        said = one_sentence(run_main("export", model, "-o", tmp_path / "mine.onnx"))
        assert "is not a file of ONNX that toprank wrote" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    "learner", [BoostedRanker(), BoostedRanker("ap-exp"), AutoRanker(time_limit=60)], ids=str
)
def test_100_000_rows_have_the_same_scores(learner):
    """`python -m pytest tests/integrations/test_onnx_export.py -m slow -s` prints the largest."""
    table, is_fraud = payments(20_000)
    ranker = learner.fit(table, is_fraud)
    differences = largest_differences(ranker, new_payments(100_000, table), n_threads=2)
    print(f"\n{learner}: suspicion {differences[0]:.2g}, probability {differences[1]:.2g}")
    assert max(differences) < 1e-5
