# lacuna_flags: warnings, and sanitizers where asked for. Every target of ours links it privately.
add_library(lacuna_flags INTERFACE)
target_compile_options(lacuna_flags INTERFACE
  -Wall -Wextra -Wshadow -Wundef
  $<$<COMPILE_LANGUAGE:CXX>:-Wconversion -Wsign-conversion -Wnon-virtual-dtor>
  $<$<BOOL:${LACUNA_WERROR}>:-Werror>)
if(LACUNA_SANITIZE)
  target_compile_options(lacuna_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(lacuna_flags INTERFACE -fsanitize=address,undefined)
endif()
