#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Scotch and PT-Scotch, as Debian ships their source, built by CMake with lacuna-cc as the C compiler: do all their
# tests pass, and those of the parallel programs under `lacuna run`, too? They send structs, and displacements that
# the run time knows.
#
# Usage: scotch.sh FOLDER
set -eu
. "$(dirname "$0")/sources.sh"
need bison "setup/setup.sh sources"
need flex "setup/setup.sh sources"

fetch scotch
cd "$folder"
source=$(ls -d "$folder"/scotch-*/)
compiler cc compiler
cat > run-mpi << END
#!/bin/sh
exec \${UNDER_LACUNA:+"$root/.venv/bin/lacuna" run} mpiexec.mpich "\$@"
END
chmod +x run-mpi
cmake -G Ninja -S "$source" -B built -D CMAKE_BUILD_TYPE=Release -D CMAKE_C_COMPILER="$folder/compiler" -D MPI_C_COMPILER="$folder/compiler" \
  -D CMAKE_C_FLAGS="-w" -D CMAKE_Fortran_COMPILER=gfortran -D MPIEXEC_EXECUTABLE="$folder/run-mpi" > configure.log 2>&1 ||
  { tail -5 configure.log >&2; exit 1; }
ninja -C built > make.log 2>&1 || { tail -5 make.log >&2; exit 1; }
became make.log

failed=0
ctest --test-dir built --no-tests=error --timeout 120 > alone.log 2>&1 || failed=1
echo "scotch: $(grep 'tests passed' alone.log)"
UNDER_LACUNA=1 ctest --test-dir built --no-tests=error --timeout 120 -R 'dg|dfull|dgraph' > under.log 2>&1 || failed=1
echo "scotch, parallel programs under lacuna run: $(grep 'tests passed' under.log)"
exit $failed
