# lacuna_read(TARGET ...): reading the C++ library's headers is 0.4 s of the second or two that a file takes to compile.
# They are read once for all libraries and once for all programs, which are position-independent in another way. Not for
# targets with optimizations of their own, nor, where single files have some, for these (SKIP_PRECOMPILE_HEADERS).
function(lacuna_read)
  foreach(target ${ARGN})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE)
      set(read lacuna_read_programs)
    else()
      set(read lacuna_read_libraries)
    endif()
    if(TARGET ${read})
      target_precompile_headers(${target} REUSE_FROM ${read})
    else()
      target_precompile_headers(${target} PRIVATE
        <algorithm> <cstdint> <cstdlib> <cstring> <memory> <optional> <string> <string_view> <utility> <vector>)
      if(type STREQUAL EXECUTABLE)
        add_executable(${read} ALIAS ${target})
      else()
        add_library(${read} ALIAS ${target})
      endif()
    endif()
  endforeach()
endfunction()
