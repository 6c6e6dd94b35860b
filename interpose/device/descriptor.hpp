// SPDX-License-Identifier: BSD-3-Clause
//
// A file descriptor by which processes share memory of a device. The program may close descriptors
// that it does not know, and open others of the same number: these are left alone.
#ifndef LACUNA_INTERPOSE_DEVICE_DESCRIPTOR_HPP_
#define LACUNA_INTERPOSE_DEVICE_DESCRIPTOR_HPP_

#include <sys/types.h>

#include <cstdint>

namespace lacuna::device {

class Descriptor {
 public:
  // Owns `number` from now on, or a copy of it: the numbers of the standard streams are the
  // program's, also if it has closed these. Below 0: none.
  void take(int number) noexcept;
  // Takes a descriptor of another process.
  void take_from(int32_t pid, int number) noexcept;
  void drop() noexcept;
  int number() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }

 private:
  bool is_the_same() const noexcept;

  int number_ = -1;
  dev_t device_ = 0;
  ino_t file_ = 0;
};

// Whether the system allows to take descriptors of a process.
bool may_take_from(int32_t pid) noexcept;

}  // namespace lacuna::device

#endif  // LACUNA_INTERPOSE_DEVICE_DESCRIPTOR_HPP_
