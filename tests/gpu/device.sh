#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Everything that a CUDA device is needed for, in one start of at most five minutes: MPI calls with device memory under
# MPICH and Open MPI, a halo exchange, random types against the typemap, calls captured in graphs, lacuna.engine on
# device memory, the device's numbers, the bench, and random types under compute-sanitizer.
#
#   tests/gpu/device.sh [FOLDER [OUTPUT]]          in the root of the source tree
#
# FOLDER is what `tests/gpu/carry.sh FOLDER` collected (bin, lib, gcc, python, mpi: the files that must be carried
# besides the source tree), or the FOLDER.tar.gz that it wrote beside it, or a build folder (default: build/release;
# built there first if CMake and the rest are here). OUTPUT (default: the current folder) gets a log of each step,
# machine.json, bench.json, corpus.json, and halo-*.json (`host`: with LACUNA_GPU_IPC=0; `mps`: under NVIDIA's MPS, if
# nvidia-cuda-mps-control is there and starts). Of the machine are needed: x86-64, glibc 2.36, the CUDA driver, and
# Python 3.10 for the engine and the commands; no package of Python's.
# LACUNA_GPU_PARTS: `engine`, `mpi`, or both (if nothing is said). LACUNA_GPU_HALO: the cube of the halo exchange (512).
# LACUNA_GPU_TYPES: random types (100000). LACUNA_GPU_TAIL: bytes of the bench's tables that are shown (4000).
set -u
folder=${1:-build/release}
out=${2:-.}
types=${LACUNA_GPU_TYPES:-100000}
failed=0
case $folder in *.tar.gz)
  archive=$folder
  folder=$(mktemp -d)
  tar -C "$folder" -xzf "$archive" || exit 3
esac

targets="lacuna lacuna-cuda lacuna-gpu-check lacuna-gpu-bench lacuna-gpu-probe"
if [ "${LACUNA_GPU_PARTS:-}" != mpi ] && [ ! -x "$folder/bin/lacuna-gpu-check" ] && command -v cmake >/dev/null 2>&1; then
  # shellcheck disable=SC2086  # a list of words is meant
  cmake --preset release >/dev/null && cmake --build --preset release --target $targets || exit 3
fi
parts=${LACUNA_GPU_PARTS:-engine mpi}
[ "$parts" = mpi ] || [ -x "$folder/bin/lacuna-gpu-check" ] || { echo "device.sh: no $folder/bin/lacuna-gpu-check; remedy: tests/gpu/carry.sh $folder" >&2; exit 3; }
mkdir -p "$out"
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader || exit 3

started=$(date +%s)
step() { # NAME SECONDS words of the command; less where less is left
  name=$1
  most=$2
  shift 2
  began=$(date +%s)
  left=$((290 + started - began))
  if [ $left -lt 5 ]; then
    echo "== $name: skipped, no time is left"
    return
  fi
  [ $left -ge "$most" ] || most=$left
  timeout "$most" "$@" >"$out/$name.log" 2>&1
  code=$?
  [ $code -eq 0 ] || failed=1
  echo "== $name: exit code $code, $(($(date +%s) - began)) s"
}

# The topics of tests/interpose/device with real memory, in two ranks that share the device; then the halo exchange.
mpi=$(cd "$folder" && pwd)/mpi
[ -d "$mpi" ] || mpi=$(pwd)/build/mpi
libraries=$(cd "$folder/lib" && pwd)
topics="device_blocking device_large device_nonblocking device_persistent device_probed
  device_exchange device_packs device_collectives device_rooms device_rooms_plain"
