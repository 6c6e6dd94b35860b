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

// The call site of the next ObservedCall, from called_from().
constinit thread_local const void* t_caller __attribute__((tls_model("initial-exec"))) = nullptr;
constinit thread_local ObservedCall* t_call __attribute__((tls_model("initial-exec"))) =
    nullptr;  // innermost

// Whether every call with this type and count has this outcome (known_to_be_left_alone(),
// types/record.hpp).
bool is_always_so(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::kPredefined:
    case Outcome::kUndecoded:
    case Outcome::kEmpty:
    case Outcome::kContiguous:
    case Outcome::kLongRuns:
    case Outcome::kMixed:
    case Outcome::kOneRun:
      return true;
    default:
      return false;
  }
}

}  // namespace

// The call group that the wrapper has chosen, or that of the call site.
CallGroup* ObservedCall::call_group_of(CallGroups* groups) noexcept {
  CallGroup* chosen = groups->chosen;
  groups->chosen = nullptr;
  if (chosen != nullptr && chosen->caller == caller_ && chosen->function == function_)
    return chosen;
  CallGroup*& last = groups->last_of(function_, caller_);
  if (kind_ == CallKind::kEnds) return &groups->of({.caller = caller_, .function = function_});
  if (!is_observed_like_last(function_, caller_))
    last = &groups->of({.caller = caller_, .function = function_});
  return last;
}

void ObservedCall::begin() noexcept {
  watched_ = true;
  outer_ = t_call;
  t_call = this;
  if (!is_watched(kCosted)) return;
  if (t_caller != nullptr) caller_ = t_caller;
  t_caller = nullptr;
  if (outer_ != nullptr || t_call_groups == nullptr) {
    site_ = site_of(caller_);
  } else {
    group_ = call_group_of(t_call_groups);
    site_ = group_->site;
    weight_ = group_->weight();
    if (weight_ == 0) {
      for (uint64_t& one : kept_) one = 0;
      return;
    }
    count_passed(group_);
  }
  if (outer_ == nullptr) begin_ns_ = now_ns();
}

// Adds the call to the untimed ones, after counting these if its outcomes are others.
void ObservedCall::end_untimed() noexcept {
  UntimedCalls& untimed = group_->untimed;
  const auto octave = static_cast<uint16_t>(kind_ == CallKind::kEnds ? 0 : octave_of(bytes_));
  if (untimed.calls == 0 || untimed.octave != octave || untimed.type != type_ ||
      std::memcmp(untimed.outcome_words, kept_, sizeof kept_) != 0) {
    count_untimed(group_);
    untimed.type = type_;
    untimed.octave = octave;
    for (size_t i = 0; i < kMostOutcomes; ++i) {
      untimed.outcome_words[i] = kept_[i];
      untimed.bytes[i] = 0;
    }
  }
  ++untimed.calls;
  for (size_t i = 0; i < kMostOutcomes && kept_[i] != 0; ++i) untimed.bytes[i] += kept_bytes_[i];
}

bool ObservedCall::keep(TypeId type, size_t outcome, int64_t bytes) noexcept {
  const uint64_t word = outcome_word(type, outcome);
  for (size_t i = 0; i < kMostOutcomes; ++i) {
    if (kept_[i] == 0) {
      kept_[i] = word;
      kept_bytes_[i] = bytes;
      return true;
    }
    if (is_same_outcome(kept_[i], word)) {
      kept_[i] += uint64_t{1} << 32;
      kept_bytes_[i] += bytes;
      return true;
    }
  }
  return false;
}

// Whether later calls like this one may pass (report/sampling.hpp): it was declined, and so will
// they be.
bool ObservedCall::might_pass() const noexcept {
  return recorded_nothing_ || (recorded_ == 1 && is_always_so(outcome_));
}

