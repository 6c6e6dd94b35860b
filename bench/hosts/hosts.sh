#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Hosts on one machine: network namespaces with a virtual network card each, so that ranks can only reach each other by
# TCP. Two are joined by a cable, more by a switch. Makes them, runs a command with them, and removes them.
#
#   hosts.sh NUMBER COMMAND...  COMMAND sees in its environment
#     LACUNA_HOST_LIST              the addresses, "10.x.y.1,10.x.y.2,..."
#     LACUNA_HOST_LINK          the name of the card in each of them: lacuna0
#     LACUNA_HOST_SHELL         a stand-in for ssh: `$LACUNA_HOST_SHELL [OPTIONS] ADDRESS WORDS...` runs WORDS there
#   and what tells MPI libraries to use those cards alone.
#
# Links are as fast as the machine, unless these are set:
#     LACUNA_LINK_RATE          in each direction, as tc understands it: 1gbit, 10gbit, 25gbit
#     LACUNA_LINK_DELAY         one way: 10us
#
# COMMAND runs on the first host. Exit codes: COMMAND's own; 77, for a test to skip, if namespaces cannot be made (it
# says why: root and the package iproute2 are needed).
set -eu

# Executes WORDS on a host. The host has a name and a boot id of its own, as libraries, UCX and lacuna would otherwise
# take both for one.
on_host() {  # HOST WORDS...
  host=$1
  shift
  boot_id=$(dirname "$LACUNA_HOST_SHELL")/boot_id-${host##*-}
  # shellcheck disable=SC2016  # the inner shell expands it
  exec ip netns exec "$host" unshare --uts --mount sh -c '
    hostname "$0" && mount --bind "$1" /proc/sys/kernel/random/boot_id && shift && exec "$@"' "$host" "$boot_id" "$@"
}

if [ "${1:-}" = --ssh ]; then  # the stand-in itself
  shift
  while [ $# -gt 0 ]; do
    case $1 in
      -[bcDEeFIiJLlmOopQRSWw]) shift 2 ;;  # options of ssh with a value
      -*) shift ;;
      *) break ;;
    esac
  done
  address=${1#*@}
  shift
  case ,$LACUNA_HOST_LIST, in
    *",$address,"*) on_host "$LACUNA_HOST_NAME-${address##*.}" sh -c "$*" ;;
    *) echo "hosts.sh: no host $address" >&2; exit 255 ;;
  esac
fi

case ${1:-} in
  [2-9] | [1-9][0-9]) number=$1 ;;
  *) number= ;;
