# Each target does its own set-up: only python3 with venv, make and PyPI are needed.
PYTHON ?= python3
VENV := .venv
READY := $(VENV)/.ready
BIN := $(VENV)/bin

# Two test processes share the cores, with one thread each; the one that is done first takes tests
# from the other.
TESTS := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

.PHONY: demo test test-slow lint examples docs changelog clean
.DEFAULT_GOAL := demo

demo: $(READY)  ## train on made-up payments and show the alert list
	$(BIN)/toprank demo

test: $(READY)  ## every behaviour, in minutes
	$(TESTS)

test-slow: $(READY)  ## slow proofs: crashes, clusters, many examples, kernels uncompiled
	TOPRANK_EXAMPLES=thorough $(TESTS) -m "slow or hypothesis"
	NUMBA_DISABLE_JIT=1 $(TESTS) -m "kernel and not slow"

lint: $(READY)  ## formatting, lint rules, types of the public modules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

examples: $(READY)  ## the examples of docstrings, README and docs
	$(TESTS) --doctest-modules --doctest-glob="*.md" src README.md docs

docs: $(READY)  ## the documentation site, to build/docs/html; a warning is an error
	rm -rf docs/api build/docs
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build -q -W --keep-going -n -d build/docs/pages docs build/docs/html

changelog:  ## CHANGELOG.md, from the files of changes/
	$(PYTHON) changes/changelog.py

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable ".[test]"
	touch $(READY)

clean:
	rm -rf $(VENV) demo-output build/docs docs/api
