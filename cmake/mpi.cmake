# The MPI libraries that lacuna builds for and tests on. Needs no mpicc and finds nothing by itself: setup/setup.sh put
# one prefix per library under LACUNA_MPI_ROOT, and Debian's own are taken from their known places where installed.
#
# To compile (headers and LACUNA_MPI_FAMILY_* only; nothing is linked, as for the preload libraries):
#   lacuna_mpi_mpich   lacuna_mpi_ompi   lacuna_mpi_mpiabi
# To make programs (the library by its soname and no RPATH: what runs is what LD_LIBRARY_PATH says, so that one program
# for the MPICH ABI runs on MPICH and on Intel MPI):
#   lacuna_mpi_mpich_link   lacuna_mpi_ompi_link   lacuna_mpi_mpiabi_link
#   lacuna_mpi_debian_mpich_link   lacuna_mpi_debian_ompi_link      only if Debian's packages are installed
#
# lacuna_mpi_test(NAME PROGRAM MPI RANKS n [PRELOAD] [DEPTH] [ARGS arg ...] [ENV NAME=VALUE ...] [LABELS label ...]
#                 [TIMEOUT s])
#   Registers the test NAME.MPI.n: PROGRAM (a target, or a path) on n ranks under the launcher of MPI, which is one of
#     name             library                          program must be linked to          PRELOAD loads
#     mpich            MPICH 5.0                        lacuna_mpi_mpich_link              liblacuna-mpich.so
#     intelmpi         Intel MPI 2021                   lacuna_mpi_mpich_link              liblacuna-mpich.so
#     openmpi          Open MPI 5.0                     lacuna_mpi_ompi_link               liblacuna-ompi.so
#     mpiabi           MPICH 5.0, MPI-5 standard ABI    lacuna_mpi_mpiabi_link             liblacuna-mpiabi.so
#     intelmpi-mpiabi  Intel MPI, MPI-5 standard ABI    lacuna_mpi_mpiabi_link             liblacuna-mpiabi.so
#     debian-mpich     MPICH 4.0                        that, or lacuna_mpi_mpich_link     liblacuna-mpich.so
#     debian-openmpi   Open MPI 4.1                     lacuna_mpi_debian_ompi_link        liblacuna-ompi.so
#   DEPTH: not in `make test` but in `make test-conformance` (ctest -C depth -L depth).
#   PRELOAD sets LD_PRELOAD in the ranks and not in the launcher. ENV reaches the ranks too. The label `mpi` is always
#   set.
#   Where Debian's library is not installed, the test is registered all the same and fails, saying what to install.
include_guard(GLOBAL)

set(LACUNA_MPI_ROOT ${PROJECT_SOURCE_DIR}/build/mpi CACHE PATH "Where setup/setup.sh put the MPI libraries")
set(lacuna_mpi_wanted mpich openmpi)
if(LACUNA_TESTS)
  list(APPEND lacuna_mpi_wanted intelmpi)
endif()
foreach(name ${lacuna_mpi_wanted})
  if(NOT EXISTS ${LACUNA_MPI_ROOT}/${name}/include/mpi.h)
    message(FATAL_ERROR "lacuna: no MPI library in ${LACUNA_MPI_ROOT}/${name}; remedy: setup/setup.sh build "
                        "(or -DLACUNA_MPI=OFF to build the engine alone)")
  endif()
endforeach()

# ---- Targets ---------------------------------------------------------------------------------------------------------
# lacuna_mpi_family(NAME DEFINITION INCLUDE LIBRARY [COMPILE_ONLY_TOO])
function(lacuna_mpi_family name definition include library)
  add_library(lacuna_mpi_${name}_link INTERFACE)
  target_include_directories(lacuna_mpi_${name}_link SYSTEM INTERFACE ${include})
  # *_SKIP_MPICXX: without the C++ bindings of MPI-2, which the standard has dropped.
  target_compile_definitions(lacuna_mpi_${name}_link INTERFACE ${definition} MPICH_SKIP_MPICXX OMPI_SKIP_MPICXX)
  # -Wl, keeps CMake from adding an RPATH for a library outside the system's folders, and from quoting its path.
  target_link_libraries(lacuna_mpi_${name}_link INTERFACE "-Wl,\"${library}\"" -Wl,--allow-shlib-undefined)
  if("COMPILE_ONLY_TOO" IN_LIST ARGN)
    add_library(lacuna_mpi_${name} INTERFACE)
    target_include_directories(lacuna_mpi_${name} SYSTEM INTERFACE ${include})
    target_compile_definitions(lacuna_mpi_${name} INTERFACE ${definition} MPICH_SKIP_MPICXX OMPI_SKIP_MPICXX)
  endif()
endfunction()

