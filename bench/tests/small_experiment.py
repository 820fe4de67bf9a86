"""Small data sets and experiments that tests run whole."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from toprank_bench import read_experiment

TEXT = """
title = "Two small sets"
source = "made up"
protocol = "stratified"
data = ["first", "second"]
seeds = [1, 2]
metrics = ["average_precision", "roc_auc", "precision_at_k(100%)"]

[options]
test_share = "1/3"
folds = 3

[methods.log]
learner = "boosted"
parameters = { loss = "log", warm_start_trees = 0 }
grid = { max_depth = [1, 2], n_estimators = [2, 4] }

[methods.forest]
learner = "sklearn-random-forest"
parameters = { n_estimators = 5 }

[published.average_precision.first]
log = 0.5

[quick]
data = ["first"]
seeds = [1]

[quick.grids.log]
max_depth = [1]
n_estimators = [2, 4]
"""


def experiment(*changes, name="small"):
    """The small experiment, each change being a text and its replacement."""
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return read_experiment(text, name)


def write_set(folder: Path, name: str, seed: int, n_rows: int = 90) -> None:
    """Write a set of two numbers, one of them at times missing, and a category."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=n_rows)
    gaps = generator.random(n_rows) < 0.1
    kind = generator.choice(["a", "b", "c"], n_rows)
    y = x + (kind == "c") + generator.normal(size=n_rows) > 1.2
    table = pa.table(
        {
            "row": np.arange(n_rows),
            "x": pa.array(x, mask=gaps),
            "kind": pa.array(kind).dictionary_encode(),
            "label": np.where(y, "bad", "good"),
            "y": y.astype(int),
        }
    )
    pq.write_table(table, folder / f"{name}.parquet")
