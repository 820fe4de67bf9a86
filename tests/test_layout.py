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
    """The script that reads the imports, holds the list of those allowed, and draws them."""
    spec = spec_from_file_location("import_graph", DRAWN / "import_graph.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_import_is_allowed_and_none_leads_up_or_in_a_circle(import_graph):
    assert import_graph.faults(import_graph.edges()) == []


def test_a_new_edge_an_unused_one_an_upward_one_and_a_cycle_are_found(import_graph):
    found = import_graph.edges()
    up = import_graph.Edge("metrics", "cli")
    wrong = import_graph.faults(found + Counter([up]))
    assert "metrics must not import cli" in wrong
    assert "metrics must not import cli, which is in a higher layer" in wrong
    assert any(each.endswith("is a cycle") for each in wrong)
    down = import_graph.Edge("splits", "data")
    del found[down]
    assert import_graph.faults(found) == ["splits is allowed to import data and does not"]


def test_the_picture_of_the_imports_is_up_to_date(import_graph):
    drawn = (DRAWN / "imports.svg").read_text()
    assert drawn == import_graph.svg(import_graph.edges()), "run docs/images/import_graph.py"


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
