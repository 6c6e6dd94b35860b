#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Everything that a CUDA device is needed for, in one start of at most eight minutes: random types against the typemap, the
# same under compute-sanitizer, calls captured in graphs, and the bench.
#
#   tests/gpu/device.sh [FOLDER [OUTPUT]]
#
# FOLDER holds lacuna-gpu-check and lacuna-gpu-bench, which contain all of ours and the CUDA runtime (default: build/release/bin,
# where they are built if nvcc, CMake and the rest are here). OUTPUT gets bench.json and logs.
set -u
bin=${1:-build/release/bin}
out=${2:-.}
types=${LACUNA_GPU_TYPES:-100000}
failed=0

if [ ! -x "$bin/lacuna-gpu-check" ] && [ -f CMakePresets.json ]; then
  cmake --preset release >/dev/null && cmake --build --preset release --target lacuna-gpu-check lacuna-gpu-bench || exit 3
fi
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader || exit 3
step() {
  name=$1
  shift
  began=$(date +%s)
  timeout 200 "$@" >"$out/$name.log" 2>&1
  code=$?
  [ $code -eq 0 ] || failed=1
  echo "$name: exit code $code, $(($(date +%s) - began)) s"
}
step check "$bin/lacuna-gpu-check" --seeds "$types" --threads 12
tail -n 3 "$out/check.log"
if command -v compute-sanitizer >/dev/null 2>&1; then
  step sanitizer compute-sanitizer --error-exitcode 9 "$bin/lacuna-gpu-check" --first 1000000 --seeds 1000 --threads 1
  tail -n 3 "$out/sanitizer.log"
else
  echo "sanitizer: skipped, no compute-sanitizer"
fi
step bench "$bin/lacuna-gpu-bench" --json "$out/bench.json"
tail -c "${LACUNA_GPU_TAIL:-9000}" "$out/bench.log"
exit $failed
