# The programs of the tests here, and what they load: one for each binary interface of MPI.
set(lacuna_interpose_sources
  collectives/collectives_test.cpp
  collectives/neighborhoods_test.cpp
  collectives/nonblocking_test.cpp
  collectives/one_array_test.cpp
  collectives/persistent_test.cpp
  device/collectives_test.cpp
  device/device_test.cpp
  device/direct_test.cpp
  device/ends_test.cpp
  device/memory.cpp
  device/rooms_test.cpp
  device/staging_test.cpp
  device/windows_test.cpp
  direct/callbacks_test.cpp
  direct/direct_test.cpp
  direct/ends_test.cpp
  direct/given_up_test.cpp
  direct/limits_test.cpp
  direct/persistent_test.cpp
  direct/pool_test.cpp
  direct/ring_test.cpp
  direct/tokens/cut_element_test.cpp
  direct/tokens/first_test.cpp
  direct/tokens/log_test.cpp
  direct/tokens/probe_test.cpp
  direct/tokens/probers_test.cpp
  direct/tokens/protected_gaps_test.cpp
  direct/tokens/tokens_test.cpp
  direct/tokens/watched_test.cpp
  faults/errors_pending_test.cpp
  faults/errors_test.cpp
  files/file_calls.cpp
  files/files_test.cpp
  files/kinds_test.cpp
  inside/inside_test.cpp
  library/callbacks_test.cpp
  library/device_test.cpp
  library/memory_test.cpp
  library/stack_test.cpp
  messages/bottom_test.cpp
  messages/exchange_test.cpp
  messages/large_test.cpp
  messages/matched_test.cpp
  messages/modes_test.cpp
  messages/overlap_test.cpp
  messages/p2p_test.cpp
  messages/pack_test.cpp
  options/report_test.cpp
  options/switch_test.cpp
  pipeline/agreed_test.cpp
  pipeline/pipeline_collectives_test.cpp
  pipeline/pipeline_test.cpp
  pipeline/shares_test.cpp
  requests/fair_test.cpp
  requests/freed_test.cpp
  requests/nonblocking_test.cpp
  requests/persistent_ends_test.cpp
  requests/persistent_test.cpp
  rma/rma_calls.cpp
  rma/rma_test.cpp
  rma/windows_test.cpp
  rooms/kinds_test.cpp
  rooms/numbers_test.cpp
  rooms/passes_test.cpp
  rooms/rooms_test.cpp
  rooms/threads_test.cpp
  start/processes_test.cpp
  start/start_test.cpp
  threads/callbacks_test.cpp
  threads/freed_test.cpp
  threads/priority_test.cpp
  threads/threads_test.cpp
  types/decode_test.cpp
  types/lifetime_test.cpp
  types/new_types_test.cpp)
# With -O2, compilers make a jump of a tail call.
set_source_files_properties(library/callbacks_test.cpp PROPERTIES COMPILE_OPTIONS -O2 SKIP_PRECOMPILE_HEADERS ON)

# lacuna_interpose_program(NAME FAMILY file ...)
function(lacuna_interpose_program name family)
  add_executable(${name}_${family} ${ARGN})
  target_link_libraries(${name}_${family} PRIVATE interpose_harness_${family})
  target_compile_options(${name}_${family} PRIVATE -O1 -g0)  # they are compiled longer than they run
  # Reading these is half of what most files take to compile: read once for each MPI, by the first of its programs.
  if(name STREQUAL interpose_test)
    target_precompile_headers(${name}_${family} PRIVATE <mpi.h> <algorithm> <chrono> <cstdio> <cstdlib> <cstring>
      <functional>
      <numeric> <string> <thread> <vector>
      ${CMAKE_CURRENT_SOURCE_DIR}/harness/harness.hpp
      ${CMAKE_CURRENT_SOURCE_DIR}/harness/complete.hpp)
  else()
    target_precompile_headers(${name}_${family} REUSE_FROM interpose_test_${family})
  endif()
endfunction()

