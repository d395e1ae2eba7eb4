# Each target makes .venv and installs what it needs by itself; python3 (3.11 or newer, with venv) is enough.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo census test test-all test-lowest test-interop fuzz torture times lock sbom licences bench bench-nation lint format house \
  changelog command-line glossary gallery notebooks screenshot docs dist test-wheel clean

help:
	@echo "make demo      the first two minutes: the 2020 Census, then a survey of your own; out/index.html"
	@echo "make census    the whole census, rehearsed on PEOPLE (1000000) invented people; out/census/index.html"
	@echo "make test      lint, types and tests (installs Java and Chromium if it may)"
	@echo "make test-all  the same with the slow tests; SHARD=1/6 to 6/6 run a sixth each"
	@echo "make fuzz      search with new seeds for MINUTES (10); what is found becomes a case of make test"
	@echo "make torture   faults at every system call of a run, a billion draws of the sampler, proofs of minutes"
	@echo "make test-lowest  tests with the lowest versions of the dependencies that are allowed"
	@echo "make test-interop  the adapters to dp-accounting, OpenDP, riskcal and Tumult, against the packages"
	@echo "make lock      rebuild the lock files; UPGRADE=--upgrade takes newer versions"
	@echo "make sbom      a CycloneDX document of the dependencies, in out/"
	@echo "make times     the tests, and which of them take most processor time"
	@echo "make bench     time and accuracy against other accountants"
	@echo "make bench-nation  detailed groups of up to 331 million people: time, memory, disk"
	@echo "make lint      ruff, the direction of imports, and mypy"
	@echo "make format    rewrite the sources in the project's format"
	@echo "make house     how large the package is, and where each idea lives"
	@echo "make changelog  the next version in CHANGELOG.md, from changelog.d/; DATE=2026-12-01 releases it"
	@echo "make command-line  docs/reference/command-line.md, from what --help prints"
	@echo "make glossary  docs/glossary.md, from the terms of the package"
	@echo "make gallery   docs/gallery.md, with a picture of every command that draws"
	@echo "make screenshot  the pictures of the documentation"
	@echo "make docs      the site, in out/site: works without a network"
	@echo "make dist      a wheel and an sdist, in dist/"
	@echo "make test-wheel  install them in clean environments, and account"
	@echo "make clean     remove everything that can be made again"

# -- environments: one stamp for each set of dependencies, renewed with its lock file and with the version --

# Packages come from a lock file with the hash of each; the project itself is built with what is in there too.
# uv takes a fraction of pip's time; pip is asked where uv finds no index, since only pip reads pip's configuration.
PIP := -m pip --disable-pip-version-check install --quiet
INSTALL = install() { environment=$$1; shift; \
  $$environment/bin/uv pip install --quiet --python $$environment/bin/python "$$@" 2>/dev/null \
    || $$environment/bin/python $(PIP) "$$@"; }; install
LOCKED := --require-hashes --no-deps --requirement
OWN := --no-deps --no-build-isolation --editable .

# An environment with pip, setuptools and uv from their lock file, in place of those that came with Python.
$(VENV)/bin/uv $(VENV)-docs/bin/uv: requirements/installer.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "discreet needs Python 3.11 or newer; say which with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(@D)/python || $(PYTHON) -m venv $(@D)/.. \
	  || { echo "python3 has no venv module; on Debian: apt-get install python3-venv"; rm -rf $(@D)/..; exit 1; }
	@$(@D)/python $(PIP) $(LOCKED) requirements/installer.txt
	@touch $@

$(VENV)/.stamp-run: pyproject.toml src/discreet/__init__.py requirements/run.txt $(BIN)/uv
	@echo "installing discreet"
	@$(INSTALL) $(VENV) $(LOCKED) requirements/run.txt
	@$(INSTALL) $(VENV) $(OWN)
	@touch $@

$(VENV)/.stamp-test: pyproject.toml src/discreet/__init__.py requirements/test.txt $(BIN)/uv
	@echo "installing discreet and what its tests need"
	@export UV_COMPILE_BYTECODE=1; $(INSTALL) $(VENV) $(LOCKED) requirements/test.txt
	@$(INSTALL) $(VENV) $(OWN)
	@touch $@ $(VENV)/.stamp-run

