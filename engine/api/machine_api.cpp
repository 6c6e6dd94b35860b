// SPDX-License-Identifier: BSD-3-Clause
//
// The C interface of the machine's numbers.
#include "api/handles.hpp"
#include "machine/profile.hpp"

lacuna_status lacuna_machine_json(size_t capacity, char* text, size_t* needed) {
  return lacuna::api::guarded([&] {
    const std::string report = lacuna::report_json(lacuna::host_profile(), lacuna::profile_place());
    return lacuna::api::give_text(report, capacity, text, needed);
  });
}
