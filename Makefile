# All that a developer types. Everything is installed into .venv/, everything fetched or written goes to build/.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --warn-undefined-variables --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

PYTHON ?= python3
KAFKA_VERSION ?= 4.3.1
BROKERS ?= 1
SHARE ?= 0
PORT ?=
KEEP_DATA ?=
ONLY ?=
QUICK ?=
WORKERS ?= 3
UNIT_WORKERS ?= 2
MINUTES ?= 60

BIN := .venv/bin
# Stamps of what is installed: what somebody needs who only looks, and then all that a developer needs.
DEMO_INSTALLED := .venv/.installed-demo
INSTALLED := .venv/.installed
PYTEST := $(BIN)/python -m pytest

# Tests that need nothing but Python: `make unit`. What stands in no list here is run by `make test` beside them.
UNIT_TESTS := $(wildcard tests/unit tests/properties tests/models tests/transcripts tests/interop tests/demo tests/ui tests/deploy)
# They weigh what is in memory, which takes several times as long in a process that has run thousands of other tests.
WEIGHING_TESTS := $(wildcard tests/fuzz tests/hostile)
DOCUMENT_TESTS := tests/documents
QUICK_TESTS := $(UNIT_TESTS) $(WEIGHING_TESTS) $(DOCUMENT_TESTS)

REAL_TESTS := tests $(addprefix --ignore=,$(QUICK_TESTS)) -m "not soak"

# Workers share the tests as tests/workers.py says. Those with real Kafka wait half of their time, for brokers, clients and
# sessions that end, so three of them keep two cores busy; each has clusters of its own. The others compute all the time.
SHARED := --numprocesses $(WORKERS) --dist loadfile
UNITS_SHARED := --numprocesses $(UNIT_WORKERS) --dist loadfile

.PHONY: help
help: ## this list
	@echo "make TARGET, where TARGET is one of"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ------------------------------------------------ set-up

.PHONY: setup
setup: prerequisites $(INSTALLED) ## install all that developers need into .venv/, .venv/bin/kproxy too

.PHONY: prerequisites
prerequisites:
	@PYTHON=$(PYTHON) .ci/prerequisites python java maven

.PHONY: prerequisites-of-tests
prerequisites-of-tests:
	@PYTHON=$(PYTHON) .ci/prerequisites python java maven ip

.PHONY: prerequisites-of-soak
prerequisites-of-soak:
	@PYTHON=$(PYTHON) .ci/prerequisites python java maven go ip

.PHONY: prerequisites-of-benchmarks
prerequisites-of-benchmarks:
	@PYTHON=$(PYTHON) .ci/prerequisites python java maven haproxy

# PySpark comes as source, and is built with what is installed here and pinned, not with what is newest today.
PIP_INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt
BUILD_TOOLS := hatchling editables setuptools wheel

$(DEMO_INSTALLED): constraints.txt pyproject.toml
	@PYTHON=$(PYTHON) .ci/prerequisites python
	@echo "Installing kproxy and what the demo needs into .venv/"
	$(PYTHON) -m venv .venv
	$(PIP_INSTALL) $(BUILD_TOOLS)
	$(PIP_INSTALL) --no-build-isolation --editable '.[demo,spark]'
	@touch $@

$(INSTALLED): $(DEMO_INSTALLED)
	@echo "Installing what tests, checks and benchmarks need into .venv/"
	$(PIP_INSTALL) --no-build-isolation --editable '.[dev]'
	@touch $@

# ------------------------------------------------ the real thing

.PHONY: demo
demo: prerequisites $(DEMO_INSTALLED) ## three share consumers on a real Kafka through kproxy, replayed by Spark; PROXIES=3: through three; KEEP=1 leaves it running
	@exec $(BIN)/python -m tests.demo

.PHONY: kafka
kafka: prerequisites $(DEMO_INSTALLED) ## a real local cluster until Ctrl-C: KAFKA_VERSION=4.3.1 BROKERS=1 SHARE=0, PORT=9092, KEEP_DATA=FOLDER
	@exec $(BIN)/python -m tests.real_kafka --version $(KAFKA_VERSION) --brokers $(BROKERS) --share $(SHARE) \
	  $(addprefix --port=,$(PORT)) $(if $(KEEP_DATA),--keep-data='$(KEEP_DATA)')

# ------------------------------------------------ benchmarks

.PHONY: bench
bench: prerequisites-of-benchmarks setup ## what kproxy costs, on a real Kafka: ONLY=relay takes one benchmark, QUICK=1 little of each
	@exec $(BIN)/python -m tests.benchmarks $(addprefix --only=,$(ONLY)) $(if $(QUICK),--quick)

# ------------------------------------------------ tests

