// SPDX-License-Identifier: BSD-3-Clause
//
// The C interface of plans: the only place where a count, a slice or a buffer is checked before
// bytes move.
#include "api/handles.hpp"
#include "exec/copy/copy.hpp"
#include "exec/exec.hpp"
#include "plan/cache.hpp"

namespace {

using lacuna::PlanPtr;
using lacuna::TypePtr;
using lacuna::api::fail;
using lacuna::api::guarded;
using lacuna::api::handle_of;
using lacuna::api::invalid;
using lacuna::api::plan_of;
using lacuna::api::type_of;

// Every call makes a few comparisons that only find out whether all is well. If not, the functions
// below check again and have the sentences; they are cold and not inlined, so that callers keep
// their registers.

[[gnu::cold, gnu::noinline]] lacuna_status check_count(const lacuna_plan* plan,
                                                       int64_t count) noexcept {
  return guarded([&] {
    if (plan == nullptr) return invalid("plan is NULL; give one from lacuna_plan_create");
    if (count < 0)
      return invalid("count is " + std::to_string(count) + "; it must not be negative");
    int64_t bytes = 0;
    if (__builtin_mul_overflow(count, plan_of(plan).size(), &bytes)) {
      return fail(LACUNA_OVERFLOW, std::to_string(count) + " elements of " +
                                       std::to_string(plan_of(plan).size()) +
                                       " bytes do not fit into 64 bits");
    }
    return LACUNA_OK;
  });
}

// `name` is the argument's. A null `mem` means absolute addresses, which do not begin in the first
// page.
[[gnu::cold, gnu::noinline]] lacuna_status check_memory(const lacuna_plan* plan, const void* mem,
                                                        int64_t bytes, const char* name) noexcept {
  if (bytes == 0 || mem != nullptr || plan_of(plan).type().true_lb < 0 ||
      plan_of(plan).type().true_lb >= plan_of(plan).machine().page_bytes)
    return LACUNA_OK;
  return guarded([&] {
    return invalid(std::string(name) +
                   " is NULL and the type holds no absolute addresses; give the buffer's address");
  });
}

[[gnu::cold, gnu::noinline]] lacuna_status check_buffers(const lacuna_plan* plan, const void* mem,
                                                         int64_t bytes,
                                                         const void* packed) noexcept {
  if (bytes != 0 && packed == nullptr) {
    return guarded([] { return invalid("packed is NULL; give a buffer for the packed stream"); });
  }
  return check_memory(plan, mem, bytes, "mem");
}

[[gnu::cold, gnu::noinline]] lacuna_status check_message(const lacuna_plan* plan, const void* mem,
                                                         int64_t count,
                                                         const void* packed) noexcept {
  const lacuna_status status = check_count(plan, count);
  if (status != LACUNA_OK) return status;
  return check_buffers(plan, mem, count * plan_of(plan).size(), packed);
}

// Whether the arguments are certainly valid. Sets *bytes to the length of the packed stream.
[[gnu::always_inline]] inline bool is_plain(const lacuna_plan* plan, const void* mem, int64_t count,
                                            const void* packed, int64_t* bytes) noexcept {
  return plan != nullptr && mem != nullptr && packed != nullptr && count >= 0 &&
         !__builtin_mul_overflow(count, plan_of(plan).size(), bytes);
}

[[gnu::cold, gnu::noinline]] lacuna_status check_slice(const lacuna_plan* plan, int64_t count,
                                                       int64_t begin, int64_t end) noexcept {
  return guarded([&] {
    const int64_t bytes = count * plan_of(plan).size();
    if (begin < 0 || begin > end || end > bytes) {
      return invalid("slice [" + std::to_string(begin) + ", " + std::to_string(end) +
                     ") is not inside [0, " + std::to_string(bytes) + ")");
    }
    return LACUNA_OK;
  });
}

[[gnu::cold, gnu::noinline]] lacuna_status check_part(const lacuna_plan* plan, const void* mem,
                                                      int64_t count, int64_t begin, int64_t end,
                                                      const void* packed) noexcept {
  lacuna_status status = check_count(plan, count);
  if (status == LACUNA_OK) status = check_slice(plan, count, begin, end);
  if (status == LACUNA_OK) status = check_buffers(plan, mem, end - begin, packed);
  return status;
}

// Messages that the plan's few moves do not serve, and wrong arguments.
template <bool kPack>
[[gnu::noinline]] lacuna_status move_more(const lacuna_plan* plan, void* mem, int64_t count,
                                          void* packed) noexcept {
  int64_t bytes = 0;
  if (!is_plain(plan, mem, count, packed, &bytes)) [[unlikely]] {
    const lacuna_status status = check_message(plan, mem, count, packed);
    if (status != LACUNA_OK) return status;
  }
  if constexpr (kPack) {
    lacuna::pack(plan_of(plan), mem, count, packed);
  } else {
    lacuna::unpack(plan_of(plan), packed, count, mem);
  }
  return LACUNA_OK;
}

template <bool kPack>
[[gnu::always_inline]] inline lacuna_status move(const lacuna_plan* plan, const void* mem,
                                                 int64_t count, const void* packed) noexcept {
  const auto more = [=] {
    return move_more<kPack>(plan, const_cast<void*>(mem), count, const_cast<void*>(packed));
  };
  // Separate conditions: GCC makes more instructions of one.
  if (plan == nullptr) [[unlikely]]
    return more();
  if (mem == nullptr) [[unlikely]]
    return more();
  if (packed == nullptr) [[unlikely]]
    return more();
  if (lacuna::is_small(plan_of(plan), count)) [[likely]]
    return static_cast<lacuna_status>(lacuna::move_small<kPack>(plan_of(plan), mem, count, packed));
  return more();
}

}  // namespace

