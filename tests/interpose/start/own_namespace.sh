#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Becomes its arguments in a PID namespace of its own, where process numbers mean others than outside; as they are where this
# machine lets nobody make one.
#
#   own_namespace.sh COMMAND...
for options in -pf -Urpf; do
  if unshare $options --mount-proc true 2>/dev/null; then
    exec unshare $options --mount-proc "$@"
  fi
done
exec "$@"
