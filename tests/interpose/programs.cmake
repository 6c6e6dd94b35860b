# The programs of the tests here, and what they load: one for each binary interface of MPI.
set(lacuna_interpose_sources cache_test.cpp pack_test.cpp p2p_test.cpp overlap_test.cpp nonblocking_test.cpp lifetime_test.cpp
  direct_test.cpp direct_probe_test.cpp direct_ring_test.cpp modes_test.cpp matched_test.cpp persistent_test.cpp persistent_ends_test.cpp exchange_test.cpp
  errors_test.cpp switch_test.cpp threads_test.cpp large_test.cpp decode_test.cpp device_test.cpp
  collectives_test.cpp nonblocking_collectives_test.cpp persistent_collectives_test.cpp
  neighborhoods_test.cpp new_types_test.cpp processes_test.cpp report_test.cpp file_calls.cpp files_test.cpp
  files_kinds_test.cpp rma_calls.cpp rma_test.cpp rma_windows_test.cpp rooms_test.cpp rooms_kinds_test.cpp
  rooms_passes_test.cpp rooms_threads_test.cpp threads_freed_test.cpp bottom_test.cpp direct_callbacks_test.cpp threads_priority_test.cpp threads_callbacks_test.cpp direct_persistent_test.cpp direct_watched_test.cpp direct_first_test.cpp direct_ends_test.cpp
  direct_probers_test.cpp direct_tokens_test.cpp start_test.cpp direct_limits_test.cpp direct_pool_test.cpp direct_log_test.cpp errors_pending_test.cpp
  rooms_numbers_test.cpp callbacks_test.cpp fair_test.cpp freed_test.cpp memory_test.cpp stack_test.cpp)
# As compilers make jumps of last calls.
set_source_files_properties(callbacks_test.cpp PROPERTIES COMPILE_OPTIONS -O2 SKIP_PRECOMPILE_HEADERS ON)

# lacuna_interpose_program(NAME FAMILY file ...)
function(lacuna_interpose_program name family)
  add_executable(${name}_${family} ${ARGN})
  target_link_libraries(${name}_${family} PRIVATE interpose_harness_${family})
  target_compile_options(${name}_${family} PRIVATE -O1 -g0)  # they are compiled longer than they run
  # Reading these is half of what most files take to compile: read once for each MPI, by the first of its programs.
  if(name STREQUAL interpose_test)
    target_precompile_headers(${name}_${family} PRIVATE <mpi.h> <algorithm> <chrono> <cstdio> <cstdlib> <cstring> <functional>
      <numeric> <string> <thread> <vector> ${CMAKE_CURRENT_SOURCE_DIR}/harness.hpp ${CMAKE_CURRENT_SOURCE_DIR}/complete.hpp)
  else()
    target_precompile_headers(${name}_${family} REUSE_FROM interpose_test_${family})
  endif()
endfunction()

