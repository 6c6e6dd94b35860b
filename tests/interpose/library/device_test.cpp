// SPDX-License-Identifier: BSD-3-Clause
//
// Calls with device memory are declined as soon as a GPU runtime is loaded; calls with host memory
// are still handled. (LACUNA_TEST_CUDA is the path of fake_cuda.c's library.)
#include <dlfcn.h>

#include <cstdlib>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

TOPIC(device_memory) {
  MPI_Datatype type = column(16);
  static double host[256], packed[16];
  const auto packs = [&](double* from) {
    return taken_by("MPI_Pack", [&] {
      int position = 0;
      MPI_Pack(from, 1, type, packed, sizeof(packed), &position, MPI_COMM_WORLD);
      CHECK(position == sizeof(packed));
    });
  };
  CHECK(packs(host) == 1);
  void* cuda = dlopen(std::getenv("LACUNA_TEST_CUDA"), RTLD_NOW | RTLD_LOCAL);
  CHECK(cuda != nullptr);
  if (cuda == nullptr) return;
  auto* device = static_cast<double*>(dlsym(cuda, "fake_device_memory"));
  CHECK(packs(host) == 1);
  CHECK(packs(device) == 0);
  CHECK(taken_by("MPI_Sendrecv", [&] {
          MPI_Sendrecv(device, 1, type, g_rank, 0, host, 1, type, g_rank, 0, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
        }) == 1);  // the host's side
  CHECK(packs(host) == 1);
  MPI_Type_free(&type);
}
