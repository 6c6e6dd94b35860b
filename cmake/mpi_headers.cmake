# MPICH's header alone: to compile for its binary interface what runs over another library.
set(LACUNA_MPI_ROOT ${PROJECT_SOURCE_DIR}/build/mpi CACHE PATH "Where setup/setup.sh put the MPI libraries")
if(NOT EXISTS ${LACUNA_MPI_ROOT}/mpich/include/mpi.h)
  message(FATAL_ERROR "lacuna: no ${LACUNA_MPI_ROOT}/mpich/include/mpi.h; remedy: setup/setup.sh build "
                      "(or -DLACUNA_THREADED_MPI=OFF to build the engine alone)")
endif()
add_library(lacuna_mpi_mpich INTERFACE)
target_include_directories(lacuna_mpi_mpich SYSTEM INTERFACE ${LACUNA_MPI_ROOT}/mpich/include)
target_compile_definitions(lacuna_mpi_mpich INTERFACE LACUNA_MPI_FAMILY_MPICH MPICH_SKIP_MPICXX)
