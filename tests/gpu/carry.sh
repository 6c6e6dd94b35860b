#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Collects into a folder what tests/gpu/device.sh needs besides the source tree on a machine where nothing can be
# built or installed; some 25 MiB, without debug information.
#
#   tests/gpu/carry.sh FOLDER [BUILD]
#
# FOLDER/bin      lacuna-gpu-check, lacuna-gpu-bench, lacuna-gpu-probe: all of ours and the CUDA runtime are inside
# FOLDER/lib      liblacuna.so.0 and liblacuna-cuda.so, for Python
# FOLDER/gcc      the C++ library and its kin, where the machine has none
# FOLDER/python   what the `lacuna` command imports: typer, rich and theirs, which are Python alone
# BUILD (default: build/release) is where they were built:
#   cmake --build build/release --target lacuna lacuna-cuda lacuna-gpu-check lacuna-gpu-bench lacuna-gpu-probe
set -eu
[ $# -ge 1 ] || { echo "usage: tests/gpu/carry.sh FOLDER [BUILD]" >&2; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:?}
build=${2:-$root/build/release}
python=${LACUNA_PYTHON:-$root/.venv/bin/python}

fail() { echo "carry.sh: $*" >&2; exit 3; }
rm -rf "${folder:?}/bin" "${folder:?}/lib" "${folder:?}/gcc" "${folder:?}/python"
mkdir -p "$folder/bin" "$folder/lib" "$folder/gcc" "$folder/python"
for file in bin/lacuna-gpu-check bin/lacuna-gpu-bench bin/lacuna-gpu-probe lib/liblacuna.so.0 lib/liblacuna-cuda.so; do
  [ -f "$build/$file" ] || fail "no $build/$file; remedy: build the targets that this script's head names"
  cp -L "$build/$file" "$folder/$file"
  strip --strip-debug "$folder/$file"
done
for file in libstdc++.so.6 libgcc_s.so.1; do
  cp -L "$(gcc -print-file-name=$file)" "$folder/gcc/$file"
done
"$python" - "$folder/python" <<'END' || fail "$python has not what the command imports; remedy: setup/setup.sh build"
import importlib, pathlib, shutil, sys
for name in ("annotated_doc", "rich", "shellingham", "typer"):
    place = pathlib.Path(importlib.import_module(name).__file__).parent
    shutil.copytree(place, pathlib.Path(sys.argv[1]) / name, ignore=shutil.ignore_patterns("__pycache__"))
END
du -sh "$folder" | cut -f1
