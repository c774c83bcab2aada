# Everything a developer does. `make help` lists the targets.
# Each target builds what it needs in .venv, from the pinned files in requirements/, with venv and pip alone.
# A stamp in .venv records what is installed, so a second call starts at once.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3.11
BIN := .venv/bin
# twice quiet: errors alone, not a warning for every place where a package was not found
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
# The package itself: nothing is looked up, the build backend comes from the lock.
INSTALL_SELF := $(PIP) install --no-deps --no-build-isolation --no-index --editable .
PYTEST := $(BIN)/python -m pytest
UV ?= uv
LOCK := $(UV) pip compile --quiet --generate-hashes --universal --python-version 3.11 --no-emit-index-url --no-header $(LOCK_FLAGS) pyproject.toml
EXTRAS_RUN := --extra cli --extra secure --extra query
EXTRAS_TEST := $(EXTRAS_RUN) --extra plot --extra frames --extra postgres
BENCHMARKS = $(sort $(filter-out benchmarks/_%,$(wildcard benchmarks/*.py)))

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+[a-zA-Z-]*:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | while IFS=$$'\t' read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

# ---- running ---------------------------------------------------------------------------------------------------

.PHONY: run
run: .venv/.run ## set everything up and run the main job
	$(BIN)/brdp demo

.PHONY: test
test: .venv/.test ## set everything up and run the quick tests
	$(PYTEST) -q -m "not slow"

.PHONY: check
check: .venv/.check ## lint, format, types and the import order
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src
	$(PYTEST) -q tests/test_import_order.py

.PHONY: slow
slow: .venv/.test ## the long tests: statistics, crashes, soaks
	$(PYTEST) -q -m slow

.PHONY: docs
docs: .venv/.test ## run every code block of README and docs/
	$(PYTEST) -q tests/test_docs.py

.PHONY: bench
bench: .venv/.bench ## every benchmark, quick settings
	@failed=""; for script in $(BENCHMARKS); do echo "== $$script"; $(BIN)/python "$$script" || failed="$$failed $$script"; done; \
	  if [ -n "$$failed" ]; then echo "MISSED:$$failed" >&2; exit 1; fi

.PHONY: bench-full
bench-full: .venv/.bench ## every benchmark, full settings (long)
	@failed=""; for script in $(BENCHMARKS); do echo "== $$script --full"; $(BIN)/python "$$script" --full || failed="$$failed $$script"; done; \
	  if [ -n "$$failed" ]; then echo "MISSED:$$failed" >&2; exit 1; fi

# make bench-NAME runs benchmarks/NAME.py, which needs only what `make test` installs unless it says otherwise
bench-%: .venv/.test
	$(BIN)/python benchmarks/$*.py

# ---- setting up ------------------------------------------------------------------------------------------------

.PHONY: engines
engines: .venv/.test ## install what the engine tests need: PostgreSQL, a JRE, pyspark
	@echo "== engines: looking for PostgreSQL and Java"
	@missing=""; \
	  compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null || missing="$$missing postgresql"; \
	  command -v java >/dev/null || missing="$$missing default-jre-headless"; \
	  if [ -z "$$missing" ]; then echo "== both are there"; \
	  elif ! command -v apt-get >/dev/null; then echo "== NOT INSTALLED (no apt-get here):$$missing. Install them by hand; their tests will be skipped until then." >&2; \
	  elif [ "$$(id -u)" != 0 ]; then echo "== NOT INSTALLED (not root):$$missing. Run: apt-get install$$missing" >&2; \
	  else echo "== INSTALLING WITH apt-get:$$missing"; \
	    { timeout 300 apt-get -o Acquire::Retries=1 update && DEBIAN_FRONTEND=noninteractive timeout 900 apt-get install --yes --no-install-recommends $$missing; } \
	      || echo "== NOT INSTALLED (apt-get failed):$$missing. Their tests will be skipped." >&2; \
	  fi
	@echo "== INSTALLING INTO .venv: requirements/spark.lock (pyspark, about 430 MB)"
	$(MAKE) --no-print-directory .venv/.spark

.venv/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "brdp needs $(PYTHON) on the PATH; or name another: make PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv .venv

# The run lock is part of the test lock, and that of the check, bench and spark locks (tests/test_project.py holds them to it),
# so a larger environment serves the smaller ones.
.venv/.run: requirements/run.lock pyproject.toml | .venv/bin/python
	@echo "== installing requirements/run.lock into .venv (about half a minute)"
	$(PIP) install --require-hashes --requirement requirements/run.lock
	$(INSTALL_SELF)
	@touch $@

.venv/.test: requirements/test.lock pyproject.toml | .venv/bin/python
	@echo "== installing requirements/test.lock into .venv (about half a minute)"
	$(PIP) install --require-hashes --requirement requirements/test.lock
	$(INSTALL_SELF)
	@touch .venv/.run $@

.venv/.check: requirements/check.lock .venv/.test
	@echo "== installing requirements/check.lock into .venv"
	$(PIP) install --require-hashes --requirement requirements/check.lock
	@touch $@

.venv/.bench: requirements/bench.lock requirements/opacus.txt requirements/opendp.txt .venv/.test
	@echo "== installing requirements/bench.lock into .venv"
	$(PIP) install --require-hashes --requirement requirements/bench.lock
	$(PIP) install --require-hashes --no-deps --requirement requirements/opacus.txt
	$(PIP) install --require-hashes --no-deps --upgrade --target .venv/opendp --requirement requirements/opendp.txt
	@touch $@

.venv/.spark: requirements/spark.lock .venv/.test
	$(PIP) install --require-hashes --requirement requirements/spark.lock
	@touch $@

# The test lock comes first and constrains the others, so that they never disagree.
# `make lock` keeps what is pinned where it can; `make lock LOCK_FLAGS=--upgrade` takes the newest.
.PHONY: lock
lock: ## write the pinned files anew (needs uv and a package index)
	$(LOCK) $(EXTRAS_TEST) --group test --output-file requirements/test.lock
	$(LOCK) $(EXTRAS_RUN) --group build --constraint requirements/test.lock --output-file requirements/run.lock
	$(LOCK) $(EXTRAS_TEST) --group check --constraint requirements/test.lock --output-file requirements/check.lock
	$(LOCK) $(EXTRAS_TEST) --group bench --constraint requirements/test.lock --output-file requirements/bench.lock
	$(LOCK) $(EXTRAS_TEST) --extra spark --group spark --constraint requirements/test.lock --output-file requirements/spark.lock

.PHONY: clean
clean: ## remove .venv and every cache
	rm -rf .venv .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
