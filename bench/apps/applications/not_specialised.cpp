// SPDX-License-Identifier: BSD-3-Clause
//
// Used if there is no lacuna-c++.
#include "bench/apps/applications/app.hpp"

namespace lacuna::bench {

const App* find_specialised_app(const std::string&) { return nullptr; }

}  // namespace lacuna::bench
