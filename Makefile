# SPDX-License-Identifier: BSD-3-Clause
# The commands a person types; CMake does the work (see CMakePresets.json), setup/setup.sh brings what is missing.
#
#   make          libraries and programs in build/release, the `lacuna` command in .venv/bin; no tests (they are a
#                 third of the work)
#   make demo     and a matrix transpose sent through MPI, with and without lacuna: a table, raw data, two figures
#   make wheel    and dist/lacuna_mpi-*.whl, which pip installs anywhere (docs/user/install.md)
#   make docs     and the site: build/site/index.html
#   make optimizer  and lacuna-cc, which compiles MPI datatypes into the program (brings clang, flang and LLVM 19)
#   make test     and the tests that say whether lacuna works on this machine
#   make test MORE=1   and what continuous integration runs: also under ASan and UBSan (the engine), variations on the
#                 MPI libraries, models of the protocols, packages and pages
#   make test-hosts     the preload between two hosts (network namespaces), over TCP
#   make test-conformance   what goes deeper than `make test`: more random types, all variations on the older and the
#                   standard's interfaces, all of mpi4py's own tests on each MPI library, alone and under `lacuna run`
#                   (the same results?), and the tests of engine and preload compiled by Clang
#   make test-sources   MPICH's own test suite, hpcc, Scotch and PnetCDF, from Debian's source packages, compiled by
#                       lacuna-cc: do their tests pass? And programs of Debian's (HDF5's tests, StarPU's examples)
#                       natively and under `lacuna run`: the same?
#   make test-aarch64   the engine for AArch64 (NEON, SVE), cross-compiled, its tests under user-mode emulation
#   make release-check   is everything as it must be for a release? A line for each check (packaging/README.md)
#   make format   clang-format and ruff over the sources       make clean   removes what was built, not what was fetched
MAKEFLAGS += --no-print-directory
SHELL := /bin/sh
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
CPP_FOLDERS = bench costs engine examples include interpose mpi optimizer tests
CPP_SOURCES = $(shell find $(CPP_FOLDERS) -name '*.[ch]pp' -o -name '*.[ch]' -o -name '*.cu')

.PHONY: all demo wheel docs optimizer format clean setup setup-test setup-aarch64
.PHONY: release release-engine release-with-tests release-check dev
.PHONY: test test-conformance test-hosts test-sources test-aarch64

all: release

setup:
	@setup/setup.sh build

setup-test:
	@setup/setup.sh test

setup-aarch64:
	@setup/setup.sh aarch64

# Once tests have been configured here, they go on being built.
release: setup
	@cmake --preset release -D LACUNA_MPI=ON $(if $(wildcard build/release/CMakeCache.txt),,-D LACUNA_TESTS=OFF) >/dev/null
	@cmake --build --preset release -j $(JOBS)

release-with-tests: setup-test
	@cmake --preset release -D LACUNA_TESTS=ON -D LACUNA_MPI=ON >/dev/null
	@cmake --build --preset release -j $(JOBS)

release-engine:  # without Python or MPI, where nothing is built yet
	@setup/setup.sh build packages
	@test -e build/release/CMakeCache.txt || { cmake --preset release -D LACUNA_TESTS=ON -D LACUNA_MPI=OFF >/dev/null && \
	  cmake --build --preset release -j $(JOBS); }

dev:  # without Python or MPI
	@setup/setup.sh build packages
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev -j $(JOBS)

demo: release
	@.venv/bin/lacuna demo --output build/demo

wheel: release
	@packaging/wheel/wheel.sh

# The site loads nothing from elsewhere, so that it may lie on any disk. All pages are written anew.
docs: setup
	@.venv/bin/python -m sphinx -q -E -W --keep-going -j $(JOBS) -b html -c docs/site . build/site
	@echo "build/site/index.html"

optimizer:
	@setup/setup.sh optimizer
	@$(MAKE) release

# LLVM, Python and the MPI libraries come while the engine is compiled.
# The last command is the released build's, so that the last line is the whole suite's.
test:
	@setup/setup.sh test compilers
	@$(MAKE) -j 2 setup-test $(if $(MORE),dev,release-engine)
	@$(MAKE) release-with-tests
	@$(if $(MORE),ctest --preset dev -j $(JOBS))
	@ctest --preset release $(if $(MORE),-C more) -j $(JOBS)

# Root and iproute2 are needed; skipped, with the reason, where they are not.
test-hosts: release-with-tests
	@ctest --preset release -C hosts -L hosts -j $(JOBS)

test-conformance: release-with-tests
	@ctest --preset release -C depth -L depth -j $(JOBS)
	@.venv/bin/python tests/conformance/mpi4py_suite.py --suite build/conformance/test \
	  --python build/conformance/venv/bin/python --lacuna .venv/bin/lacuna --mpi-root build/mpi
	@cmake --preset clang >/dev/null
	@cmake --build --preset clang -j $(JOBS)
	@ctest --preset clang -L 'unit|property|interpose' -j $(JOBS)

test-sources: setup-test optimizer
	@setup/setup.sh sources
	@tests/sources/mpich_suite.sh build/sources
	@tests/sources/hpcc.sh build/sources-hpcc
	@tests/sources/scotch.sh build/sources-scotch
	@tests/sources/pnetcdf.sh build/sources-pnetcdf
	@tests/sources/programs.sh build/sources-programs

test-aarch64: setup-aarch64
	@cmake --preset aarch64 >/dev/null
	@cmake --build --preset aarch64 -j $(JOBS)
	@ctest --preset aarch64 -j $(JOBS)

release-check: release
	@.venv/bin/python packaging/release_check.py

format: setup
	@.venv/bin/clang-format -i $(CPP_SOURCES)
	@.venv/bin/ruff check --quiet --fix python tests cmake docs interpose packaging
	@.venv/bin/ruff format --quiet python tests cmake docs interpose packaging

clean:
	rm -rf build/release build/dev build/tsan build/aarch64 build/demo
