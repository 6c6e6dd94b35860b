// SPDX-License-Identifier: BSD-3-Clause
//
// lacuna.hpp: lacuna.h for C++20. Handles that destroy themselves, exceptions for statuses, spans
// for MPI's arrays; each function is one of lacuna.h's, inline, with its rules and its cost.
//
//   const lacuna::Type column = lacuna::Type::vector(1000, 1, 1000, lacuna::Type::named("double"));
//   const lacuna::Plan plan(column);
//   plan.pack(matrix, 1, buffer);  // 1000 doubles, one from each row
//
// Everything that can fail throws lacuna::Error but for what is said to be noexcept. Objects move
// and are not copied; one that was moved from may only be destroyed or assigned to. Types and plans
// are immutable and may be used from several threads at once; streams by one at a time.
#ifndef LACUNA_LACUNA_HPP_
#define LACUNA_LACUNA_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lacuna/lacuna.h"

namespace lacuna {
// Inline, and with a name of its own, since the archive has classes of these names inside.
inline namespace api {

// What lacuna_last_error() said.
class Error : public std::runtime_error {
 public:
  explicit Error(lacuna_status status) : std::runtime_error(what_of(status)), status_(status) {}
  lacuna_status status() const noexcept { return status_; }

 private:
  static std::string what_of(lacuna_status status) {
    const std::string_view told = lacuna_last_error();
    return std::string(told.empty() ? lacuna_status_message(status) : told);
  }
  lacuna_status status_;
};

inline void check(lacuna_status status) {
  if (status != LACUNA_OK) throw Error(status);
}

namespace detail {

struct Destroy {
  void operator()(lacuna_type* type) const noexcept { lacuna_type_destroy(type); }
  void operator()(lacuna_plan* plan) const noexcept { lacuna_plan_destroy(plan); }
  void operator()(lacuna_pack_stream* stream) const noexcept { lacuna_pack_stream_destroy(stream); }
  void operator()(lacuna_unpack_stream* stream) const noexcept {
    lacuna_unpack_stream_destroy(stream);
  }
  void operator()(void* buffer) const noexcept { lacuna_buffer_release(buffer); }
};
template <typename T>
using Handle = std::unique_ptr<T, Destroy>;

// create(args..., &handle) for what it makes.
template <typename T, typename Create, typename... Args>
Handle<T> made(Create create, Args... args) {
  T* handle = nullptr;
  check(create(args..., &handle));
  return Handle<T>(handle);
}

// Asks how long a text is, then for it.
template <typename Write>
std::string text_by(Write write) {
  size_t needed = 0;
  const lacuna_status status = write(0, nullptr, &needed);
  if (status != LACUNA_TRUNCATED) check(status);
  std::string text(needed, '\0');
  check(write(text.size(), text.data(), &needed));
  text.resize(needed > 0 ? needed - 1 : 0);
  return text;
}

}  // namespace detail

// A datatype: a tree of MPI's constructors. Lists that must be of one length:
// LACUNA_INVALID_ARGUMENT where they are not.
class Type {
 public:
  using List = std::span<const int64_t>;

  explicit Type(const std::string& text)
      : handle_(detail::made<lacuna_type>(lacuna_type_parse, text.c_str())) {}
  // Becomes the owner; a lacuna_type_from_mpi() result, for example.
  explicit Type(lacuna_type* handle) noexcept : handle_(handle) {}

  static Type named(const std::string& name) { return by(lacuna_type_named, name.c_str()); }
  static Type dup(const Type& oldtype) { return by(lacuna_type_dup, oldtype.get()); }
  static Type contiguous(int64_t count, const Type& oldtype) {
    return by(lacuna_type_contiguous, count, oldtype.get());
  }
  static Type vector(int64_t count, int64_t blocklength, int64_t stride, const Type& oldtype) {
    return by(lacuna_type_vector, count, blocklength, stride, oldtype.get());
  }
  static Type hvector(int64_t count, int64_t blocklength, int64_t stride_bytes,
                      const Type& oldtype) {
    return by(lacuna_type_hvector, count, blocklength, stride_bytes, oldtype.get());
  }
  static Type indexed(List blocklengths, List displacements, const Type& oldtype) {
    return by(lacuna_type_indexed, same(blocklengths, displacements), blocklengths.data(),
              displacements.data(), oldtype.get());
  }
  static Type hindexed(List blocklengths, List displacements_bytes, const Type& oldtype) {
    return by(lacuna_type_hindexed, same(blocklengths, displacements_bytes), blocklengths.data(),
              displacements_bytes.data(), oldtype.get());
  }
  static Type indexed_block(int64_t blocklength, List displacements, const Type& oldtype) {
    return by(lacuna_type_indexed_block, length(displacements), blocklength, displacements.data(),
              oldtype.get());
  }
  static Type hindexed_block(int64_t blocklength, List displacements_bytes, const Type& oldtype) {
    return by(lacuna_type_hindexed_block, length(displacements_bytes), blocklength,
              displacements_bytes.data(), oldtype.get());
  }
  // MPI_Type_create_struct; `struct` is a word of C++.
  static Type structure(List blocklengths, List displacements_bytes,
                        std::span<const Type* const> oldtypes) {
    if (oldtypes.size() != blocklengths.size()) unlike("oldtypes", oldtypes.size(), blocklengths);
    std::vector<const lacuna_type*> parts;
    parts.reserve(oldtypes.size());
    for (const Type* part : oldtypes) parts.push_back(part == nullptr ? nullptr : part->get());
    const lacuna_type* const* const first = parts.data();
    return by(lacuna_type_struct, same(blocklengths, displacements_bytes), blocklengths.data(),
              displacements_bytes.data(), first);
  }
  static Type subarray(List sizes, List subsizes, List starts, lacuna_order order,
                       const Type& oldtype) {
    same(sizes, starts);
    return by(lacuna_type_subarray, same(sizes, subsizes), sizes.data(), subsizes.data(),
              starts.data(), order, oldtype.get());
  }
  static Type darray(int64_t size, int64_t rank, List gsizes,
                     std::span<const lacuna_distribution> distribs, List dargs, List psizes,
                     lacuna_order order, const Type& oldtype) {
    if (distribs.size() != gsizes.size()) unlike("distribs", distribs.size(), gsizes);
    same(gsizes, dargs);
    return by(lacuna_type_darray, size, rank, same(gsizes, psizes), gsizes.data(), distribs.data(),
              dargs.data(), psizes.data(), order, oldtype.get());
  }
  static Type resized(int64_t lb, int64_t extent, const Type& oldtype) {
    return by(lacuna_type_resized, lb, extent, oldtype.get());
  }

  const lacuna_type* get() const noexcept { return handle_.get(); }

  // Bytes.
  struct Extent {
    int64_t lb;
    int64_t extent;
  };
  int64_t size() const {
    int64_t bytes = 0;
    check(lacuna_type_size(get(), &bytes));
    return bytes;
  }
  Extent extent() const { return bounds(lacuna_type_extent); }
  Extent true_extent() const { return bounds(lacuna_type_true_extent); }
  std::string text() const {
    return detail::text_by([this](size_t capacity, char* text, size_t* needed) {
      return lacuna_type_text(get(), capacity, text, needed);
    });
  }

 private:
  explicit Type(detail::Handle<lacuna_type> handle) noexcept : handle_(std::move(handle)) {}

  template <typename Create, typename... Args>
  static Type by(Create create, Args... args) {
    return Type(detail::made<lacuna_type>(create, args...));
  }
  template <typename Ask>
  Extent bounds(Ask ask) const {
    Extent found{};
    check(ask(get(), &found.lb, &found.extent));
    return found;
  }
  static int64_t length(List list) noexcept { return static_cast<int64_t>(list.size()); }
  static int64_t same(List first, List second) {
    if (first.size() != second.size()) unlike("a list", second.size(), first);
    return length(first);
  }
  [[noreturn]] static void unlike(const char* what, size_t entries, List first) {
    throw std::invalid_argument(std::string("lacuna::Type: ") + what + " has " +
                                std::to_string(entries) + " entries, the first list " +
                                std::to_string(first.size()));
  }

  detail::Handle<lacuna_type> handle_;
};

// How the bytes of a type are moved on this machine.
class Plan {
 public:
  explicit Plan(const Type& type)
      : handle_(detail::made<lacuna_plan>(lacuna_plan_create, type.get())) {}

  const lacuna_plan* get() const noexcept { return handle_.get(); }

  int64_t packed_size(int64_t count) const {
    int64_t bytes = 0;
    check(lacuna_packed_size(get(), count, &bytes));
    return bytes;
  }
  void pack(const void* mem, int64_t count, void* packed) const {
    check(lacuna_pack(get(), mem, count, packed));
  }
  void unpack(const void* packed, int64_t count, void* mem) const {
    check(lacuna_unpack(get(), packed, count, mem));
  }
  void pack_slice(const void* mem, int64_t count, int64_t begin, int64_t end, void* packed) const {
    check(lacuna_pack_slice(get(), mem, count, begin, end, packed));
  }
  void unpack_slice(const void* packed, int64_t count, int64_t begin, int64_t end,
                    void* mem) const {
    check(lacuna_unpack_slice(get(), packed, count, begin, end, mem));
  }
  // For people.
  std::string explain(int64_t count) const { return text_by(lacuna_plan_explain, count); }
  // JSON.
  std::string cost(int64_t count) const { return text_by(lacuna_plan_cost_json, count); }

 private:
  template <typename Write>
  std::string text_by(Write write, int64_t count) const {
    return detail::text_by([&](size_t capacity, char* text, size_t* needed) {
      return write(get(), count, capacity, text, needed);
    });
  }

  detail::Handle<lacuna_plan> handle_;
};

// The packed form in pieces, each copied or lent; `mem` must not be written while it lives.
class PackStream {
 public:
  PackStream(const Plan& plan, const void* mem, int64_t count)
      : handle_(
            detail::made<lacuna_pack_stream>(lacuna_pack_stream_create, plan.get(), mem, count)) {}

  void next(int64_t bytes, void* packed) {
    check(lacuna_pack_stream_next(handle_.get(), bytes, packed));
  }
  // Until the next call.
  std::span<const std::byte> lend(int64_t bytes) {
    const void* place = nullptr;
    check(lacuna_pack_stream_lend(handle_.get(), bytes, &place));
    return {static_cast<const std::byte*>(place), static_cast<size_t>(bytes)};
  }
  void seek(int64_t begin) { check(lacuna_pack_stream_seek(handle_.get(), begin)); }

 private:
  detail::Handle<lacuna_pack_stream> handle_;
};

// Data are certain to be in memory after a flush, and when it is destroyed.
class UnpackStream {
 public:
  UnpackStream(const Plan& plan, void* mem, int64_t count)
      : handle_(detail::made<lacuna_unpack_stream>(lacuna_unpack_stream_create, plan.get(), mem,
                                                   count)) {}

  void next(int64_t bytes, const void* packed) {
    check(lacuna_unpack_stream_next(handle_.get(), bytes, packed));
  }
  // To be filled, and taken back by filled().
  std::span<std::byte> lend(int64_t bytes) {
    void* place = nullptr;
    check(lacuna_unpack_stream_lend(handle_.get(), bytes, &place));
    return {static_cast<std::byte*>(place), static_cast<size_t>(bytes)};
  }
  void filled(int64_t bytes) { check(lacuna_unpack_stream_filled(handle_.get(), bytes)); }
  void seek(int64_t begin) { check(lacuna_unpack_stream_seek(handle_.get(), begin)); }
  void flush() { check(lacuna_unpack_stream_flush(handle_.get())); }

 private:
  detail::Handle<lacuna_unpack_stream> handle_;
};

// Memory for packed data, which is handed out again after it.
class Buffer {
 public:
  explicit Buffer(int64_t bytes)
      : handle_(detail::made<void>(lacuna_buffer_acquire, bytes)),
        bytes_(static_cast<size_t>(bytes)) {}

  std::byte* data() const noexcept { return static_cast<std::byte*>(handle_.get()); }
  size_t size() const noexcept { return bytes_; }

 private:
  detail::Handle<void> handle_;
  size_t bytes_;
};

// From one layout to another, without the packed form between.
inline void copy(const Plan& plan_a, const void* mem_a, int64_t count_a, const Plan& plan_b,
                 void* mem_b, int64_t count_b) {
  check(lacuna_copy(plan_a.get(), mem_a, count_a, plan_b.get(), mem_b, count_b));
}

// The numbers about this machine that plans are made with, as JSON.
inline std::string machine() { return detail::text_by(lacuna_machine_json); }

}  // namespace api
}  // namespace lacuna

#endif  // LACUNA_LACUNA_HPP_
