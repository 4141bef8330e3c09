# Every target first prepares what it needs: on a fresh clone, `make test` is enough.
SHELL := bash
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
SIDE_BY_SIDE := --numprocesses auto --maxprocesses 2 --dist loadfile

.PHONY: setup demo test test-fast test-deep crashes damage soak ends check fmt bench java
.DELETE_ON_ERROR:

setup: $(READY)

$(READY): pyproject.toml bench/pyproject.toml scripts/setup
	@PYTHON="$(PYTHON)" bash scripts/setup
	@touch $(READY)

java:
	@bash scripts/require-java

test: java $(READY)
	$(BIN)/python -m pytest $(SIDE_BY_SIDE)

test-fast: $(READY)
	HYPOTHESIS_PROFILE=fast $(BIN)/python -m pytest $(SIDE_BY_SIDE) -m "not spark and not slow"

# Thousands of examples of every property that needs no Spark, and all tests that are marked deep, such as the whole
# matrix of plans.
test-deep: java $(READY)
	HYPOTHESIS_PROFILE=deep $(BIN)/python -m pytest --numprocesses 2 --dist worksteal \
		-m "deep or (hypothesis and not spark)"

# Kills queries at random moments and checks that nothing is lost, doubled or wrong. KILLS=300 takes an hour or two.
KILLS ?= 20
crashes: java $(READY)
	@folder=$$(mktemp -d) && bash scripts/crash-matrix --kills $(KILLS) --seed $$RANDOM --folder $$folder && rm -r $$folder

# Damages every file of a checkpoint, a file at a time.
damage: java $(READY)
	@folder=$$(mktemp -d) && bash scripts/damage-grid --seed $$RANDOM --folder $$folder && rm -r $$folder

# Runs a query for HOURS by the clock, and checks that answers are right and nothing grows.
HOURS ?= 2
soak: java $(READY)
	bash scripts/soak --hours $(HOURS) --folder $$(mktemp -d)/soak

# Queries with millions of keys and rows, and values of 10 MB.
ends: java $(READY)
	bash scripts/ends

check: $(READY)
	$(BIN)/ruff format --check src bench tests
	$(BIN)/ruff check src bench tests
	$(BIN)/mypy
	$(BIN)/lint-imports

fmt: $(READY)
	$(BIN)/ruff format src bench tests
	$(BIN)/ruff check --fix src bench tests

demo: java $(READY)
	$(BIN)/joinfold demo

bench: java $(READY)
	$(BIN)/joinfold bench
