#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The HPC Challenge benchmark (HPL, PTRANS, FFT, ...), as Debian ships its source, compiled by lacuna-cc and run on
# four ranks: do its own checks pass? HPL sends rows and columns of matrices as vectors. Needs Debian's MPICH and a
# BLAS; fetches 1 MB.
#
# Usage: hpcc.sh FOLDER      FOLDER keeps what is fetched and built; its file `remarks` says what became of each call.
set -eu
. "$(dirname "$0")/sources.sh"
printf 'int main(void) { return 0; }\n' | clang-19 -x c - -lblas -o /dev/null 2> /dev/null || { echo "hpcc: no BLAS; remedy: setup/setup.sh sources" >&2; exit 3; }

fetch hpcc
cd "$folder"
source=$(ls -d "$folder"/hpcc-*/)
compiler cc compiler
# What its users write: hpl/setup has one for each machine.
cat > "$source/hpl/Make.lacuna" << END
SHELL = /bin/sh
CD = cd
CP = cp
LN_S = ln -sf
MKDIR = mkdir -p
RM = rm -f
TOUCH = touch
ARCH = lacuna
TOPdir = ../../..
INCdir = \$(TOPdir)/include
BINdir = \$(TOPdir)/bin/\$(ARCH)
LIBdir = \$(TOPdir)/lib/\$(ARCH)
HPLlib = \$(LIBdir)/libhpl.a
HPL_INCLUDES = -I\$(INCdir) -I\$(INCdir)/\$(ARCH)
HPL_LIBS = \$(HPLlib) -lblas -lm
HPL_DEFS = -DAdd_ -DF77_INTEGER=int -DStringSunStyle \$(HPL_INCLUDES)
CC = $folder/compiler
CCNOOPT = \$(HPL_DEFS)
CCFLAGS = \$(HPL_DEFS) -O2 -w
LINKER = $folder/compiler
LINKFLAGS = \$(CCFLAGS)
ARCHIVER = ar
ARFLAGS = r
RANLIB = echo
END
make -C "$source" arch=lacuna > make.log 2>&1 || { tail -5 make.log >&2; exit 1; }
became make.log

# Its own input, smaller; once with rows of U stored as columns, once as they are, by the exchange that sends vectors.
failed=0
for form in 0 1; do
  mkdir -p "run$form"
  sed -e 's/^1000 .*Ns/300 Ns/; s/^80 .*NBs/24 NBs/; s/^2 .*SWAP/1 SWAP/' -e "s/^0 .*U  in/$form U in/" "$source/_hpccinf.txt" > "run$form/hpccinf.txt"
  (cd "run$form" && rm -f hpccoutf.txt && timeout 600 mpiexec.mpich -n 4 "$source/hpcc" > hpcc.log 2>&1) || { tail -3 "run$form/hpcc.log" >&2; failed=1; }
  passed=$(grep -cE 'PASSED|Success=1$' "run$form/hpccoutf.txt" || true)
  wrong=$(grep -cE 'FAILED|Failed to|[Ff]ailed/skipped|Success=0$' "run$form/hpccoutf.txt" || true)
  echo "hpcc: U in form $form: $passed checks passed, $wrong not"
  [ "$passed" -gt 0 ] || failed=1
done
exit $failed
