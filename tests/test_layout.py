"""The shape of the package: imports point one way, public names are those promised."""

import subprocess
import sys
from collections import Counter
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import toprank

PACKAGE = Path(toprank.__file__).parent
DRAWN = Path(__file__).parents[1] / "docs" / "images"


@pytest.fixture(scope="module")
def import_graph():
    """The script that reads the imports, checks them against a list, and draws them."""
    spec = spec_from_file_location("import_graph", DRAWN / "import_graph.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def edges(import_graph):
    """The imports of the package, counted."""
    return import_graph.edges()


def test_every_import_is_allowed_and_none_leads_up_or_in_a_circle(import_graph, edges):
    assert import_graph.faults(edges) == []


def test_a_new_edge_an_unused_one_an_upward_one_and_a_cycle_are_found(import_graph, edges):
    found = edges.copy()
    up = import_graph.Edge("metrics", "cli")
    wrong = import_graph.faults(found + Counter([up]))
    assert "metrics must not import cli" in wrong
    assert "metrics must not import cli, which is in a higher layer" in wrong
    assert any(each.endswith("is a cycle") for each in wrong)
    down = import_graph.Edge("splits", "data")
    del found[down]
    assert import_graph.faults(found) == ["splits is allowed to import data and does not"]


def test_the_picture_of_the_imports_is_up_to_date(import_graph, edges):
    drawn = (DRAWN / "imports.svg").read_text()
    assert drawn == import_graph.svg(edges), "run docs/images/import_graph.py"


def test_no_two_classes_or_files_share_a_name(import_graph):
    assert import_graph.same_names() == {}


def test_the_public_names_are_there_and_documented():
    for name in toprank.__all__:
        assert getattr(toprank, name).__doc__, name
    assert set(dir(toprank)) == set(toprank.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'toprank' has no attribute 'BoostedRankr'"):
        _ = toprank.BoostedRankr


def test_importing_the_package_computes_nothing():
    (loaded,) = loaded_by("toprank")
    assert not loaded & {"numpy", "numba"}


def test_matplotlib_is_imported_only_to_draw_and_dask_only_to_train_on_a_cluster():
    to_rank, to_prepare_a_cluster = loaded_by(
        "toprank.payments.payment_model", "toprank.cluster.cluster_training"
    )
    assert {"numpy", "sklearn", "toprank.rankers.base"} <= to_rank
    assert not to_rank & {"matplotlib", "toprank.cluster", "dask", "distributed"}
    assert not to_prepare_a_cluster & {"dask", "distributed"}


def loaded_by(*names):
    """The modules that a fresh interpreter has loaded after importing each of these."""
    code = "import sys\n" + "\n".join(f"import {name}; print(*sys.modules)" for name in names)
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return [set(line.split()) for line in printed.stdout.splitlines()]


def test_no_file_of_the_package_can_load_pickles():
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        # of joblib, which can, only its parallel loop and its count of cores
        text = text.replace("from joblib import Parallel, delayed\n", "")
        text = text.replace("from joblib import cpu_count, effective_n_jobs\n", "")
        text = text.replace("joblib backend", "").replace("joblib.parallel_config", "")
        for word in ("import pickle", "joblib", "cloudpickle", "allow_pickle=True"):
            assert word not in text, path
