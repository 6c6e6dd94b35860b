// SPDX-License-Identifier: BSD-3-Clause
//
// Message: a row of `lacuna bench preload` made ready to be sent: the type as a program would build
// it, the memory it describes on either side, and what must have come when it has been received.
#ifndef LACUNA_BENCH_PRELOAD_MESSAGE_HPP_
#define LACUNA_BENCH_PRELOAD_MESSAGE_HPP_

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "bench/engine/problem.hpp"
#include "mpi/predefined.hpp"
#include "plan/plan.hpp"

namespace lacuna::bench {

// What one side of a message hands to MPI.
enum class Form : uint8_t {
  kDerived,
  kContiguous,  // as many bytes without gaps
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
  // Of its type (plan/pattern.hpp).
  int64_t piece_bytes() const { return piece_bytes_; }
  // Of several basic types.
  bool is_mixed() const { return is_mixed_; }

  void send(Form form, int peer) const;
  // What the library answers.
  int receive(Form form, int peer) const;
  // What a user does who packs by himself: MPI_Pack of what send() would send, into bytes() bytes.
  void pack(std::byte* packed) const;
  // And the data of the same size without gaps.
  const std::byte* flat() const { return flat_source_.data(); }

  // Before a message that is to be checked: both sides of the receiver with what it may not keep.
  void clear() const;
  // Whether what was received in that form is what the other side has sent in that form, by
  // MPI_Pack and MPI_Unpack of the library alone (lacuna is switched off meanwhile), with every gap
  // as it was. Empty, or what is wrong.
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
  int64_t first_;  // the least offset of the typemap, less what keeps the buffer on a line
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  Pages source_;
  Pages target_;
  Pages flat_source_;
  Pages flat_target_;
};

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_PRELOAD_MESSAGE_HPP_
