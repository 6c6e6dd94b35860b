#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Programs that others wrote, natively and under `lacuna run`: do they say the same, and end with the same status?
# HDF5's own parallel test (files through MPI-IO: vectors and index lists of bytes in memory) as Debian ships its
# source, on Debian's MPICH; StarPU's examples (a thread of its own for MPI, types with gaps of matrices), where
# Debian's package starpu-examples is there, on its Open MPI. Each once as always and once with all that can be taken,
# compared with the library. Fetches 13 MB; half a minute, and as much to build.
#
# Usage: programs.sh FOLDER      FOLDER keeps what is fetched and built, and what differed.
set -eu
. "$(dirname "$0")/sources.sh"
need mpicc.mpich
need mpiexec.openmpi
include=/usr/include/hdf5/mpich
[ -f $include/H5pubconf.h ] || { echo "programs: no HDF5 for MPICH; remedy: setup/setup.sh sources" >&2; exit 3; }

fetch hdf5
cd "$folder"
if [ ! -x testphdf5 ]; then
  echo 'const char *config_srcdir = "./";' > H5srcdir_str.h
  source=$(ls -d "$folder"/hdf5-*/)
  cd "$source/testpar"
  mpicc.mpich -O1 -w -I"$folder" -I../src -I../test -I$include testphdf5.c t_dset.c t_file.c t_file_image.c t_mdset.c t_ph5basic.c \
    t_coll_chunk.c t_span_tree.c t_chunk_alloc.c t_filter_read.c t_prop.c t_coll_md_read.c ../test/h5test.c ../test/testframe.c \
    -L"$(dirname "$(gcc -print-file-name=libc.so)")/hdf5/mpich" -lhdf5 -lm -o "$folder/testphdf5"
  cd "$folder"
fi

export OMP_NUM_THREADS=1 UCX_LOG_LEVEL=error STARPU_NCPU=1 STARPU_SILENT=1 STARPU_HOME="$folder"
lacuna="$root/.venv/bin/lacuna"
# What it says, as so many of each letter, as ranks write at once, into each other's words; times are left out.
# LACUNA_VERIFY's last line is no difference if it says so.
said() {
  rm -rf here && mkdir here
  status=0
  (cd here && timeout -k 2 120 "$@" < /dev/null 2>&1) > raw || status=$?
  grep -v ': 0 differences$' raw | sed -E 's/[0-9]+\.[0-9]+//g' | tr -d '* \n' | fold -w 1 | sort | uniq -c
  echo "status $status"
}
failed=0
same() {
  name=$1
  shift
  said "$@" > "$name.native"
  tail -n 1 "$name.native" | grep -q 'status 0$' || { echo "$name: fails natively, left out"; return; }
  said "$lacuna" run "$@" > "$name.lacuna"
  LACUNA_ALWAYS=1 LACUNA_VERIFY=1 said "$lacuna" run "$@" > "$name.always"
  for way in lacuna always; do
    cmp -s "$name.native" "$name.$way" || { echo "$name: differs: $folder/$name.native, .$way" >&2; failed=1; }
  done
  echo "$name: compared"
}

same hdf5 mpiexec.mpich -n 2 "$folder/testphdf5"
examples="$(dirname "$(gcc -print-file-name=libc.so)")/starpu/mpi"
if [ -d "$examples" ]; then
  root_too=$([ "$(id -u)" -ne 0 ] || echo --allow-run-as-root)
  # Once alone: where StarPU finds no measurements of the machine, each of its processes makes them, and one may read
  # what another writes.
  "$examples/mm" > /dev/null 2>&1 || true
  for example in filter user_datatype mpi_complex mm; do
    # shellcheck disable=SC2086
    same "$example" mpiexec.openmpi $root_too --oversubscribe --bind-to none -n 2 "$examples/$example"
  done
else
  echo "programs: no StarPU, left out; remedy: apt-get install starpu-examples"
fi
exit $failed
