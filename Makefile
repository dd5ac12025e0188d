# Everything a newcomer needs: `make demo` and `make test`. Both set up .venv first.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DEMO   ?= demo.study
WORKERS ?= 2
export PIP_DISABLE_PIP_VERSION_CHECK = 1

MAKEFLAGS += --jobs=2

.PHONY: setup demo test test-full test-seeds lint style types layers bench docs clean

setup: $(VENV)/.dev

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "polarbear needs Python 3.11 or newer; name one with: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/polarbear race examples/demo.toml --into $(DEMO) --workers $(WORKERS)
	$(BIN)/polarbear report $(DEMO)

# Two at once; each says what it found when it ends.
lint: types style layers

types: setup
	$(BIN)/pyright

style: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

layers: setup
	$(BIN)/lint-imports

# Compiled once: told to write no bytecode, every process that a test starts would compile all of polarbear again.
# Files in the order of conftest.py, those that take longest first. Two processes share the cores, so that BLAS has one thread each.
TEST := $(BIN)/python -m compileall -q src && OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

test: lint
	$(TEST)

test-full: lint
	$(TEST) -m 'slow or not slow'

test-seeds: setup
	$(BIN)/python -m benchmarks.false_alarms

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,bench]'
	@touch $@

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

$(VENV)/.docs: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,docs]'
	@touch $@

docs: $(VENV)/.docs
	$(BIN)/python examples/gallery.py docs
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) demo.study site docs/gallery docs/gallery.md .pytest_cache .ruff_cache .import_linter_cache
