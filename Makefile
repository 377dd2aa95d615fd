# One verb each; `make` lists them.
PYTHON ?= python3
PORT ?= 8000
DATA_DIR ?= var
# Of make bench: full or small; also ROUNDS.
SCALE ?= full
export PORT DATA_DIR

VENV := .venv
BIN := $(VENV)/bin
# Each is newer than the packages that it stands for.
RUN_STAMP := $(VENV)/.installed-run
STAMP := $(VENV)/.installed

# $(call install,FILE): installs the packages in FILE, which lists also what they need. Python compiles them
# when they are imported. It shows one line of progress, and pip's whole output only if pip fails.
install = total=$$(grep -c '==' $(1)); { $(BIN)/python -m pip install --disable-pip-version-check \
	--require-virtualenv --require-hashes --no-deps --no-compile -r $(1) 2>&1; echo $$? >$(VENV)/pip.status; } \
	| tee $(VENV)/pip.log | awk -v total=$$total '/^(Collecting|Ignoring|Requirement already)/ {n++} \
	/^(Collecting|Installing)/ {printf "\r$(1): %d of %d packages", n, total; fflush()} \
	END {printf "\r$(1): installed %d packages\n", total}'; \
	[ "$$(cat $(VENV)/pip.status)" = 0 ] || { cat $(VENV)/pip.log >&2; exit 1; }

.PHONY: help install run reset test test-all test-debian-postgres drill drill-several pictures bench faults check format sbom fuzz lock release
.DEFAULT_GOAL := help

help:
	@echo "make run      serve the API with its demo on http://127.0.0.1:$(PORT)"
	@echo "make reset    delete the data of make run, after asking"
	@echo "make test     run the tests that a commit needs (minutes)"
	@echo "make test-all run all tests: also browsers, nginx, servers that are cut off, kills"
	@echo "make test-debian-postgres run the tests of the database on Debian's PostgreSQL (minutes)"
	@echo "make drill    follow docs/operations.md in a bare Debian, as root (minutes; MANAGED=1: no superuser's roles.sql)"
	@echo "make drill-several take away one machine of nine after the other, as root (8 minutes; ONLY='leader-frozen')"
	@echo "make pictures make docs/pictures, and pictures of all pages in $(DATA_DIR)/tests/screenshots"
	@echo "make bench    measure the service beside its peers (SCALE=small: a smoke test)"
	@echo "make faults   break each part under load (SHORT=1: a smoke test; ONLY='redis-killed overload')"
	@echo "make check    lint, format, types, migrations"
	@echo "make format   write the code in its format"
	@echo "make sbom     write the list of the service's packages, docs/sbom.json"
	@echo "make fuzz     look for flaws of the API at random for SECONDS=300"
	@echo "make install  make the virtual environment .venv"
	@echo "make release  write the archive of VERSION, its packages and checksums into dist/"
	@echo "make lock     pin the newest versions that pyproject.toml allows"
	@echo "Variables: PORT=8000, DATA_DIR=var, PYTHON=python3"

install: $(STAMP)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1 | head -n 1)." \
			"Choose another: make run PYTHON=python3.12" >&2; exit 1; }
	@printf "Creating the virtual environment .venv; the first time takes a minute or two "
	@(while sleep 1 && kill -0 $$$$ 2>/dev/null; do printf .; done) & $(PYTHON) -m venv $(VENV) || { echo; rm -rf $(VENV); \
		echo "$(PYTHON) cannot create virtual environments; on Debian: apt-get install python3-venv" >&2; exit 1; }; \
		kill $$!; echo

$(RUN_STAMP): requirements-run.txt | $(VENV)/bin/python
	@$(call install,requirements-run.txt)
	@touch $@

$(STAMP): requirements-dev.txt | $(VENV)/bin/python
	@$(call install,requirements-dev.txt)
	@touch $@ $(RUN_STAMP)

# exec: a signal to make's child is a signal to the server, and no shell is left in between.
run: $(RUN_STAMP)
	@exec $(BIN)/python -u -m config.dev

