// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/types/predefined_records.hpp"

#include <memory>
#include <new>

#include "interpose/library/runtime.hpp"
#include "interpose/observe/log.hpp"
#include "interpose/policy/policy.hpp"
#include "plan/cache.hpp"

namespace lacuna {
namespace {

const TypeRecord* as_derived(const Basic& basic) noexcept {
  try {
    auto made = std::make_unique<TypeRecord>();
    const TypePtr named = make_named(basic);
    if (drops_padding(runtime().flavour, *named)) return nullptr;  // never sent as a token
    made->plan = cached_plan(named);
    made->size_bytes = basic.size_bytes;
    made->extent_bytes = basic.extent_bytes;
    made->wire = runtime().packed;
    made->wire_bytes = 1;
    return made.release();
  } catch (...) {
    return nullptr;
  }
}

// Its packed form, if it has no gaps, is the type itself.
void describe(const Predefined& type, TypeRecord* record) noexcept {
  record->handle = handle_bits(type.handle);
  const Basic* basic = type.basic;
  if (basic == nullptr) return;
  if (log_wanted()) record->text = basic->name;
  record->size_bytes = basic->size_bytes;
  record->extent_bytes = basic->extent_bytes;
  record->wire = type.handle;
  record->wire_bytes = basic->size_bytes;
  record->uniform = basic->size_bytes == basic->extent_bytes && basic->part_count == 1;
  record->packed_form = type.handle;
  record->has_packed_form = record->uniform;
  if (basic->size_bytes != basic->extent_bytes) record->gapped = as_derived(*basic);
}

}  // namespace

bool PredefinedRecords::fill(const PredefinedTypes& types) noexcept {
  count_ = types.all().size();
  records_ = new (std::nothrow) TypeRecord[count_];
  if (records_ == nullptr) return false;
  for (size_t i = 0; i < count_; ++i) describe(types.all()[i], &records_[i]);
  return true;
}

void PredefinedRecords::watch() noexcept {
  for (size_t i = 0; i < count_; ++i) records_[i].passes = false;
}

TypeRecord* PredefinedRecords::find(const PredefinedTypes& types,
                                    MPI_Datatype datatype) const noexcept {
  const Predefined* entry = types.find(datatype);
  return entry != nullptr ? &records_[entry - types.all().data()] : nullptr;
}

}  // namespace lacuna
