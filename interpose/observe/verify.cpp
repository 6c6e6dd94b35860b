// SPDX-License-Identifier: BSD-3-Clause
//
// Compares lacuna's packing and unpacking with the library's. Not compared, with one line in the
// log: types with long double (libraries move such numbers by value, and leave their padding as it
// was), single elements above 2 GiB, and data for which there is no memory.
#include "interpose/observe/verify.hpp"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "exec/exec.hpp"
#include "interpose/library/from_bottom.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/observe/log.hpp"
#include "type/text/text.hpp"

namespace lacuna {
namespace {

constexpr size_t kMostVerified = 4096;
constexpr int64_t kLongestShadow = int64_t{1} << 30;
constexpr int kMostOutcomes = 20;
constexpr std::byte kPoison{0xA5};

struct VerifiedType {
  PlanPtr plan;  // held, so that no other plan gets its address
  MPI_Datatype type;
};
struct VerifiedTypes {
  std::mutex mutex;  // a leaf: the library is not called under it
  std::map<const Plan*, VerifiedType> kept;
};
VerifiedTypes& verified_types() {
  static auto* const types = new VerifiedTypes;  // as long as the process
  return *types;
}

std::atomic<int64_t> g_compared{0};
std::atomic<int64_t> g_bytes{0};
std::atomic<int> g_different{0};
std::atomic<bool> g_left_out{false};

MPI_Datatype kept_type(const Plan& plan) noexcept {
  VerifiedTypes& types = verified_types();
  const std::lock_guard<std::mutex> lock(types.mutex);
  const auto found = types.kept.find(&plan);
  return found != types.kept.end() ? found->second.type : runtime().datatype_null;
}

void subtract_time(const char* why) noexcept {
  if (g_left_out.exchange(true, std::memory_order_relaxed)) return;
  try {
    log_line(std::string("LACUNA_VERIFY: some data were not compared: ") + why);
  } catch (...) {
  }
}

// Logs the first difference, with a command that reproduces it.
void tell(const Account& account, const Plan& plan, int64_t count, const char* verb, int64_t at,
          int64_t bytes, std::byte ours, std::byte theirs) noexcept try {
  if (g_different.fetch_add(1, std::memory_order_relaxed) >= kMostOutcomes) return;
  const auto number = [](auto value) { return std::to_string(static_cast<int64_t>(value)); };
  log_line("LACUNA_VERIFY: " + std::string(wrapped_names()[account.function]) + ": " + verb +
           " byte " + number(at) + " of " + number(bytes) + " as " + number(ours) +
           ", the library as " + number(theirs) +
           "; the library's is used; reproduce: lacuna bench engine --check-only --count " +
           number(count) + " --type '" + print_type(plan.type()) + "'");
} catch (...) {
}

void count_comparison(int64_t bytes) noexcept {
  g_compared.fetch_add(1, std::memory_order_relaxed);
  g_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

using Memory = std::unique_ptr<std::byte[]>;
Memory memory_of(int64_t bytes) noexcept {
  return Memory(new (std::nothrow) std::byte[static_cast<size_t>(std::max<int64_t>(bytes, 1))]);
}

// The most elements whose bytes an int can count; 0: not even one.
int64_t elements_at_once(const Plan& plan) noexcept { return INT_MAX / plan.size(); }

std::byte* moved(const void* mem, int64_t bytes) noexcept {
  return reinterpret_cast<std::byte*>(reinterpret_cast<intptr_t>(mem) + bytes);
}

// Packs by the library, in parts whose bytes an int can count.
bool pack_there(const Plan& plan, MPI_Datatype type, const void* mem, int64_t count,
                std::byte* packed) noexcept {
  for (int64_t done = 0; done < count;) {
    const PackedFrom from(moved(mem, done * plan.extent()), type);
    const int64_t now = std::min(elements_at_once(plan), count - done);
    const int bytes = static_cast<int>(now * plan.size());
    int position = 0;
    const int code = next_functions().MPI_Pack(from.mem(), static_cast<int>(now), from.type(),
                                               packed + done * plan.size(), bytes, &position,
                                               runtime().probe_comm);
    if (code != MPI_SUCCESS || position != bytes) return false;
    done += now;
  }
  return true;
}

bool unpack_there(const Plan& plan, MPI_Datatype type, const std::byte* packed, int64_t count,
                  void* mem) noexcept {
  for (int64_t done = 0; done < count;) {
    const PackedFrom from(moved(mem, done * plan.extent()), type);
    const int64_t now = std::min(elements_at_once(plan), count - done);
    const int bytes = static_cast<int>(now * plan.size());
    int position = 0;
    const int code =
        next_functions().MPI_Unpack(packed + done * plan.size(), bytes, &position, from.mem(),
                                    static_cast<int>(now), from.type(), runtime().probe_comm);
    if (code != MPI_SUCCESS || position != bytes) return false;
    done += now;
  }
  return true;
}

// The library's type to compare with; the null type where there is none.
MPI_Datatype comparable(const Plan& plan) noexcept {
  if (elements_at_once(plan) == 0) {
    subtract_time("elements larger than 2 GiB");
    return runtime().datatype_null;
  }
  return kept_type(plan);
}

// Private memory to unpack into, filled with a poison byte before.
class Shadow {
 public:
  explicit Shadow(const DataSpan& span) noexcept : span_(span), memory_(memory_of(span.bytes())) {
    if (memory_) std::memset(memory_.get(), static_cast<int>(kPoison), bytes());
  }
  explicit operator bool() const { return memory_ != nullptr; }
  void* base() const noexcept { return moved(memory_.get(), -span_.low); }
  // Bytes from the beginning to where the two differ; -1: nowhere.
  int64_t differs_from(const Shadow& other) const noexcept {
    const std::byte* begin = memory_.get();
    const std::byte* end = begin + span_.bytes();
    const std::byte* at = std::mismatch(begin, end, other.memory_.get()).first;
    return at == end ? -1 : at - begin;
  }
  std::byte at(int64_t place) const noexcept { return memory_[static_cast<size_t>(place)]; }

 private:
  size_t bytes() const { return static_cast<size_t>(span_.bytes()); }
  DataSpan span_;
  Memory memory_;
};

// The library unpacks whole elements only. If the last one arrived in part, its present contents
// are packed, overwritten by the bytes that arrived, and unpacked again.
void unpack_as_there(const Plan& plan, MPI_Datatype type, const std::byte* packed, int64_t bytes,
                     void* mem) noexcept {
  const int64_t whole = bytes / plan.size();
  unpack_there(plan, type, packed, whole, mem);
  const int64_t rest = bytes - whole * plan.size();
  if (rest == 0) return;
  const Memory element = memory_of(plan.size());
  void* last = moved(mem, whole * plan.extent());
  if (!element || !pack_there(plan, type, last, 1, element.get())) return;
  std::memcpy(element.get(), packed + whole * plan.size(), static_cast<size_t>(rest));
  unpack_there(plan, type, element.get(), 1, last);
}

}  // namespace

void keep_for_verification(const PlanPtr& plan, MPI_Datatype datatype) noexcept try {
  if (has_long_double(plan->type())) return subtract_time("types with long double");
  VerifiedTypes& types = verified_types();
  {
    const std::lock_guard<std::mutex> lock(types.mutex);
    if (types.kept.count(plan.get()) != 0) return;
    if (types.kept.size() >= kMostVerified) return subtract_time("more than 4096 types");
  }
  // Not a dup, which would copy the program's attributes.
  const Next& next = next_functions();
  MPI_Datatype type = runtime().datatype_null;
  if (next.MPI_Type_contiguous(1, datatype, &type) != MPI_SUCCESS) return;
  bool kept = false;
  if (next.MPI_Type_commit(&type) == MPI_SUCCESS) {
    const std::lock_guard<std::mutex> lock(types.mutex);
    kept = types.kept.emplace(plan.get(), VerifiedType{plan, type}).second;
  }
  if (!kept) next.MPI_Type_free(&type);
} catch (...) {
}

void stop_verification() noexcept try {
  std::map<const Plan*, VerifiedType> kept;
  {
    VerifiedTypes& types = verified_types();
    const std::lock_guard<std::mutex> lock(types.mutex);
    kept.swap(types.kept);
  }
  for (auto& [plan, entry] : kept) next_functions().MPI_Type_free(&entry.type);
  const int different = g_different.load(std::memory_order_relaxed);
  if (runtime().rank != 0 && different == 0) return;
  const auto number = [](int64_t value) { return std::to_string(value); };
  const int64_t compared = g_compared.load(std::memory_order_relaxed);
  const char* remedy = compared > 0 ? ""
                                    : "; lacuna has handled no call, as the library is as fast: "
                                      "LACUNA_ALWAYS=1 handles and compares them";
  log_line("LACUNA_VERIFY: compared " + number(compared) + " packs and unpacks with the library (" +
           number(g_bytes.load(std::memory_order_relaxed)) + " bytes): " + number(different) +
           " differences" + (runtime().always ? "" : remedy));
} catch (...) {
}

void verify_packed(const Account& account, const Plan& plan, const void* mem, int64_t count,
                   std::byte* packed) noexcept {
  const MPI_Datatype type = comparable(plan);
  if (type == runtime().datatype_null) return;
  const int64_t bytes = count * plan.size();
  const Memory theirs = memory_of(bytes);
  if (!theirs) return subtract_time("out of memory");
  if (!pack_there(plan, type, mem, count, theirs.get()))
    return subtract_time("MPI_Pack returned an error");
  count_comparison(bytes);
  const std::byte* at = std::mismatch(packed, packed + bytes, theirs.get()).first;
  if (at == packed + bytes) return;
  const int64_t place = at - packed;
  tell(account, plan, count, "packs", place, bytes, *at, theirs[static_cast<size_t>(place)]);
  std::memcpy(packed, theirs.get(), static_cast<size_t>(bytes));
}

bool unpack_verified(const Account& account, const Plan& plan, const std::byte* packed,
                     int64_t bytes, int64_t count, void* mem) noexcept {
  const MPI_Datatype type = comparable(plan);
  if (type == runtime().datatype_null || bytes == 0) return false;
  const int64_t elements = std::min(count, (bytes + plan.size() - 1) / plan.size());
  const DataSpan span = data_span(plan.type(), elements);
  if (span.bytes() > kLongestShadow) {
    subtract_time("receives that span more than 1 GiB");
    return false;
  }
  // A last element that arrived in part is completed with poison, which both shadows hold before.
  const Shadow ours(span), theirs(span);
  const Memory filled = memory_of(elements * plan.size());
  if (!ours || !theirs || !filled) {
    subtract_time("out of memory");
    return false;
  }
  std::memset(filled.get(), static_cast<int>(kPoison), static_cast<size_t>(elements * plan.size()));
  std::memcpy(filled.get(), packed, static_cast<size_t>(bytes));
  if (!unpack_there(plan, type, filled.get(), elements, theirs.base())) {
    subtract_time("MPI_Unpack returned an error");
    return false;
  }
  unpack_slice(plan, packed, elements, 0, bytes, ours.base());
  count_comparison(bytes);
  const int64_t at = ours.differs_from(theirs);
  if (at < 0) return false;
  tell(account, plan, elements, "unpacks", at + span.low, span.bytes(), ours.at(at), theirs.at(at));
  unpack_as_there(plan, type, packed, bytes, mem);
  return true;
}

}  // namespace lacuna
