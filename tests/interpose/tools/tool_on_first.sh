#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Executes its arguments; in the job's first rank with a tool preloaded after lacuna.
#
#   tool_on_first.sh TOOL.so COMMAND...
tool=$1
shift
rank=${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-}}
if [ "$rank" = 0 ]; then
  exec env LD_PRELOAD="$LD_PRELOAD:$tool" "$@"
fi
exec "$@"
