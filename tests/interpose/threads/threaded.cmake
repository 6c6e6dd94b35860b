# The preload library and a fake MPI library, both built with ThreadSanitizer. lacuna is linked before the MPI library,
# which has the effect of LD_PRELOAD (the sanitizer's own library must come first).
add_library(threaded_mpi SHARED
  interpose/threads/threaded_mpi.cpp
  interpose/threads/threaded_messages.cpp)
target_include_directories(threaded_mpi PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(threaded_mpi PRIVATE lacuna_mpi_mpich lacuna_flags)
add_executable(threaded_test interpose/threads/threaded_test.cpp)
target_link_libraries(threaded_test PRIVATE lacuna-mpich threaded_mpi lacuna_mpi_mpich lacuna_flags)
foreach(watched alone report verify)
  set(environment LACUNA_ALWAYS=1 LACUNA_PROFILE=none TSAN_OPTIONS=halt_on_error=1)
  if(watched STREQUAL report)
    list(APPEND environment LACUNA_REPORT=1)
  elseif(watched STREQUAL verify)
    list(APPEND environment LACUNA_VERIFY=1)
  endif()
  add_test(NAME interpose.threaded.${watched} COMMAND threaded_test)
  set_tests_properties(interpose.threaded.${watched} PROPERTIES LABELS interpose TIMEOUT 300 ENVIRONMENT
    "${environment}")
endforeach()
