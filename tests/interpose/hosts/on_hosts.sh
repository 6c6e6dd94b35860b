#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Starts a program on the two hosts that two_hosts.sh made, one rank or two on each.
#
#   on_hosts.sh LAUNCHER PRELOAD RANKS PROGRAM ARGS...
#
# LAUNCHER is an mpiexec, whose options are chosen by its version text, or srun:PLUGIN, in bench/hosts/slurm.sh. The
# environment is passed on to the ranks. With LACUNA_ONLY_ON_HOST=1 (or 2), the ranks of the other host run without the
# preload library.
set -eu
launcher=$1 preload=$2 ranks=$3
shift 3
if [ -n "${LACUNA_ONLY_ON_HOST:-}" ]; then
  # shellcheck disable=SC2016  # the rank's shell expands it
  set -- sh -c 'host=$(hostname); [ "${host##*-}" = "$0" ] || unset LD_PRELOAD; exec "$@"' "$LACUNA_ONLY_ON_HOST" "$@"
fi
each=$(((ranks + 1) / 2))

if [ "${launcher%%:*}" = srun ]; then
  exec srun --quiet --mpi="${launcher#*:}" -N 2 -n "$ranks" --ntasks-per-node="$each" \
    --export=ALL,LD_PRELOAD="$preload" "$@"
fi
first=${LACUNA_HOST_LIST%,*} second=${LACUNA_HOST_LIST#*,}
if "$launcher" --version 2>/dev/null | grep -qi 'open *mpi\|open-mpi\|prte'; then
  case $("$launcher" --version 2>/dev/null) in
    *' 4.'*) agent="--mca plm_rsh_agent" spread="--map-by node --oversubscribe" ;;
    *) agent="--prtemca plm_ssh_agent" spread="--map-by node:OVERSUBSCRIBE" ;;
  esac
  passed=$(env | sed -n 's/^\(LACUNA_[A-Z_]*\)=.*/-x \1/p')
  # shellcheck disable=SC2086  # lists of words
  exec "$launcher" $agent "$LACUNA_HOST_SHELL" --host "$first:$each,$second:$each" $spread --bind-to none -n "$ranks" \
    -x LD_LIBRARY_PATH $passed -x "LD_PRELOAD=$preload" "$@"
fi
exec "$launcher" -launcher ssh -launcher-exec "$LACUNA_HOST_SHELL" -hosts "$first,$second" -ppn "$each" -n "$ranks" \
  -genv LD_PRELOAD "$preload" "$@"
