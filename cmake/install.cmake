# What `cmake --install` puts under a prefix (docs/user/install.md). The folders are lib and bin on every system: the
# command, which may stand in the same prefix, looks there. What is installed finds its parts from where it is, so that
# a prefix can be moved. Components: `runtime`, all that the command needs and that does not depend on what else this
# machine has (the wheel: packaging/wheel); `manual`, man pages and shell completion; `local`, programs for this
# machine's CUDA and Fortran; `development`.
include(CMakePackageConfigHelpers)
set(lacuna_share share/lacuna)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)

install(TARGETS lacuna LIBRARY DESTINATION lib COMPONENT runtime NAMELINK_COMPONENT development)
install(FILES $<TARGET_FILE:lacuna_static> DESTINATION lib RENAME liblacuna.a)
install(FILES include/lacuna/lacuna.h include/lacuna/lacuna.hpp DESTINATION include/lacuna COMPONENT runtime)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lacuna-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/lacuna-config.cmake ${PROJECT_BINARY_DIR}/lacuna-config-version.cmake DESTINATION lib/cmake/lacuna)
set(lacuna_pc_include "\${prefix}/include")
configure_file(cmake/lacuna.pc.in CMakeFiles/installed/lacuna.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/CMakeFiles/installed/lacuna.pc DESTINATION lib/pkgconfig)
# Another one for the build tree, whose headers are in the source tree and whose libraries no module names.
string(REPLACE " " "\\ " lacuna_pc_include "${PROJECT_SOURCE_DIR}/include")
set(lacuna_pc_rpath "-Wl,-rpath,\${prefix}/lib ")
configure_file(cmake/lacuna.pc.in ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/pkgconfig/lacuna.pc @ONLY)
file(REMOVE ${PROJECT_BINARY_DIR}/lacuna.pc) # of earlier versions, with wrong paths
install(FILES cmake/modulefile DESTINATION share/modulefiles/lacuna RENAME ${PROJECT_VERSION})
install(FILES LICENSE DESTINATION ${lacuna_share} COMPONENT runtime)
install(DIRECTORY packaging/manual/share/ DESTINATION share COMPONENT manual)
install(PROGRAMS packaging/smoke/smoke.sh DESTINATION ${lacuna_share}/smoke)
install(FILES packaging/smoke/smoke.c DESTINATION ${lacuna_share}/smoke)

# What the command starts and reads. Tests are called lacuna_*.
install(DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/ DESTINATION bin COMPONENT runtime USE_SOURCE_PERMISSIONS
  FILES_MATCHING PATTERN "lacuna-*" PATTERN "lacuna-gpu-*" EXCLUDE PATTERN "lacuna-bench-apps-fortran-*" EXCLUDE)
install(DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/ DESTINATION bin COMPONENT local USE_SOURCE_PERMISSIONS
  FILES_MATCHING PATTERN "lacuna-gpu-*" PATTERN "lacuna-bench-apps-fortran-*" PATTERN "lacuna-gpu-check" EXCLUDE
  PATTERN "lacuna-gpu-halo-*" EXCLUDE)
foreach(folder docs/user optimizer/tables bench/corpus bench/compiled bench/hosts bench/ompi)
  get_filename_component(above ${folder} DIRECTORY)
  install(DIRECTORY ${folder} DESTINATION ${lacuna_share}/${above} COMPONENT runtime PATTERN README.md EXCLUDE)
endforeach()

if(TARGET lacuna-cuda)
  install(FILES include/lacuna/lacuna_gpu.h DESTINATION include/lacuna)
  install(TARGETS lacuna-cuda LIBRARY DESTINATION lib COMPONENT local)
endif()
if(LACUNA_MPI)
  install(FILES include/lacuna/lacuna_mpi.h DESTINATION include/lacuna)
  foreach(family ${LACUNA_FAMILIES})
    install(TARGETS lacuna-${family} LIBRARY DESTINATION lib COMPONENT runtime)
    install(TARGETS lacuna_decode_${family} ARCHIVE DESTINATION lib)
  endforeach()
  install(TARGETS lacuna-mpich-static ARCHIVE DESTINATION lib)
  # The optimizer, where it was built.
  install(DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/ DESTINATION lib
    FILES_MATCHING PATTERN "lacuna-optimizer.so" PATTERN "lacuna-templates-*.bc"
    PATTERN "ucc_rule_*" EXCLUDE)  # folders of tests
endif()
