"""Where the time of a command goes: stages are functions that exist."""

import ast
import pstats
from cProfile import Profile
from pathlib import Path

import pytest

import toprank
from toprank_bench.speed.command_stages import CALLS, STAGES, _entry

OURS = [name for names in STAGES.values() for name in names] + list(CALLS.values())
OF_OTHERS = {"<frozen importlib._bootstrap>:_find_and_load", "_forest.py:predict_proba"}


@pytest.mark.parametrize("name", sorted(set(OURS) - OF_OTHERS))
def test_every_stage_is_a_function_of_the_package(name):
    file, _, function = name.partition(":")
    path = Path(toprank.__file__).parents[1] / file
    defined = ast.walk(ast.parse(path.read_text()))
    assert function in {node.name for node in defined if isinstance(node, ast.FunctionDef)}


def test_calls_and_seconds_are_those_of_functions_in_the_file_named():
    profile = Profile()
    profile.runcall(_called)
    n_calls, seconds = _entry(pstats.Stats(profile), "tests/test_command_stages.py:_called")
    assert n_calls == 1
    assert seconds >= 0
    assert _entry(pstats.Stats(profile), "tests/other.py:_called") == (0, 0.0)


def _called():
    return sum(range(10))
