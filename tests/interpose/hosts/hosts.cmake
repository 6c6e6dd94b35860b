# Tests on two hosts over TCP: one in `make test`, all of `make test-hosts`. Skipped, with the reason, where network
# namespaces are not allowed.
# lacuna_hosts_test(NAME MPI FAMILY RANKS [CONFIGURATIONS hosts] ARGS topic|@GROUP ...)
function(lacuna_hosts_test name mpi family ranks)
  cmake_parse_arguments(arg "" "" "CONFIGURATIONS;ARGS" ${ARGN})
  set(launcher ${LACUNA_MPI_ROOT}/${mpi}/bin/mpiexec)
  if(mpi MATCHES "^debian-(.*)$")
    set(launcher /usr/bin/mpiexec.${CMAKE_MATCH_1})
  endif()
  if(NOT TARGET ${name}_${family} OR NOT EXISTS ${launcher})
    return()
  endif()
  # What it starts on other hosts it does not quote (docs/internals/defects.md).
  if(mpi STREQUAL openmpi AND launcher MATCHES " ")
    return()
  endif()
  lacuna_expand(named ${arg_ARGS})
  lacuna_apply_quirks(hosts ${mpi} ${named})
  if(left_out)
    return()
  endif()
  string(REPLACE debian_ "" abi ${family})
  add_test(NAME hosts.${name}.${mpi}.${ranks} CONFIGURATIONS ${arg_CONFIGURATIONS}
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/hosts/two_hosts.sh ${CMAKE_CURRENT_SOURCE_DIR}/hosts/on_hosts.sh ${launcher}
      ${LACUNA_PRELOAD_FOLDER}/liblacuna-${abi}.so ${ranks} $<TARGET_FILE:${name}_${family}> ${topics})
  set(environment LACUNA_PROFILE=none LACUNA_ALWAYS=1 LACUNA_TEST_SEEDS=${LACUNA_PROGRAMS}
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1)
  if(mpi STREQUAL debian-mpich)
    list(APPEND environment LD_LIBRARY_PATH=${lacuna_debian_mpich_folder})
  elseif(NOT mpi MATCHES "^debian")
    list(APPEND environment LD_LIBRARY_PATH=${LACUNA_MPI_ROOT}/${mpi}/lib)
  endif()
  set_tests_properties(hosts.${name}.${mpi}.${ranks} PROPERTIES LABELS "mpi;hosts" SKIP_RETURN_CODE 77
    ENVIRONMENT "${environment}" PROCESSORS ${ranks} TIMEOUT 180)
endfunction()
foreach(pair mpich:mpich openmpi:ompi debian-mpich:mpich debian-openmpi:debian_ompi)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 mpi)
  list(GET pair 1 family)
  lacuna_hosts_test(interpose_test ${mpi} ${family} 2 ARGS p2p_same_messages p2p_large_messages modes_same_messages
    nonblocking_every_completion persistent_same_messages collectives_same_bytes)
  lacuna_hosts_test(interpose_test ${mpi} ${family} 4 CONFIGURATIONS hosts
    ARGS @collectives @nonblocking_collectives neighborhoods_in_grids @persistent_collectives)
  lacuna_hosts_test(interpose_random ${mpi} ${family} 4 CONFIGURATIONS hosts ARGS random_programs)
  lacuna_hosts_test(interpose_faults ${mpi} ${family} 2 CONFIGURATIONS hosts ARGS faults_memory faults_library_refuses)
endforeach()
