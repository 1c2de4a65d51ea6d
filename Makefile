# What people type. Needs Python 3.11 or later, make and git; everything else is fetched into .venv.

SHELL := /bin/sh
# The tests start many processes: what Python has compiled is kept beside the code, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE
PY := .venv/bin/python
DATA = MEMORYHUB_DATA_DIR="$$scratch"
SCRATCH = scratch=$$(mktemp -d); trap 'rm -rf "$$scratch"' EXIT INT TERM
# PostgreSQL's driver is fetched only where it is asked for.
NEEDED := requirements.txt $(if $(filter postgres%,$(DATABASE_URL)),requirements-postgres.txt)
DEVELOPED := requirements.txt requirements-postgres.txt requirements-tracing.txt requirements-dev.txt
PORT ?= 8000
# Many tests wait for a disk or a browser: more of them at once than two cores. Each process begins with neighbours, which
# share a server, and helps the others when it has done its own.
PYTEST_OPTIONS ?= -n 4 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help run test test-postgres test-long test-deploy fuzz lint format benchmark benchmark-stores benchmark-pages benchmark-retention benchmark-webhooks pictures package sbom schema lock clean needed developed

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile

run: needed ## Start the hub with demo data on http://127.0.0.1:8000
	@MEMORYHUB_URL="$${MEMORYHUB_URL:-http://127.0.0.1:$(PORT)}" exec $(PY) manage.py serve --demo --port $(PORT)

test: developed ## Run the tests on SQLite, those with a browser where a Chromium is or can be installed (MEMORYHUB_PUSH=1: the slow ones, too)
	@sh tools/debian.sh chromium || echo "No Chromium: browser tests are skipped."
	@sh tools/debian.sh fonts || echo "Fonts are missing: pages are tried with those that this machine has."
	@sh tools/typescript.sh || echo "No TypeScript SDK: its tests are skipped."
	MEMORYHUB_REQUIRE_STORE=1 $(PY) -m pytest $(PYTEST_OPTIONS)

test-postgres: developed ## Run the tests that ask the database on a private PostgreSQL cluster
	@sh tools/debian.sh chromium || echo "No Chromium: browser tests are skipped."
	@sh tools/debian.sh fonts || echo "Fonts are missing: pages are tried with those that this machine has."
	@sh tools/typescript.sh || echo "No TypeScript SDK: its tests are skipped."
	MEMORYHUB_REQUIRE_STORE=1 MEMORYHUB_TEST_DATABASE=postgres $(PY) -m pytest $(PYTEST_OPTIONS)

test-long: developed ## Run the tests that have a long form in it, on both databases (hours)
	@sh tools/debian.sh libfaketime || echo "No libfaketime: the test with a clock that jumps is skipped."
	@sh tools/debian.sh pgbouncer || echo "No PgBouncer: its test is skipped."
	for database in sqlite postgres; do \
	  MEMORYHUB_LONG=1 MEMORYHUB_TEST_DATABASE=$$database \
	  $(PY) -m pytest -p no:xdist $$(grep -rlE '^from tests.support.long import|mark\.long\b|\baxe\(|assert_audit_is_right' --include='*.py' tests) || exit 1; done

test-deploy: developed ## Follow docs/deploy.md on bare Debian machines of its own (as root, half an hour; SUITE=trixie for Debian 13)
	$(PY) -m tests.deploy --suite $${SUITE:-bookworm}

fuzz: developed ## Ask the API 20,000 made-up questions (about ten minutes)
	MEMORYHUB_FUZZ_REQUESTS=$${MEMORYHUB_FUZZ_REQUESTS:-20000} $(PY) -m pytest -p no:xdist tests/api/test_fuzz.py

lint: developed ## Check style, types, templates, deployment settings and migrations
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	@$(SCRATCH); $(DATA) $(PY) -m mypy
	git ls-files -z 'templates/*.html' 'memoryhub/*.html' | xargs -0 .venv/bin/djade --check --target-version 5.2
	@$(SCRATCH); $(DATA) MEMORYHUB_URL=https://hub.example.com $(PY) manage.py check --deploy --fail-level WARNING
	@$(SCRATCH); $(DATA) $(PY) manage.py makemigrations --check --dry-run

format: developed ## Write code and templates in the one style
	$(PY) -m ruff check --fix
	$(PY) -m ruff format
	git ls-files -z 'templates/*.html' 'memoryhub/*.html' | xargs -0 .venv/bin/djade --target-version 5.2 || true

benchmark: developed ## Measure tool calls on a fresh hub (some minutes)
	$(PY) -m benchmarks.tool_calls

benchmark-stores: developed ## Measure the memory_stores API, and its lists in a large store (some minutes)
	$(PY) -m benchmarks.memory_stores

benchmark-pages: developed ## Measure every page in a large store and in a small one (about half an hour)
	$(PY) -m benchmarks.pages

benchmark-retention: developed ## Measure rehearsals, and tool calls while memories expire (some minutes)
	$(PY) -m benchmarks.retention

benchmark-webhooks: developed ## Measure tool calls with webhooks of which one hangs and one is down (some minutes)
	$(PY) -m benchmarks.webhooks

pictures: developed ## Take pictures of every page on demo data, both widths and themes, into ./pictures
	@sh tools/debian.sh chromium
	$(PY) -m pytest -p no:xdist tests/web/all_pages/pictures.py

package: developed ## Make the wheel and the source archive of the hub in ./dist
	$(PY) -m hatchling build

sbom: developed ## Write the list of all packages with which the hub runs, as CycloneDX, into ./dist
	@sh tools/sbom.sh

schema: developed ## Make the small database of this version that the tests of later versions migrate, in tests/schemas
	$(PY) tools/schema_fixture.py

lock: ## Write requirements*.txt of the short requirements*.in, with hashes (LOCK_OPTIONS=--upgrade for newer ones)
	@sh tools/lock.sh $(LOCK_OPTIONS)

clean: ## Remove what was made, but never the data
	rm -rf .venv staticfiles dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

needed:
	@sh tools/environment.sh $(NEEDED)

developed:
	@sh tools/environment.sh $(DEVELOPED)
