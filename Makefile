# Every target first prepares what it needs: on a fresh clone, `make test` is enough.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
SIDE_BY_SIDE := --numprocesses auto --maxprocesses 2 --dist loadfile

.PHONY: setup demo test test-fast test-deep check fmt bench java
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
