// SPDX-License-Identifier: BSD-3-Clause
//
// The current call.
#include "interpose/observe/observe.hpp"

#include <cstring>

#include "interpose/report/counters.hpp"
#include "interpose/report/data.hpp"
#include "interpose/report/report.hpp"
#include "interpose/report/sampling.hpp"

namespace lacuna {
namespace {

// The call site of the next Look, from called_from().
constinit thread_local const void* t_caller __attribute__((tls_model("initial-exec"))) = nullptr;
constinit thread_local Look* t_look __attribute__((tls_model("initial-exec"))) =
    nullptr;  // innermost

// Whether every call with this type and count has this outcome (known_to_be_left_alone(),
// types/record.hpp).
bool is_always_so(Note note) noexcept {
  switch (note) {
    case Note::kPredefined:
    case Note::kUndecoded:
    case Note::kEmpty:
    case Note::kContiguous:
    case Note::kLongRuns:
    case Note::kMixed:
    case Note::kOneRun:
      return true;
    default:
      return false;
  }
}

}  // namespace

// The lane that the wrapper has chosen, or that of the call site.
Lane* Look::lane_of(Lanes* lanes) noexcept {
  Lane* chosen = lanes->chosen;
  lanes->chosen = nullptr;
  if (chosen != nullptr && chosen->caller == caller_ && chosen->function == function_)
    return chosen;
  Lane*& last = lanes->last_of(function_, caller_);
  if (role_ == Role::kEnds) return &lanes->of({.caller = caller_, .function = function_});
  if (!looks_as_last(function_, caller_))
    last = &lanes->of({.caller = caller_, .function = function_});
  return last;
}

void Look::begin() noexcept {
  watched_ = true;
  outer_ = t_look;
  t_look = this;
  if (!is_watched(kCosted)) return;
  if (t_caller != nullptr) caller_ = t_caller;
  t_caller = nullptr;
  if (outer_ != nullptr || t_lanes == nullptr) {
    site_ = site_of(caller_);
  } else {
    lane_ = lane_of(t_lanes);
    site_ = lane_->site;
    weight_ = lane_->weight();
    if (weight_ == 0) {
      for (uint64_t& one : kept_) one = 0;
      return;
    }
    settle(lane_);
  }
  if (outer_ == nullptr) begin_ns_ = now_ns();
}

// Adds the call to the lot, after closing the lot if its outcomes are others.
void Look::end_untimed() noexcept {
  Lot& lot = lane_->lot;
  const auto octave = static_cast<uint16_t>(role_ == Role::kEnds ? 0 : octave_of(bytes_));
  if (lot.calls == 0 || lot.octave != octave || lot.type != type_ ||
      std::memcmp(lot.told, kept_, sizeof kept_) != 0) {
    book_lot(lane_);
    lot.type = type_;
    lot.octave = octave;
    for (size_t i = 0; i < kMostTold; ++i) {
      lot.told[i] = kept_[i];
      lot.bytes[i] = 0;
    }
  }
  ++lot.calls;
  for (size_t i = 0; i < kMostTold && kept_[i] != 0; ++i) lot.bytes[i] += kept_bytes_[i];
}

bool Look::keep(TypeId type, size_t outcome, int64_t bytes) noexcept {
  const uint64_t told = told_once(type, outcome);
  for (size_t i = 0; i < kMostTold; ++i) {
    if (kept_[i] == 0) {
      kept_[i] = told;
      kept_bytes_[i] = bytes;
      return true;
    }
    if (tells_the_same(kept_[i], told)) {
      kept_[i] += uint64_t{1} << 32;
      kept_bytes_[i] += bytes;
      return true;
    }
  }
  return false;
}

// Whether later calls like this one may pass (report/sampling.hpp): it was declined, and so will
// they be.
bool Look::might_pass() const noexcept {
  return told_nothing_ || (times_told_ == 1 && is_always_so(note_));
}

void Look::end() noexcept {
  t_look = outer_;
  if (outer_ != nullptr || !is_watched(kCosted)) return;
  if (lane_ != nullptr && might_pass() && looks_as_last(function_, caller_))
    t_lanes->last_of(function_, caller_) = &t_lanes->none;
  if (weight_ == 0) return end_untimed();
  const bool ends = role_ == Role::kEnds;
  Cell* cell = cell_of(account_here(), ends ? 0 : octave_of(bytes_));
  if (cell == nullptr) return;
  add(&cell->calls, 1);
  const int64_t ns = now_ns() - begin_ns_ - elsewhere_ns_;
  book(cell, ends, ns, weight_);
  if (lane_ == nullptr || lane_->caller != caller_) return;
  lane_->outcome = kNoOutcome;
  lane_->count = lane_->next_count;
  const bool has_type = lane_->type.load(std::memory_order_relaxed) != MPI_Datatype{};
  if (ends) {
    lane_->cell = cell_of({static_cast<uint16_t>(function_), kOtherTypes, site_});
  } else if (has_type) {
    const bool is_known =
        told_nothing_ ? lane_->serial == 0 : times_told_ == 1 && is_always_so(note_);
    lane_->cell = is_known ? cell : nullptr;
    lane_->outcome = static_cast<uint32_t>(told_nothing_ ? untold_ : static_cast<size_t>(note_));
    lane_->element_bytes = lane_->count > 0 ? bytes_ / lane_->count : 0;
  }
  const bool may_pass = lane_->cell != nullptr || (!ends && !has_type);
  if (may_pass) t_lanes->learn(lane_, ns);
}

Account Look::account_here() const noexcept {
  return {static_cast<uint16_t>(function_), type_, site_, static_cast<uint16_t>(weight_)};
}

void Look::tell_nothing() noexcept {
  told_nothing_ = true;
  if (!is_watched(kReported) || (weight_ == 0 && keep(kOtherTypes, untold_, 0))) return;
  count_outcome(account_of(kOtherTypes), untold_, 1, 0);
}

Account account_of(TypeId type) noexcept {
  const Look* look = t_look;
  if (look == nullptr) return {0, type};
  return {static_cast<uint16_t>(look->function()), type, look->site(), look->weight()};
}

bool leaves_new_types_alone() noexcept {
  return t_look != nullptr && t_look->role() == Role::kMovesMany;
}

void report_outcome(TypeId type, Note note, int64_t bytes) noexcept {
  if (t_look == nullptr) return;
  if (t_look->told(type, note, bytes)) return;
  count_outcome(account_of(type), static_cast<size_t>(note), 1, bytes);
}

bool is_timed(const Account& of) noexcept {
  if (t_look != nullptr && (t_look->weight() != 0 || of.function == 0))
    return t_look->weight() != 0;
  return of.weight != 0;
}

void report_time(const Account& of, Way way, int64_t ns) noexcept {
  // Data of a predefined type have no account: they count for the current call.
  const bool nobodys = of.function == 0;
  if (nobodys && t_look == nullptr) return;
  const Account account = nobodys ? account_of(t_look->type()) : of;
  const int64_t all = ns * account.weight;
  Cell* cell = cell_of(account);
  if (cell == nullptr) return;
  add(way == Way::kPack ? &cell->pack_ns : &cell->unpack_ns, all);
  // What is done at a request's completion counts for the call that started it, not for the one
  // that waits.
  if (t_look == nullptr || !is_watched(kCosted)) return;
  if (account.function == static_cast<uint16_t>(t_look->function()) &&
      account.site == t_look->site())
    return;
  t_look->leave_out(ns);
  add(&cell->elsewhere_ns, all);
}

void called_from(const void* caller) noexcept { t_caller = caller; }
const void* told_caller() noexcept { return t_caller; }

}  // namespace lacuna