# With the direct path alone: MPICH itself hangs after a message that was too long.
direct_topics="device_direct device_direct_order device_direct_ends"
window_topics="device_windows device_windows_order device_windows_truncated"
on_mpi() { # NAME SECONDS mpich|openmpi DIRECT words of the command
  name=$1
  most=$2
  library=$3
  direct=$4
  shift 4
  path=$mpi/$library/lib
  [ -e /usr/lib/x86_64-linux-gnu/libstdc++.so.6 ] || path=$path:$(cd "$folder" && pwd)/gcc
  case $library in
    mpich) step "$name" "$most" env LD_LIBRARY_PATH="$path" LACUNA_DIRECT="$direct" \
      "$mpi/mpich/bin/mpiexec.hydra" -localhost 127.0.0.1 -genv LD_PRELOAD "$libraries/liblacuna-mpich.so" -n 2 "$@" ;;
    openmpi) step "$name" "$most" env LD_LIBRARY_PATH="$path" LACUNA_DIRECT="$direct" OMPI_ALLOW_RUN_AS_ROOT=1 \
      OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=^ofi \
      OMPI_MCA_pml=ob1 "$mpi/openmpi/bin/mpiexec" --map-by :OVERSUBSCRIBE --bind-to none \
      -x LD_PRELOAD="$libraries/liblacuna-ompi.so" -n 2 "$@" ;;
  esac
}
case $parts in *mpi*)
  if [ -x "$folder/bin/interpose_test_mpich" ] && [ -d "$mpi/mpich" ]; then
    # LACUNA_ALWAYS: once by lacuna's rules, once whatever they say; the driver is loaded after MPI_Init, or before.
    for direct in 0 1; do
      all=$topics
      if [ $direct = 1 ]; then all="$topics $direct_topics"; export LACUNA_TEST_EARLY=1; else unset LACUNA_TEST_EARLY; fi
      export LACUNA_ALWAYS=$((1 - direct))
      for pair in mpich:mpich openmpi:ompi; do
        # shellcheck disable=SC2086  # a list of words is meant
        on_mpi "mpi-${pair%:*}-$direct" 40 "${pair%:*}" $direct "$folder/bin/interpose_test_${pair#*:}" $all
        tail -n 12 "$out/mpi-${pair%:*}-$direct.log"
      done
    done
    # Through device memory that both ranks have mapped; the log says whether they have.
    export LACUNA_ALWAYS=1 LACUNA_GPU_IPC=1 LACUNA_LOG=1
    for pair in mpich:mpich openmpi:ompi; do
      # shellcheck disable=SC2086  # a list of words is meant
      on_mpi "windows-${pair%:*}" 40 "${pair%:*}" 1 "$folder/bin/interpose_test_${pair#*:}" \
        $window_topics $topics $direct_topics
      grep -h "device memory of rank" "$out/windows-${pair%:*}.log" || echo "no device memory was mapped"
      grep -v "^lacuna" "$out/windows-${pair%:*}.log" | tail -n 12
      # Resets the device, and ends contexts.
      on_mpi "reset-${pair%:*}" 20 "${pair%:*}" 1 "$folder/bin/interpose_test_${pair#*:}" device_windows_reset \
        device_windows_gone device_windows_other_context
      grep -v "^lacuna" "$out/reset-${pair%:*}.log" | tail -n 4
    done
    unset LACUNA_TEST_EARLY LACUNA_ALWAYS LACUNA_LOG
    halo() { # mpich|openmpi FAMILY CALL LACUNA_GPU_IPC [mps]
      export LACUNA_GPU_IPC="$4"
      name=halo-$1-$3${5:+-$5}
      [ "$4" = auto ] || name=$name-host
      on_mpi "$name" 30 "$1" 1 "$folder/bin/lacuna-gpu-halo-$2" --call "$3" \
        --size "${LACUNA_GPU_HALO:-512}" --json "$out/$name.json"
      tail -n 12 "$out/$name.log"
      unset LACUNA_GPU_IPC
    }
    for ipc in auto 0; do
      halo mpich mpich sendrecv $ipc
      halo mpich mpich alltoallw $ipc
      halo openmpi ompi sendrecv $ipc
    done
    # The kernels of both ranks run at a time.
    if command -v nvidia-cuda-mps-control >/dev/null 2>&1; then
      CUDA_MPS_PIPE_DIRECTORY=$(mktemp -d)
      CUDA_MPS_LOG_DIRECTORY=$CUDA_MPS_PIPE_DIRECTORY
      export CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
      if nvidia-cuda-mps-control -d; then
        for ipc in auto 0; do
          halo mpich mpich sendrecv $ipc mps
          halo mpich mpich alltoallw $ipc mps
        done
        echo quit | nvidia-cuda-mps-control
      fi
      unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
    else
      echo "== halo under MPS: skipped, no nvidia-cuda-mps-control"
    fi
  else
    echo "== mpi: skipped, no $folder/bin/interpose_test_mpich or no $mpi/mpich"
  fi
esac
case $parts in *engine*) ;; *) exit $failed ;; esac

step check 60 "$folder/bin/lacuna-gpu-check" --seeds "$types" --threads 12
tail -n 3 "$out/check.log"

if command -v python3 >/dev/null 2>&1; then
  LACUNA_LIBRARY_DIR=$(cd "$folder/lib" && pwd)
  XDG_CACHE_HOME=$(mktemp -d)
  PYTHONPATH=$(pwd)/python:$(cd "$folder" && pwd)/python
  export LACUNA_LIBRARY_DIR XDG_CACHE_HOME PYTHONPATH PYTHONDONTWRITEBYTECODE=1
  python3 -c 'import ctypes; ctypes.CDLL("libstdc++.so.6")' 2>/dev/null || export LD_LIBRARY_PATH="$folder/gcc"
  lacuna() { # NAME SECONDS words of the command
    name=$1
    most=$2
    shift 2
    step "$name" "$most" python3 -c 'import sys; sys.argv[0] = "lacuna"; from lacuna.cli.main import main; main()' "$@"
  }
  step engine 60 python3 tests/gpu/engine_on_device.py
  tail -n 8 "$out/engine.log"
  lacuna machine 40 machine --gpu --measure --json --output "$out/machine.json"
  lacuna machine 40 machine --gpu --measure
  cat "$out/machine.log"
  lacuna explain 20 explain --gpu "resized(0, 16, struct([1, 1], [0, 8], [char, double]))" --count 1000000
  cat "$out/explain.log"
  lacuna bench 90 bench gpu --quick --json "$out/bench.json"
  tail -c "${LACUNA_GPU_TAIL:-4000}" "$out/bench.log"
  lacuna corpus 120 bench gpu --only ddtbench --only structs --only faces --only index --only transpose --only sweep \
    --json "$out/corpus.json"
  tail -c "${LACUNA_GPU_TAIL:-4000}" "$out/corpus.log"
else
  echo "== engine and commands: skipped, no python3"
  step bench 90 "$folder/bin/lacuna-gpu-bench" --quick --out "$out/bench.lines"
  tail -c "${LACUNA_GPU_TAIL:-4000}" "$out/bench.log"
fi
if command -v compute-sanitizer >/dev/null 2>&1; then
  step sanitizer 60 compute-sanitizer --error-exitcode 9 "$folder/bin/lacuna-gpu-check" --first 1000000 --seeds 1000 --threads 1
  tail -n 3 "$out/sanitizer.log"
else
  echo "== sanitizer: skipped, no compute-sanitizer"
fi
exit $failed
