# Every target sets up what it needs: a virtual environment in .venv from the versions in constraints.txt.
.DEFAULT_GOAL := help
.PHONY: help install run test test-full test-compiled check compiled bench docs fuzz tokenizers

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
COMPILED := .cache/compiled

help:  ## What there is to make
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(READY): pyproject.toml constraints.txt
	scripts/create-environment "$(PYTHON)"
	touch $@

install: $(READY)  ## Set up .venv with everything that development needs

run: $(READY)  ## Start the service with the bundled tokenizers and the playground: http://127.0.0.1:30000/playground/
	$(BIN)/sluicegate serve --demo --host 127.0.0.1

test: $(READY)  ## Run all tests
	scripts/test

test-full: $(READY) tokenizers  ## Run all tests, with every real tokenizer
	scripts/test --full

check: $(READY)  ## Lint, types (mypy and pyright, strict), layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/lint-imports

$(COMPILED)/ready: $(READY) scripts/build-compiled $(shell find src -name '*.py')
	scripts/build-compiled
	touch $@

compiled: $(COMPILED)/ready  ## Build a wheel with a compiled core (needs a C compiler), and put it into .cache/compiled

test-compiled: compiled  ## Run the tests of the core and of all formats on the compiled core
	PYTHONPATH=$(COMPILED) $(BIN)/python -m pytest -n auto tests/core tests/dialects

bench: $(READY) tokenizers compiled  ## Run the benchmarks on the compiled core and write docs/performance.md
	PYTHONPATH=$(COMPILED) $(BIN)/python -m benchmarks

docs: $(READY)  ## Write the generated pages of docs/
	$(BIN)/python docs/generate.py

fuzz: $(READY)  ## Fuzz every format for 20 minutes (SECONDS=n for another time)
	$(BIN)/python -m fuzz --seconds $(or $(SECONDS),1200)

tokenizers: $(READY)  ## Fetch the real tokenizers into .cache/tokenizers
	$(BIN)/python scripts/fetch-tokenizers
