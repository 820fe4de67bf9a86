"""Fitted rankers in MLflow: logged with signature, figures and report, loaded as pyfunc.

The model of a run is the `.toprank` file itself. Nothing is pickled: MLflow finds this module by
its name in the model's description, and `_load_pyfunc` reads the file.
"""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from toprank import __version__
from toprank.data import inputs
from toprank.files import load, save
from toprank.integrations.optional_library import imported

FLAVOUR = "toprank"
MODEL_FILE = "model.toprank"
_NEEDS = "MLflow models"


def save_model(
    model: Any, path: str | Path, *, example: Any = None, facts: Mapping[str, Any] | None = None
) -> None:
    """Write a fitted ranker to a new folder in MLflow's form.

    `mlflow.pyfunc.load_model` reads it, and so does what serves MLflow's models. `example` holds
    some rows as they will be sent (see `signature_of`). `facts` are saved in the `.toprank` file.
    """
    mlflow_models, pyfunc = (_mlflow(name) for name in ("models", "pyfunc"))
    folder = Path(path)
    folder.mkdir(parents=True)  # another model there is not overwritten
    save(model, folder / MODEL_FILE, None if facts is None else dict(facts))
    description = mlflow_models.Model(signature=signature_of(model, example))
    description.add_flavor(FLAVOUR, toprank_version=__version__, data=MODEL_FILE)
    pyfunc.add_to_model(
        description,
        loader_module=__name__,
        data=MODEL_FILE,
        pip_env="requirements.txt",
    )
    requirement = f"toprank=={__version__}\n"
    (folder / "requirements.txt").write_text(requirement, encoding="utf-8")
    description.save(str(folder / "MLmodel"))


def log_model(
    model: Any,
    name: str = "model",
    *,
    example: Any = None,
    metrics: Mapping[str, float] | None = None,
    report: str | Path | None = None,
    facts: Mapping[str, Any] | None = None,
) -> str:
    """Log a fitted ranker to the active run of MLflow, and return the address it is loaded from.

    Its parameters, `metrics` and `report`, such as the page that `toprank fit` writes next to a
    model, are logged with it. Without an active run, one is started, as elsewhere in MLflow.
    """
    mlflow = imported("mlflow", "mlflow-skinny", _NEEDS)
    with TemporaryDirectory() as folder:
        save_model(model, Path(folder, name), example=example, facts=facts)
        mlflow.log_artifacts(str(Path(folder, name)), artifact_path=name)
    mlflow.log_params({key: str(value) for key, value in model.get_params(deep=False).items()})
    if metrics:
        mlflow.log_metrics({key: float(value) for key, value in metrics.items()})
    if report is not None:
        mlflow.log_artifact(str(report))
    return f"runs:/{mlflow.active_run().info.run_id}/{name}"


def load_model(address: str) -> Any:
    """Return the ranker itself from an address that `mlflow.pyfunc.load_model` takes."""
    artifacts = _mlflow("artifacts")
    return load(Path(artifacts.download_artifacts(artifact_uri=address), MODEL_FILE))


def signature_of(model: Any, example: Any = None) -> Any:
    """Return MLflow's signature of a ranker: its columns, and what the pyfunc returns.

    Numbers are doubles, which MLflow does not make of integers by itself; where columns of
    integers will be sent, `example` holds some rows, whose types are taken.
    """
    if not hasattr(model, "suspicion"):
        raise TypeError(
            f"MLflow models here take a fitted ranker or detector; got {type(model).__name__}. "
            "Pipelines are logged by mlflow.sklearn."
        )
    inputs.check_fitted(model)
    types, models = _mlflow("types"), _mlflow("models")
    if example is not None:
        taken = models.infer_signature(example).inputs
    elif hasattr(model, "feature_names_in_"):
        columns = [
            types.ColSpec(_KINDS[column.kind], name=column.name, required=False)
            for column in model.schema_.columns
        ]
        taken = types.Schema(columns)
    else:
        shape = (-1, model.n_features_in_)
        taken = types.Schema([types.TensorSpec(np.dtype(np.float64), shape)])
    given = [types.ColSpec("double", name=name) for name in _outputs(model)]
    return models.ModelSignature(inputs=taken, outputs=types.Schema(given))


class ScoredBy:
    """What MLflow's pyfunc calls: rows in, a table of suspicion and probability out."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, rows: Any, params: dict[str, Any] | None = None) -> Any:
        """Return suspicion and, unless the model is a detector, the probability of every row."""
        pandas = imported("pandas", "pandas", "MLflow's pyfunc")
        suspicion = self.model.suspicion(rows)
        scores = {"suspicion": suspicion}
        if "probability" in _outputs(self.model):
            scores["probability"] = self.model.calibration_.probability(suspicion)
        return pandas.DataFrame(scores, index=getattr(rows, "index", None))


def _load_pyfunc(path: str) -> ScoredBy:
    """Return the model in a file; MLflow calls this by its name."""
    return ScoredBy(load(path))


_KINDS = {"number": "double", "boolean": "boolean", "category": "string"}


def _outputs(model: Any) -> list[str]:
    has_probability = hasattr(model, "calibration_")
    return ["suspicion", "probability"] if has_probability else ["suspicion"]


def _mlflow(module: str) -> Any:
    return imported(f"mlflow.{module}", "mlflow-skinny", _NEEDS)
