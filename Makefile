# The front door. Needs python3 (3.11+) and make; every target does its own set-up in .venv.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# A file of tests stays with one worker, so that what it set up is set up once. A worker that had to be ended is not replaced: the
# next one would begin with the test that hung, and so on. Files go out in the order of their paths, which ends with the many short
# ones of tests/unit: by their number of tests, the longest would come last and keep one core busy alone.
WORKERS ?= -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder --max-worker-restart 0

# Where byte code is not kept, every process that a test starts compiles mare anew, and every worker all tests.
export PYTHONDONTWRITEBYTECODE :=

# Workers fill the cores: threads of their linear algebra would only wait for each other.
test test-all: export OMP_NUM_THREADS := 1

# The MySQL that `make mysql` has fetched, for the tests; a server of your own goes before it.
MARE_MYSQLD ?= $(wildcard $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/mare/mysql/mysqld)
export MARE_MYSQLD

.DEFAULT_GOAL := help
.PHONY: help demo test test-all mysql check format bench docs schema clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

# Set up again only when the dependencies change. The stamp comes last, so an interrupted set-up starts over.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "mare needs Python 3.11 or newer; this is $$($(PYTHON) --version). Try: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs]'
	@touch $@

demo: $(READY)  ## a simulated oncology hospital, from one SQLite file into another, step by step
	@$(BIN)/python examples/demo.py build/demo $(PATIENTS)

test: $(READY)  ## the fast tier: unit, properties, tape audits, SQLite, DuckDB, one PostgreSQL
	$(BIN)/python -m pytest -m "not slow" -q --durations 10 $(WORKERS)

test-all: $(READY)  ## everything: adds MariaDB, MySQL, Chromium, wheels, kill loops, canaries
	$(BIN)/python -m pytest -q --durations 10 $(WORKERS)

mysql:  ## a MySQL server for test-all, from Debian unstable into a folder of its own; installs nothing
	@.ci/mysql

check: $(READY)  ## ruff, mypy strict, the import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)  ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)  ## speed and fidelity as ratios in one run
	$(BIN)/python -m tests.benchmarks

docs: $(READY)  ## the documentation as a site in build/docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --config-file .ci/mkdocs.yml --site-dir ../build/docs
	@echo "open build/docs/index.html"

schema: $(READY)  ## write schemas/mare.schema.json anew
	$(BIN)/python -m tests.json_schema

clean:  ## remove what was built
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