foreach(family mpich ompi mpiabi debian_ompi)
  if(TARGET lacuna_mpi_${family}_link)
    string(REPLACE debian_ "" abi ${family})
    add_library(interpose_harness_${family} STATIC harness.cpp shapes.cpp complete.cpp collective_calls.cpp collective_scenes.cpp)
    target_link_libraries(interpose_harness_${family}
      PUBLIC lacuna_mpi_${family}_link lacuna_decode_${abi} lacuna_flags ${CMAKE_DL_LIBS})
    target_compile_options(interpose_harness_${family} PRIVATE -O1 -g0)
    target_link_options(interpose_harness_${family} INTERFACE
      -Wl,--export-dynamic-symbol=sched_yield -Wl,--export-dynamic-symbol=ucp_worker_progress)
    lacuna_interpose_program(interpose_test ${family} ${lacuna_interpose_sources})
    target_link_options(interpose_test_${family} PRIVATE -Wl,--export-dynamic-symbol=process_vm_readv)  # rooms_test.cpp
    # Other tools in the process, before lacuna and after it in the search order.
    lacuna_interpose_program(interpose_tool_above ${family} tool_above_test.cpp)
    target_link_options(interpose_tool_above_${family} PRIVATE -rdynamic)
    add_library(interpose_tool_${family} SHARED tool_below.cpp)
    target_link_libraries(interpose_tool_${family} PRIVATE lacuna_mpi_${family}_link lacuna_flags)
    lacuna_interpose_program(interpose_tool_below ${family} tool_below_test.cpp)
    target_link_libraries(interpose_tool_below_${family} PRIVATE interpose_tool_${family})
    lacuna_interpose_program(interpose_random ${family} random_program.cpp random_parts.cpp random_run.cpp random_test.cpp)
    target_link_libraries(interpose_random_${family} PRIVATE lacuna_build_mpi_${family} lacuna_random)
    lacuna_interpose_program(interpose_soak ${family} soak_test.cpp killed_test.cpp)
    target_link_libraries(interpose_soak_${family} PRIVATE lacuna_random lacuna_static)
    # A library that refuses, and a program that refuses memory.
    add_library(interpose_faulty_${family} SHARED faulty_below.cpp)
    target_link_libraries(interpose_faulty_${family} PRIVATE lacuna_mpi_${family}_link lacuna_flags ${CMAKE_DL_LIBS})
    lacuna_interpose_program(interpose_faults ${family} faults_test.cpp faults_rooms_test.cpp refused_memory.cpp verify_test.cpp)
    target_link_libraries(interpose_faults_${family} PRIVATE interpose_faulty_${family})
    target_link_options(interpose_faults_${family} PRIVATE -rdynamic)
    add_library(interpose_bindings_lib_${family} SHARED like_bindings.cpp)
    set_target_properties(interpose_bindings_lib_${family} PROPERTIES OUTPUT_NAME mpicxx_like_${family})
    target_link_libraries(interpose_bindings_lib_${family} PRIVATE lacuna_mpi_${family}_link lacuna_flags)
    lacuna_interpose_program(interpose_bindings ${family} bindings_test.cpp)
    target_link_libraries(interpose_bindings_${family} PRIVATE interpose_bindings_lib_${family})
    # Not position independent: the linker moves Open MPI's predefined types into the program (mpi/header.hpp).
    target_compile_options(interpose_tool_below_${family} PRIVATE -fno-pie -fno-pic)
    set_target_properties(interpose_tool_below_${family} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
    target_link_options(interpose_tool_below_${family} PRIVATE -no-pie)
  endif()
endforeach()
# Loaded late.
foreach(family mpich ompi mpiabi debian_mpich debian_ompi)
  if(TARGET lacuna_mpi_${family}_link)
    add_library(interpose_late_plugin_${family} MODULE late_plugin.c)
    target_link_libraries(interpose_late_plugin_${family}
      PRIVATE lacuna_mpi_${family}_link lacuna_flags ${CMAKE_DL_LIBS})
  endif()
endforeach()
add_executable(interpose_late_program late_program.c)
target_link_libraries(interpose_late_program PRIVATE lacuna_flags ${CMAKE_DL_LIBS})
add_executable(interpose_handle_program handle_program.c)
target_link_libraries(interpose_handle_program PRIVATE lacuna_mpi_mpich lacuna_flags ${CMAKE_DL_LIBS})
add_executable(interpose_sessions_mpich sessions_program.c)
target_link_libraries(interpose_sessions_mpich PRIVATE lacuna_mpi_mpich_link lacuna_flags)
foreach(family ompi debian_ompi)
  if(TARGET lacuna_mpi_${family}_link)
    add_executable(interpose_finalize_${family} finalize_program.c)
    target_link_libraries(interpose_finalize_${family} PRIVATE lacuna_mpi_${family}_link lacuna_flags)
  endif()
endforeach()
# Fortran's entry points, called from C.
foreach(pair mpich:libmpichfort.so.12 debian_ompi:libmpi_mpifh.so.40)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 family)
  list(GET pair 1 bindings)
  set(bindings ${lacuna_debian_lib}/${bindings})
  if(EXISTS ${bindings})
    lacuna_interpose_program(interpose_fortran ${family} fortran_test.cpp)
    target_link_libraries(interpose_fortran_${family} PRIVATE ${bindings})
  endif()
endforeach()

add_library(interpose_fake_cuda SHARED fake_cuda.c)
set_target_properties(interpose_fake_cuda PROPERTIES OUTPUT_NAME cuda SUFFIX .so.1
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/fake)
target_link_libraries(interpose_fake_cuda PRIVATE lacuna_flags)
