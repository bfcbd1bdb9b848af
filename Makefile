# Each target works alone on a machine that has only Python: it makes .venv and installs what it needs.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# torch first and exact: a looser request, also through another package, pulls the CUDA build.
TORCH := $(shell grep '^torch==' constraints.txt)

.PHONY: demo test check gate cluster docs notebooks constraints lock dist format bench-deps fuzz clean

demo: .venv/demo.stamp
	$(BIN)/python examples/demo.py

test: .venv/test.stamp .venv/docs.stamp
	$(BIN)/python tests/find_browser.py
	$(BIN)/python -m pytest -n 2 --dist worksteal

check: .venv/check.stamp .venv/docs.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python .ci/dependencies.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# A Ray cluster of two machines on this one, one of which dies: a minute.
cluster: .venv/test.stamp
	$(PIP) -e '.[ray]'
	GRAYLEARN_CLUSTER=1 $(BIN)/python -m pytest tests/runs/test_run_ray.py

# The site, at http://127.0.0.1:8000, made again whenever a page changes.
docs: .venv/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

# All of them, from top to bottom; what they printed is kept in the files.
notebooks: .venv/docs.stamp
	$(BIN)/python examples/run_notebooks.py

# For every Python and system we name, as the registry serves the packages: needs the net.
constraints: .venv/check.stamp
	$(BIN)/python .ci/resolve.py --check

lock: .venv/check.stamp
	$(BIN)/python .ci/resolve.py

# The wheel and the sdist; the wheel tried in an environment of its own, with the pinned packages and with the
# oldest that pyproject.toml allows (but for torch, whose builds have gigabytes elsewhere).
dist: .venv/check.stamp
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(call try_wheel,constraints.txt)
	mkdir -p build
	echo $(TORCH) | $(BIN)/uv pip compile pyproject.toml - --quiet --resolution lowest-direct -o build/oldest.txt
	$(call try_wheel,build/oldest.txt)

define try_wheel
	rm -rf build/try-wheel
	$(PYTHON) -m venv build/try-wheel
	build/try-wheel/bin/python -m pip install --quiet --disable-pip-version-check -c $(1) $(TORCH)
	build/try-wheel/bin/python -m pip install --quiet --disable-pip-version-check -c $(1) dist/*.whl
	build/try-wheel/bin/python -P .ci/try_wheel.py
	rm -rf build/try-wheel
endef

format: .venv/check.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench-deps: .venv/bench.stamp

# What the audit says of sets drawn here, within its limits and not behind what it said: minutes, no data.
gate: .venv/demo.stamp
	$(BIN)/python -m judge gate

# A million damaged files; by hand. CI runs a small part of it with the tests.
fuzz: .venv/test.stamp
	$(BIN)/python -m benchmarks fuzz --cases 1000000 --results results/fuzz.jsonl

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-run demo-digits.npz

.venv/demo.stamp: pyproject.toml constraints.txt
	@echo 'Installing into .venv, which takes some minutes the first time.'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) $(TORCH)
	$(PIP) -e .
	touch $@

.venv/test.stamp: .venv/demo.stamp
	$(PIP) -e '.[test]'
	touch $@

# mypy reads the types of what the package imports, so it needs the test extras too.
.venv/check.stamp: .venv/test.stamp
	$(PIP) -e '.[check]'
	touch $@

.venv/docs.stamp: .venv/test.stamp
	$(PIP) -e '.[docs]'
	touch $@

.venv/bench.stamp: .venv/test.stamp
	$(PIP) -e '.[bench]'
	touch $@
