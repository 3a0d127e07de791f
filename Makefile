# One target directory outside the checkout: it is shared by `make`, CI and whatever else builds here.
export CARGO_TARGET_DIR ?= $(HOME)/.cache/tablegate-target

.PHONY: help build test clients azurite differential fuzz lint fmt run

help: ## List the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

build: ## Build the server (target directory: $$CARGO_TARGET_DIR)
	cargo build --release

test: clients azurite ## Run every test: unit, contract, golden SQL, real clients, layering
	cargo test --all-targets

clients: ## Install the drivers that tests/clients drives, outside the checkout
	tests/clients/install.sh

azurite: ## Install the emulator that tests of remote stores start, outside the checkout
	tests/azurite/install.sh

differential: ## Compare 20,000 generated statements with PostgreSQL 15 (DIFFERENTIAL_SEED=n for others)
	DIFFERENTIAL_STATEMENTS=$${DIFFERENTIAL_STATEMENTS:-20000} cargo test --test differential -- --nocapture

fuzz: ## Send damaged conversations for ten minutes (FUZZ_SECONDS, FUZZ_SEED)
	FUZZ_SECONDS=$${FUZZ_SECONDS:-600} cargo test --test fuzz -- --nocapture

lint: ## Check formatting and lints; every warning is an error
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	cargo clippy --test layering --features entra -- -D warnings

fmt: ## Format the code
	cargo fmt

run: ## Start the server on ./tablegate-data
	cargo run --release