# The standard ABI's header is called mpi.h for programs; MPICH ships it as mpi_abi.h beside its own mpi.h.
set(lacuna_mpiabi_include ${PROJECT_BINARY_DIR}/mpiabi/include)
file(CONFIGURE OUTPUT ${lacuna_mpiabi_include}/mpi.h CONTENT "#include \"@LACUNA_MPI_ROOT@/mpich/include/mpi_abi.h\"\n"
  @ONLY)

lacuna_mpi_family(mpich LACUNA_MPI_FAMILY_MPICH
  ${LACUNA_MPI_ROOT}/mpich/include ${LACUNA_MPI_ROOT}/mpich/lib/libmpi.so.12 COMPILE_ONLY_TOO)
lacuna_mpi_family(ompi LACUNA_MPI_FAMILY_OMPI
  ${LACUNA_MPI_ROOT}/openmpi/include ${LACUNA_MPI_ROOT}/openmpi/lib/libmpi.so.40 COMPILE_ONLY_TOO)
lacuna_mpi_family(mpiabi LACUNA_MPI_FAMILY_MPIABI
  ${lacuna_mpiabi_include} ${LACUNA_MPI_ROOT}/mpich/lib/libmpi_abi.so.1 COMPILE_ONLY_TOO)

set(lacuna_debian_lib /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
set(lacuna_debian_mpich_include /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/mpich)
if(EXISTS ${lacuna_debian_mpich_include}/mpi.h AND EXISTS /usr/bin/mpiexec.mpich)
  lacuna_mpi_family(debian_mpich LACUNA_MPI_FAMILY_MPICH ${lacuna_debian_mpich_include}
    ${lacuna_debian_lib}/libmpich.so)
  # By the name that it has elsewhere: what is compiled for MPICH runs on it, too.
  set(lacuna_debian_mpich_folder ${PROJECT_BINARY_DIR}/debian-mpich)
  file(MAKE_DIRECTORY ${lacuna_debian_mpich_folder})
  file(CREATE_LINK ${lacuna_debian_lib}/libmpich.so.12 ${lacuna_debian_mpich_folder}/libmpi.so.12 SYMBOLIC)
endif()
if(EXISTS ${lacuna_debian_lib}/openmpi/include/mpi.h AND EXISTS /usr/bin/mpiexec.openmpi)
  lacuna_mpi_family(debian_ompi LACUNA_MPI_FAMILY_OMPI
    ${lacuna_debian_lib}/openmpi/include ${lacuna_debian_lib}/openmpi/lib/libmpi.so)
endif()

# What Open MPI chooses on one node by itself, but later: where there is no such network it takes a second of sleep to
# find out (btl/ofi), and a look at all others (0.24 s for a start instead of 0.32, of Open MPI 4 0.45). All tests start
# it so.
set(LACUNA_OPEN_MPI_CHOICES OMPI_MCA_btl=^ofi OMPI_MCA_pml=ob1)

# Where tests find the preload libraries: LD_PRELOAD ends names at blanks and colons.
set(LACUNA_PRELOAD_FOLDER ${PROJECT_BINARY_DIR}/lib)
if(LACUNA_TESTS AND PROJECT_BINARY_DIR MATCHES "[ :]")
  find_package(Python3 3.10 REQUIRED COMPONENTS Interpreter)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_SOURCE_DIR}/python ${Python3_EXECUTABLE} -B -c
    "import pathlib, sys; from lacuna.base import paths; print(paths.without_blanks(pathlib.Path(sys.argv[1], 'any')).parent)"
    ${PROJECT_BINARY_DIR}/lib OUTPUT_VARIABLE LACUNA_PRELOAD_FOLDER OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
endif()