.PHONY: test
test: prerequisites-of-tests setup check ## every test but the long ones, on real Kafka clusters and with real clients
	$(PYTEST) $(REAL_TESTS) $(SHARED)

.PHONY: unit
unit: $(INSTALLED) ## unit tests, properties, models: about six minutes
	$(PYTEST) $(UNIT_TESTS) -m "not soak" $(UNITS_SHARED)
	$(PYTEST) $(WEIGHING_TESTS) -m "not soak" $(UNITS_SHARED)

.PHONY: soak
soak: prerequisites-of-soak setup ## the long proofs
	$(PYTEST) tests -m soak

# Coverage leads the fuzzer where atheris can be installed; it is nothing that other targets need.
FUZZING_TOOLS := build/fuzzing/tools

$(FUZZING_TOOLS): .ci/fuzzing-tools.txt
	@rm -rf $@
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --target $@ --requirement $< \
	  || { echo "atheris cannot be installed here: inputs are made without looking at coverage"; mkdir -p $@; }
	@touch $@

.PHONY: fuzz
fuzz: $(INSTALLED) $(FUZZING_TOOLS) ## bytes that nobody would send, for MINUTES=60 in all; ONLY=slots takes one target
	@PYTHONPATH=$(FUZZING_TOOLS) $(BIN)/python -m tests.fuzz --minutes $(MINUTES) $(addprefix --only=,$(ONLY))

# What drives a browser is nothing that other targets need, and the browser is Debian's.
BROWSER_TOOLS := build/ui/tools

$(BROWSER_TOOLS): .ci/browser-tools.txt
	@rm -rf $@
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --target $@ --requirement $<

.PHONY: ui
ui: $(INSTALLED) $(BROWSER_TOOLS) ## the web view in headless Chromium; pictures of it are left in build/ui/
	@.ci/prerequisites chromium
	@PYTHONPATH=$(BROWSER_TOOLS) $(PYTEST) tests/ui

.PHONY: coverage
coverage: $(INSTALLED) ## what the unit tests reach: all of the pure packages, every branch
	$(PYTEST) $(UNIT_TESTS) $(WEIGHING_TESTS) -m "not soak" --cov --cov-report=term:skip-covered
	$(BIN)/coverage report --skip-covered --show-missing --fail-under=100 \
	  --include='kproxy/wire/*,kproxy/share/*,kproxy/statelog/*,kproxy/fleet/*,kproxy/interception/*'

# ------------------------------------------------ checks

.PHONY: check
check: generate-check lint layers types unit docs-check ## what a commit must pass

.PHONY: generate
generate: $(INSTALLED) ## write kproxy/wire/messages/ from schemas/
	$(BIN)/python -m kproxy.schema_compiler

.PHONY: generate-check
generate-check: $(INSTALLED) ## is kproxy/wire/messages/ what schemas/ say?
	$(BIN)/python -m kproxy.schema_compiler --check

.PHONY: format
format: $(INSTALLED) ## format the code and mend what can be mended
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

.PHONY: lint
lint: $(INSTALLED) ## ruff: rules and format
	$(BIN)/ruff check
	$(BIN)/ruff format --check

.PHONY: layers
layers: $(INSTALLED) ## import-linter: who may import whom
	$(BIN)/lint-imports

.PHONY: types
types: $(INSTALLED) ## mypy, strict
	$(BIN)/mypy

.PHONY: deploy-checks
deploy-checks: $(INSTALLED) ## deploy/ by the tools: Helm, kubeconform, systemd-analyze; the first time they are built
	@.ci/check-deploy

.PHONY: dist
dist: $(INSTALLED) ## the sdist, and the wheel that is made of it, in dist/; both carry the commit
	@rm -rf dist
	$(BIN)/python -m build --outdir dist

.PHONY: release-checks
release-checks: $(INSTALLED) ## sdist and wheel, built and installed into empty environments; needs the package index
	$(PYTEST) tests/packaging

.PHONY: sbom
sbom: $(INSTALLED) ## what the wheel brings with it: a CycloneDX bill of materials and its licences, in build/supply-chain/
	$(BIN)/python -m tests.packaging.supply_chain bill

.PHONY: audit
audit: $(INSTALLED) ## known vulnerabilities of what the wheel brings with it; fails, too, where the advisories cannot be reached
	$(BIN)/python -m tests.packaging.supply_chain audit

.PHONY: alert-checks
alert-checks: ## promtool: Prometheus' configuration, and the unit tests of the alerts in deploy/prometheus/
	@.ci/check-alerts

.PHONY: docs-check
docs-check: $(INSTALLED) ## do the documents say what is so?
	$(PYTEST) $(DOCUMENT_TESTS)
