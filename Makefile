# `make demo` and `make test` prepare everything they need themselves, in .venv.
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help
.PHONY: help demo test lint unit coverage docs transcripts pictures bench oldest clean

help:
	@echo "make demo         align the shipped sample and show the result"
	@echo "make test         lint, types, import rules and all tests"
	@echo "make coverage     all tests again, and which lines and branches they run"
	@echo "make docs         build the documentation into site/; a warning is an error"
	@echo "make transcripts  run every command in README and docs, and write down what it prints now"
	@echo "make pictures     draw the pictures in README and docs again"
	@echo "make bench        measure accuracy, verdicts and time in some minutes; FULL=1 takes hours; STORE=1 adds to the history"
	@echo "make oldest       write constraints-oldest.txt again, after a lower bound in pyproject.toml has changed"

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

coverage: .venv/ready
	@tools/get_browser.sh
	$(BIN)/pytest --cov --cov-report=term

docs: .venv/ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "site/index.html; search needs a server: python3 -m http.server --directory site"

transcripts: .venv/ready
	$(BIN)/python tests/documents/refresh_transcripts.py

pictures: .venv/ready
	@tools/get_browser.sh
	$(BIN)/python tools/make_pictures.py
	$(BIN)/python bench/plot_history.py

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

ifdef STORE
KEEP := --store
endif

bench: .venv/ready
	$(BIN)/python bench/accuracy.py $(ACCURACY) $(KEEP)
	$(BIN)/python bench/verdict.py $(VERDICT) $(KEEP)
	$(BIN)/python bench/speed.py --pair we-z:es-en $(SPEED) $(KEEP)
	$(BIN)/python bench/large.py $(LARGE) $(KEEP)
	$(BIN)/python bench/family.py $(FAMILY) $(KEEP)
	$(BIN)/python bench/explorer.py $(EXPLORER) $(KEEP)

oldest: .venv/ready
	$(BIN)/python tools/oldest.py > constraints-oldest.txt

clean:
	rm -rf .venv runs build dist site .coverage
