#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A compiler launcher for test_clone.py: takes the object of the same name from the build LACUNA_REUSED instead of
# compiling it again, but for those that LACUNA_COMPILED (a regular expression) names. The command line reaches it as
# it would the compiler.
set -eu
output=
dependencies=
before=
for word in "$@"; do
  case $before in
    -o) output=$word ;;
    -MF) dependencies=$word ;;
  esac
  before=$word
done
if [ -f "$LACUNA_REUSED/$output" ] && ! printf '%s' "$output" | grep -Eq "$LACUNA_COMPILED"; then
  cp "$LACUNA_REUSED/$output" "$output"
  echo "$output:" >"$dependencies"
else
  exec "$@"
fi
