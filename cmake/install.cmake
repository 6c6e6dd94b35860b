# What `cmake --install` puts under a prefix (docs/user/install.md). The folders are lib and bin on every system: the command,
# which may stand in the same prefix, looks there. What is installed finds its parts from where it is, so that a prefix can be moved.
include(CMakePackageConfigHelpers)
set(lacuna_share share/lacuna)

install(TARGETS lacuna LIBRARY DESTINATION lib)
install(FILES $<TARGET_FILE:lacuna_static> DESTINATION lib RENAME liblacuna.a)
install(FILES include/lacuna/lacuna.h include/lacuna/lacuna.hpp DESTINATION include/lacuna)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lacuna-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/lacuna-config.cmake ${PROJECT_BINARY_DIR}/lacuna-config-version.cmake DESTINATION lib/cmake/lacuna)
configure_file(cmake/lacuna.pc.in lacuna.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/lacuna.pc DESTINATION lib/pkgconfig)
install(FILES cmake/modulefile DESTINATION share/modulefiles/lacuna RENAME ${PROJECT_VERSION})
install(FILES LICENSE DESTINATION ${lacuna_share})

# What the command starts and reads. Tests are called lacuna_*.
install(DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/ DESTINATION bin USE_SOURCE_PERMISSIONS
  FILES_MATCHING PATTERN "lacuna-*" PATTERN "lacuna-gpu-check" EXCLUDE)
foreach(folder optimizer/tables bench/corpus bench/compiled bench/ompi)
  get_filename_component(above ${folder} DIRECTORY)
  install(DIRECTORY ${folder} DESTINATION ${lacuna_share}/${above} PATTERN README.md EXCLUDE)
endforeach()

if(TARGET lacuna-cuda)
  install(FILES include/lacuna/lacuna_gpu.h DESTINATION include/lacuna)
  install(TARGETS lacuna-cuda LIBRARY DESTINATION lib)
endif()
if(LACUNA_MPI)
  install(FILES include/lacuna/lacuna_mpi.h DESTINATION include/lacuna)
  foreach(family ${LACUNA_FAMILIES})
    install(TARGETS lacuna-${family} LIBRARY DESTINATION lib)
    install(TARGETS lacuna_decode_${family} ARCHIVE DESTINATION lib)
  endforeach()
  install(TARGETS lacuna-mpich-static ARCHIVE DESTINATION lib)
  # The optimizer, where it was built.
  install(DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/ DESTINATION lib
    FILES_MATCHING PATTERN "lacuna-optimizer.so" PATTERN "lacuna-templates-*.bc")
endif()
