"""`toprank fit --cluster`: the rows stay on the workers of a Dask cluster."""

from itertools import takewhile
from pathlib import Path
from typing import Any

import click


def fit_on_cluster(
    address: str,
    data: str,
    output: Path,
    budget: int,
    *,
    label: str,
    time: str | None,
    trees: int,
    seed: int,
    loss: str,
    refit: bool = True,
    **options: Any,
) -> Any:
    """Train on the cluster of a scheduler, write the model and return the outcome."""
    from toprank import files
    from toprank.cli import screen
    from toprank.cluster import LostWorkerError, cluster_training
    from toprank.cluster.dask_client import connected
    from toprank.payments.model_lock import writing_model
    from toprank.workflow.plain_facts import training_facts

    with connected(address) as client, screen.progress_bar() as progress:
        try:
            task = cluster_training.prepare(
                client, data, label, time=time, random_state=seed, progress=progress, **options
            )
            for remark in task.remarks():
                screen.remark(f"note: {remark}")
            trained = cluster_training.train(
                client, task, budget, loss=loss, n_estimators=trees, refit=refit,
                random_state=seed, progress=progress,
            )  # fmt: skip
        except LostWorkerError as error:
            raise ConnectionError(str(error)) from error
    with writing_model(output):
        files.save(trained.ranker, output, training_facts(trained, label, time))
    return trained


def place_of(data: str) -> Path:
    """Return the file or folder that a model can be named after, where `data` may be a pattern."""
    plain = takewhile(lambda part: not set("*?[") & set(part), Path(data).parts)
    path = Path(*plain)
    if "://" in data or not path.name:
        raise click.UsageError(f"-o must name the model to write; {data!r} has no name for it.")
    return path
