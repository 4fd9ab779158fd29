# The only entry point. `make up` and `make test` are all a newcomer needs.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CARGO ?= cargo
# Where cargo builds, if somebody moved it.
BUILT := $(or $(CARGO_TARGET_DIR),target)

.PHONY: help up test real bench check generate web fmt clean

help: ## Say what each target does
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 16

up: ## Build and run everything on the embedded cluster (Ctrl-C stops it)
	@dev/web build
	@echo "==> building maar (the first build takes a quarter of an hour on two cores, later ones much less)"
	$(CARGO) build --release --bin maar
	@$(BUILT)/release/maar up $(ARGS)

test: ## Run all tests that need neither root, nor Go, nor a network beyond packages
	@CARGO="$(CARGO)" dev/test $(ARGS)
	@dev/web test $(ARGS)
	@dev/absent

real: ## Run the suites against a real Kubernetes, built once into a cache outside the checkout
	@dev/real-suites

bench: ## Measure the embedded cluster beside a real Kubernetes; fails when a promise about speed is not kept
	@echo "==> building (the first build takes some minutes)"
	$(CARGO) build --release --bin maar --bin maar-bench
	$(CARGO) build --bin maar-bench
	@$(BUILT)/debug/maar-bench start
	@$(BUILT)/release/maar-bench $(ARGS)

check: ## Formatting, lints, generated files
	@echo "==> formatting"
	$(CARGO) fmt --all --check
	@echo "==> lints"
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	@echo "==> generated files"
	$(CARGO) test --quiet --workspace --bin maar reference
	@echo "==> the pages"
	@dev/web check

generate: ## Write the files that come from the code (docs/reference, deploy/crds)
	$(CARGO) run --quiet --bin maar -- reference docs/reference --definitions deploy/crds
	@dev/web generate

web: ## Build the pages into web/dist (make up does it by itself)
	@dev/web build

fmt: ## Format the sources
	$(CARGO) fmt --all

clean: ## Remove what was built here (the Kubernetes cache stays)
	$(CARGO) clean