reset:
	@test -e "$(DATA_DIR)/secret_key" || { echo "$(DATA_DIR) has no data of make run." >&2; exit 1; }
	@flock -n "$(DATA_DIR)/lock" true || { echo "$(DATA_DIR) is in use: stop make run first, with Ctrl-C." >&2; exit 1; }
	@printf 'This deletes all data in %s: documents, keys, accounts. Type yes to go on: ' "$(DATA_DIR)"
	@read -r answer; [ "$$answer" = yes ] || { echo "Nothing was deleted." >&2; exit 1; }
	@rm -rf "$(DATA_DIR)" && echo "Deleted. make run begins anew."

# A worker for each core, which leaves its last tests to one that has none. Redis has 16 databases,
# and the first is no worker's. tests/README.md says how workers are kept apart.
PYTEST = $(BIN)/python -m pytest -n logical --maxprocesses 15 --dist worksteal
test: $(STAMP)
	@began=$$(date +%s) && $(PYTEST) -m "not slow" && echo "In $$(($$(date +%s) - began)) s. Not run:" \
		"the slow tests (browsers, nginx, servers that are cut off or killed): make test-all"

# Slow tests wait for processes half of the time: three workers for two cores.
test-all: $(STAMP) test-debian-postgres
	@$(PYTEST) -n $$(($$(getconf _NPROCESSORS_ONLN) * 3 / 2))

# Tests whose outcome depends on PostgreSQL's version: plans, triggers, roles, migrations, queues.
DATABASE_TESTS := tests/apikeys/test_admin_usage.py::test_every_filter_reads_its_index \
	tests/audit/test_admin_plans.py tests/audit/test_append_only.py tests/audit/test_guards.py \
	tests/audit/test_seal_audit.py tests/audit/test_verify_audit.py tests/config/test_connections.py \
	tests/config/test_definers.py tests/config/test_roles.py tests/documents/test_document_counts.py \
	tests/documents/test_documents_model.py tests/documents/test_import.py \
	tests/documents/test_pagination.py tests/documents/test_queries.py tests/documents/test_search.py \
	tests/events/test_events*.py tests/events/test_webhooks_queue.py
test-debian-postgres: $(STAMP)
	@tests/on-debian-postgres $(PYTEST) $(DATABASE_TESTS)

drill: $(STAMP)
	@$(BIN)/python -m tests.drill $(if $(MANAGED),--managed)

drill-several: $(STAMP)
	@$(BIN)/python -m tests.drill.several $(if $(ONLY),--only $(ONLY))

pictures: $(STAMP)
	@$(BIN)/python -m pytest --pictures tests/slow/test_admin_browser_*.py tests/slow/test_docs_browser.py \
		tests/slow/test_pictures.py

bench: $(STAMP)
	@$(BIN)/python -m bench --scale $(SCALE) $(if $(ROUNDS),--rounds $(ROUNDS))

faults: $(STAMP)
	@$(BIN)/python -m bench.faults $(if $(SHORT),--short) $(if $(ONLY),--only $(ONLY))

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy .
	$(BIN)/lint-imports
	$(BIN)/python -m config.dev makemigrations --check --dry-run
	DJANGO_SETTINGS_MODULE=tests.support.lint_settings $(BIN)/python -m config.dev lintmigrations

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

sbom: $(STAMP)
	$(BIN)/python tools/sbom.py >docs/sbom.json

release:
	@tools/release.sh "$(VERSION)" dist

fuzz: $(STAMP)
	@FUZZ_SECONDS=$(or $(SECONDS),300) $(BIN)/python -m pytest tests/slow/test_openapi_fuzzed.py

# Each file pins with hashes what pip installs; a later one takes the versions of an earlier one.
COMPILE = $(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --no-emit-index-url \
	--custom-compile-command "make lock" pyproject.toml
lock: $(STAMP)
	$(COMPILE) -o requirements.txt
	$(BIN)/python tools/sbom.py >docs/sbom.json
	$(COMPILE) -c requirements.txt --group run -o requirements-run.txt
	$(COMPILE) -c requirements-run.txt --group dev -o requirements-dev.txt
