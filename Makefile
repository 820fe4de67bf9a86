# Each target does its own set-up: only python3 with venv, make and PyPI are needed.
PYTHON ?= python3
VENV := .venv
READY := $(VENV)/.ready
BENCH := $(VENV)/.bench
BIN := $(VENV)/bin

# Two test processes share the cores, with one thread each; the one that is done first takes tests
# from the other.
TESTS := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

# Only these files are read where kernels run uncompiled.
KERNEL_TESTS = $(shell grep -rlF --include="test_*.py" pytest.mark.kernel tests)

# These read or write the database of a desk; the others of tests/live learn, draw or parse.
DATABASE_TESTS = $(addprefix tests/live/,checks engine monitor pages people store served_days \
	learning/test_model_jobs.py learning/test_model_life.py learning/test_model_shadow.py \
	rules/test_rule_life.py rules/test_circuit_breaker.py web/test_desk_service.py \
	web/test_pages_service.py test_desk.py test_upkeep.py test_log_replay.py test_kept_promise.py)

# What is imported is compiled then; all of what is installed would take most of a minute.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

# Processes share their compiled sources, or each of them would compile all it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo live test test-slow test-postgres test-schedulers lint examples docs changelog bench-setup bench-autogluon clean
.DEFAULT_GOAL := demo

demo: $(READY)  ## train on made-up payments and show the alert list
	$(BIN)/toprank demo

live: $(READY)  ## a live system on a made-up world that pays in fast time
	$(BIN)/toprank serve --demo

test: $(READY)  ## every behaviour, in minutes
	$(BIN)/python tests/compile_kernels.py
	$(TESTS)

test-slow: $(READY) $(BENCH)  ## slow proofs: crashes, clusters, many examples, kernels uncompiled
	TOPRANK_EXAMPLES=thorough $(TESTS) -m "slow or hypothesis or bench" tests bench/tests
	NUMBA_DISABLE_JIT=1 $(TESTS) -m "kernel and not slow" $(KERNEL_TESTS)

# Airflow comes with an environment of its own. The example for Dagster is run by `test-slow`.
test-schedulers: $(READY)  ## the example of docs/daily.md with Airflow
	$(PYTHON) -m venv .venv-airflow
	.venv-airflow/bin/python -m pip install --quiet --disable-pip-version-check --no-compile \
		"apache-airflow==3.3.2" "apache-airflow-providers-standard==1.21.0"
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "slow or not slow" tests/schedulers/test_airflow_example.py

test-postgres: $(READY)  ## what touches the database of the live system, on PostgreSQL
	TOPRANK_TEST_DATABASE=postgresql $(TESTS) $(DATABASE_TESTS)

lint: $(READY)  ## formatting, lint rules, types of the public modules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

examples: $(READY) $(BENCH)  ## the examples of docstrings, README and docs
	$(TESTS) --doctest-modules --doctest-glob="*.md" --ignore=docs/examples src bench/src README.md docs

docs: $(READY)  ## the documentation site, to build/docs/html; a warning is an error
	rm -rf docs/api build/docs
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build -q -W --keep-going -n -d build/docs/pages docs build/docs/html

changelog:  ## CHANGELOG.md, from the files of changes/
	$(PYTHON) changes/changelog.py

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) --constraint constraints.txt --editable ".[test]"
	touch $(READY)

bench-setup: $(READY)  ## `toprank bench`, with the libraries it compares with
	$(PIP) --constraint constraints.txt --editable "./bench[rivals]"
	touch $(BENCH)

bench-autogluon:  ## AutoGluon, in an environment of its own: it requires an older pandas
	$(PYTHON) -m venv .venv-autogluon
	.venv-autogluon/bin/python -m pip install --quiet --disable-pip-version-check \
		"autogluon.tabular[lightgbm,catboost]==1.6.3" xgboost-cpu

$(BENCH): $(READY) bench/pyproject.toml
	$(PIP) --constraint constraints.txt --editable ./bench
	touch $(BENCH)

clean:
	rm -rf $(VENV) .venv-autogluon .venv-airflow demo-output demo-desk build/docs docs/api
