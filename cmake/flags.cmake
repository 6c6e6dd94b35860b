# lacuna_flags: warnings, and sanitizers where asked for. Every target of ours links it privately.
# -Wno-restrict: GCC 12 warns of strings that are put together (its bug 105651).
add_library(lacuna_flags INTERFACE)
target_compile_options(lacuna_flags INTERFACE
  -Wall -Wextra -Wshadow -Wundef
  $<$<COMPILE_LANGUAGE:CXX>:-Wconversion -Wsign-conversion -Wnon-virtual-dtor>
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>
  $<$<BOOL:${LACUNA_WERROR}>:-Werror>)
# lacuna_carried: what is installed runs where the C++ library is older, and needs no newer C library than it calls
# itself: the C++ library is inside, without what of it is never called. Not libgcc, which has the unwinder: a process
# must have one only.
add_library(lacuna_carried INTERFACE)
if(NOT LACUNA_SANITIZE AND NOT LACUNA_THREADED_MPI)
  target_link_options(lacuna_carried INTERFACE -static-libstdc++ -shared-libgcc -Wl,--gc-sections)
endif()
# lacuna_stack: threads of programs may have 16 KiB of stack, most of which is theirs and the MPI library's. One
# function of ours has 3 KiB at most, and tests of painted stacks (stack_test.cpp, the topic stack) hold what calls take
# together. Where compilers do not optimize, or sanitizers are in it, frames say nothing.
add_library(lacuna_stack INTERFACE)
set(LACUNA_MOST_STACK 3072)
if(NOT LACUNA_SANITIZE AND NOT LACUNA_THREADED_MPI)
  set(optimized $<CONFIG:Release,RelWithDebInfo,MinSizeRel>)
  target_compile_options(lacuna_stack INTERFACE
    $<$<AND:${optimized},$<COMPILE_LANG_AND_ID:CXX,GNU>>:-Werror=stack-usage=${LACUNA_MOST_STACK}>
    $<$<AND:${optimized},$<COMPILE_LANG_AND_ID:CXX,Clang>>:-Werror=frame-larger-than -Wframe-larger-than=${LACUNA_MOST_STACK}>)
endif()
# Unit tests take longer to compile than to run, under the sanitizers most of all. Under emulation it is the other way
# round.
set(LACUNA_TEST_OPTIONS $<IF:$<BOOL:${LACUNA_SANITIZE}>,-O0,-O1>)
if(CMAKE_CROSSCOMPILING)
  set(LACUNA_TEST_OPTIONS "")
endif()
if(LACUNA_SANITIZE)
  target_compile_options(lacuna_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(lacuna_flags INTERFACE -fsanitize=address,undefined)
endif()
