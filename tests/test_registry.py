"""One row makes a learner: public, saved, compared and fitted; nothing else lists learners."""

import ast
import inspect
import math
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import toprank
from toprank import load, registry, save
from toprank.calibration import fit_sigmoid
from toprank.cli.fit import fit as fit_command
from toprank.data import checks, inputs
from toprank.files import ModelFileError, Saved
from toprank.present.comparison import learner_summary
from toprank.rankers import reasons
from toprank.rankers.base import Ranker
from toprank.registry import LearnerRow, OfferedLearner
from toprank.simulator import simulate
from toprank.workflow import comparison, training
from toprank.workflow.task import prepare

PACKAGE = Path(toprank.__file__).parent


class OneColumn(Ranker):
    """A made-up learner: rows are as suspicious as their largest value is."""

    def __init__(self, *, power=1.0, positive_label=None):
        self.power = power
        self.positive_label = positive_label

    def fit(self, X, y, sample_weight=None):
        checks.number_above(self.power, "power", 0)
        rows = self._training_rows(X, y, sample_weight)
        self.usual_ = reasons.usual_values(rows.features, rows.is_positive, self.schema_)
        self.n_rows_ = len(rows.features)
        self.calibration_ = fit_sigmoid(rows.is_positive, self._raw(rows.features), rows.weight)
        return self

    def contributions(self, X):
        features = inputs.read_features(self, X)
        return np.column_stack([np.zeros_like(features, dtype=float), self._raw(features)])

    def _raw(self, features):
        return np.nan_to_num(features.astype(float)).max(axis=1) ** self.power

    def _to_saved(self):
        return Saved({**self._common_state(), "n_rows": self.n_rows_}, {}, {})

    @classmethod
    def _from_saved(cls, parameters, saved):
        ranker = cls(**parameters)
        ranker._restore_common(saved.state)
        ranker.n_rows_ = saved.state["n_rows"]
        return ranker


ROW = LearnerRow(
    f"{__name__}:OneColumn",
    command="one-column",
    title="the largest column",
    settings={"power": 0.5},
    in_fit=True,
    in_compare=True,
)


@pytest.fixture
def with_row(monkeypatch):
    """The package with the made-up learner in its registry."""
    monkeypatch.setattr(registry, "LEARNERS", (*registry.LEARNERS, ROW))


@pytest.fixture(scope="module")
def task():
    payments = simulate(n_cards=100, n_terminals=200, n_days=40)
    return prepare(payments, "is_fraud", time="paid_at", drop=["card", "terminal"])


# A learner that was made up


@pytest.mark.usefixtures("with_row")
def test_a_learner_with_a_row_is_saved_and_loaded(tmp_path):
    X = np.abs(np.random.default_rng(0).normal(size=(50, 2)))
    ranker = OneColumn(power=2.0).fit(X, X[:, 0] > 1.5)
    save(ranker, tmp_path / "one.toprank")
    again = load(tmp_path / "one.toprank")

    assert type(again) is OneColumn
    assert again.power == 2.0
    assert np.array_equal(again.suspicion(X), ranker.suspicion(X))


def test_a_file_of_a_learner_without_a_row_is_refused(tmp_path, monkeypatch):
    X = np.abs(np.random.default_rng(0).normal(size=(50, 2)))
    ranker = OneColumn().fit(X, X[:, 0] > 1.5)
    with pytest.raises(TypeError, match=r"save takes a fitted .*; got OneColumn"):
        save(ranker, tmp_path / "one.toprank")
    with monkeypatch.context() as patch:
        patch.setattr(registry, "LEARNERS", (*registry.LEARNERS, ROW))
        save(ranker, tmp_path / "one.toprank")
    with pytest.raises(ModelFileError, match="its learner 'OneColumn' is unknown"):
        load(tmp_path / "one.toprank")


@pytest.mark.usefixtures("with_row")
def test_a_learner_with_a_row_is_compared(task):
    reported = {}
    compared = comparison.compare_learners(
        task,
        10,
        ["one-column"],
        n_estimators=5,
        n_jobs=1,
        progress=lambda what, done, total: reported.__setitem__(what, (done, total)),
    )
    (judged,) = [each for each in compared.judged if each.name == "one-column"]

    assert compared.failed == {}
    assert isinstance(judged.ranker, OneColumn)
    assert judged.ranker.power == 0.5  # the settings of its row
    assert judged.ranker.positive_label is True
    assert reported["one-column"] == (1, 1)
    assert "one-column" in learner_summary.text_of(compared, "frauds")