lacuna_status lacuna::api::check_elements(const lacuna_plan* plan, const void* mem,
                                          int64_t count) noexcept {
  const lacuna_status status = check_count(plan, count);
  if (status != LACUNA_OK) return status;
  return check_memory(plan, mem, count * plan_of(plan).size(), "mem");
}

lacuna_status lacuna_plan_create(const lacuna_type* type, lacuna_plan** plan) {
  return guarded([&] {
    if (type == nullptr)
      return invalid("type is NULL; give one from lacuna_type_parse or a constructor");
    if (plan == nullptr) return invalid("plan is NULL; give the address of a lacuna_plan*");
    *plan = handle_of(lacuna::cached_plan(TypePtr(&type_of(type))));
    return LACUNA_OK;
  });
}

void lacuna_plan_destroy(lacuna_plan* plan) {
  if (plan != nullptr) PlanPtr::adopt(&plan_of(plan));
}

lacuna_status lacuna_packed_size(const lacuna_plan* plan, int64_t count, int64_t* bytes) {
  const lacuna_status status = check_count(plan, count);
  if (status != LACUNA_OK) return status;
  if (bytes == nullptr)
    return guarded([] { return invalid("bytes is NULL; give a valid pointer"); });
  *bytes = count * plan_of(plan).size();
  return LACUNA_OK;
}

lacuna_status lacuna_pack(const lacuna_plan* plan, const void* mem, int64_t count, void* packed) {
  return move<true>(plan, mem, count, packed);
}

lacuna_status lacuna_unpack(const lacuna_plan* plan, const void* packed, int64_t count, void* mem) {
  return move<false>(plan, mem, count, packed);
}

lacuna_status lacuna_pack_slice(const lacuna_plan* plan, const void* mem, int64_t count,
                                int64_t begin, int64_t end, void* packed) {
  int64_t bytes = 0;
  if (!is_plain(plan, mem, count, packed, &bytes) || begin < 0 || begin > end || end > bytes)
      [[unlikely]] {
    const lacuna_status status = check_part(plan, mem, count, begin, end, packed);
    if (status != LACUNA_OK) return status;
  }
  lacuna::pack_slice(plan_of(plan), mem, count, begin, end, packed);
  return LACUNA_OK;
}

lacuna_status lacuna_unpack_slice(const lacuna_plan* plan, const void* packed, int64_t count,
                                  int64_t begin, int64_t end, void* mem) {
  int64_t bytes = 0;
  if (!is_plain(plan, mem, count, packed, &bytes) || begin < 0 || begin > end || end > bytes)
      [[unlikely]] {
    const lacuna_status status = check_part(plan, mem, count, begin, end, packed);
    if (status != LACUNA_OK) return status;
  }
  lacuna::unpack_slice(plan_of(plan), packed, count, begin, end, mem);
  return LACUNA_OK;
}

lacuna_status lacuna_copy(const lacuna_plan* plan_a, const void* mem_a, int64_t count_a,
                          const lacuna_plan* plan_b, void* mem_b, int64_t count_b) {
  lacuna_status status = check_count(plan_a, count_a);
  if (status == LACUNA_OK) status = check_count(plan_b, count_b);
  if (status != LACUNA_OK) return status;
  const int64_t from = count_a * plan_of(plan_a).size();
  const int64_t to = count_b * plan_of(plan_b).size();
  if (from != to) {
    return guarded([&] {
      return invalid("a has " + std::to_string(from) + " bytes of data and b " +
                     std::to_string(to) + "; they must be equal");
    });
  }
  status = check_memory(plan_a, mem_a, from, "mem_a");
  if (status == LACUNA_OK) status = check_memory(plan_b, mem_b, to, "mem_b");
  if (status == LACUNA_OK)
    lacuna::copy(plan_of(plan_a), mem_a, count_a, plan_of(plan_b), mem_b, count_b);
  return status;
}

lacuna_status lacuna_plan_explain(const lacuna_plan* plan, int64_t count, size_t capacity,
                                  char* text, size_t* needed) {
  const lacuna_status status = check_count(plan, count);
  if (status != LACUNA_OK) return status;
  return guarded([&] {
    return lacuna::api::give_text(lacuna::explain(plan_of(plan), count), capacity, text, needed);
  });
}
