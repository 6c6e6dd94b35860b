// SPDX-License-Identifier: BSD-3-Clause
//
// Message: a row of `lacuna bench preload`: the type as a program would build it, the memory of
// both sides, and the data that must have been received.
#ifndef LACUNA_BENCH_PRELOAD_MESSAGE_HPP_
#define LACUNA_BENCH_PRELOAD_MESSAGE_HPP_

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "bench/engine/problem.hpp"
#include "bench/engine/rivals/by_hand.hpp"
#include "mpi/predefined.hpp"
#include "plan/plan.hpp"

namespace lacuna::bench {

// What one side of a message gives to MPI.
enum class Form : uint8_t {
  kDerived,
  kContiguous,  // as many bytes without gaps
  kByHand,      // packed and unpacked by an application's loops
};

class Message {
 public:
  // Builds the type by its constructors. An error where this MPI has no such type, or no memory.
  static Result<std::unique_ptr<Message>> make(const Row& row, const PredefinedTypes& predefined);
  ~Message();
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  const std::string& id() const { return id_; }
  int64_t bytes() const { return bytes_; }
  const Plan& plan() const { return *plan_; }
  int64_t count() const { return count_; }
  // The piece of its type (plan/pattern.hpp).
  int64_t piece_bytes() const { return piece_bytes_; }
  // Whether it has several basic types.
  bool is_mixed() const { return is_mixed_; }
  // Whether an application would have loops for it.
  bool has_loops() const { return has_loops_; }

  void send(Form form, int peer) const;
  // Returns the library's error code.
  int receive(Form form, int peer) const;
  // Packing by a user: MPI_Pack of what send() would send, into bytes() bytes.
  void pack(std::byte* packed) const;
  // Contiguous data of the same size.
  const std::byte* flat() const { return flat_source_.data(); }

  // Before a message that is checked: fills the receiver's memory with other bytes.
  void clear() const;
  // Compares what was received in one form with what the other side has sent in the other, by the
  // library's MPI_Pack and MPI_Unpack (lacuna is off meanwhile); gaps must be unchanged. Empty, or
  // what is wrong.
  std::string check(Form sent, Form received) const;

 private:
  Message(const Row& row, TypePtr type, PlanPtr plan, const PredefinedTypes& predefined);
  std::byte* base(const Pages& memory) const { return memory.data() - first_; }

  std::string id_;
  PlanPtr plan_;
  const PredefinedTypes& predefined_;
  int count_;
  int64_t bytes_;
  int64_t piece_bytes_;
  bool is_mixed_;
  HandLoops loops_;
  bool has_loops_;
  int64_t first_;  // the lowest offset of the typemap, rounded down to a cache line
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  Pages source_;
  Pages target_;
  Pages flat_source_;
  Pages flat_target_;
};

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_PRELOAD_MESSAGE_HPP_
