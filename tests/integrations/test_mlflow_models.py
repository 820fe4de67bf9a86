"""Rankers in MLflow's own store: logged, loaded as pyfunc, with signature, figures and report."""

from pathlib import Path

import numpy as np
import pytest

from integrations.made_rows import new_payments, payments
from toprank import AnomalyTreeRank, BoostedRanker, ThresholdedRanker

pytestmark = [
    pytest.mark.slow,  # importing MLflow takes seconds
    pytest.mark.filterwarnings("ignore"),
]
WHY = "MLflow is not installed: pip install 'toprank[integrations]'"


@pytest.fixture(scope="module")
def mlflow(tmp_path_factory):
    module = pytest.importorskip("mlflow", reason=WHY)
    pytest.importorskip("alembic", reason=WHY)
    folder = tmp_path_factory.mktemp("mlflow")
    module.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    module.create_experiment("payments", artifact_location=(folder / "artifacts").as_uri())
    module.set_experiment("payments")
    return module


@pytest.fixture(scope="module")
def table():
    return payments(2000)[0]


@pytest.fixture(scope="module")
def ranker(table):
    return BoostedRanker(n_estimators=20).fit(table, payments(2000)[1])


def test_a_logged_model_is_loaded_as_pyfunc_and_scores_the_same(mlflow, ranker, table, tmp_path):
    from toprank.integrations import mlflow_models

    report = tmp_path / "report.html"
    report.write_text("<p>Made with toprank</p>")
    with mlflow.start_run() as run:
        address = mlflow_models.log_model(
            ranker,
            example=table[:50],
            metrics={"average_precision": 0.25},
            report=report,
            facts={"label": "fraud"},
        )
    new = new_payments(100_000, table)
    scores = mlflow.pyfunc.load_model(address).predict(new)
    largest = [
        np.abs(scores["suspicion"] - ranker.suspicion(new)).max(),
        np.abs(scores["probability"] - ranker.probability(new)).max(),
    ]
    print(f"\npyfunc, 100,000 rows: suspicion {largest[0]:.2g}, probability {largest[1]:.2g}")
    assert max(largest) == 0
    assert (scores.index == new.index).all()

    logged = mlflow.get_run(run.info.run_id)
    assert logged.data.metrics == {"average_precision": 0.25}
    assert logged.data.params["n_estimators"] == "20"
    page = mlflow.artifacts.download_artifacts(f"runs:/{run.info.run_id}/report.html")
    assert Path(page).read_text() == report.read_text()
    again = mlflow_models.load_model(address)
    assert isinstance(again, BoostedRanker)
    assert np.array_equal(again.suspicion(new[:100]), ranker.suspicion(new[:100]))


def test_the_signature_names_the_columns_and_refuses_other_kinds(mlflow, ranker, table, tmp_path):
    from toprank.integrations import mlflow_models

    mlflow_models.save_model(ranker, tmp_path / "model")
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    signature = loaded.metadata.signature
    assert {each.name: each.type.name for each in signature.inputs} == {
        "amount": "double", "hour": "double", "country": "string", "online": "boolean",
        "gap": "double",
    }  # fmt: skip
    assert signature.outputs.input_names() == ["suspicion", "probability"]
    with pytest.raises(mlflow.exceptions.MlflowException, match="amount"):
        loaded.predict(table.assign(amount="much"))
    assert not list((tmp_path / "model").rglob("*.pkl"))
    with pytest.raises(FileExistsError):
        mlflow_models.save_model(ranker, tmp_path / "model")


def test_a_ranker_of_an_array_and_a_detector(mlflow, tmp_path):
    from toprank.integrations import mlflow_models

    rows = np.random.default_rng(0).normal(size=(300, 2))
    ranker = BoostedRanker(n_estimators=5).fit(rows, rows[:, 0] > 1)
    mlflow_models.save_model(ranker, tmp_path / "array")
    found = mlflow.pyfunc.load_model(str(tmp_path / "array")).predict(rows)
    assert np.array_equal(found["suspicion"], ranker.suspicion(rows))
    detector = AnomalyTreeRank().fit(rows)
    mlflow_models.save_model(detector, tmp_path / "detector")
    found = mlflow.pyfunc.load_model(str(tmp_path / "detector")).predict(rows)
    assert list(found) == ["suspicion"]


def test_what_no_model_file_can_contain_is_refused(mlflow, table, tmp_path):
    from toprank.integrations import mlflow_models

    inner = BoostedRanker(n_estimators=2)
    model = ThresholdedRanker(inner, cv=2).fit(*payments(500))
    with pytest.raises(TypeError, match="save takes a fitted"):
        mlflow_models.save_model(model, tmp_path / "model")
