#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Executes its arguments in a PID namespace of its own, where process ids differ from those outside; without one if
# this machine does not allow it.
#
#   own_namespace.sh COMMAND...
for options in -pf -Urpf; do
  if unshare $options --mount-proc true 2>/dev/null; then
    exec unshare $options --mount-proc "$@"
  fi
done
exec "$@"
