// SPDX-License-Identifier: BSD-3-Clause
//
// The C interface of types: checks the pointers, leaves the rest to the constructors, converts
// Result to status.
#include <cstring>
#include <vector>

#include "api/handles.hpp"
#include "type/text/text.hpp"

namespace {

using lacuna::Distribution;
using lacuna::Order;
using lacuna::Result;
using lacuna::TypePtr;
using lacuna::api::give;
using lacuna::api::guarded;
using lacuna::api::invalid;
using lacuna::api::type_of;

std::string null_argument(const char* name) {
  return std::string(name) + " is NULL; give a valid pointer";
}

std::vector<int64_t> list(int64_t count, const int64_t* values) {
  return count > 0 ? std::vector<int64_t>(values, values + count) : std::vector<int64_t>();
}

// A list of `count` values may be NULL only if it is empty.
bool missing(int64_t count, const void* values) { return count > 0 && values == nullptr; }

lacuna_status negative(const char* name, int64_t value) {
  return invalid(std::string(name) + " is " + std::to_string(value) + "; it must not be negative");
}

// C callers may give an enum any value; in C++ even reading such a value as an enum is undefined.
template <typename Enum>
int number_of(const Enum& value) {
  int number = 0;
  static_assert(sizeof number == sizeof value);
  std::memcpy(&number, &value, sizeof number);
  return number;
}

bool is_order(const lacuna_order& order) {
  const int number = number_of(order);
  return number == LACUNA_ORDER_C || number == LACUNA_ORDER_FORTRAN;
}

lacuna_status wrong_order(const lacuna_order& order) {
  return invalid("order is " + std::to_string(number_of(order)) +
                 "; it must be LACUNA_ORDER_C or LACUNA_ORDER_FORTRAN");
}

// The checks that all constructors with one child share; then `make` builds the type.
template <typename Make>
lacuna_status construct(const lacuna_type* oldtype, lacuna_type** type, Make make) {
  return guarded([&] {
    if (oldtype == nullptr) return invalid(null_argument("oldtype"));
    if (type == nullptr) return invalid(null_argument("type"));
    return give(make(TypePtr(&type_of(oldtype))), type);
  });
}

// The same with two lists of `count` values before the child.
template <typename Make>
lacuna_status construct_indexed(int64_t count, const int64_t* blocklengths,
                                const int64_t* displacements, const lacuna_type* oldtype,
                                lacuna_type** type, Make make) {
  if (count < 0) return guarded([&] { return negative("count", count); });
  if (missing(count, blocklengths))
    return guarded([] { return invalid(null_argument("blocklengths")); });
  if (missing(count, displacements))
    return guarded([] { return invalid(null_argument("displacements")); });
  return construct(oldtype, type, [&](TypePtr child) {
    return make(list(count, blocklengths), list(count, displacements), child);
  });
}

}  // namespace

lacuna_status lacuna_type_parse(const char* text, lacuna_type** type) {
  return guarded([&] {
    if (text == nullptr) return invalid(null_argument("text"));
    if (type == nullptr) return invalid(null_argument("type"));
    return give(lacuna::parse_type(text), type);
  });
}

lacuna_status lacuna_type_named(const char* name, lacuna_type** type) {
  return guarded([&] {
    if (name == nullptr) return invalid(null_argument("name"));
    if (type == nullptr) return invalid(null_argument("type"));
    const lacuna::Basic* basic = lacuna::find_basic(name);
    if (basic == nullptr) {
      return invalid(
          std::string(name).append(" is no predefined datatype; names are MPI's, e.g. double"));
    }
    return give(lacuna::make_named(*basic), type);
  });
}

lacuna_status lacuna_type_dup(const lacuna_type* oldtype, lacuna_type** type) {
  return construct(oldtype, type, [](TypePtr child) { return lacuna::make_dup(child); });
}

lacuna_status lacuna_type_contiguous(int64_t count, const lacuna_type* oldtype,
                                     lacuna_type** type) {
  return construct(oldtype, type,
                   [&](TypePtr child) { return lacuna::make_contiguous(count, child); });
}

