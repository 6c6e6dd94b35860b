# The kernels and the ladder of oracles on AArch64 processors with other vectors than the emulator's 512 bits: without
# SVE, and with SVE of these lengths.
function(lacuna_on_cpu name cpu)
  set(emulate qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu ${cpu})
  add_test(NAME aarch64.${name}.kernels COMMAND ${emulate} $<TARGET_FILE:lacuna_kernels_test> --gtest_brief=1)
  add_test(NAME aarch64.${name}.property COMMAND ${emulate} $<TARGET_FILE:lacuna_engine_property> --seeds 200)
  set_tests_properties(aarch64.${name}.kernels aarch64.${name}.property PROPERTIES LABELS aarch64 TIMEOUT 600)
endfunction()

lacuna_on_cpu(neon cortex-a72)
foreach(bytes 16 32 48 128 256)
  math(EXPR bits "8 * ${bytes}")
  lacuna_on_cpu(sve${bits} max,sve-default-vector-length=${bytes})
endforeach()
