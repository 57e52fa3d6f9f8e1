# Everything starts here and needs nothing but Python >= 3.11 and make.
#
#   make demo      open the interactive scene in the browser
#   make test      all tests but the slow ones, plain and compiled: about 12 minutes on two cores
#   make test-all  the slow tests, too, and all with bounds checks: about an hour
#
# Versions come from requirements/dev.lock; `make lock` resolves them anew from pyproject.toml.

VENV := .venv
PY := $(VENV)/bin/python
LOCK := requirements/dev.lock
MIN_COVERAGE := 90

# The first Python that is new enough and can make a virtual environment; or `make PYTHON=… demo`.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3 python; do \
	$$p -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo $$p; break; }; done)
PIP := $(PY) -m pip --disable-pip-version-check
INSTALL := $(PIP) install --constraint $(LOCK) --build-constraint $(LOCK)
INSTALL_LOG := $(VENV)/install.log
# An installer's lines, warnings among them, are of use only when it fails.
QUIETLY := >>$(INSTALL_LOG) 2>&1 || { tail -n 20 $(INSTALL_LOG) >&2; \
	echo 'tangere: the installation failed; all it said: $(INSTALL_LOG)' >&2; exit 1; }
PYTEST := $(PY) -m pytest
SMALL := nojit and not slow and not browser

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-compiled test-slow test-nojit test-checked lint format bench results docs lock clean

help:
	@sed -n 's/^#   //p' $(MAKEFILE_LIST)
	@echo 'make test-nojit | test-checked | test-compiled | test-slow | lint | format | bench | results | docs | lock | clean'

# ---------------------------------------------------------------- the virtual environment
$(VENV)/.made:
	@test -n "$(PYTHON)" || { echo 'tangere needs Python 3.11 or later with venv: none found; install it, or say make PYTHON=/path/to/python' >&2; exit 1; }
	@echo 'making $(VENV) with $(PYTHON)'
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --upgrade --constraint $(LOCK) pip $(QUIETLY)
	@touch $@

$(VENV)/.run: $(VENV)/.made pyproject.toml $(LOCK)
	@echo 'installing tangere (about 600 MB with its libraries)'
	@$(INSTALL) --editable . $(QUIETLY)
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@echo 'installing the test tools and the other engines'
	@$(INSTALL) --group dev $(QUIETLY)
	@touch $@

$(VENV)/.docs: $(VENV)/.run
	@echo 'installing the tools for the pages'
	@$(INSTALL) --group docs $(QUIETLY)
	@touch $@

# ---------------------------------------------------------------- use
demo: $(VENV)/.run
	$(PY) -m tangere.warmup
	$(VENV)/bin/tangere play

bench: $(VENV)/.dev
	$(VENV)/bin/tangere bench

# Experiments and benchmarks whose sources have changed, stored for the pages; about an hour for all.
results: $(VENV)/.dev
	$(PY) docs/results.py

docs: $(VENV)/.docs
	$(VENV)/bin/sphinx-build -W --keep-going -b html docs docs/_build/html
	@echo 'open docs/_build/html/index.html'

# ---------------------------------------------------------------- check
# The plain-Python build gives the coverage of the kernels and checks every index on small inputs;
# the compiled build runs all but what is marked slow; the checked build turns a bad index of compiled
# code into an error, on long runs as well. A compiled build is warmed up first: otherwise all test
# processes would compile the same kernels at once. Sessions in real time and pages in a browser
# come last and one at a time.
test:
	@sed -n 's/^#   \(make test[-a-z]*\)  */\1: /p' $(firstword $(MAKEFILE_LIST))
	@$(MAKE) --no-print-directory test-nojit test-compiled

test-all: test
	@$(MAKE) --no-print-directory test-checked test-slow

test-nojit: $(VENV)/.dev
	NUMBA_DISABLE_JIT=1 $(PYTEST) -n auto -m '$(SMALL)' --cov --cov-report=term --cov-fail-under=$(MIN_COVERAGE)

test-checked: $(VENV)/.dev
	TANGERE_CHECK=1 $(PY) -m tangere.warmup all
	TANGERE_CHECK=1 $(PYTEST) -n auto -m 'not slow and not live and not browser'

test-compiled: $(VENV)/.dev
	$(PY) -m tangere.warmup all
	$(PYTEST) -n auto -m 'not slow and not live'
	$(PYTEST) -m 'live and not slow'

test-slow: $(VENV)/.dev
	$(PY) -m tangere.warmup all
	$(PYTEST) -n auto -m slow

lint: $(VENV)/.dev
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

format: $(VENV)/.dev
	$(VENV)/bin/ruff check --fix-only .
	$(VENV)/bin/ruff format .

# ---------------------------------------------------------------- housekeeping
# A fresh resolution in a throw-away environment, names and versions only.
lock:
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --upgrade pip
	build/lock/bin/python -m pip install --quiet . hatchling editables --group dev --group docs
	{ echo '# Every version tangere is tested with (Python 3.11, Linux x86-64); made by `make lock`.'; \
	  build/lock/bin/python -m pip freeze --all --exclude tangere --exclude setuptools; } > $(LOCK)
	rm -rf build/lock

clean:
	rm -rf $(VENV) build dist docs/_build .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
