"""Run by AutoGluon's interpreter, which has neither toprank nor this package.

python autogluon_worker.py FOLDER fit SECONDS PRESETS
python autogluon_worker.py FOLDER score
"""

import sys
from pathlib import Path


def main(folder: Path, step: str, *options: str) -> None:
    import pandas as pd
    from autogluon.tabular import TabularPredictor

    if step == "fit":
        seconds, presets = options
        predictor = TabularPredictor(
            "is_positive",
            problem_type="binary",
            eval_metric="average_precision",
            path=str(folder / "model"),
            verbosity=0,
        )
        predictor.fit(
            pd.read_parquet(folder / "train.parquet"),
            time_limit=float(seconds),
            presets=presets,
            num_cpus=1,
            num_gpus=0,
        )
        return
    predictor = TabularPredictor.load(str(folder / "model"), verbosity=0)
    chances = predictor.predict_proba(pd.read_parquet(folder / "test.parquet"))[1]
    pd.DataFrame({"probability": chances.to_numpy(dtype=float)}).to_parquet(
        folder / "scores.parquet"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
