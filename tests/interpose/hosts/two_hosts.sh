#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Two hosts on one machine: two network namespaces, joined by a pair of virtual network cards, so that ranks can only
# reach each other by TCP. Makes them, runs a command with them, and removes them.
#
#   two_hosts.sh COMMAND...     COMMAND sees in its environment
#     LACUNA_HOSTS              the two addresses, "10.x.y.1,10.x.y.2" (of their cards lacuna0)
#     LACUNA_HOST_SHELL         a stand-in for ssh: `$LACUNA_HOST_SHELL [OPTIONS] ADDRESS WORDS...` runs WORDS on that host
#   and what tells MPI libraries to use those cards alone.
#
# The link is as fast as the machine, unless these are set:
#     LACUNA_LINK_RATE          in each direction, as tc understands it: 1gbit, 10gbit, 25gbit
#     LACUNA_LINK_DELAY         one way: 10us
#
# COMMAND runs on the first host. Exit codes: COMMAND's own; 77, for a test to skip, if namespaces cannot be made (it
# says why: root and the package iproute2 are needed).
set -eu

# Executes WORDS on a host. The host has a name of its own, as libraries would otherwise take both for one.
on_host() {  # HOST WORDS...
  host=$1
  shift
  # shellcheck disable=SC2016  # the inner shell expands it
  exec ip netns exec "$host" unshare --uts sh -c 'hostname "$0" && exec "$@"' "$host" "$@"
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
  case $address in
    *.1) host=$LACUNA_HOST_NAME-1 ;;
    *.2) host=$LACUNA_HOST_NAME-2 ;;
    *) echo "two_hosts.sh: no host $address" >&2; exit 255 ;;
  esac
  on_host "$host" sh -c "$*"
fi

[ $# -gt 0 ] || { echo "usage: two_hosts.sh COMMAND..." >&2; exit 2; }

skip() { echo "two_hosts.sh: skipped: $*" >&2; exit 77; }
command -v ip >/dev/null 2>&1 || skip "no command ip; remedy: apt-get install iproute2"
[ -z "${LACUNA_LINK_RATE:-}${LACUNA_LINK_DELAY:-}" ] || command -v tc >/dev/null 2>&1 ||
  skip "no command tc; remedy: apt-get install iproute2"
[ "$(id -u)" -eq 0 ] || skip "only root may make network namespaces"

# One pair for each process, so that several tests may run at once.
LACUNA_HOST_NAME=lacuna$$
net=10.$((128 + $$ / 250 % 100)).$(($$ % 250))
export LACUNA_HOST_NAME

# Kills the processes that are left on a host, and removes it.
remove() {  # NAME of a pair
  for host in "$1-1" "$1-2"; do
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

first=$LACUNA_HOST_NAME-1 second=$LACUNA_HOST_NAME-2
if ! why=$(ip netns add "$first" 2>&1 && ip netns add "$second" 2>&1 &&
           ip link add lacuna0 netns "$first" type veth peer name lacuna0 netns "$second" 2>&1); then
  skip "this machine lets no network namespaces be made: $why"
fi
set_up() {  # HOST ADDRESS
  mkdir -p "/etc/netns/$1"  # what is in there hides the machine's own on that host
  printf '127.0.0.1 localhost\n%s %s\n%s %s\n' "$net.1" "$first" "$net.2" "$second" >"/etc/netns/$1/hosts"
  ip -n "$1" link set lo up
  ip -n "$1" addr add "$2/24" dev lacuna0
  ip -n "$1" link set lacuna0 up
}
set_up "$first" "$net.1"
set_up "$second" "$net.2"
# A token bucket of a few packets, which have up to 64 KiB.
shape() {  # HOST
  parent=root
  if [ -n "${LACUNA_LINK_DELAY:-}" ]; then
    ip netns exec "$1" tc qdisc add dev lacuna0 root handle 1: netem delay "$LACUNA_LINK_DELAY" limit 100000 || return
    parent="parent 1:"
  fi
  [ -n "${LACUNA_LINK_RATE:-}" ] || return 0
  # shellcheck disable=SC2086  # two words
  ip netns exec "$1" tc qdisc add dev lacuna0 $parent handle 10: tbf rate "$LACUNA_LINK_RATE" burst 256kb latency 50ms
}
for host in "$first" "$second"; do
  why=$(shape "$host" 2>&1) || skip "this machine does not shape its links: $why"
done
# The network cards take a moment to come up, and UCX uses none that is not ready.
for host in "$first" "$second"; do
  for _ in $(seq 100); do
    case $(ip -n "$host" -o link show lacuna0) in *LOWER_UP*'state UP'*) break ;; esac
    sleep 0.1
  done
done

folder=$(mktemp -d)
LACUNA_HOSTS=$net.1,$net.2
LACUNA_HOST_SHELL=$folder/ssh
export LACUNA_HOSTS LACUNA_HOST_SHELL
# UCX would communicate through the memory that both hosts share, as they are one machine.
export UCX_TLS=tcp,self UCX_NET_DEVICES=lacuna0 FI_PROVIDER=tcp
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=lacuna0
printf '#!/bin/sh\nexec "%s" --ssh "$@"\n' "$(cd "$(dirname "$0")" && pwd)/$(basename "$0")" >"$LACUNA_HOST_SHELL"
chmod +x "$LACUNA_HOST_SHELL"
(on_host "$first" "$@")
