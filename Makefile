# One verb each; `make` lists them.
PYTHON ?= python3
PORT ?= 8000
DATA_DIR ?= var
# Of make bench: full or small, how many rounds, and seconds of each measurement.
SCALE ?= full
export PORT DATA_DIR

VENV := .venv
BIN := $(VENV)/bin
# Changes whenever a requirement or the Python does, so that an old environment is made anew.
STAMP := $(VENV)/.installed
BENCH_STAMP := $(VENV)/.installed-bench

.PHONY: help install run test bench check format openapi fuzz lock
.DEFAULT_GOAL := help

help:
	@echo "make run      serve the API with its demo on http://127.0.0.1:$(PORT)"
	@echo "make test     run the tests"
	@echo "make bench    measure the service beside its peers (SCALE=small: a smoke test)"
	@echo "make check    lint, format, types, migrations"
	@echo "make format   write the code in its format"
	@echo "make openapi  write the OpenAPI document, docs/openapi.json"
	@echo "make fuzz     look for flaws of the API at random for SECONDS=300"
	@echo "make install  make the virtual environment .venv"
	@echo "make lock     pin the newest versions that pyproject.toml allows"
	@echo "Variables: PORT=8000, DATA_DIR=var, PYTHON=python3"

install: $(STAMP)

$(STAMP): requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1 | head -n 1)." \
			"Choose another: make run PYTHON=python3.12" >&2; exit 1; }
	@echo "Making the virtual environment .venv; the first time takes a minute or two."
	@$(PYTHON) -m venv $(VENV) || { \
		echo "$(PYTHON) cannot make virtual environments; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip install --disable-pip-version-check --require-virtualenv -r requirements-dev.txt
	@touch $@

$(BENCH_STAMP): requirements-bench.txt $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-virtualenv \
		-r requirements-bench.txt
	@touch $@

# exec: a signal to make's child is a signal to the server, and no shell is left in between.
run: $(STAMP)
	@exec $(BIN)/python manage.py run --stop-with-parent

test: $(STAMP)
	@$(BIN)/python -m pytest

bench: $(BENCH_STAMP)
	@$(BIN)/python -m bench --scale $(SCALE) $(if $(ROUNDS),--rounds $(ROUNDS)) \
		$(if $(DURATION),--duration $(DURATION))

check: $(BENCH_STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy .
	$(BIN)/python manage.py makemigrations --check --dry-run

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

openapi: $(STAMP)
	$(BIN)/python manage.py spectacular --format openapi-json --fail-on-warn --file docs/openapi.json

fuzz: $(STAMP)
	@FUZZ_SECONDS=$(or $(SECONDS),300) $(BIN)/python -m pytest tests/test_openapi_fuzzed.py

lock: $(STAMP)
	$(BIN)/uv pip compile --quiet --upgrade --universal --no-emit-index-url \
		--custom-compile-command "make lock" pyproject.toml -o requirements.txt
	$(BIN)/uv pip compile --quiet --upgrade --universal --no-emit-index-url \
		--custom-compile-command "make lock" -c requirements.txt pyproject.toml --group dev \
		-o requirements-dev.txt
	$(BIN)/uv pip compile --quiet --upgrade --universal --no-emit-index-url \
		--custom-compile-command "make lock" -c requirements.txt -c requirements-dev.txt \
		--group pyproject.toml:bench -o requirements-bench.txt
