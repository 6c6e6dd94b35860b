# Reads topics.ini and quirks.txt, and makes the tests of the rows in tests.cmake.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS topics.ini quirks.txt)

# The MPIs of the tests: name; the binary interface (family) that programs are built for; the headers that plugins are
# built with.
set(lacuna_interpose_mpis
  "mpich mpich mpich"
  "intelmpi mpich mpich"
  "openmpi ompi ompi"
  "mpiabi mpiabi mpiabi"
  "intelmpi-mpiabi mpiabi mpiabi"
  "debian-mpich mpich debian_mpich"
  "debian-openmpi debian_ompi debian_ompi")

# On MPICH everything runs in `make test`, and each family of functions on every MPI. DEPTH says what the other MPIs leave
# to `make test MORE=1` (more_), which is what continuous integration runs, and what to `make test-conformance` (deep_):
# - VARIATION: a topic under other conditions (forced ways, little memory, other numbers of ranks, more seeds);
# - LOCKS: the same with threads, for which older releases have other locks;
# - REPETITION: what another test of the same kind shows.
# (With the standard ABI the same libraries run, and older releases differ little.)
set(more_VARIATION openmpi intelmpi)
set(deep_VARIATION mpiabi intelmpi-mpiabi debian-mpich debian-openmpi)
set(more_LOCKS intelmpi debian-mpich debian-openmpi)
set(deep_LOCKS mpiabi intelmpi-mpiabi)
set(more_REPETITION mpiabi debian-mpich debian-openmpi)
set(deep_REPETITION intelmpi-mpiabi)

file(STRINGS topics.ini lines REGEX "^[a-z[]")
foreach(line IN LISTS lines)
  if(line MATCHES "^\\[([a-z_0-9]+)\\]$")
    set(group ${CMAKE_MATCH_1})
    set(topics_${group} "")
  elseif(line MATCHES "^[a-z_0-9]+$")
    list(APPEND topics_${group} ${line})
  else()
    message(FATAL_ERROR "topics.ini: not understood: ${line}")
  endif()
endforeach()

# lacuna_expand(OUT name ...): names, with the topics of a group in the place of @GROUP.
function(lacuna_expand out)
  set(found "")
  foreach(name IN LISTS ARGN)
    if(NOT name MATCHES "^@(.*)$")
      list(APPEND found ${name})
    elseif(DEFINED topics_${CMAKE_MATCH_1})
      list(APPEND found ${topics_${CMAKE_MATCH_1}})
    else()
      message(FATAL_ERROR "topics.ini has no group ${CMAKE_MATCH_1}")
    endif()
  endforeach()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

file(STRINGS quirks.txt lines REGEX "^[^#]")
set(lacuna_quirks 0)
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^([^:]+) : ([^:]+) : ([^:]+) : (without|alone) : .")
    message(FATAL_ERROR "quirks.txt: not understood: ${line}")
  endif()
  set(quirk_what_${lacuna_quirks} ${CMAKE_MATCH_4})
  string(REPLACE " " ";" quirk_tests_${lacuna_quirks} "${CMAKE_MATCH_1}")
  string(REPLACE " " ";" quirk_mpis_${lacuna_quirks} "${CMAKE_MATCH_3}")
  string(REPLACE " " ";" topics "${CMAKE_MATCH_2}")
  lacuna_expand(quirk_topics_${lacuna_quirks} ${topics})
  math(EXPR lacuna_quirks "${lacuna_quirks} + 1")
endforeach()

# lacuna_apply_quirks(TEST MPI topic ...): sets `topics` to those that run there, `left_out` (the test does not),
# `is_alone`.
function(lacuna_apply_quirks test mpi)
  set(topics "${ARGN}")
  set(left_out FALSE)
  set(is_alone FALSE)
  math(EXPR last "${lacuna_quirks} - 1")
  foreach(quirk RANGE ${last})
    if((test IN_LIST quirk_tests_${quirk} OR quirk_tests_${quirk} STREQUAL "*") AND mpi IN_LIST quirk_mpis_${quirk})
      if(quirk_what_${quirk} STREQUAL "alone")
        set(is_alone TRUE)
      elseif(quirk_topics_${quirk} STREQUAL "*")
        set(left_out TRUE)
      else()
        list(REMOVE_ITEM topics ${quirk_topics_${quirk}})
      endif()
    endif()
  endforeach()
  if(NOT "${ARGN}" STREQUAL "" AND topics STREQUAL "")
    set(left_out TRUE)
  endif()
  foreach(name topics left_out is_alone)
    set(${name} "${${name}}" PARENT_SCOPE)
  endforeach()
