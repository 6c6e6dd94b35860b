// SPDX-License-Identifier: BSD-3-Clause
//
// What library/next.cpp, start/init.cpp and the generated tables define in a preload library.
#include "tests/interpose/unit/fake_next.hpp"

#include "interpose/library/gate.hpp"
#include "interpose/library/runtime.hpp"

namespace lacuna {
namespace detail {

constinit Next g_next{};
const Next& resolve() noexcept { return g_next; }

}  // namespace detail

constinit Gate g_gate{.irregular{0}, .library_data{}, .program_data{}};

const Runtime& runtime() noexcept {
  static const Runtime runtime = [] {
    Runtime made{};
    made.request_null = MPI_REQUEST_NULL;
    made.datatype_null = MPI_DATATYPE_NULL;
    made.comm_world = MPI_COMM_WORLD;
    made.comm_self = MPI_COMM_SELF;
    return made;
  }();
  return runtime;
}

void count_sessions(int) noexcept {}
std::span<const NextRow> next_rows() { return {}; }
std::span<const char* const> wrapped_names() { return {}; }
bool next_has_large() noexcept { return false; }
void change_next(void (*)(Next*), void (*)(Next*)) noexcept {}
void* mpi_data_symbol(const char*) { return nullptr; }

namespace test {

Next& fake_next() noexcept { return detail::g_next; }

}  // namespace test
}  // namespace lacuna