lacuna_status lacuna_type_vector(int64_t count, int64_t blocklength, int64_t stride,
                                 const lacuna_type* oldtype, lacuna_type** type) {
  return construct(oldtype, type, [&](TypePtr child) {
    return lacuna::make_vector(count, blocklength, stride, child);
  });
}

lacuna_status lacuna_type_hvector(int64_t count, int64_t blocklength, int64_t stride_bytes,
                                  const lacuna_type* oldtype, lacuna_type** type) {
  return construct(oldtype, type, [&](TypePtr child) {
    return lacuna::make_hvector(count, blocklength, stride_bytes, child);
  });
}

lacuna_status lacuna_type_indexed(int64_t count, const int64_t* blocklengths,
                                  const int64_t* displacements, const lacuna_type* oldtype,
                                  lacuna_type** type) {
  return construct_indexed(count, blocklengths, displacements, oldtype, type, lacuna::make_indexed);
}

lacuna_status lacuna_type_hindexed(int64_t count, const int64_t* blocklengths,
                                   const int64_t* displacements_bytes, const lacuna_type* oldtype,
                                   lacuna_type** type) {
  return construct_indexed(count, blocklengths, displacements_bytes, oldtype, type,
                           lacuna::make_hindexed);
}

lacuna_status lacuna_type_indexed_block(int64_t count, int64_t blocklength,
                                        const int64_t* displacements, const lacuna_type* oldtype,
                                        lacuna_type** type) {
  if (count < 0) return guarded([&] { return negative("count", count); });
  if (missing(count, displacements))
    return guarded([] { return invalid(null_argument("displacements")); });
  return construct(oldtype, type, [&](TypePtr child) {
    return lacuna::make_indexed_block(blocklength, list(count, displacements), child);
  });
}

lacuna_status lacuna_type_hindexed_block(int64_t count, int64_t blocklength,
                                         const int64_t* displacements_bytes,
                                         const lacuna_type* oldtype, lacuna_type** type) {
  if (count < 0) return guarded([&] { return negative("count", count); });
  if (missing(count, displacements_bytes))
    return guarded([] { return invalid(null_argument("displacements")); });
  return construct(oldtype, type, [&](TypePtr child) {
    return lacuna::make_hindexed_block(blocklength, list(count, displacements_bytes), child);
  });
}

lacuna_status lacuna_type_struct(int64_t count, const int64_t* blocklengths,
                                 const int64_t* displacements_bytes,
                                 const lacuna_type* const* oldtypes, lacuna_type** type) {
  return guarded([&] {
    if (count < 0) return negative("count", count);
    if (missing(count, blocklengths)) return invalid(null_argument("blocklengths"));
    if (missing(count, displacements_bytes)) return invalid(null_argument("displacements"));
    if (missing(count, oldtypes)) return invalid(null_argument("oldtypes"));
    if (type == nullptr) return invalid(null_argument("type"));
    std::vector<TypePtr> children;
    if (count > 0) children.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      if (oldtypes[i] == nullptr)
        return invalid(null_argument(("oldtypes[" + std::to_string(i) + "]").c_str()));
      children.emplace_back(&type_of(oldtypes[i]));
    }
    return give(lacuna::make_struct(list(count, blocklengths), list(count, displacements_bytes),
                                    std::move(children)),
                type);
  });
}

lacuna_status lacuna_type_subarray(int64_t ndims, const int64_t* sizes, const int64_t* subsizes,
                                   const int64_t* starts, lacuna_order order,
                                   const lacuna_type* oldtype, lacuna_type** type) {
  if (ndims < 0) return guarded([&] { return negative("ndims", ndims); });
  if (missing(ndims, sizes)) return guarded([] { return invalid(null_argument("sizes")); });
  if (missing(ndims, subsizes)) return guarded([] { return invalid(null_argument("subsizes")); });
  if (missing(ndims, starts)) return guarded([] { return invalid(null_argument("starts")); });
  if (!is_order(order)) return guarded([&] { return wrong_order(order); });
  return construct(oldtype, type, [&](TypePtr child) {
    return lacuna::make_subarray(list(ndims, sizes), list(ndims, subsizes), list(ndims, starts),
                                 static_cast<Order>(order), child);
  });
}