esac
if [ -z "$number" ] || [ $# -lt 2 ]; then
  echo "usage: hosts.sh NUMBER COMMAND... (2 to 99 hosts)" >&2
  exit 2
fi
shift

skip() { echo "hosts.sh: skipped: $*" >&2; exit 77; }
command -v ip >/dev/null 2>&1 || skip "no command ip; remedy: apt-get install iproute2"
[ -z "${LACUNA_LINK_RATE:-}${LACUNA_LINK_DELAY:-}" ] || command -v tc >/dev/null 2>&1 ||
  skip "no command tc; remedy: apt-get install iproute2"
[ "$(id -u)" -eq 0 ] || skip "only root may make network namespaces"

# Each process has its own, so that several tests may run at once.
LACUNA_HOST_NAME=lacuna$$
net=10.$((128 + $$ / 250 % 100)).$(($$ % 250))
export LACUNA_HOST_NAME

# Kills the processes that are left on the hosts of a run, and removes them.
remove() {  # NAME
  for host in $(ip netns list | sed -n "s/^\($1-[0-9]*\).*/\1/p"); do
    if pids=$(ip netns pids "$host" 2>/dev/null) && [ -n "$pids" ]; then
      # shellcheck disable=SC2086  # a list of words is meant
      kill -9 $pids 2>/dev/null || :
    fi
    ip netns del "$host" 2>/dev/null || :
    rm -rf "/etc/netns/$host"
  done
  rmdir /etc/netns 2>/dev/null || :
}
# Those of runs that were killed.
for old in $(ip netns list | sed -n 's/^lacuna\([0-9]*\)-1.*/\1/p'); do
  if ! kill -0 "$old" 2>/dev/null; then remove "lacuna$old"; fi
done
finish() {
  remove "$LACUNA_HOST_NAME"
  if [ -n "${folder:-}" ]; then rm -rf "$folder"; fi
}
trap finish EXIT
trap 'exit 130' INT TERM

LACUNA_HOST_LINK=lacuna0
export LACUNA_HOST_LINK
numbers=$(seq "$number")
make_hosts() {
  for i in $numbers; do ip netns add "$LACUNA_HOST_NAME-$i" || return; done
  if [ "$number" -eq 2 ]; then
    ip link add lacuna0 netns "$LACUNA_HOST_NAME-1" type veth peer name lacuna0 netns "$LACUNA_HOST_NAME-2"
    return
  fi
  ip netns add "$switch" && ip -n "$switch" link add switch type bridge && ip -n "$switch" link set switch up || return
  for i in $numbers; do
    ip link add lacuna0 netns "$LACUNA_HOST_NAME-$i" type veth peer name "port$i" netns "$switch" &&
      ip -n "$switch" link set "port$i" master switch up || return
  done
}
switch=$LACUNA_HOST_NAME-0
why=$(make_hosts 2>&1) || skip "this machine lets no network namespaces be made: $why"
for i in $numbers; do  # what is in /etc/netns/HOST hides the machine's own on that host
  host=$LACUNA_HOST_NAME-$i
  mkdir -p "/etc/netns/$host"
  echo '127.0.0.1 localhost' >"/etc/netns/$host/hosts"
  for j in $numbers; do echo "$net.$j $LACUNA_HOST_NAME-$j"; done >>"/etc/netns/$host/hosts"
  ip -n "$host" link set lo up
  ip -n "$host" addr add "$net.$i/24" dev lacuna0
  ip -n "$host" link set lacuna0 up
done
# What leaves a card: a token bucket of a few packets, which have up to 64 KiB.
shape() {  # HOST CARD DELAY
  parent=root
  if [ -n "$3" ]; then
    parent="parent 1:"
    ip netns exec "$1" tc qdisc add dev "$2" root handle 1: netem delay "$3" limit 100000 ||
      { echo "a delay needs the kernel's netem"; return 1; }
  fi
  [ -n "${LACUNA_LINK_RATE:-}" ] || return 0
  # shellcheck disable=SC2086  # two words
  ip netns exec "$1" tc qdisc add dev "$2" $parent handle 10: tbf rate "$LACUNA_LINK_RATE" burst 256kb latency 50ms ||
    { echo "a rate needs the kernel's tbf"; return 1; }
}
shape_all() {
  for i in $numbers; do
    shape "$LACUNA_HOST_NAME-$i" lacuna0 "${LACUNA_LINK_DELAY:-}" || return
    # Several hosts may send to one.
    if [ "$number" -gt 2 ]; then shape "$switch" "port$i" "" || return; fi
  done
}
why=$(shape_all 2>&1) || skip "this machine does not shape its links: $(echo "$why" | tr '\n' ' ')"
# The network cards take a moment to come up, and UCX uses none that is not ready.
for i in $numbers; do
  for _ in $(seq 100); do
    case $(ip -n "$LACUNA_HOST_NAME-$i" -o link show lacuna0) in *LOWER_UP*'state UP'*) break ;; esac
    sleep 0.1
  done
done

folder=$(mktemp -d)
LACUNA_HOST_LIST=$net.1
for i in $numbers; do [ "$i" -eq 1 ] || LACUNA_HOST_LIST=$LACUNA_HOST_LIST,$net.$i; done
LACUNA_HOST_SHELL=$folder/ssh
for i in $numbers; do cat /proc/sys/kernel/random/uuid >"$folder/boot_id-$i"; done
export LACUNA_HOST_LIST LACUNA_HOST_SHELL
# UCX would communicate through the memory that all hosts share, as they are one machine.
export UCX_TLS=tcp,self UCX_NET_DEVICES=lacuna0 FI_PROVIDER=tcp
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=lacuna0
# Open MPI would bind the first rank of each host to the same core (the names are those of version 5 and 4).
export PRTE_MCA_hwloc_default_binding_policy=none OMPI_MCA_hwloc_base_binding_policy=none
printf '#!/bin/sh\nexec sh "%s" --ssh "$@"\n' "$(cd "$(dirname "$0")" && pwd)/$(basename "$0")" >"$LACUNA_HOST_SHELL"
chmod +x "$LACUNA_HOST_SHELL"
(on_host "$LACUNA_HOST_NAME-1" "$@")