endfunction()

# lacuna_interpose_test(NAME option ...): the test interpose.NAME on each MPI.
#   TOPICS name|@GROUP ...   what the program runs           WITH --option ...      before the topics
#   ARGS word ...            if it has no topics             PROGRAM name           interpose_test_FAMILY if none is named
#   THROUGH word ...         a command that starts it        SHELL script           the same; "$0" is the program
#   ENV NAME=VALUE ...       the environment                 RANKS n                2 if nothing is said
#   ON mpi ...               on these alone                  DEPTH class            see above
#   QUIET                    lacuna prints nothing           PASS regex, FAIL regex what must be printed, what must not
#   TIMEOUT s
# FAMILY and HEADERS in a PROGRAM, or in arguments, stand for a column of the table of MPIs.
function(lacuna_interpose_test name)
  set(lists ARGS ENV FAIL ON THROUGH TOPICS WITH)
  cmake_parse_arguments(arg "QUIET" "DEPTH;PASS;PROGRAM;RANKS;SHELL;TIMEOUT" "${lists}" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS OR (arg_DEPTH AND NOT DEFINED deep_${arg_DEPTH}))
    message(FATAL_ERROR "lacuna_interpose_test(${name}): not understood: ${arg_UNPARSED_ARGUMENTS} ${arg_DEPTH}")
  endif()
  if(NOT arg_PROGRAM)
    set(arg_PROGRAM interpose_test_FAMILY)
  endif()
  if(NOT arg_RANKS)
    set(arg_RANKS 2)
  endif()
  lacuna_expand(named ${arg_TOPICS})
  foreach(row IN LISTS lacuna_interpose_mpis)
    string(REPLACE " " ";" row ${row})
    list(GET row 0 mpi)
    list(GET row 1 family)
    list(GET row 2 headers)
    lacuna_apply_quirks(${name} ${mpi} ${named})
    if(left_out OR (arg_ON AND NOT mpi IN_LIST arg_ON))
      continue()
    endif()
    set(options PRELOAD LABELS interpose)
    if(arg_DEPTH AND mpi IN_LIST deep_${arg_DEPTH})
      list(APPEND options DEPTH)
    elseif(arg_DEPTH AND mpi IN_LIST more_${arg_DEPTH})
      list(APPEND options MORE)
    endif()
    if(arg_TIMEOUT)
      list(APPEND options TIMEOUT ${arg_TIMEOUT})
    endif()
    string(REPLACE FAMILY ${family} program ${arg_PROGRAM})
    set(arguments ${arg_ARGS} ${arg_WITH} ${topics})
    if(arg_SHELL)
      set(arguments -c "${arg_SHELL}" $<TARGET_FILE:${program}> ${arguments})
      set(program /bin/sh)
    elseif(arg_THROUGH)
      set(words ${arg_THROUGH})
      list(POP_FRONT words first)
      set(arguments ${words} $<TARGET_FILE:${program}> ${arguments})
      set(program ${first})
    endif()
    string(REPLACE FAMILY ${family} arguments "${arguments}")
    string(REPLACE HEADERS ${headers} arguments "${arguments}")
    lacuna_mpi_test(interpose.${name} ${program} ${mpi} RANKS ${arg_RANKS} ${options} ENV ${arg_ENV} ARGS ${arguments})
    set(test interpose.${name}.${mpi}.${arg_RANKS})
    if(arg_QUIET)
      set_tests_properties(${test} PROPERTIES FAIL_REGULAR_EXPRESSION "lacuna\\[")
    endif()
    if(arg_PASS)
      set_tests_properties(${test} PROPERTIES PASS_REGULAR_EXPRESSION "${arg_PASS}")
    endif()
    if(arg_FAIL)
      set_tests_properties(${test} PROPERTIES FAIL_REGULAR_EXPRESSION "${arg_FAIL}")
    endif()
    if(is_alone AND arg_RANKS EQUAL 2)
      set_tests_properties(${test} PROPERTIES PROCESSORS 2)
    endif()
  endforeach()
endfunction()