@pytest.mark.usefixtures("with_row")
def test_a_learner_with_a_row_is_fitted_as_a_workflow(task):
    trained = training.train(task, 10, learner="one-column", n_estimators=5, n_jobs=1)

    assert isinstance(trained.ranker, OneColumn)
    assert trained.chosen.name == "the largest column"
    measured = len(task.split.train) + len(task.split.validation)
    assert trained.chosen.ranker.n_rows_ == measured
    assert trained.ranker.n_rows_ == task.is_positive.size
    assert trained.account is None
    assert math.isfinite(trained.chosen.test.average_precision.value)


@pytest.mark.usefixtures("with_row")
def test_its_row_is_found_by_class_and_by_name():
    assert registry.row_of(OneColumn) is ROW
    assert registry.row_of(OneColumn()) is ROW
    assert registry.row_named("OneColumn") is ROW
    assert registry.fit_choices()["one-column"] == OfferedLearner(ROW, {"power": 0.5})
    with pytest.raises(LookupError, match=r"Ranker must have a row in toprank\.registry"):
        registry.row_of(Ranker)


# The rows that are there


@pytest.mark.parametrize("row", registry.LEARNERS, ids=lambda row: row.name)
def test_the_facts_of_a_row_are_those_of_its_class(row):
    learner = row.load()
    parameters = inspect.signature(learner).parameters
    in_fit = inspect.signature(learner.fit).parameters

    assert learner.__module__ == row.home.partition(":")[0]
    assert {*row.settings, *row.shortest} <= set(parameters)
    assert ("progress" in in_fit) == row.takes_progress
    assert row.is_saved == hasattr(learner, "_to_saved")
    assert (row.trees == "many") <= ("n_estimators" in parameters)
    assert (row.trees == "one") == hasattr(learner, "to_text")
    assert (row.in_fit or row.in_compare) <= issubclass(learner, Ranker)
    assert row.in_fit <= bool(row.command)
    if row.judges_itself:
        assert {"budget", "time_limit", "n_estimators"} <= set(parameters)
        assert "eval_set" in in_fit


def test_names_and_commands_each_belong_to_one_learner():
    names = [row.name for row in registry.LEARNERS]
    commands = [row.command for row in registry.LEARNERS if row.command]
    assert len(set(names)) == len(names)
    assert len(set(commands)) == len(commands)
    n_losses = len(import_module("toprank.losses").LOSSES)
    assert len(registry.compare_choices()) == n_losses + sum(
        row.in_compare and row.compared_by is None for row in registry.LEARNERS
    )


def test_every_public_learner_of_the_package_has_a_row():
    estimators = set()
    for path in PACKAGE.rglob("*.py"):
        module = ".".join(("toprank", *path.relative_to(PACKAGE).with_suffix("").parts))
        folder = path.relative_to(PACKAGE).parts[0]
        if folder in ("bench", "cli", "river.py") or path.name in ("__init__.py", "__main__.py"):
            continue
        for node in ast.parse(path.read_text()).body:
            has_saved = isinstance(node, ast.ClassDef) and any(
                isinstance(each, ast.FunctionDef) and each.name == "_from_saved"
                for each in node.body
            )
            if has_saved and not node.name.startswith("_"):
                estimators.add(f"{module}:{node.name}")
    rows = {row.home for row in registry.LEARNERS} | set(registry.ALSO_SAVED)
    bases = {name for name in estimators - rows if _subclasses(name) & rows}
    assert estimators - rows == bases


def _subclasses(home):
    """The homes of all classes below one, once every learner is loaded."""
    for row in registry.LEARNERS:
        row.load()
    found, left = set(), [registry.named(home)]
    while left:
        kind = left.pop()
        found.add(f"{kind.__module__}:{kind.__qualname__}")
        left += kind.__subclasses__()
    return found


def test_the_public_names_and_those_for_type_checkers_are_the_same():
    (block,) = [
        node
        for node in ast.parse((PACKAGE / "__init__.py").read_text()).body
        if isinstance(node, ast.If)
    ]
    written = {}
    for node in block.body:
        for alias in node.names:
            assert alias.asname == alias.name  # which makes it public to a type checker
            written[alias.name] = node.module
    assert sorted(written) == toprank.__all__
    for name, module in written.items():
        found = getattr(import_module(module), name, None) or import_module(f"{module}.{name}")
        assert getattr(toprank, name) is found, name
    for row in registry.LEARNERS:
        assert row.name in toprank.__all__


def test_the_command_offers_what_the_registry_does():
    (option,) = [each for each in fit_command.params if each.name == "learner"]
    assert list(option.type.choices) == list(registry.fit_choices())


def test_the_registry_imports_nothing_heavy():
    code = "import sys, toprank.registry; toprank.registry.fit_choices(); print(*sys.modules)"
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"numpy", "sklearn", "xgboost", "numba"} & set(printed)
