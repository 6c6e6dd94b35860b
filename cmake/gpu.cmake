# liblacuna-cuda.so: datatypes in a CUDA device's memory. Where nvcc is found; nothing else needs it. The CUDA runtime
# is linked statically: the library needs a driver only when it is called.
find_program(LACUNA_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin DOC
  "CUDA's compiler")
option(LACUNA_CUDA "Build liblacuna-cuda.so, where nvcc is found" ON)
if(NOT LACUNA_CUDA OR NOT LACUNA_NVCC)
  message(STATUS "lacuna: liblacuna-cuda.so is not built (no nvcc found, or LACUNA_CUDA=OFF)")
  return()
endif()
set(LACUNA_CUDA_ARCHITECTURES 80-virtual 90-real CACHE STRING "Devices that liblacuna-cuda.so has code for")
set(CMAKE_CUDA_COMPILER ${LACUNA_NVCC})
set(CMAKE_CUDA_ARCHITECTURES ${LACUNA_CUDA_ARCHITECTURES})
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
enable_language(CUDA)
foreach(kind STANDARD EXTENSION)  # which CMake before 3.26 does not know
  if(NOT CMAKE_CUDA20_${kind}_COMPILE_OPTION)
    set(CMAKE_CUDA20_${kind}_COMPILE_OPTION -std=c++20)
  endif()
endforeach()
find_package(CUDAToolkit REQUIRED)

add_library(lacuna_cuda_kernels OBJECT engine/gpu/kernels.cu)
target_include_directories(lacuna_cuda_kernels PUBLIC engine include)
add_library(lacuna_cuda_api OBJECT engine/gpu/gpu_api.cpp)
target_include_directories(lacuna_cuda_api PUBLIC engine include)
target_link_libraries(lacuna_cuda_api PRIVATE lacuna_flags CUDA::cudart_static)
set(lacuna_cuda_objects $<TARGET_OBJECTS:lacuna_cuda_kernels> $<TARGET_OBJECTS:lacuna_cuda_api>
  $<TARGET_OBJECTS:lacuna_gpu>)

set(objects)
foreach(layer base type layout)
  list(APPEND objects $<TARGET_OBJECTS:lacuna_${layer}>)
endforeach()
add_library(lacuna-cuda SHARED ${lacuna_cuda_objects} ${objects})
target_link_libraries(lacuna-cuda PRIVATE lacuna_flags CUDA::cudart_static)
target_link_options(lacuna-cuda PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/engine/gpu/exports.map
  -Wl,-z,nodelete)
set_target_properties(lacuna-cuda PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS
  ${PROJECT_SOURCE_DIR}/engine/gpu/exports.map)

# Programs for a machine with a device: all of ours is inside, so that they can be carried there (tests/gpu/carry.sh).
add_library(lacuna_gpu_timing OBJECT
  bench/gpu/device.cpp
  bench/gpu/report.cpp
  bench/gpu/timing.cpp
  bench/gpu/kernels/rivals.cu)
target_include_directories(lacuna_gpu_timing PUBLIC ${PROJECT_SOURCE_DIR} engine include)
target_link_libraries(lacuna_gpu_timing PRIVATE CUDA::cudart_static)
# What `lacuna machine --gpu` and `lacuna bench gpu` start.
add_executable(lacuna-gpu-probe bench/gpu/probe.cpp)
add_executable(lacuna-gpu-bench
  bench/gpu/bench.cpp
  bench/gpu/corpus.cpp
  bench/gpu/families.cpp
  bench/gpu/kernels/nests.cu
  bench/gpu/small.cpp
  bench/engine/lists.cpp
  bench/engine/rivals/by_hand_shape.cpp)
if(LACUNA_TESTS)
  add_executable(lacuna-gpu-check tests/gpu/check.cpp ${lacuna_cuda_objects})
  target_link_libraries(lacuna-gpu-check PRIVATE lacuna_case lacuna_flags CUDA::cudart_static -static-libstdc++
    -static-libgcc)
  # Without a device: what the bench's rivals move.
  add_executable(lacuna_gpu_corpus_test
    bench/gpu/corpus_test.cpp
    bench/gpu/corpus.cpp
    bench/engine/lists.cpp
    bench/engine/rivals/by_hand_shape.cpp)
  target_include_directories(lacuna_gpu_corpus_test PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(lacuna_gpu_corpus_test PRIVATE lacuna_static lacuna_flags CUDA::cudart_static GTest::gtest_main)
  gtest_discover_tests(lacuna_gpu_corpus_test TEST_PREFIX gpu. DISCOVERY_TIMEOUT 60 PROPERTIES LABELS unit)
endif()
foreach(program lacuna-gpu-probe lacuna-gpu-bench)
  target_sources(${program} PRIVATE $<TARGET_OBJECTS:lacuna_gpu_timing> ${lacuna_cuda_objects})
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${program} PRIVATE lacuna_static CUDA::cudart_static -static-libstdc++ -static-libgcc)
endforeach()
