# Everything runs in .venv, which the first target that needs it makes. PYTHON chooses the interpreter.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test pythons lint types docs reference golden prepared laws bench clean

demo: $(VENV)/.installed
	@$(BIN)/speccompile render examples/runs

test: $(VENV)/.tested
	$(BIN)/pytest -n auto

# Golden and property tests on the other supported Python versions, as far as they are installed.
pythons: $(VENV)/.tested
	scripts/pythons.sh

lint: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.tested
	$(BIN)/mypy

# The documentation site, into site/; any warning fails it. The variable quietens a notice about the theme's successor.
docs: $(VENV)/.tested
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Pages that are made from the schemas, the table of codes and the command line; a test checks that they are fresh.
reference: $(VENV)/.installed
	$(BIN)/python scripts/make_reference.py

# Rewrites the expected files of golden/, the table in docs/digitalhub.md, and what calls print on the pages. Read the
# diff before you commit it.
golden: $(VENV)/.tested
	$(BIN)/pytest -q tests/test_golden.py tests/test_digitalhub.py tests/test_site.py --update-golden

# The property tests with forty times as many examples, drawn anew each time. Takes long and is not part of CI.
laws: $(VENV)/.tested
	HYPOTHESIS_PROFILE=thorough $(BIN)/pytest -n auto -m hypothesis

# What the bundled templates make of the golden runs, made ahead, so that a cold start needs no Jinja. A test checks it.
prepared: $(VENV)/.installed
	$(BIN)/python scripts/prepare.py

# speccompile beside what others would use, interleaved, into benchmarks/RESULTS.md; takes a good half hour.
bench: $(VENV)/.measured
	$(BIN)/python -m benchmarks

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "speccompile needs Python 3.11 or newer; try: make PYTHON=python3.12")'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . >&2
	@touch $@

$(VENV)/.tested: $(VENV)/.installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]' >&2
	@touch $@

$(VENV)/.measured: $(VENV)/.tested
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]' >&2
	@touch $@

clean:
	rm -rf $(VENV) $(VENV)-* site .mypy_cache .pytest_cache .ruff_cache .hypothesis dist
