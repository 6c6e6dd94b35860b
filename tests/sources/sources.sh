# shellcheck shell=sh
# SPDX-License-Identifier: BSD-3-Clause
# What the scripts of this folder have in common, which read it after `set -eu`: Debian's source packages, and
# lacuna's compilers for Debian's MPICH as files that a build system can be given.
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$(basename "$0" .sh)
mkdir -p "$1"
folder=$(cd "$1" && pwd) # keeps what is fetched and built

need() { command -v "$1" > /dev/null || { echo "$here: no $1; remedy: ${2:-setup/setup.sh test, setup/setup.sh optimizer}" >&2; exit 3; }; }

# fetch PACKAGE: its sources stand in $folder/PACKAGE-VERSION then. The system's lists of packages are not touched.
fetch() {
  ls -d "$folder/$1"-*/ > /dev/null 2>&1 && return
  mkdir -p "$folder/lists/partial"
  echo "deb-src http://deb.debian.org/debian $(. /etc/os-release && echo "$VERSION_CODENAME") main" > "$folder/sources.list"
  apt="-o Dir::Etc::SourceList=$folder/sources.list -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$folder/lists"
  # shellcheck disable=SC2086
  (cd "$folder" && apt-get $apt -qq update && apt-get $apt -qq source --download-only --tar-only "$1" && tar xf "$1"_*.orig.tar.*)
}

# compiler NAME FILE: lacuna-NAME (cc, c++, fc) as FILE, with remarks (among the flags of a program they would be run
# paths to libtool).
compiler() {
  need clang-19
  printf '#!/bin/sh\nexec "%s" --mpi debian-mpich -Rpass=lacuna -Rpass-missed=lacuna "$@"\n' "$root/.venv/bin/lacuna-$1" > "$2"
  chmod +x "$2"
}

# became LOG: a line that says what became of the calls, if anything was compiled; FOLDER's file `remarks` has them all.
became() {
  grep -q 'remark: ' "$1" || return 0
  remarks=$folder/remarks
  grep 'remark: ' "$1" > "$remarks"
  echo "$here: $(grep -c ' specialized: ' "$remarks") calls specialized, $(grep -c ' looks its type up at run time: ' "$remarks") look their type up at run time," \
    "$(grep -c ' left as it is: ' "$remarks") left," \
    "$(grep -c ' removed: ' "$remarks") types removed, $(grep -c ' registers kernels' "$remarks") types with kernels for calls that are not seen"
}

need mpiexec.mpich