$(VENV)/.stamp-workbench: pyproject.toml src/discreet/__init__.py requirements/workbench.txt $(BIN)/uv
	@echo "installing discreet with tables and the workbench"
	@$(INSTALL) $(VENV) $(LOCKED) requirements/workbench.txt
	@$(INSTALL) $(VENV) $(OWN)
	@touch $@ $(VENV)/.stamp-run

# What builds the site has an environment of its own.
$(VENV)-docs/.stamp: pyproject.toml src/discreet/__init__.py requirements/docs.txt $(VENV)-docs/bin/uv
	@echo "installing what builds the site"
	@$(INSTALL) $(VENV)-docs $(LOCKED) requirements/docs.txt
	@$(INSTALL) $(VENV)-docs $(OWN)
	@touch $@

$(VENV)/.stamp-bench: pyproject.toml src/discreet/__init__.py $(BIN)/uv
	@echo "installing discreet and the accountants it is compared with"
	@$(INSTALL) $(VENV) --editable '.[bench,spark]'
	@touch $@ $(VENV)/.stamp-run

# Java runs Spark, Chromium the pages (without windows if it may: half the work). Installed if this is Debian or Ubuntu and we may; else their tests skip.
.PHONY: system
system:
	@missing=; get() { DEBIAN_FRONTEND=noninteractive $$as apt-get install -y -qq $$1 >/dev/null 2>&1; }; \
	command -v java >/dev/null || missing="$$missing openjdk-17-jre-headless"; \
	command -v chromium-headless-shell >/dev/null || missing="$$missing chromium-headless-shell"; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	as=; [ "$$(id -u)" = 0 ] || as="sudo -n"; \
	if command -v apt-get >/dev/null && { [ -z "$$as" ] || $$as true 2>/dev/null; }; then \
	  echo "installing$$missing"; \
	  $$as apt-get update -qq; \
	  for one in $$missing; do \
	    get $$one || { [ $$one = chromium-headless-shell ] && { command -v chromium >/dev/null || get chromium; }; } \
	      || echo "could not install $$one; its tests will be skipped"; \
	  done; \
	else \
	  echo "not installed:$$missing; their tests will be skipped"; \
	fi

# -- what people run -------------------------------------------------------------------------------------

demo: $(VENV)/.stamp-workbench
	@$(BIN)/python docs/make_demo.py out $(JOBS)

PEOPLE ?= 1000000

# A run that was stopped goes on where it was; SKIP="dhc-persons-tables dhc-units-tables" leaves the longest steps out.
census: $(VENV)/.stamp-workbench
	@$(BIN)/python docs/make_census.py out/census $(PEOPLE) $(if $(SKIP),--skip $(SKIP))

docs: $(VENV)-docs/.stamp
	@$(VENV)-docs/bin/python docs/make_site.py out
	@echo "Open out/site/index.html"

dist: $(VENV)/.stamp-test
	@rm -rf dist
	@$(BIN)/python -m hatchling build -d dist

test-wheel: $(VENV)/.stamp-test
	$(BIN)/python -m pytest -q tests/systems/test_packaging.py --run-slow

test: system lint
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup

# SHARD=1/6 to 6/6 together are the whole, in parts that can be run on several machines or days.
test-all: system lint
	@$(MAKE) --silent $(VENV)-docs/.stamp || echo "what builds the site cannot be installed: its test is skipped"
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup --run-slow $(if $(SHARD),--shard $(SHARD))

# -- supply chain ----------------------------------------------------------------------------------------

# Versions that are locked stay, unless `make lock UPGRADE=--upgrade`.
LOCK_HEAD := \# Names, versions and hashes of all packages, for any platform. Made by `make lock`; do not edit.
HASHES = $(BIN)/uv --quiet pip compile --generate-hashes --no-header --no-annotate --no-emit-index-url --universal \
  --python-version 3.11 $(UPGRADE)
COMPILE = $(HASHES) pyproject.toml requirements/build.in

lock: $(BIN)/uv
	@$(HASHES) requirements/installer.in --output-file requirements/installer.txt >/dev/null
	@$(COMPILE) --output-file requirements/run.txt >/dev/null
	@$(COMPILE) --extra test --output-file requirements/test.txt >/dev/null
	@$(COMPILE) --extra workbench --constraints requirements/test.txt --output-file requirements/workbench.txt >/dev/null
	@$(COMPILE) --extra docs --constraints requirements/test.txt --output-file requirements/docs.txt >/dev/null
	@for name in installer run test workbench docs; do \
	  { echo '$(LOCK_HEAD)'; grep -v '^#' requirements/$$name.txt; } > requirements/$$name.new; \
	  mv requirements/$$name.new requirements/$$name.txt; \
	done