void ObservedCall::end() noexcept {
  t_call = outer_;
  if (outer_ != nullptr || !is_watched(kCosted)) return;
  if (group_ != nullptr && might_pass() && is_observed_like_last(function_, caller_))
    t_call_groups->last_of(function_, caller_) = &t_call_groups->none;
  if (weight_ == 0) return end_untimed();
  const bool ends = kind_ == CallKind::kEnds;
  Cell* cell = cell_of(account_here(), ends ? 0 : octave_of(bytes_));
  if (cell == nullptr) return;
  add(&cell->calls, 1);
  const int64_t ns = now_ns() - begin_ns_ - elsewhere_ns_;
  count_timed(cell, ends, ns, weight_);
  if (group_ == nullptr || group_->caller != caller_) return;
  group_->outcome = kNoOutcome;
  group_->count = group_->next_count;
  const bool has_type = group_->type.load(std::memory_order_relaxed) != MPI_Datatype{};
  if (ends) {
    group_->cell = cell_of({static_cast<uint16_t>(function_), kOtherTypes, site_});
  } else if (has_type) {
    const bool is_known =
        recorded_nothing_ ? group_->serial == 0 : recorded_ == 1 && is_always_so(outcome_);
    group_->cell = is_known ? cell : nullptr;
    group_->outcome =
        static_cast<uint32_t>(recorded_nothing_ ? default_outcome_ : static_cast<size_t>(outcome_));
    group_->element_bytes = group_->count > 0 ? bytes_ / group_->count : 0;
  }
  const bool may_pass = group_->cell != nullptr || (!ends && !has_type);
  if (may_pass) t_call_groups->draw_gap(group_, ns);
}

Account ObservedCall::account_here() const noexcept {
  return {static_cast<uint16_t>(function_), type_, site_, static_cast<uint16_t>(weight_ & 0x7FFF)};
}

void ObservedCall::record_nothing() noexcept {
  recorded_nothing_ = true;
  if (!is_watched(kReported) || (weight_ == 0 && keep(kOtherTypes, default_outcome_, 0))) return;
  count_outcome(account_of(kOtherTypes), default_outcome_, 1, 0);
}

Account account_of(TypeId type) noexcept {
  const ObservedCall* call = t_call;
  if (call == nullptr) return {0, type};
  return {static_cast<uint16_t>(call->function()), type, call->site(),
          static_cast<uint16_t>(call->weight() & 0x7FFF)};
}

bool leaves_new_types_alone() noexcept {
  return t_call != nullptr && t_call->kind() == CallKind::kMovesMany;
}

void report_outcome(TypeId type, Outcome outcome, int64_t bytes) noexcept {
  if (t_call == nullptr) return;
  if (t_call->record_outcome(type, outcome, bytes)) return;
  count_outcome(account_of(type), static_cast<size_t>(outcome), 1, bytes);
}

bool is_timed(const Account& of) noexcept {
  if (t_call != nullptr && (t_call->weight() != 0 || of.function == 0))
    return t_call->weight() != 0;
  return of.weight != 0;
}

void report_time(const Account& of, Way way, int64_t ns) noexcept {
  // Data of a predefined type have no account: they count for the current call.
  const bool nobodys = of.function == 0;
  if (nobodys && t_call == nullptr) return;
  const Account account = nobodys ? account_of(t_call->type()) : of;
  const int64_t all = ns * account.weight;
  Cell* cell = cell_of(account);
  if (cell == nullptr) return;
  add(way == Way::kPack ? &cell->pack_ns : &cell->unpack_ns, all);
  // What is done at a request's completion counts for the call that started it, not for the one
  // that waits.
  if (t_call == nullptr || !is_watched(kCosted)) return;
  if (account.function == static_cast<uint16_t>(t_call->function()) &&
      account.site == t_call->site())
    return;
  t_call->subtract_time(ns);
  add(&cell->elsewhere_ns, all);
}

void report_device_bytes(const Account& of, int64_t bytes) noexcept {
  if (Cell* cell = cell_of(of.function != 0 ? of : account_of(of.type)))
    add(&cell->bytes_on_device, bytes);
}

void called_from(const void* caller) noexcept { t_caller = caller; }
const void* given_caller() noexcept { return t_caller; }

}  // namespace lacuna
