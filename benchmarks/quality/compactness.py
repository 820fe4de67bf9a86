"""How compact a MetaAP tree is, beside an entropy tree of the same reach (MetaAP paper, Fig. 7).

    TOPRANK_DATA=folder python -m benchmarks.quality.compactness [--set yeast6] [--depth 2]
        [--pictures FOLDER]

A MetaAP tree of global and local depth p asks at most p * p questions of a row, as an entropy tree
of depth p * p does. Splits of seeds 1 to 20 as in the MetaAP suite; printed and recorded are the
mean number of leaves (groups for MetaAP) and AP x 100 on training and test rows. `--pictures`
draws the trees of seed 1.
"""

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from benchmarks.record import record
from sklearn.model_selection import train_test_split

from toprank import GeometricTree, MetaAP, metrics

NAME = "compactness"
NOT_FEATURES = ("y", "label", "part", "subset", "difficulty")
N_SEEDS = 20


def main() -> None:
    options = _options()
    warnings.filterwarnings("ignore")
    table = pq.read_table(Path(os.environ["TOPRANK_DATA"], f"metaap_{options.set}.parquet"))
    is_positive = table["y"].to_numpy().astype(bool)
    features = table.drop_columns([n for n in NOT_FEATURES if n in table.column_names])
    found = {name: [] for name in _rankers(options.depth)}
    for seed in range(1, N_SEEDS + 1):
        np.random.seed(seed)  # noqa: NPY002  (the published splits come from this generator)
        train, test = train_test_split(
            np.arange(is_positive.size), stratify=is_positive, test_size=0.3
        )
        for name, ranker in _rankers(options.depth).items():
            ranker.fit(features.take(train), is_positive[train])
            if seed == 1 and options.pictures:
                picture = ranker.to_svg(title=f"{name} on {options.set}")
                path = Path(
                    options.pictures, f"{options.set}-{name.replace(' ', '-').lower()}.svg"
                )
                path.write_text(picture)
            ap = [
                metrics.average_precision(is_positive[rows], ranker.suspicion(features.take(rows)))
                for rows in (train, test)
            ]
            found[name].append((ranker.tree_.n_groups[0], 100 * ap[0], 100 * ap[1]))
    for name, rows in found.items():
        leaves, train_ap, test_ap = np.mean(rows, axis=0).round(2).tolist()
        record(
            NAME, dataset=options.set, depth=options.depth, method=name, seeds=N_SEEDS,
            leaves=leaves, train_ap=train_ap, test_ap=test_ap, gap=round(train_ap - test_ap, 2),
        )  # fmt: skip


def _rankers(depth: int) -> dict:
    return {
        "MetaAP published": MetaAP.published(depth, positive_label=True),
        "MetaAP": MetaAP(global_depth=depth, local_depth=depth, positive_label=True),
        "entropy tree": GeometricTree(
            criterion="entropy", max_depth=depth**2, positive_label=True
        ),
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", default="yeast6")
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--pictures", help="folder to draw the trees of seed 1 into")
    return parser.parse_args()


if __name__ == "__main__":
    main()
