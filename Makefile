# Everything runs in the project's own .venv; nothing outside this folder is touched.
SUITABLE := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))
PYTHONS := python3.11 python3.12 python3.13 python3.14 python3 python
PYTHON ?= $(call first_of,$(PYTHONS))
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

EXTRAS := plot,report,arviz,files,excel,stata,experiments,dask

# Two more sets of versions, each in an environment of its own: the newest of everything, and the least that
# pyproject.toml allows. pyenv's Pythons are found where it keeps them, whether or not they are switched on.
NEWEST := .venv-newest
OLDEST := .venv-oldest
KEPT := $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions
NEWEST_PYTHON ?= $(call first_of,python3.13 $(wildcard $(KEPT)/3.13*/bin/python) python3.14 $(wildcard $(KEPT)/3.14*/bin/python))
OLDEST_PYTHON ?= $(call first_of,python3.11 $(wildcard $(KEPT)/3.11*/bin/python))
first_of = $(shell for name in $(1); do $$name -c '$(SUITABLE)' 2>/dev/null && echo $$name && break; done)
PYTEST := -m pytest --numprocesses auto --dist loadfile

.PHONY: demo test quick test-newest test-oldest test-browser test-spark test-postgres cover fuzz faults bench docs dist calibrate check clean

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
	$(PIP) install --quiet --constraint constraints.txt --editable '.[$(EXTRAS)]' --group test --group check
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

$(NEWEST)/.dev: pyproject.toml
	@test -n '$(NEWEST_PYTHON)' || { echo 'found no Python 3.13; say where: make $(MAKECMDGOALS) NEWEST_PYTHON=...' >&2; exit 1; }
	'$(NEWEST_PYTHON)' -m venv --clear $(NEWEST)
	$(NEWEST)/bin/python -m pip --disable-pip-version-check install --quiet --upgrade pip
	$(NEWEST)/bin/python -m pip install --quiet --upgrade --editable '.[$(EXTRAS)]' --group test
	@touch $@

$(OLDEST)/.dev: pyproject.toml
	@test -n '$(OLDEST_PYTHON)' || { echo 'found no Python 3.11; say where: make $(MAKECMDGOALS) OLDEST_PYTHON=...' >&2; exit 1; }
	'$(OLDEST_PYTHON)' -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python -m pip --disable-pip-version-check install --quiet uv
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python --resolution lowest-direct --compile-bytecode \
	  --editable '.[$(EXTRAS)]' --group test 'pyparsing>=3.2,<3.3'  # newer ones warn in the matplotlib of then
	@touch $@

demo: $(VENV)/.core
	$(BIN)/alldags demo

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check
	OPENBLAS_NUM_THREADS=1 $(BIN)/python $(PYTEST)

# One room's fast tests in seconds: make quick ROOM=answers. What is left out stands in tests/slow.txt.
ROOM :=
quick: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --quick tests/$(ROOM)

test-newest: $(NEWEST)/.dev
	NUMBA_CACHE_DIR=$(CURDIR)/$(NEWEST)/numba OPENBLAS_NUM_THREADS=1 $(NEWEST)/bin/python $(PYTEST)

test-oldest: $(OLDEST)/.dev
	NUMBA_CACHE_DIR=$(CURDIR)/$(OLDEST)/numba OPENBLAS_NUM_THREADS=1 $(OLDEST)/bin/python $(PYTEST)

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

# Hostile inputs for a while; SECONDS=1800 for longer, FUZZ='--seed 7 --only graph' for others.
SECONDS := 60
FUZZ :=
fuzz: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m fuzz --seconds $(SECONDS) $(FUZZ)

# Kills, full disks, no rights, no memory, Ctrl-C at every second; root is not needed. FAULTS='--only killed' for some.
FAULTS :=
faults: $(VENV)/.dev
	$(BIN)/python -m faults $(FAULTS)

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

# The tutorials on textbook data are run here, where the package that ships these data is installed; other pages by the tests.
docs: $(VENV)/.docs
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest tests/docs/test_pages.py -k textbook
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# Source archive and wheel, built twice and compared byte for byte; then installed where nothing else is, and tried:
# the command, and tests of the archive against the package of the wheel.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 1577836800)
CLEAN := build/clean/bin/python
dist: $(VENV)/.dev
	rm -rf dist build
	$(BIN)/python -m hatchling build --directory dist
	$(BIN)/python -m hatchling build --directory build/again
	diff --recursive dist build/again
	$(BIN)/python -m venv build/clean
	$(CLEAN) -m pip --disable-pip-version-check install --quiet --constraint constraints.txt \
	  "$$(ls $(CURDIR)/dist/*.whl)[plot,report,files]" pytest pytest-timeout hypothesis
	mkdir build/archive && tar --extract --file dist/*.tar.gz --directory build/archive --strip-components 1
	cd build/archive && ../clean/bin/alldags --version --json && ../clean/bin/alldags demo
	cd build/archive && OPENBLAS_NUM_THREADS=1 ../clean/bin/python -m pytest tests/graph/test_candidate_graph.py \
	  tests/effects/test_brute_force.py tests/cli/test_options.py tests/test_files.py
	@cd dist && sha256sum *

clean:
	rm -rf $(VENV) $(NEWEST) $(OLDEST) build dist docs/_build docs/gallery docs/sg_execution_times.rst .pytest_cache .mypy_cache .ruff_cache