foreach(family mpich ompi mpiabi debian_ompi)
  if(TARGET lacuna_mpi_${family}_link)
    string(REPLACE debian_ "" abi ${family})
    add_library(interpose_harness_${family} STATIC
      harness/collective_calls.cpp
      harness/collective_scenes.cpp
      harness/complete.cpp
      harness/harness.cpp
      harness/shapes.cpp)
    target_include_directories(interpose_harness_${family} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(interpose_harness_${family}
      PUBLIC lacuna_mpi_${family}_link lacuna_decode_${abi} lacuna_flags ${CMAKE_DL_LIBS})
    target_compile_options(interpose_harness_${family} PRIVATE -O1 -g0)
    target_link_options(interpose_harness_${family} INTERFACE
      -Wl,--export-dynamic-symbol=sched_yield -Wl,--export-dynamic-symbol=ucp_worker_progress)
    lacuna_interpose_program(interpose_test ${family} ${lacuna_interpose_sources})
    # For rooms/rooms_test.cpp.
    target_link_options(interpose_test_${family} PRIVATE -Wl,--export-dynamic-symbol=process_vm_readv)
    # Other tools in the process, before lacuna and after it in the search order.
    lacuna_interpose_program(interpose_tool_above ${family} tools/tool_above_test.cpp)
    target_link_options(interpose_tool_above_${family} PRIVATE -rdynamic)
    add_library(interpose_tool_${family} SHARED tools/tool_below.cpp)
    target_link_libraries(interpose_tool_${family} PRIVATE lacuna_mpi_${family}_link lacuna_flags)
    lacuna_interpose_program(interpose_tool_below ${family} tools/tool_below_test.cpp)
    target_link_libraries(interpose_tool_below_${family} PRIVATE interpose_tool_${family})
    # Lacuna knows the component by the name of its file.
    add_library(interpose_ucc_${family} SHARED tools/ucc_rule.cpp)
    set_target_properties(interpose_ucc_${family} PROPERTIES OUTPUT_NAME ucc
      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/ucc_rule_${family})
    target_link_libraries(interpose_ucc_${family} PRIVATE lacuna_mpi_${family}_link lacuna_flags)
    lacuna_interpose_program(interpose_ucc_rule ${family} tools/ucc_rule_test.cpp)
    target_link_libraries(interpose_ucc_rule_${family} PRIVATE interpose_ucc_${family})
    lacuna_interpose_program(interpose_random ${family}
      random/parts.cpp
      random/program.cpp
      random/random_test.cpp
      random/run.cpp)
    target_link_libraries(interpose_random_${family} PRIVATE lacuna_build_mpi_${family} lacuna_random)
    lacuna_interpose_program(interpose_soak ${family} direct/soak_test.cpp direct/killed_test.cpp)
    target_link_libraries(interpose_soak_${family} PRIVATE lacuna_random lacuna_static)
    # A library whose calls fail, and a program whose allocations fail.
    add_library(interpose_faulty_${family} SHARED faults/faulty_below.cpp)
    target_include_directories(interpose_faulty_${family} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(interpose_faulty_${family} PRIVATE lacuna_mpi_${family}_link lacuna_flags ${CMAKE_DL_LIBS})
    lacuna_interpose_program(interpose_faults ${family}
      faults/faults_test.cpp
      faults/refused_memory.cpp
      faults/rooms_test.cpp
      faults/verify_test.cpp)
    target_link_libraries(interpose_faults_${family} PRIVATE interpose_faulty_${family})
    target_link_options(interpose_faults_${family} PRIVATE -rdynamic)
    add_library(interpose_bindings_lib_${family} SHARED tools/like_bindings.cpp)
    target_include_directories(interpose_bindings_lib_${family} PRIVATE ${PROJECT_SOURCE_DIR})
    set_target_properties(interpose_bindings_lib_${family} PROPERTIES OUTPUT_NAME mpicxx_like_${family})
    target_link_libraries(interpose_bindings_lib_${family} PRIVATE lacuna_mpi_${family}_link lacuna_flags)
    lacuna_interpose_program(interpose_bindings ${family} tools/bindings_test.cpp)
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
    add_library(interpose_late_plugin_${family} MODULE start/late_plugin.c)
    target_link_libraries(interpose_late_plugin_${family}
      PRIVATE lacuna_mpi_${family}_link lacuna_flags ${CMAKE_DL_LIBS})
  endif()
endforeach()
add_executable(interpose_late_program start/late_program.c)
target_link_libraries(interpose_late_program PRIVATE lacuna_flags ${CMAKE_DL_LIBS})
add_executable(interpose_handle_program start/handle_program.c)
target_link_libraries(interpose_handle_program PRIVATE lacuna_mpi_mpich lacuna_flags ${CMAKE_DL_LIBS})
foreach(family mpich ompi)
  add_executable(interpose_names_${family} library/names_program.c)
  target_link_libraries(interpose_names_${family} PRIVATE lacuna_mpi_${family}_link)
  target_compile_options(interpose_names_${family} PRIVATE -w -fno-builtin -fvisibility=default)
endforeach()
add_executable(interpose_sessions_mpich start/sessions_program.c)
target_link_libraries(interpose_sessions_mpich PRIVATE lacuna_mpi_mpich_link lacuna_flags)
foreach(family ompi debian_ompi)
  if(TARGET lacuna_mpi_${family}_link)
    add_executable(interpose_finalize_${family} start/finalize_program.c)
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
    lacuna_interpose_program(interpose_fortran ${family} fortran/from_c_test.cpp)
    target_link_libraries(interpose_fortran_${family} PRIVATE ${bindings})
  endif()
endforeach()

# Open MPI as it is not known.
foreach(what version convertor)
  add_library(interpose_other_${what} SHARED inside/other_${what}.c)
  target_link_libraries(interpose_other_${what} PRIVATE lacuna_flags ${CMAKE_DL_LIBS})
endforeach()

add_library(interpose_fake_cuda SHARED library/fake_cuda.c)
set_target_properties(interpose_fake_cuda PROPERTIES OUTPUT_NAME cuda SUFFIX .so.1
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/fake)
target_link_libraries(interpose_fake_cuda PRIVATE lacuna_flags)

# On a real device: the same topics (tests/gpu), and a halo exchange in three ways.
foreach(family mpich ompi)
  if(TARGET lacuna-cuda)
    add_executable(lacuna-gpu-halo-${family} ${PROJECT_SOURCE_DIR}/tests/gpu/halo.cu)
    set_target_properties(lacuna-gpu-halo-${family} PROPERTIES CUDA_STANDARD 17)
    target_link_libraries(lacuna-gpu-halo-${family} PRIVATE lacuna_mpi_${family}_link CUDA::cudart_static
      -static-libstdc++ -static-libgcc)
  endif()
endforeach()

# A driver whose device memory the CPU cannot touch, and a library that moves it, beside links to the preload libraries.
set(lacuna_fake_device ${CMAKE_CURRENT_BINARY_DIR}/device)
add_library(interpose_fake_driver SHARED device/fake_contexts.c device/fake_driver.c
  device/fake_shared.c)
set_target_properties(interpose_fake_driver PROPERTIES OUTPUT_NAME cuda SUFFIX .so.1
  LIBRARY_OUTPUT_DIRECTORY ${lacuna_fake_device}/driver)
target_include_directories(interpose_fake_driver PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(interpose_fake_driver PRIVATE lacuna_flags)
add_library(interpose_fake_mover SHARED device/fake_mover.cpp)
set_target_properties(interpose_fake_mover PROPERTIES OUTPUT_NAME lacuna-cuda
  LIBRARY_OUTPUT_DIRECTORY ${lacuna_fake_device})
target_link_libraries(interpose_fake_mover PRIVATE lacuna_static lacuna_flags ${CMAKE_DL_LIBS})
file(MAKE_DIRECTORY ${lacuna_fake_device})
foreach(family ${LACUNA_FAMILIES})
  file(CREATE_LINK ${LACUNA_PRELOAD_FOLDER}/liblacuna-${family}.so ${lacuna_fake_device}/liblacuna-${family}.so
    SYMBOLIC)
endforeach()
