// SPDX-License-Identifier: BSD-3-Clause
//
// What the constructors share. Bounds derives size, bounds and alignment of a new type from the
// displacements of its children's copies. Error messages have one form: "<constructor>: <argument>
// is <value>; <what it must be>". Private to this folder.
#ifndef LACUNA_ENGINE_TYPE_BOUNDS_HPP_
#define LACUNA_ENGINE_TYPE_BOUNDS_HPP_

#include <algorithm>
#include <string>
#include <string_view>

#include "base/checked.hpp"
#include "type/type.hpp"

namespace lacuna::detail {

// Collects copies of children, then writes the derived members of the new type. Bounds depend only
// on the number of copies and on the least and the greatest of their displacements.
class Bounds {
 public:
  // Adds copies with displacements from `first` to `last` bytes (inclusive), in either order.
  void add(const Type& child, Checked copies, Checked first, Checked last);

  // Adds blocks of `blocklength` copies, one child extent apart; displacements as above.
  void add_blocks(const Type& child, int64_t blocks, int64_t blocklength, Checked first,
                  Checked last);

  // Makes the extent a multiple of the alignment, unless there are markers: a struct is laid out as
  // C would.
  void pad_to_alignment();

  // Replaces all bounds gathered so far by markers (resized, subarray, darray).
  void set_markers(Checked lb, Checked ub);

  // Writes size, bounds, markers and alignment; false where one of them does not fit int64.
  bool store(Type* type) const;

 private:
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
    bool any = false;
    bool bad = false;  // a part of it does not fit int64

    // [low + from, high + to).
    void include(int64_t low, int64_t from, int64_t high, int64_t to, bool overflow) {
      int64_t b = 0;
      int64_t e = 0;
      overflow |= __builtin_add_overflow(low, from, &b);
      overflow |= __builtin_add_overflow(high, to, &e);
      begin = any ? std::min(begin, b) : b;
      end = any ? std::max(end, e) : e;
      any = true;
      bad |= overflow;
    }
    bool ok() const {
      int64_t length = 0;
      return !bad && !__builtin_sub_overflow(end, begin, &length);
    }
  };

  // `low`, `high`: the least and the greatest displacement; `bad`: they overflowed.
  void add_copies(const Type& child, int64_t copies, int64_t low, int64_t high, bool bad);

  Range data_;    // true bounds
  Range bounds_;  // lb and ub: of the markers alone, where there is one
  bool markers_ = false;
  int64_t size_ = 0;
  bool size_bad_ = false;  // it does not fit int64
  int64_t alignment_ = 1;
};

Error invalid(std::string_view constructor, std::string_view argument, int64_t value,
              std::string_view rule);
// For entry `index` of a list.
Error invalid_entry(std::string_view constructor, std::string_view list, size_t index,
                    int64_t value, std::string_view rule);
Error unequal_lists(std::string_view constructor, std::string_view first, size_t first_entries,
                    std::string_view second, size_t second_entries);
Error null_child(std::string_view constructor, std::string_view argument);
Error too_large(std::string_view constructor);
Error too_deep(std::string_view constructor);
Error too_many_parts(std::string_view constructor);

// An unfinished type over one child. Fails if the child is null, too deep or has too many parts.
Result<Ref<Type>> draft(Combiner combiner, std::string_view constructor, TypePtr child);
// Completes a type over one child: bounds, signature and fingerprint.
Result<TypePtr> finish(std::string_view constructor, const Bounds& bounds, Ref<Type> type);

// The last step of every constructor: the hash of the structure and the memory it takes.
void fingerprint(Type* type);

}  // namespace lacuna::detail

#endif  // LACUNA_ENGINE_TYPE_BOUNDS_HPP_
