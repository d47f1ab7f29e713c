# Everything runs in the project's own .venv; nothing outside this folder is touched.
SUITABLE := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))
PYTHONS := python3.11 python3.12 python3.13 python3.14 python3 python
PYTHON ?= $(shell for name in $(PYTHONS); do $$name -c '$(SUITABLE)' 2>/dev/null && echo $$name && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: demo test test-browser test-spark test-postgres cover bench docs calibrate check clean

$(VENV)/.pip: constraints.txt
	@'$(PYTHON)' -c '$(SUITABLE)' 2>/dev/null || { \
	  echo 'alldags needs Python 3.11 or newer, with its venv module. Tried: $(or $(PYTHON),$(PYTHONS)).' \
	    'Say which one to use: make $(MAKECMDGOALS) PYTHON=/path/to/python' >&2; exit 1; }
	'$(PYTHON)' -m venv $(VENV)
	$(PIP) install --quiet --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/.core: $(VENV)/.pip pyproject.toml
	$(PIP) install --quiet --constraint constraints.txt --editable '.[plot,report,files]'
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	$(PIP) install --quiet --constraint constraints.txt --editable '.[plot,report,arviz,files,excel,stata,experiments,dask]' --group test --group check
	@touch $@

$(VENV)/.browser: $(VENV)/.dev
	$(PIP) install --quiet --constraint constraints.txt --group browser
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
	  { apt-get update --quiet && apt-get install --yes --quiet --no-install-recommends chromium chromium-driver; }
	@touch $@

$(VENV)/.spark: $(VENV)/.dev
	$(PIP) install --quiet --constraint constraints.txt --group spark
	@command -v java >/dev/null || \
	  { apt-get update --quiet && apt-get install --yes --quiet --no-install-recommends openjdk-17-jre-headless; }
	@touch $@

$(VENV)/.postgres: $(VENV)/.dev
	$(PIP) install --quiet --constraint constraints.txt --group postgres
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || \
	  { apt-get update --quiet && apt-get install --yes --quiet --no-install-recommends postgresql; }
	@touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(PIP) install --quiet --constraint constraints.txt --group docs
	@touch $@

demo: $(VENV)/.core
	$(BIN)/alldags demo

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile

# The report and the local page in a real browser: Debian's chromium and chromium-driver.
test-browser: $(VENV)/.browser
	ALLDAGS_BROWSER=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest tests/browser

# Spark in local mode, with Debian's Java 17.
test-spark: $(VENV)/.spark
	ALLDAGS_SPARK=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest tests/spark

# Debian's PostgreSQL server, started on this machine alone for the tests, as a user that is not root.
test-postgres: $(VENV)/.postgres
	ALLDAGS_POSTGRES=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest tests/postgres

# The compiled loops run as plain Python, so that coverage sees which of their lines and branches the tests reach.
cover: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/engines -m kernels \
	  --numprocesses auto --cov --cov-report=term-missing

calibrate: $(VENV)/.dev
	$(BIN)/python -m pytest tests/calibration --calibrate
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m calibration.ranks --n-jobs -1
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m calibration.robust --n-jobs -1
	$(BIN)/python docs/figures/calibrated.py
	$(BIN)/python -m calibration

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

clean:
	rm -rf $(VENV) build dist docs/_build docs/gallery docs/sg_execution_times.rst .pytest_cache .mypy_cache .ruff_cache
