#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# MPICH's own test suite, as Debian ships its source, compiled by lacuna-cc, lacuna-c++ and lacuna-fc and run: sources
# that nobody here wrote. What fails is compiled by the MPI's own compilers, too: it counts where it passes then.
# Fetches the source package (22 MB) of Debian's MPICH, which must be installed, without touching the system's lists
# of packages.
#
# Usage: mpich_suite.sh FOLDER [SUITE ...]      FOLDER keeps what is fetched and built; suites: folders of test/mpi
# (datatype pt2pt f77 ...).
set -eu
. "$(dirname "$0")/sources.sh"
shift
[ $# -gt 0 ] || set -- datatype f77/attr f77/coll f77/datatype f77/pt2pt f77/info f77/ext f77/topo f90/attr f90/datatype
need mpif90.mpich

fetch mpich
cd "$folder"
source=$(ls -d "$folder"/mpich-*/test/mpi)
for name in cc c++ fc; do compiler "$name" "compiler-$name"; done

# configured FOLDER CC CXX FC F77 FLAGS: with what the tests have in common. Debian's MPICH cannot spawn processes.
# Without devices:
# where CUDA is installed and no device is there, the suite's own memory (MTestAlloc) asserts that there is one.
configured() {
  mkdir -p "$1"
  cd "$1"
  [ -f Makefile ] || "$source/configure" -q --enable-fortran=f77,f90 --enable-cxx --disable-spawn \
    --without-cuda --without-hip --without-ze CC="$2" CXX="$3" FC="$4" F77="$5" MPICC="$2" \
    MPICXX="$3" MPIFC="$4" MPIF77="$5" CFLAGS="-O2 -w" CXXFLAGS="-O2 -w" FCFLAGS="-O2 -w $6" FFLAGS="-O2 -w $6" > configure.log 2>&1
  make -s -C dtpools > make.log 2>&1
  make -s -C util >> make.log 2>&1
  cd "$folder"
}
tested() { # FOLDER SUITE LIST RESULTS: the suite's own script compiles what is not there, and runs it
  (cd "$1/$2" && "$folder/$1/runtests" -mpiexec="$(command -v mpiexec.mpich)" -srcdir="$source/$2" -tests="$3" -tapfile="$4") >> "$folder/$1/$2.log" 2>&1 || true
}
failures() { sed -n 's/^not ok [0-9]* - \([^ ]*\) .*/\1/p' "$1" | sed 's,^\./,,' | sort -u; }

configured compiled "$folder/compiler-cc" "$folder/compiler-c++" "$folder/compiler-fc" "$folder/compiler-fc" ""
failed=0
: > compiled/programs.log
for suite; do
  rm -f "compiled/$suite.log"
  make -s -k -C "compiled/$suite" check TESTS= >> compiled/programs.log 2>&1 || true  # all programs
  tested compiled "$suite" testlist "$folder/compiled/$suite.tap"
  count=$(grep -c '^ok .*time=' "compiled/$suite.tap" || true)
  ours="" theirs=""
  for name in $(failures "compiled/$suite.tap"); do
    [ -f plain/Makefile ] && [ -f plain/util/libmtest_single.la ] ||
      configured plain mpicc.mpich mpicxx.mpich mpif90.mpich mpif77.mpich "-fallow-argument-mismatch -fallow-invalid-boz"
    part=$suite/$(dirname "$name")
    list=$source/$part/testlist
    [ -f "compiled/$part/testlist" ] && list=$folder/compiled/$part/testlist
    grep -E "^ *$(basename "$name")([[:space:]]|\$)" "$list" > "plain/$part/failed.list" || true
    tested plain "$part" failed.list "$folder/plain/failed.tap"
    if grep -q '^ok ' plain/failed.tap && [ -z "$(failures plain/failed.tap)" ]; then ours="$ours $name"; else theirs="$theirs $name"; fi
  done
  echo "$suite: $count tests passed${theirs:+; these fail with the plain compilers, too:$theirs}${ours:+; FAILED:$ours}"
  [ "$count" -gt 0 ] && [ -z "$ours" ] || failed=1
done
became compiled/programs.log
exit $failed
