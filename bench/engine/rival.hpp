// SPDX-License-Identifier: BSD-3-Clause
//
// Rival: one way to pack and unpack a problem. A new one is a file in rivals/ and a line in
// main.cpp.
#ifndef LACUNA_BENCH_ENGINE_RIVAL_HPP_
#define LACUNA_BENCH_ENGINE_RIVAL_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "bench/engine/problem.hpp"

namespace lacuna::bench {

class Rival {
 public:
  explicit Rival(std::string name) : name_(std::move(name)) {}
  virtual ~Rival() = default;
  Rival(const Rival&) = delete;
  Rival& operator=(const Rival&) = delete;

  const std::string& name() const { return name_; }
  // Whether its result is the packed stream (memcpy's is not).
  virtual bool is_checked() const { return true; }

  // False: the rival cannot do this problem and is left out. The problem lives until release().
  virtual bool prepare(const Problem& problem) = 0;
  // `times` calls one after the other. The loop is inside, so that this virtual call is not
  // measured each time. `mem` is offset 0 of the typemap.
  virtual void pack(const std::byte* mem, std::byte* packed, int64_t times) = 0;
  virtual void unpack(const std::byte* packed, std::byte* mem, int64_t times) = 0;
  // Used to check the result: the same once, with the bytes in `packed` even if the timed calls
  // leave them elsewhere.
  virtual void pack_checked(const std::byte* mem, std::byte* packed) { pack(mem, packed, 1); }
  virtual void unpack_checked(const std::byte* packed, std::byte* mem) { unpack(packed, mem, 1); }
  virtual void release() {}

 private:
  std::string name_;
};

using Rivals = std::vector<std::unique_ptr<Rival>>;

// rivals/memcpy.cpp: the same bytes without gaps.
std::unique_ptr<Rival> memcpy_rival();
// rivals/lines.cpp: only touches the cache lines with data, for rows whose data are in DRAM.
std::unique_ptr<Rival> lines_rival();
// rivals/by_hand.cpp: loops as an application has them.
std::unique_ptr<Rival> by_hand_rival();
// The instruction set those loops are compiled for.
std::string by_hand_target();
// rivals/mpi_pack.cpp: the library this program is linked to.
std::unique_ptr<Rival> mpi_rival();
// rivals/lacuna.cpp: through the C API; the same again, which shows the measurement error; with the
// kernels of one instruction set.
std::unique_ptr<Rival> lacuna_rival();
std::unique_ptr<Rival> lacuna_again_rival();
std::unique_ptr<Rival> lacuna_isa_rival(const std::string& isa);
// rivals/other_build.cpp: the shared library of another build, by its path.
Result<std::unique_ptr<Rival>> other_build_rival(const std::string& path);
// rivals/slices.cpp: slices of 8 KiB, for rows that are sliced: by a stream, in order and in random
// order, copied and lent, and each slice by itself; and what lent slices are compared with.
Rivals lacuna_slices_rivals();
// rivals/lifecycle.cpp: make the type, commit, pack (unpack), free.
std::unique_ptr<Rival> mpi_lifecycle_rival();
std::unique_ptr<Rival> lacuna_lifecycle_rival();

// Makes the compiler believe that memory is used, so that no call in a loop is dropped.
inline void keep(const void* pointer) { asm volatile("" : : "r"(pointer) : "memory"); }

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_ENGINE_RIVAL_HPP_
