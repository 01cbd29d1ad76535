# `make demo` and `make test` prepare everything they need themselves, in .venv.
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help
.PHONY: help demo test lint unit docs pictures bench clean

help:
	@echo "make demo    align the shipped sample and show what came out"
	@echo "make test    lint, types, import rules and all tests"
	@echo "make docs    build the documentation into site/, where any warning is an error"
	@echo "make pictures  draw those of README and docs anew"
	@echo "make bench   measure accuracy, verdicts and time in some minutes; FULL=1 for all of it, in hours"

.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 10) else "calque needs Python 3.10 or newer; set PYTHON=")'
	@$(PYTHON) -m venv .venv
	@echo "setting up .venv: a minute or two"
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt torch==2.13.0
	@PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

demo: .venv/ready
	@$(BIN)/calque demo --output runs/demo
	@echo "now try: $(BIN)/calque translate runs/demo impressora, or $(BIN)/calque explore runs/demo"

test: lint unit

lint: .venv/ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: .venv/ready
	@tools/get_browser.sh
	$(BIN)/pytest

docs: .venv/ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "site/index.html; with search, which wants a server: python3 -m http.server --directory site"

pictures: .venv/ready
	@tools/get_browser.sh
	$(BIN)/python tools/make_pictures.py

ifdef FULL
ACCURACY := --seeds 20
VERDICT := --nulls 207 --reals 340
SPEED := --recipes default,artetxe2018,paper --most-words 200000
LARGE := --words 200000 --read 200000 --stream 200000 --approximate 2500000
FAMILY := --seeds 3
EXPLORER := --seconds 60
else
ACCURACY := --seeds 1 --pairs we-z:es-en,we-z:it-en,we-z:zh-en,sample
VERDICT := --nulls 2 --reals 8 --seconds 60
SPEED := --recipes default --most-words 5000 --most-dimensions 100
LARGE := --words 20000 --read 10000 --stream 40000 --approximate 20000
FAMILY := --seeds 1 --made
EXPLORER := --seconds 10
endif

bench: .venv/ready
	$(BIN)/python bench/accuracy.py $(ACCURACY)
	$(BIN)/python bench/verdict.py $(VERDICT)
	$(BIN)/python bench/speed.py --pair we-z:es-en $(SPEED)
	$(BIN)/python bench/large.py $(LARGE)
	$(BIN)/python bench/family.py $(FAMILY)
	$(BIN)/python bench/explorer.py $(EXPLORER)

clean:
	rm -rf .venv runs build dist site
