# All there is to remember. Each target that needs more than Rust sets it up itself (tools/setup).

.PHONY: help demo test check bench sim sim-mutants fuzz

CARGO ?= cargo
TARGET_DIR = $(or $(CARGO_TARGET_DIR),target)

help:
	@echo 'make demo            PostgreSQL with pgweir in front, both thrown away at the end'
	@echo 'make test            everything that must hold before a commit'
	@echo 'make check           its quick part: format, lints, the shape of the code'
	@echo 'make bench           pgweir beside PgBouncer and a bare relay; BENCH=peak for a part'
	@echo 'make sim SEED=7      one simulated day; without SEED many'
	@echo 'make sim-mutants     planted faults, each of which the simulator must find'
	@echo 'make fuzz            random input for every parser; FUZZ=ini for one, FUZZ_SECONDS=60 each'

demo:
	tools/setup demo
	$(CARGO) build --locked --release --package pgweir
	$(TARGET_DIR)/release/pgweir demo

test:
	tools/setup test
	$(MAKE) check
	$(CARGO) build --locked --workspace
	$(CARGO) test --locked --workspace --exclude sim
	$(CARGO) test --locked --package sim --profile sim

check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- --deny warnings
	$(CARGO) test --locked --package integration --test tidy

BENCH ?= all
bench:
	tools/setup bench
	$(CARGO) build --locked --release --package pgweir --package bench
	$(TARGET_DIR)/release/bench $(BENCH)

sim:
	$(CARGO) run --locked --package sim --profile sim -- $(SEED)

sim-mutants:
	$(CARGO) run --locked --package sim --profile sim -- --mutants

FUZZ ?= $(shell $(CARGO) +nightly fuzz list)
FUZZ_SECONDS ?= 60
fuzz:
	for target in $(FUZZ); do \
		$(CARGO) +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) || exit 1; \
	done