lacuna_status lacuna_type_darray(int64_t size, int64_t rank, int64_t ndims, const int64_t* gsizes,
                                 const lacuna_distribution* distribs, const int64_t* dargs,
                                 const int64_t* psizes, lacuna_order order,
                                 const lacuna_type* oldtype, lacuna_type** type) {
  if (ndims < 0) return guarded([&] { return negative("ndims", ndims); });
  if (missing(ndims, gsizes)) return guarded([] { return invalid(null_argument("gsizes")); });
  if (missing(ndims, distribs)) return guarded([] { return invalid(null_argument("distribs")); });
  if (missing(ndims, dargs)) return guarded([] { return invalid(null_argument("dargs")); });
  if (missing(ndims, psizes)) return guarded([] { return invalid(null_argument("psizes")); });
  if (!is_order(order)) return guarded([&] { return wrong_order(order); });
  for (int64_t i = 0; i < ndims; ++i) {
    if (const int kind = number_of(distribs[i]);
        kind < LACUNA_DISTRIBUTE_NONE || kind > LACUNA_DISTRIBUTE_CYCLIC) {
      return guarded([&] {
        return invalid("distribs[" + std::to_string(i) + "] is " + std::to_string(kind) +
                       "; it must be LACUNA_DISTRIBUTE_NONE, _BLOCK or _CYCLIC");
      });
    }
  }
  return construct(oldtype, type, [&](TypePtr child) {
    std::vector<Distribution> kinds;
    for (int64_t i = 0; i < ndims; ++i) kinds.push_back(static_cast<Distribution>(distribs[i]));
    return lacuna::make_darray(size, rank, list(ndims, gsizes), std::move(kinds),
                               list(ndims, dargs), list(ndims, psizes), static_cast<Order>(order),
                               child);
  });
}

lacuna_status lacuna_type_resized(int64_t lb, int64_t extent, const lacuna_type* oldtype,
                                  lacuna_type** type) {
  return construct(oldtype, type,
                   [&](TypePtr child) { return lacuna::make_resized(lb, extent, child); });
}

void lacuna_type_destroy(lacuna_type* type) {
  if (type != nullptr) TypePtr::adopt(&type_of(type));
}

lacuna_status lacuna_type_size(const lacuna_type* type, int64_t* size) {
  return guarded([&] {
    if (type == nullptr) return invalid(null_argument("type"));
    if (size == nullptr) return invalid(null_argument("size"));
    *size = type_of(type).size_bytes;
    return LACUNA_OK;
  });
}

lacuna_status lacuna_type_extent(const lacuna_type* type, int64_t* lb, int64_t* extent) {
  return guarded([&] {
    if (type == nullptr) return invalid(null_argument("type"));
    if (lb == nullptr || extent == nullptr)
      return invalid(null_argument(lb == nullptr ? "lb" : "extent"));
    *lb = type_of(type).lb;
    *extent = type_of(type).extent();
    return LACUNA_OK;
  });
}

lacuna_status lacuna_type_true_extent(const lacuna_type* type, int64_t* true_lb,
                                      int64_t* true_extent) {
  return guarded([&] {
    if (type == nullptr) return invalid(null_argument("type"));
    if (true_lb == nullptr || true_extent == nullptr) {
      return invalid(null_argument(true_lb == nullptr ? "true_lb" : "true_extent"));
    }
    *true_lb = type_of(type).true_lb;
    *true_extent = type_of(type).true_extent();
    return LACUNA_OK;
  });
}

lacuna_status lacuna_type_text(const lacuna_type* type, size_t capacity, char* text,
                               size_t* needed) {
  return guarded([&] {
    if (type == nullptr) return invalid(null_argument("type"));
    return lacuna::api::give_text(lacuna::print_type(type_of(type)), capacity, text, needed);
  });
}