# ---- Tests -----------------------------------------------------------------------------------------------------------
function(lacuna_mpi_test name program mpi)
  cmake_parse_arguments(arg "PRELOAD;DEPTH;MORE" "RANKS;TIMEOUT" "ARGS;ENV;LABELS" ${ARGN})
  set(configurations "")
  if(arg_DEPTH)
    set(configurations CONFIGURATIONS depth)
    list(APPEND arg_LABELS depth)
  elseif(arg_MORE)
    set(configurations CONFIGURATIONS more depth)
    list(APPEND arg_LABELS more)
  endif()
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_RANKS)
    message(FATAL_ERROR
      "lacuna_mpi_test(${name} ${program} ${mpi}): RANKS is needed; not understood: ${arg_UNPARSED_ARGUMENTS}")
  endif()

  set(hydra FALSE)
  set(needs "")
  set(environment LACUNA_PROFILE=none LACUNA_TABLE=none)  # not the numbers that whoever runs the tests has measured
  if(mpi MATCHES "^(mpich|mpiabi)$")
    set(launcher ${LACUNA_MPI_ROOT}/mpich/bin/mpiexec)
    set(library_path ${LACUNA_MPI_ROOT}/mpich/lib)
    set(hydra TRUE)
  elseif(mpi MATCHES "^intelmpi(-mpiabi)?$")
    set(launcher ${LACUNA_MPI_ROOT}/intelmpi/bin/mpiexec)
    set(library_path ${LACUNA_MPI_ROOT}/intelmpi/lib)
    set(hydra TRUE)
    # One node: no fabric to look for; several jobs share the cores: no pinning.
    list(APPEND environment I_MPI_ROOT=${LACUNA_MPI_ROOT}/intelmpi I_MPI_FABRICS=shm I_MPI_PIN=off)
  elseif(mpi STREQUAL openmpi)
    set(launcher ${LACUNA_MPI_ROOT}/openmpi/bin/mpiexec)
    set(library_path ${LACUNA_MPI_ROOT}/openmpi/lib)
    set(options --map-by :OVERSUBSCRIBE --bind-to none)
  elseif(mpi STREQUAL debian-mpich)
    set(launcher /usr/bin/mpiexec.mpich)
    set(library_path ${lacuna_debian_mpich_folder})
    set(hydra TRUE)
    if(NOT TARGET lacuna_mpi_debian_mpich_link)
      set(needs "mpich libmpich-dev")
    endif()
  elseif(mpi STREQUAL debian-openmpi)
    set(launcher /usr/bin/mpiexec.openmpi)
    set(options --oversubscribe --bind-to none)
    if(NOT TARGET lacuna_mpi_debian_ompi_link)
      set(needs "openmpi-bin libopenmpi-dev")
    endif()
  else()
    message(FATAL_ERROR "lacuna_mpi_test(${name}): no MPI is called ${mpi}; "
                        "known: mpich intelmpi openmpi mpiabi intelmpi-mpiabi debian-mpich debian-openmpi")
  endif()

  set(test ${name}.${mpi}.${arg_RANKS})
  if(needs)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/missing/${mpi}.cmake @ONLY
      CONTENT "message(FATAL_ERROR \"lacuna: @mpi@ is not installed; remedy: apt-get install -y @needs@, then run cmake again\")\n")
    add_test(NAME ${test} ${configurations} COMMAND ${CMAKE_COMMAND} -P ${PROJECT_BINARY_DIR}/missing/${mpi}.cmake)
    set_tests_properties(${test} PROPERTIES LABELS "mpi;${arg_LABELS}")
    return()
  endif()

  if(mpi MATCHES "mpiabi$")
    set(family mpiabi)
  elseif(hydra)
    set(family mpich)
  else()
    set(family ompi)
  endif()
  set(preload ${LACUNA_PRELOAD_FOLDER}/liblacuna-${family}.so)
  if(arg_PRELOAD)
    # Tests are for what lacuna does, whether or not it would pay.
    list(APPEND environment LACUNA_ALWAYS=1)
  endif()
  if(hydra)
    if(arg_PRELOAD)
      set(options -genv LD_PRELOAD ${preload})
    endif()
  else()
    if(arg_PRELOAD)
      list(APPEND options -x LD_PRELOAD=${preload})
    endif()
    # Both spellings: Open MPI 4 reads the OMPI_ ones, the PRRTE of Open MPI 5 both. Harmless for other users.
    list(APPEND environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
      PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1)
    list(APPEND environment ${LACUNA_OPEN_MPI_CHOICES})
  endif()
  if(hydra AND arg_RANKS GREATER 2)  # more ranks than cores: MPICH's own ways through shared memory never give way
    foreach(collective BARRIER BCAST REDUCE ALLREDUCE)
      list(APPEND environment MPIR_CVAR_${collective}_POSIX_INTRA_ALGORITHM=mpir)
    endforeach()
  endif()
  if(library_path)
    list(APPEND environment LD_LIBRARY_PATH=${library_path})
  endif()
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  # Two ranks of Intel MPI sleep for most of their time, a quarter of a second in each start (without the processor's
  # word for its clock they measure it), and give way: two tests at once, 73 of them took 29 s, one after the other 39.
  # MPICH's: 61 and 15.
  set(processors ${arg_RANKS})
  if(mpi MATCHES "^intelmpi" AND arg_RANKS EQUAL 2)
    set(processors 1)
  endif()
  add_test(NAME ${test} ${configurations} COMMAND ${launcher} ${options} -n ${arg_RANKS} ${program} ${arg_ARGS})
  set_tests_properties(${test} PROPERTIES
    ENVIRONMENT "${environment};${arg_ENV}" LABELS "mpi;${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} PROCESSORS ${processors})
endfunction()
