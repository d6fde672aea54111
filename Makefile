# All targets run in .venv, which is created on first use. PYTHON selects the interpreter.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test pythons lint types docs reference golden prepared verdicts properties fuzz bench clean

# A run, the profile that overrides part of it, and the origin of the result. The manifests go to examples/manifests/.
demo: $(VENV)/.installed
	@echo '$$ cat examples/runs/train.yaml' && cat examples/runs/train.yaml
	@echo && echo '$$ cat examples/profiles/1xa100.yaml' && cat examples/profiles/1xa100.yaml
	@echo && echo '$$ speccompile explain examples/runs/train.yaml limits'
	@$(BIN)/speccompile explain examples/runs/train.yaml limits --quiet
	@echo && echo '$$ speccompile render --project examples/speccompile.yaml'
	@$(BIN)/speccompile render --project examples/speccompile.yaml --quiet
	@echo 'wrote the manifests of all five examples to examples/manifests/'

test: $(VENV)/.tested
	$(BIN)/pytest -n auto

# Run golden and property tests on the other supported Python versions that are installed.
pythons: $(VENV)/.tested
	scripts/pythons.sh

lint: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.tested
	$(BIN)/mypy

# Build the documentation into site/; any warning is an error. The variable silences a notice about MkDocs 2.
docs: $(VENV)/.tested
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Generate the reference pages from the schemas, the table of codes and the command line; a test checks them.
reference: $(VENV)/.installed
	$(BIN)/python scripts/make_reference.py

# Update expected files in golden/, the tables in docs/digitalhub.md and command output on pages. Read the diff before you
# commit it.
golden: $(VENV)/.tested
	$(BIN)/pytest -q tests/test_golden.py tests/test_digitalhub.py tests/test_digitalhub_sdk.py tests/test_site.py tests/test_docs.py --update-golden

# Run the property tests with forty times as many random examples. Slow, and not part of CI.
properties: $(VENV)/.tested
	HYPOTHESIS_PROFILE=thorough $(BIN)/pytest -n auto -m hypothesis

# Mutate every kind of input for FUZZ_SECONDS each, and print what was found; FUZZ_TARGETS selects some. Linux only, and
# not part of CI. Inputs and findings go to fuzz/work/.
FUZZ_SECONDS ?= 60
fuzz: $(VENV)/.fuzzed
	$(BIN)/python -m fuzz --seconds $(FUZZ_SECONDS) $(FUZZ_TARGETS)

# Prerender the bundled templates for the golden runs, so that a cold start needs no Jinja; a test checks the result.
prepared: $(VENV)/.installed
	$(BIN)/python scripts/prepare.py

# Record what a real API server thinks of mutated manifests; needs Go, and takes several minutes.
verdicts: $(VENV)/.tested
	$(BIN)/python scripts/server_verdicts/record.py

# Compare speccompile with other tools and write benchmarks/RESULTS.md; takes more than half an hour.
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

$(VENV)/.fuzzed: $(VENV)/.installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[fuzz]' >&2
	@touch $@

clean:
	rm -rf $(VENV) $(VENV)-* site .mypy_cache .pytest_cache .ruff_cache .hypothesis dist fuzz/work
