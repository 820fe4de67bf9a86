# Each target does its own set-up: only python3 with venv, make and PyPI are needed.
PYTHON ?= python3
VENV := .venv
READY := $(VENV)/.ready
BIN := $(VENV)/bin

.PHONY: demo test lint clean
.DEFAULT_GOAL := demo

demo: $(READY)  ## train on made-up payments and show the alert list
	$(BIN)/toprank demo

test: $(READY)  ## every test, compiled and uncompiled kernels
	$(BIN)/python -m pytest -n 2
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n 2 -m kernel

lint: $(READY)  ## formatting, lint rules, types of the public modules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[cpu,test]"
	touch $(READY)

clean:
	rm -rf $(VENV) demo-output
