#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# MPICH's own test suite, as Debian ships its source, compiled by lacuna-cc and run: sources that nobody here wrote. Fetches
# the source package (22 MB) of Debian's MPICH, which must be installed, without touching the system's lists of packages.
#
# Usage: mpich_suite.sh FOLDER [SUITE ...]      FOLDER keeps what is fetched and built; suites: datatype (the default), pt2pt, ...
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- datatype
need() { command -v "$1" > /dev/null || { echo "mpich_suite: no $1; remedy: setup/setup.sh test, setup/setup.sh optimizer" >&2; exit 3; }; }
need clang-19
need mpiexec.mpich

cd "$folder"
if ! ls -d mpich-*/test/mpi > /dev/null 2>&1; then
  mkdir -p lists/partial
  echo "deb-src http://deb.debian.org/debian $(. /etc/os-release && echo "$VERSION_CODENAME") main" > sources.list
  apt="-o Dir::Etc::SourceList=$folder/sources.list -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$folder/lists"
  # shellcheck disable=SC2086
  apt-get $apt -qq update && apt-get $apt -qq source --download-only --tar-only mpich
  tar xf mpich_*.orig.tar.*
fi
source=$(ls -d "$folder"/mpich-*/test/mpi)

cat > compiler << END
#!/bin/sh
export PYTHONPATH="$root/python" LACUNA_LIBRARY_DIR="\${LACUNA_LIBRARY_DIR:-$root/build/release/lib}"
exec "$root/.venv/bin/python" -B -m lacuna.compiler --mpi debian-mpich "\$@"
END
chmod +x compiler
mkdir -p build
cd build
[ -f Makefile ] || "$source/configure" -q --disable-fortran --disable-cxx --disable-romio CC="$folder/compiler" \
  MPICC="$folder/compiler" CFLAGS=-O2 > configure.log 2>&1
make -s -C dtpools > make.log 2>&1
make -s -C util >> make.log 2>&1
failed=0
for suite; do
  # check_PROGRAMS are what `make check` builds; the suite's own script runs them.
  make -s -k -C "$suite" check >> make.log 2>&1 || true
  (cd "$suite" && ../runtests -mpiexec="$(command -v mpiexec.mpich)" -srcdir="$source/$suite" -tests=testlist) > "$suite.log" 2>&1 || true
  result=$(tail -1 "$suite.log")
  echo "$suite: $result"
  case $result in *"All "*" tests passed!"*) ;; *) failed=1 ;; esac
done
exit $failed
