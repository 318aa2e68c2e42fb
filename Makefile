VENV ?= .venv
BIN := $(VENV)/bin
export VENV
# Jupyter, matplotlib and pip keep files at home: without one to write to, they get one.
HOME := $(shell [ -w "$$HOME" ] && echo "$$HOME" || echo "$(CURDIR)/$(VENV)/home")
export HOME
ROOT_FLAG := $(shell [ "$$(id -u)" = 0 ] && echo --allow-root)

.PHONY: help lab test tour notebooks views experiments site lesson style media badges tweaks edits faults mutants named roundings bench-views bench versions lock clean

help:  ## list these commands
	@sed -n 's/^\([a-z-]*\):.*## /make \1\t/p' Makefile | expand -t 20

lab: $(VENV)/lab.ok $(TRAINED:%=$(VENV)/trained.ok)  ## open the series (TRAINED=1: with models)
	@$(BIN)/jupyter lab $(ROOT_FLAG) --ServerApp.root_dir=. \
		--LabApp.expose_app_in_browser=True \
		--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb $(LAB_FLAGS)

test: $(VENV)/lab,test.ok  ## run the whole suite: package, every notebook, browser
	@$(BIN)/python -m tools.browser.chromium
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@$(BIN)/python -m pytest $(PYTEST_FLAGS)

tour: $(VENV)/lab,test.ok  ## open every chapter in JupyterLab, run it, try its views
	@$(BIN)/python -m pytest tests/test_lab.py -m ""

notebooks: $(VENV)/lab,test.ok  ## execute every chapter again and store it
	@$(BIN)/python -m tools.notebooks sync
	@$(BIN)/ruff check --quiet --fix notebooks && $(BIN)/ruff format --quiet notebooks
	@$(BIN)/python -m tools.notebooks run

views: $(VENV)/lab,test.ok  ## format the JavaScript of the live views and build it
	@cd mha_utils/widgets/js && ../../../$(BIN)/deno fmt --quiet
	@$(BIN)/python -m tools.bundle

experiments: $(VENV)/lab,test.ok  ## train the small models of chapters 02, 13 to 16 again, record
	@OMP_NUM_THREADS=1 $(BIN)/python -m mha_utils.experiments
	@OMP_NUM_THREADS=1 $(BIN)/python -m mha_utils.writing.training

site: $(VENV)/lab,test.ok  ## build the series as a static site in build/site
	@OMP_NUM_THREADS=1 $(BIN)/python -m tools.build_site

lesson: $(VENV)/lab,test.ok  ## write build/lesson for a class: make lesson CHAPTERS="01 03 06"
	@$(BIN)/python -m tools.lesson $(CHAPTERS)

style: $(VENV)/lab,test.ok  ## print the guide's numbers for each chapter
	@$(BIN)/python -m tools.notebooks style

media: $(VENV)/lab,test.ok  ## draw the pictures in media/ again
	@$(BIN)/python media/src/pictures.py && PYTHONPATH=. $(BIN)/python media/src/moving.py

badges: $(VENV)/lab,test.ok  ## README's badges, of `repository` in pyproject.toml
	@$(BIN)/python -m tools.badges

tweaks: $(VENV)/lab,test.ok  ## change what readers change, in the chapters that train, too
	@MHA_SLOW_TWEAKS=1 $(BIN)/python -m pytest tests/test_tweaks*.py tests/test_facts_can_fail.py

edits: $(VENV)/lab,test.ok  ## change what nobody chose: does a cell below break? (EDITS_FLAGS)
	@$(BIN)/python -m tools.edits $(EDITS_FLAGS)

faults: $(VENV)/lab,test.ok  ## plant every known fault: do chapters and tests notice?
	@$(BIN)/python -m tools.faults

mutants: $(VENV)/lab,test.ok  ## plant a seeded sample of generated faults (MUTANT_FLAGS)
	@$(BIN)/python -m tools.mutants $(MUTANT_FLAGS)

named: $(VENV)/lab,test.ok  ## plant bugs in layers of other styles: which does the check name?
	@$(BIN)/python -m tools.named --store

roundings: $(VENV)/lab,test.ok  ## run the chapters under other machines' roundings, flags, threads
	@$(BIN)/python -m tools.roundings --machines $(ROUNDING_FLAGS)

bench-views: $(VENV)/lab,test.ok  ## time key press -> frame of the live views in Chromium
	@$(BIN)/python -m tools.browser.bench_views

bench: $(VENV)/lab,bench.ok  ## time the modules and their peers; the record goes to benchmarks/
	@$(BIN)/python -m mha_utils.bench $(BENCH_FLAGS)

versions: $(VENV)/lab,test,dev.ok  ## lowest and newest allowed versions on every Python found
	@$(BIN)/python -m tools.versions $(VERSIONS_FLAGS)

lock:  ## resolve requirements.lock anew
	@sh tools/lock.sh

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .ruff_cache artifacts

$(VENV)/trained.ok: pyproject.toml $(VENV)/lab.ok
	@sh tools/setup.sh trained
	@touch $@

$(VENV)/%.ok: pyproject.toml requirements.lock
	@sh tools/setup.sh $*
	@touch $@ $(VENV)/lab.ok
