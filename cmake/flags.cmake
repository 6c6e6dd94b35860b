# lacuna_flags: warnings, and sanitizers where asked for. Every target of ours links it privately.
# -Wno-restrict: GCC 12 warns of strings that are put together (its bug 105651).
add_library(lacuna_flags INTERFACE)
target_compile_options(lacuna_flags INTERFACE
  -Wall -Wextra -Wshadow -Wundef
  $<$<COMPILE_LANGUAGE:CXX>:-Wconversion -Wsign-conversion -Wnon-virtual-dtor>
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>
  $<$<BOOL:${LACUNA_WERROR}>:-Werror>)
# Unit tests take longer to compile than to run, under the sanitizers most of all. Under emulation it is the other way round.
set(LACUNA_TEST_OPTIONS $<IF:$<BOOL:${LACUNA_SANITIZE}>,-O0,-O1>)
if(CMAKE_CROSSCOMPILING)
  set(LACUNA_TEST_OPTIONS "")
endif()
if(LACUNA_SANITIZE)
  target_compile_options(lacuna_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(lacuna_flags INTERFACE -fsanitize=address,undefined)
endif()
