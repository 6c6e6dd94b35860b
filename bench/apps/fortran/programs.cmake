# The same programs for the applications that are in Fortran: one for each MPI library with bindings for gfortran. Not
# by CMake's own Fortran: that would remember a compiler that was missing once, and each library has its own module
# files.
find_program(LACUNA_GFORTRAN gfortran)
find_program(LACUNA_MPIF90_MPICH mpif90.mpich)
find_program(LACUNA_MPIF90_OPENMPI mpif90.openmpi)
if(NOT LACUNA_GFORTRAN)
  message(STATUS "lacuna: no `bench apps --language fortran`; remedy: setup/setup.sh test, then run cmake again")
  return()
endif()

# lacuna_fortran_object(OBJECT SOURCE COMPILER [option ...]): each in a folder of its own, for its module files.
function(lacuna_fortran_object object source compiler)
  get_filename_component(folder ${object} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  # MPI says that its handles are plain integers, and some modules declare no buffers: gfortran notices that calls
  # differ.
  add_custom_command(OUTPUT ${object} WORKING_DIRECTORY ${folder} VERBATIM
    COMMAND ${compiler} -O3 -g -fPIC -Wall -Wno-c-binding-type -fallow-argument-mismatch ${ARGN} -c ${source} -o
      ${object}
    DEPENDS ${source} COMMENT "Building Fortran object ${object}")
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
endfunction()

set(fortran ${CMAKE_CURRENT_SOURCE_DIR}/fortran)
set(built ${CMAKE_CURRENT_BINARY_DIR}/fortran)
set(loops)
foreach(target ${by_hand_targets})
  string(TOLOWER ${target} level)
  foreach(application wrf nas specfem3d)
    set(object ${built}/loops/${application}_${level}.o)
    lacuna_fortran_object(${object} ${fortran}/${application}_loops.F90 ${LACUNA_GFORTRAN}
      "-DPREFIX='lacuna_${level}_'" ${by_hand_options_${target}})
    list(APPEND loops ${object})
  endforeach()
endforeach()
# One place makes them, and the programs, which may be linked at once, wait for it.
add_custom_target(lacuna_fortran_loops DEPENDS ${loops})
execute_process(COMMAND ${LACUNA_GFORTRAN} -print-file-name=libgfortran.so
  OUTPUT_VARIABLE libgfortran OUTPUT_STRIP_TRAILING_WHITESPACE)

# lacuna_fortran_program(NAME MPI COMPILER [OPTIONS option ...] [LIBRARIES file ...])
function(lacuna_fortran_program name mpi compiler)
  cmake_parse_arguments(arg "" "" "OPTIONS;LIBRARIES" ${ARGN})
  set(objects)
  foreach(file calls wrf_types nas_types specfem3d_types)
    lacuna_fortran_object(${built}/${name}/${file}.o ${fortran}/${file}.f90 ${compiler} ${arg_OPTIONS})
    list(APPEND objects ${built}/${name}/${file}.o)
  endforeach()
  # What is in C++ here, too, is that of the library with the same binary interface.
  string(REPLACE debian_ "" abi ${mpi})
  list(TRANSFORM ways REPLACE "\\.cpp$" "" OUTPUT_VARIABLE shared)
  list(JOIN shared | shared)
  lacuna_bench_apps(fortran-${name} ${mpi} fortran/apps.cpp ${objects} ${loops}
    "$<FILTER:$<TARGET_OBJECTS:lacuna_bench_apps_${abi}>,INCLUDE,/(${shared})[.]cpp>")
  string(REPLACE - _ target lacuna_bench_apps_fortran-${name})
  add_dependencies(${target} lacuna_fortran_loops)
  target_compile_definitions(${target} PRIVATE LACUNA_BENCH_FORTRAN)
  # -Wl, as in cmake/mpi.cmake.
  list(TRANSFORM arg_LIBRARIES REPLACE "(.+)" "-Wl,\"\\1\"")
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES} "-Wl,\"${libgfortran}\"")
endfunction()

if(TARGET lacuna_mpi_debian_mpich_link AND LACUNA_MPIF90_MPICH)
  lacuna_fortran_program(debian-mpich debian_mpich ${LACUNA_MPIF90_MPICH}
    LIBRARIES ${lacuna_debian_lib}/libmpichfort.so)
endif()
if(TARGET lacuna_mpi_debian_ompi_link AND LACUNA_MPIF90_OPENMPI)
  lacuna_fortran_program(debian-openmpi debian_ompi ${LACUNA_MPIF90_OPENMPI}
    LIBRARIES ${lacuna_debian_lib}/openmpi/lib/libmpi_mpifh.so
      ${lacuna_debian_lib}/openmpi/lib/libmpi_usempi_ignore_tkr.so)
endif()
# Intel MPI brings modules of `use mpi` for gfortran; the format of the files is the same from gfortran 8 to 14.
set(intelmpi ${LACUNA_MPI_ROOT}/intelmpi)
if(EXISTS ${intelmpi}/include/mpi.h)
  lacuna_fortran_program(intelmpi mpich ${LACUNA_GFORTRAN}
    OPTIONS -I${intelmpi}/include/mpi/gfortran/12.4.0 -I${intelmpi}/include
    LIBRARIES ${intelmpi}/lib/libmpifort.so.12)
endif()
