"""A MetaAP tree and an entropy tree that ask as many questions: the MetaAP paper's Figure 7."""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from toprank import GeometricTree, MetaAP
from toprank_bench import datasets

_DATA, _DEPTH, _SEED = "metaap_yeast6", 2, 1


def metaap_tree(results: Path, folder: Path | None) -> str:
    """Return the MetaAP tree as SVG."""
    tree = MetaAP(global_depth=_DEPTH, local_depth=_DEPTH, positive_label=True)
    return _drawn(tree, "MetaAP on yeast6", folder)


def entropy_tree(results: Path, folder: Path | None) -> str:
    """Return the entropy tree as SVG."""
    tree = GeometricTree(criterion="entropy", max_depth=_DEPTH**2, positive_label=True)
    return _drawn(tree, "entropy tree on yeast6", folder)


def _drawn(ranker: Any, title: str, folder: Path | None) -> str:
    dataset = datasets.load(_DATA, folder=folder)
    train, _ = train_test_split(
        np.arange(dataset.is_positive.size),
        stratify=dataset.is_positive,
        test_size=0.3,
        random_state=np.random.RandomState(_SEED),
    )
    ranker.fit(dataset.X.take(train), dataset.is_positive[train])
    return ranker.to_svg(title=title)
