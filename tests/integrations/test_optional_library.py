"""Libraries of integrations are imported when they are used, and named where they are missing."""

import subprocess
import sys

import pytest

from toprank.integrations.optional_library import imported

MODULES = (
    "toprank", "toprank.cli", "toprank.rankers.boosted.boosted_ranker",
    "toprank.integrations.onnx_export", "toprank.integrations.mlflow_models",
    "toprank.integrations.shap_values",
)  # fmt: skip


def test_no_module_imports_the_library_of_an_integration():
    code = f"import sys, {', '.join(MODULES)}; print(*sys.modules)"
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not set(printed.stdout.split()) & {"onnx", "onnxruntime", "mlflow", "shap"}


def test_a_missing_library_is_named_with_the_command_that_installs_it():
    with pytest.raises(ImportError, match=r"a thing needs no-such, .*pip install no-such\.$"):
        imported("no_such_module", "no-such", "a thing")