sbom: $(VENV)/.stamp-test
	@$(BIN)/python requirements/dependencies.py sbom out/sbom.cdx.json

licences: $(VENV)/.stamp-test
	@$(BIN)/python requirements/dependencies.py licences docs/reference/dependencies.md

# The lowest versions that pyproject.toml allows, in an environment of their own; what needs Spark or a browser is left out.
test-lowest: $(BIN)/uv
	@rm -rf $(VENV)-lowest && $(PYTHON) -m venv $(VENV)-lowest
	@$(BIN)/uv --quiet pip install --python $(VENV)-lowest/bin/python --resolution lowest-direct '.[release,workbench,spreadsheet]'
	@$(BIN)/uv --quiet pip install --python $(VENV)-lowest/bin/python pytest pytest-xdist hypothesis mpmath
	PYTHONPATH=src $(VENV)-lowest/bin/python -m pytest -q -p no:cacheprovider -n $(JOBS) -o filterwarnings=default -k "not spark and not engines" \
	  tests/bad tests/budget tests/noise tests/cli tests/ledger tests/records tests/measurement tests/census tests/studies/test_published.py

# Against the packages themselves. Tumult Analytics needs NumPy 1, so it has an environment of its own, and neither is .venv.
test-interop:
	@test -e $(VENV)-interop/.stamp || { rm -rf $(VENV)-interop && $(PYTHON) -m venv $(VENV)-interop \
	  && $(VENV)-interop/bin/python -m pip --disable-pip-version-check install --quiet '.[interop,release]' pytest hypothesis mpmath jsonschema; } \
	  && touch $(VENV)-interop/.stamp
	@test -e $(VENV)-tumult/.stamp || { rm -rf $(VENV)-tumult && $(PYTHON) -m venv $(VENV)-tumult \
	  && $(VENV)-tumult/bin/python -m pip --disable-pip-version-check install --quiet tmlt.analytics python-flint pytest; } \
	  && touch $(VENV)-tumult/.stamp
	PYTHONPATH=src $(VENV)-interop/bin/python -m pytest -q -p no:cacheprovider --run-slow -o filterwarnings=default tests/interop
	PYTHONPATH=src $(VENV)-interop/bin/python -m pytest -q -p no:cacheprovider -o filterwarnings=default tests/test_docs.py -k "other-tools or registry"
	PYTHONPATH=src $(VENV)-tumult/bin/python -m pytest -q -p no:cacheprovider -o filterwarnings=default --noconftest tests/interop/test_interop_tumult.py

MINUTES ?= 10

torture: $(VENV)/.stamp-test
	$(BIN)/python -m pytest -q -n $(JOBS) tests -m torture --torture

times: $(VENV)/.stamp-test
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadgroup --cpu 60

fuzz: $(VENV)/.stamp-test
	$(BIN)/python tests/fuzz/search.py --minutes $(MINUTES) --jobs $(JOBS)

lint: $(VENV)/.stamp-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy

format: $(VENV)/.stamp-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

house: $(VENV)/.stamp-test
	$(BIN)/python tests/house.py

bench: $(VENV)/.stamp-bench
	$(BIN)/python -m benchmarks

# NATION: sizes in millions, as many as the disk in PLACE holds (60 bytes a person)
bench-nation: $(VENV)/.stamp-bench
	$(BIN)/python -m benchmarks.bench_nation $(if $(NATION),--people $(NATION)) $(if $(PLACE),--place $(PLACE))

changelog:
	@$(PYTHON) changelog.d/assemble.py $(DATE)

command-line: $(VENV)/.stamp-run
	$(BIN)/python docs/make_command_line.py

glossary: $(VENV)/.stamp-run
	$(BIN)/python docs/make_glossary.py

gallery: $(VENV)/.stamp-test
	$(BIN)/python docs/make_gallery.py

notebooks: $(VENV)/.stamp-test
	$(BIN)/python docs/make_notebooks.py

screenshot: $(VENV)/.stamp-test
	$(BIN)/python docs/make_screenshot.py

clean:
	rm -rf $(VENV) $(VENV)-lowest $(VENV)-docs $(VENV)-interop $(VENV)-tumult out dist build .import_linter_cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
