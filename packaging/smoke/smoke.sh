#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What a packager runs after the installation: compiles a program of MPI, preloads lacuna into two ranks, reads the log.
#   smoke.sh FOLDER [MPICC [LAUNCHER WORD ...]]    FOLDER has the preload libraries; the launcher's words end before `-n 2`
# Needs no Python. Exit codes: 0 it works, 1 it does not, 2 usage, 3 the program cannot be compiled or is of no known
# MPI.
set -eu

say() { echo "lacuna smoke test: $*" >&2; }
[ $# -ge 1 ] || { say "usage: smoke.sh FOLDER [MPICC [LAUNCHER WORD ...]]"; exit 2; }
folder=$1
mpicc=${2:-mpicc}
if [ $# -gt 2 ]; then shift 2; else set -- mpiexec; fi

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$mpicc" "$here/smoke.c" -o "$work/smoke" || { say "$mpicc cannot compile smoke.c"; exit 3; }

# By the name of the MPI library that the program asks for.
case $(readelf -d "$work/smoke") in
  *libmpi_abi.so*) family=mpiabi ;;
  *libmpi.so.12* | *libmpich.so*) family=mpich ;;
  *libmpi.so.40*) family=ompi ;;
  *) say "the program that $mpicc made needs no MPI library that lacuna knows"; exit 3 ;;
esac
library=$folder/liblacuna-$family.so
[ -f "$library" ] || { say "there is no $library"; exit 1; }

# In the ranks alone. LACUNA_ALWAYS: also where the shipped table leaves this message to the MPI library.
"$@" -n 2 env LD_PRELOAD="$library" LACUNA_LOG=1 LACUNA_ALWAYS=1 LACUNA_TABLE=none LACUNA_PROFILE=none "$work/smoke" \
  >"$work/out" 2>"$work/err" || { cat "$work/err" >&2; say "the program failed under lacuna"; exit 1; }
grep -q '^received 1023$' "$work/out" || { cat "$work/out" >&2; say "the program received something else"; exit 1; }
on=$(grep '^lacuna\[0\]: on: lacuna ' "$work/err") || { cat "$work/err" >&2; say "lacuna was not in the ranks"; exit 1; }
grep -q '^lacuna\[0\]: vector(.*: handled' "$work/err" ||
  { cat "$work/err" >&2; say "lacuna did not handle the program's messages"; exit 1; }
echo "$on"
