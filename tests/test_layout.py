"""The shape of the package: imports point one way, public names are those promised."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import toprank

PACKAGE = Path(toprank.__file__).parent

# what `cluster.fit` calls; the rest of that folder prepares, judges and tells
FIT_ON_CLUSTER = [
    f"cluster/{name}.py" for name in ("ranking", "meeting", "growing", "waiting", "row_samples")
]

# what each part must know nothing of
FORBIDDEN = {
    "metrics": {"boosting", "tables", "cli", "report", "training", "plots", "reasons"},
    "losses": {"boosting", "tables", "metrics", "cli", "report", "training", "plots"},
    "tables": {"boosting", "losses", "metrics", "cli", "report", "training", "plots"},
    "auto": {"cli", "report", "training", "plots", "evaluation", "comparison", "cluster"},
    "trees/kernel": {"boosting", "cli", "report", "training", "plots", "tables", "base", "inputs"},
    "trees": {
        "boosting",
        "auto",
        "cli",
        "report",
        "training",
        "plots",
        "evaluation",
        "cluster",
        "anomaly",
    },
    "anomaly": {"cli", "report", "training", "plots", "evaluation", "auto", "cluster"},
    "online": {"boosting", "auto", "cli", "report", "training", "plots", "evaluation", "trees"},
    "pairwise": {"boosting", "auto", "cli", "report", "training", "plots", "evaluation"},
    "boosting": {
        "cli",
        "report",
        "training",
        "plots",
        "evaluation",
        "cluster",
        "imbalance",
        "auto",
    },
    "base.py": {"imbalance", "boosting", "trees", "anomaly", "online", "cluster", "auto"},
    "calibration": {"imbalance", "boosting", "base", "trees", "cli", "training"},
    "registry.py": {"base", "boosting", "trees", "training", "comparison", "cli", "losses"},
    "cluster": {"cli", "report", "plots", "comparison"},
    **{path: {"training", "evaluation", "auto", "summary"} for path in FIT_ON_CLUSTER},
    "imbalance": {"cli", "report", "training", "plots"},
    "transactions": {"cli", "report", "training", "boosting"},
    "datasets": {"boosting", "auto", "cli", "report", "training", "plots"},
    "training.py": {"cli", "report", "plots", "cluster"},
    "evaluation.py": {"cli", "report", "plots", "boosting"},
    "comparison": {"cli", "report"},
    "plots": {"cli", "report", "training", "boosting", "comparison"},
    "report": {"cli"},
    "bench": {"cli", "training", "evaluation"},
    "model_file": {"boosting", "losses", "metrics", "tables", "cli", "report", "training"},
}


def imported_parts(path: Path) -> set[str]:
    """The parts of toprank that a file imports, wherever in the file it does so."""
    parts = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "toprank":
            parts |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("toprank."):
            parts.add(str(node.module).split(".")[1])
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
            parts |= {name[1] for name in names if name[0] == "toprank" and len(name) > 1}
    return parts


@pytest.mark.parametrize("part", FORBIDDEN)
def test_imports_point_one_way(part):
    files = [PACKAGE / part] if part.endswith(".py") else sorted((PACKAGE / part).rglob("*.py"))
    assert files
    for path in files:
        assert not imported_parts(path) & FORBIDDEN[part], path


def test_only_commands_know_experiments():
    for path in PACKAGE.rglob("*.py"):
        part = path.relative_to(PACKAGE).parts[0]
        assert part in ("bench", "cli") or "bench" not in imported_parts(path), path


def test_the_public_names_are_there_and_documented():
    for name in toprank.__all__:
        assert getattr(toprank, name).__doc__, name
    assert set(dir(toprank)) == set(toprank.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'toprank' has no attribute 'BoostedRankr'"):
        _ = toprank.BoostedRankr


def test_importing_the_package_computes_nothing():
    assert not loaded_by("toprank") & {"numpy", "numba"}


def test_only_a_training_on_a_cluster_loads_dask():
    assert not loaded_by("toprank.rankers.boosted.boosted_ranker") & {
        "toprank.cluster",
        "dask",
        "distributed",
    }
    assert not loaded_by("toprank.cluster.cluster_training") & {"dask", "distributed"}


def loaded_by(name):
    """The modules that a fresh interpreter has loaded after importing one."""
    code = f"import sys, {name}; print(*sys.modules)"
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(printed.stdout.split())


def test_no_file_of_the_package_can_load_pickles():
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        # of joblib, which can, only the loop that runs tasks beside each other and its counting
        text = text.replace("from joblib import Parallel, delayed\n", "")
        text = text.replace("from joblib import cpu_count, effective_n_jobs\n", "")
        text = text.replace("joblib backend", "").replace("joblib.parallel_config", "")
        for word in ("import pickle", "joblib", "cloudpickle", "allow_pickle=True"):
            assert word not in text, path
