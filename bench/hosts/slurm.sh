#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Slurm on the hosts that hosts.sh made: starts its daemons, runs a command on the first host, and stops them.
#
#   hosts.sh NUMBER slurm.sh COMMAND...    COMMAND may call srun, sbatch, sinfo
#
# Exit codes: COMMAND's own; 77, for a test to skip, if Slurm is not installed. The daemons run as root, without
# cgroups, and keep all they write in a folder that is removed at the end.
set -eu
if [ -z "${LACUNA_HOST_LIST:-}" ] || [ $# -eq 0 ]; then
  echo "usage: hosts.sh NUMBER slurm.sh COMMAND..." >&2
  exit 2
fi
PATH=$PATH:/usr/sbin:/sbin
for program in munged slurmctld slurmd srun; do
  command -v $program >/dev/null 2>&1 ||
    { echo "slurm.sh: skipped: no $program; remedy: apt-get install slurm-wlm munge libpmi2-0" >&2; exit 77; }
done

folder=$(mktemp -d "${TMPDIR:-/tmp}/lacuna-slurm.XXXXXX")
chmod 755 "$folder"
finish() {
  # SIGKILL: a daemon that shuts down may wait for ever for one that has ended.
  pkill -KILL -f "slurm(d|ctld) -D -f $folder" || :
  pkill -KILL -f "munged --socket=$folder" || :
  wait
  rm -rf "$folder"
}
trap finish EXIT
trap 'exit 130' INT TERM

mkdir -m 700 "$folder/munge"
head -c 1024 /dev/urandom >"$folder/munge/key"
chmod 600 "$folder/munge/key"
mkdir "$folder/state" "$folder/pmix" "$folder/cgroup"
nodes=$(for address in $(echo "$LACUNA_HOST_LIST" | tr , ' '); do
  host=$LACUNA_HOST_NAME-${address##*.}
  echo "NodeName=$host NodeAddr=$address CPUs=64 State=UNKNOWN"
done)
number=$(echo "$nodes" | wc -l)
cat >"$folder/slurm.conf" <<CONF
ClusterName=lacuna
SlurmctldHost=$(hostname)
SlurmUser=root
AuthInfo=socket=$folder/munge.socket
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool-%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdParameters=config_overrides
$nodes
PartitionName=all Nodes=ALL Default=YES
CONF
printf 'CgroupPlugin=cgroup/v1\nCgroupMountpoint=%s/cgroup\n' "$folder" >"$folder/cgroup.conf"
echo "PMIxCliTmpDirBase=$folder/pmix" >"$folder/mpi.conf"
SLURM_CONF=$folder/slurm.conf
export SLURM_CONF

munged --socket="$folder/munge.socket" --key-file="$folder/munge/key" --pid-file="$folder/munge/pid" \
  --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" --foreground >/dev/null 2>&1 &
slurmctld -D -f "$SLURM_CONF" >/dev/null 2>&1 &
for address in $(echo "$LACUNA_HOST_LIST" | tr , ' '); do
  # Hosts have shared memory and PMIx's folder of their own. Here files of two hosts would have the same names.
  mkdir "$folder/pmix-$address"
  "$LACUNA_HOST_SHELL" "$address" "mount --bind $folder/pmix-$address $folder/pmix && \
    mount -t tmpfs tmpfs /dev/shm && exec slurmd -D -f $SLURM_CONF" >/dev/null 2>&1 &
done
ready=0
for _ in $(seq 300); do
  ready=$(sinfo --noheader --states=idle --format=%D 2>/dev/null || :)
  if [ "${ready:-0}" = "$number" ]; then break; fi
  sleep 0.1
done
if [ "${ready:-0}" != "$number" ]; then
  echo "slurm.sh: ${ready:-0} of $number nodes came up in 30 s:" >&2
  tail -n 5 "$folder"/*.log >&2 || :
  exit 1
fi
# Jobs do not need them, and lacuna would take them for options.
unset LACUNA_HOST_LIST LACUNA_HOST_SHELL LACUNA_HOST_NAME LACUNA_HOST_LINK
"$@"
