.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCK := requirements.lock
# Half of the tests wait for processes that they started: nearly two workers a core.
# Compiled modules are kept: the programs under test would compile two hundred of them at every start.
export PYTHONDONTWRITEBYTECODE :=
export PYTEST_XDIST_AUTO_NUM_WORKERS ?= $(shell $(PYTHON) -c 'import os; print(2 * (os.cpu_count() or 1) - 1)')
STAMP := $(VENV)/.installed
# Each test has a database of its own, and a disk takes milliseconds for every commit: in memory, where that has room for them.
SCRATCH = $(shell $(PYTHON) -c 'import os, shutil, tempfile; \
	shm = "/dev/shm"; room = os.access(shm, os.W_OK) and shutil.disk_usage(shm).free > 4 << 30; \
	print(shm if room else tempfile.gettempdir())')
# Measuring coverage has hung the interpreter of Python 3.11.2 for good, twice in two runs, never that of 3.11.7: not before that.
COVERAGE = $(shell $(BIN)/python -c 'import sys; print("--cov --cov-report=term --cov-fail-under=90" * (sys.version_info >= (3, 11, 7)))')

.PHONY: help install run demo-live test chaos check eval bench docs clean lock

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(STAMP): $(LOCK) pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Ricordo needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@echo "Setting up $(VENV): about 850 MB, one to five minutes, nothing is shown meanwhile"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $(LOCK)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(STAMP)

install: $(STAMP) ## Set up .venv from the lock file

run: $(STAMP) ## Go live, or play the bundled chat where no Twitch account is configured
	$(BIN)/ricordo run

demo-live: $(STAMP) ## Talk to the live bot in this terminal, without a Twitch account (ARGS="--play": a chat log talks)
	$(BIN)/python tests/demo_live.py $(ARGS)

test: $(STAMP) ## Run the tests
	@$(if $(COVERAGE),,echo "coverage is not measured under this Python: it can hang before 3.11.7")
	@scratch=$$(mktemp -d -p $(SCRATCH)) && trap 'rm -rf "$$scratch"' EXIT && \
		TMPDIR=$$scratch $(BIN)/python -m pytest --numprocesses auto --dist worksteal --durations=25 $(COVERAGE)

chaos: $(STAMP) ## Kill the bot hundreds of times, at random and at every step (up to 15 minutes)
	$(BIN)/python -m pytest tests/chaos tests/integration/test_bench.py -m 'chaos or not chaos' -rP --quiet --override-ini='addopts=--import-mode=importlib --strict-markers'

check: $(STAMP) ## Lint, types, import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

eval: $(STAMP) ## Measure the memory on the bundled annotated chat
	$(BIN)/ricordo eval replays/samples/*.jsonl

bench: $(STAMP) ## Measure speed and memory, goals beside the figures (docs/performance.md; most of an hour)
	$(BIN)/python -m bench

docs: $(STAMP) ## Write docs/configuration.md, docs/privacy.md and the map of the code anew
	$(BIN)/python -m config.document
	$(BIN)/python tests/module_map.py

lock: ## Write the lock file anew (needs uv)
	uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-header --output-file $(LOCK)

clean: ## Remove everything that make made
	rm -rf $(VENV) build out .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
