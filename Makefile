# Needs make and Python 3.11 (or newer; PYTHON=... names another). Everything else goes into .venv, once.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
PYTHONS ?=
MARKED ?= not slow
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DNNFIX := $(BIN)/dnnfix
PROGRAMS ?= $(wildcard benchmarks/[a-z]*.py)
QUICK := one_file.py "scan.py --rounds 3" "migration.py --rounds 1" "reproduction.py --limit 10"
export OMP_NUM_THREADS ?= 1

.PHONY: demo demo-bot test test-all lint docs tables site baseline bench bench-quick clean

demo: $(READY) ## repairs the buggy programs in examples/ and shows each proof
	@for program in examples/*.py; do \
		echo "== dnnfix suggest $$program"; \
		$(DNNFIX) suggest "$$program" --isolated; code=$$?; \
		if [ $$code -gt 1 ]; then exit $$code; fi; \
	done

demo-bot: $(READY) ## the bot on a forge in .demo-bot: pull requests as files, and a second run
	$(BIN)/python tools/demo_bot.py

test: $(READY) ## the tests that are not marked slow, on all cores; one folder alone: make test PYTEST_ARGS=tests/emit
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal -m "$(MARKED)" $(PYTEST_ARGS)

test-all: MARKED = ## the whole test suite; the slow part alone: make test MARKED=slow
test-all: test

lint: $(READY) ## ruff, mypy strict, and the generated pages
	$(BIN)/ruff check
	$(BIN)/ruff format --check --diff
	$(BIN)/mypy
	@$(DNNFIX) templates --isolated --output-format markdown | diff -u docs/templates.md - \
		|| { echo "docs/templates.md is not what the templates say: run make docs"; exit 1; }
	$(BIN)/python tools/bench_page.py --check
	$(BIN)/python tools/settings_page.py --check

docs: $(READY) ## writes docs/templates.md, the drawing of docs/architecture.md, the settings of docs/configuration.md and the numbers of benchmarks/README.md from their sources
	$(DNNFIX) templates --isolated --output-format markdown > docs/templates.md
	$(BIN)/python tools/draw_packages.py
	$(BIN)/python tools/bench_page.py
	$(BIN)/python tools/settings_page.py

tables: $(READY) ## the tables of what libraries lost, from their releases on the index; PYTHONS names interpreters that have the newest ones
	$(BIN)/python tools/api_history.py $(foreach python,$(PYTHONS),--python $(python))

site: $(READY) ## the documentation site, in build/site/html: warnings are errors, and links within it are checked
	PYTHONPATH=. $(BIN)/python tools/pages build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict -f build/site/mkdocs.yml
	@echo "build/site/html/index.html"

baseline: ## an interpreter of the old era (Python 3.7, Keras 2.3.1) in .baseline, for tests/baseline; needs a Python 3.7
	$(PYTHON) tools/make_baseline.py

bench: $(READY) ## the measurements of benchmarks/README.md, as ratios; one alone, kept: make bench PROGRAMS=benchmarks/replay.py ARGS=--record
	@missed=0; for program in $(PROGRAMS); do \
		echo "== $$program"; $(BIN)/python "$$program" $(ARGS) || missed=1; \
	done; exit $$missed # a missed target shows in the status, and does not keep the others from being measured

bench-quick: $(READY) ## the ratios of CI, in a few minutes; see benchmarks/README.md for what they are held to
	@missed=0; for program in $(QUICK); do \
		echo "== $$program"; $(BIN)/python benchmarks/$$program --shared-machine || missed=1; \
	done; exit $$missed

$(READY): pyproject.toml legacy/pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 is needed: install it, or name one with PYTHON=..."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed. Received: $$($(PYTHON) --version)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,lint]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e ./legacy
	@touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info legacy/build legacy/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
