# One run's property tests have one seed: a failure is repeated with it.
ifndef PROPTEST_RNG_SEED
PROPTEST_RNG_SEED := $(shell date +%s)
endif
export PROPTEST_RNG_SEED

# One target directory outside the checkout: it is shared by `make`, CI and whatever else builds here.
export CARGO_TARGET_DIR ?= $(HOME)/.cache/tablegate-target

.PHONY: help build test clients azurite differential regression fuzz attack lint fmt run

help: ## List the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

build: ## Build the server (target directory: $$CARGO_TARGET_DIR)
	cargo build --release

# Our own code is optimized a little here, as the dependencies always are: it compiles in twice the time and runs in half of it.
test: export CARGO_PROFILE_DEV_OPT_LEVEL = 1
test: clients azurite ## Run every test to the end, whatever fails: unit, contract, golden SQL, real clients, layering
	@echo PROPTEST_RNG_SEED=$(PROPTEST_RNG_SEED)
	cargo test --workspace --all-targets --no-fail-fast

clients: ## Install the drivers that tests/clients drives, outside the checkout, and PostgreSQL 15
	tests/clients/install.sh

azurite: ## Install the emulator that tests of remote stores start, outside the checkout
	tests/azurite/install.sh

differential: ## Compare 20,000 generated statements with PostgreSQL 15 (DIFFERENTIAL_SEED=n for others)
	DIFFERENTIAL_STATEMENTS=$${DIFFERENTIAL_STATEMENTS:-20000} cargo test --test outside differential:: -- --nocapture

regression: ## Compare PostgreSQL's regression files with what is answered here (REGRESSION_FOLDER=.../src/test/regress, REGRESSION_FILES)
	cargo test --test outside regression:: -- --nocapture

fuzz: ## Send damaged conversations, and all forms nested to 1 MB, for ten minutes each (FUZZ_SECONDS, DEPTH_SECONDS, FUZZ_SEED)
	FUZZ_SECONDS=$${FUZZ_SECONDS:-600} DEPTH_SECONDS=$${DEPTH_SECONDS:-600} cargo test --test outside fuzz:: -- --nocapture

attack: ## Try to stop, to starve and to deceive the server for an hour (ATTACK_KILLS, ATTACK_LOADS, ATTACK_FLIPS, ATTACK_STATEMENTS, ATTACK_SEED)
	ATTACK_STATEMENTS=$${ATTACK_STATEMENTS:-1000} ATTACK_TIMEOUT=$${ATTACK_TIMEOUT:-20} ATTACK_ROWS=$${ATTACK_ROWS:-200000} \
	ATTACK_MEMORY=$${ATTACK_MEMORY:-128} ATTACK_KILLS=$${ATTACK_KILLS:-500} ATTACK_FLIPS=$${ATTACK_FLIPS:-200} \
	cargo test --test outside attack:: -- --nocapture --test-threads=1
	ATTACK_LOADS=$${ATTACK_LOADS:-60} cargo test --test killed crash::loaders:: -- --test-threads=1

lint: ## Check formatting and lints; every warning is an error
	cargo fmt --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy --test killed --features entra -- -D warnings

fmt: ## Format the code
	cargo fmt

run: ## Start the server on ./tablegate-data
	cargo run --release
