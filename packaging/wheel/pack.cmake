# Installs the component `runtime` of LACUNA_BUILD, in the form that a wheel can hold.
execute_process(COMMAND ${CMAKE_COMMAND} --install ${LACUNA_BUILD} --component runtime --prefix ${CMAKE_INSTALL_PREFIX}
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

# A wheel has no links; programs look for the library under the name that the link has.
file(GLOB libraries ${CMAKE_INSTALL_PREFIX}/lib/*.so*)
foreach(library ${libraries})
  if(IS_SYMLINK ${library})
    file(REAL_PATH ${library} file)
    file(RENAME ${file} ${library})
  endif()
endforeach()

file(GLOB files ${CMAKE_INSTALL_PREFIX}/lib/*.so* ${CMAKE_INSTALL_PREFIX}/bin/*)
execute_process(COMMAND ${LACUNA_STRIP} ${files} COMMAND_ERROR_IS_FATAL ANY)
