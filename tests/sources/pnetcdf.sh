#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# PnetCDF, as Debian ships its source, built by autotools with lacuna-cc as MPICC: do its own test programs pass on
# two ranks, alone and under `lacuna run`? Subarrays, vectors and lists, for MPI-IO, MPI_Pack and MPI_Unpack;
# datatypes of the user taken apart.
#
# Usage: pnetcdf.sh FOLDER
set -eu
. "$(dirname "$0")/sources.sh"
need autoreconf "setup/setup.sh sources"
need libtoolize "setup/setup.sh sources"
need m4 "setup/setup.sh sources"

fetch pnetcdf
cd "$folder"
source=$(ls -d "$folder"/pnetcdf-*/)
compiler cc compiler
[ -x "$source/configure" ] || (cd "$source" && autoreconf -fi > "$folder/autoreconf.log" 2>&1) || { tail -5 autoreconf.log >&2; exit 1; }
mkdir -p built
cd built
[ -f Makefile ] || "$source/configure" MPICC="$folder/compiler" --disable-fortran --disable-cxx \
  CFLAGS="-O2 -w" > ../configure.log 2>&1 || { tail -5 ../configure.log >&2; exit 1; }
make -j "$(nproc)" tests > ../make.log 2>&1 || { tail -5 ../make.log >&2; exit 1; }
cd ..
became make.log

failed=0
rm -rf files
mkdir files
# passed WORDS [COMMAND ...]: all programs of these folders, each with a file of its own.
passed() {
  words=$1 count=0
  shift
  for program in $(find built/test/testcases built/test/nonblocking built/test/header -maxdepth 1 -type f -perm -u+x ! -name '*.*' | sort); do
    if timeout 120 "$@" mpiexec.mpich -n 2 "$program" "files/$(basename "$program").nc" > files/log 2>&1 < /dev/null && ! grep -q fail files/log; then
      count=$((count + 1))
    else
      failed=1
      echo "pnetcdf$words: $(basename "$program") FAILED: $(tail -1 files/log)"
    fi
  done
  echo "pnetcdf$words: $count programs passed"
  [ "$count" -gt 0 ] || failed=1
}
passed ""
passed " under lacuna run" "$root/.venv/bin/lacuna" run
exit $failed
