# For find_package(lacuna):
#   lacuna::lacuna                                   liblacuna.so: lacuna/lacuna.h, no MPI
#   lacuna::static                                   the same as an archive
#   lacuna::decode_mpich, _ompi, _mpiabi             lacuna/lacuna_mpi.h for programs of that MPI ABI, with the archive
# Written by hand, so that the prefix may be moved.
if(TARGET lacuna::lacuna)
  return()
endif()
get_filename_component(_lacuna_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

add_library(lacuna::lacuna SHARED IMPORTED)
set_target_properties(lacuna::lacuna PROPERTIES
  IMPORTED_LOCATION "${_lacuna_prefix}/lib/liblacuna.so" IMPORTED_SONAME "liblacuna.so.0"
  INTERFACE_INCLUDE_DIRECTORIES "${_lacuna_prefix}/include")

# The engine is C++; a project in C need not know.
add_library(lacuna::static STATIC IMPORTED)
set_target_properties(lacuna::static PROPERTIES
  IMPORTED_LOCATION "${_lacuna_prefix}/lib/liblacuna.a"
  INTERFACE_INCLUDE_DIRECTORIES "${_lacuna_prefix}/include"
  INTERFACE_LINK_LIBRARIES "stdc++;m;pthread;dl")

foreach(_lacuna_family mpich ompi mpiabi)
  set(_lacuna_archive "${_lacuna_prefix}/lib/liblacuna_decode_${_lacuna_family}.a")
  if(EXISTS "${_lacuna_archive}")
    add_library(lacuna::decode_${_lacuna_family} STATIC IMPORTED)
    set_target_properties(lacuna::decode_${_lacuna_family} PROPERTIES
      IMPORTED_LOCATION "${_lacuna_archive}" INTERFACE_LINK_LIBRARIES lacuna::static)
  endif()
endforeach()
unset(_lacuna_archive)
unset(_lacuna_family)
unset(_lacuna_prefix)
