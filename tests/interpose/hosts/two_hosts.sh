#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs a command with two hosts on this machine: bench/hosts/hosts.sh, which says what the command finds.
#
#   two_hosts.sh COMMAND...
exec sh "$(dirname "$0")/../../../bench/hosts/hosts.sh" 2 "$@"
