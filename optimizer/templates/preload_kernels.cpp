// SPDX-License-Identifier: BSD-3-Clause
//
// Offers the preload (`lacuna run`) kernels for a type that was just committed and whose handle the
// program gives away: calls that are not compiled for it may use it. Without the preload this is a
// load, a comparison and a call.
#include "optimizer/templates/buffer_arg.hpp"
#include "optimizer/templates/preloaded.hpp"

namespace {

using lacuna::compiled::Counted;
using Register = void(MPI_Datatype type, const char* structure, const int64_t* values,
                      int64_t value_count, Counted* pack, Counted* unpack, const int64_t* numbers,
                      int64_t number_count);

void nobody(MPI_Datatype, const char*, const int64_t*, int64_t, Counted*, Counted*, const int64_t*,
            int64_t) {}

}  // namespace

extern "C" [[gnu::noinline, clang::minsize]] void lacuna_template_offer(
    MPI_Datatype type, const char* structure, const int64_t* values, int64_t value_count,
    Counted* pack, Counted* unpack, const int64_t* numbers, int64_t number_count) {
  static Register* known = nullptr;
  Register* its = lacuna::compiled::preloaded(known, "lacuna_interposed_register", nobody);
  its(type, structure, values, value_count, pack, unpack, numbers, number_count);
}
