"""AutoGluon as a rival, in a process and an environment of its own.

AutoGluon requires an older pandas than toprank is tested with, so the two do not share an
environment: `make bench-autogluon` makes one for it. Tables go there and back as Parquet files.
"""

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

VARIABLE = "TOPRANK_AUTOGLUON"
_WORKER = Path(__file__).with_name("autogluon_worker.py")
_REPOSITORY = Path(__file__).parents[4]
_LABEL = "is_positive"


class AutoGluonRival:
    """AutoGluon's TabularPredictor, chosen by average precision, on one thread.

    `time_limit` is in seconds; `presets` are AutoGluon's. It has a seed of its own.
    """

    def __init__(self, seed: int, time_limit: float = 60, presets: str = "medium_quality") -> None:
        self.python = _python()
        self.options = (str(time_limit), presets)

    def fit(self, features: pa.Table, is_positive: NDArray[np.bool_]) -> Self:
        """Learn to rank the positive rows first."""
        self._folder = TemporaryDirectory()  # removed with this object
        table = features.append_column(_LABEL, pa.array(is_positive.astype(np.int8)))
        pq.write_table(table, Path(self._folder.name, "train.parquet"))
        self._run("fit", *self.options)
        return self

    def suspicion(self, features: pa.Table) -> NDArray[np.float64]:
        """Return the probability of a positive."""
        pq.write_table(features, Path(self._folder.name, "test.parquet"))
        self._run("score")
        scores = pq.read_table(Path(self._folder.name, "scores.parquet"))
        return scores["probability"].to_numpy()

    def _run(self, *arguments: str) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        environment.pop("PYTHONPATH", None)  # it has packages of its own
        command = [self.python, str(_WORKER), self._folder.name, *arguments]
        run = subprocess.run(command, env=environment, capture_output=True, text=True)
        if run.returncode:
            last = (run.stderr.strip().splitlines() or ["it printed nothing"])[-1]
            raise RuntimeError(f"AutoGluon failed: {last}")


def _python() -> str:
    """Return the interpreter that has AutoGluon."""
    given = os.environ.get(VARIABLE)
    path = Path(given) if given else _REPOSITORY / ".venv-autogluon" / "bin" / "python"
    if not path.exists():
        raise ImportError(f"AutoGluon's environment is not at {path}; {VARIABLE} can name another")
    return str(path)
