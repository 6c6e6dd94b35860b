// SPDX-License-Identifier: BSD-3-Clause
#include "bench/preload/message.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

#include "bench/engine/lists.hpp"
#include "bench/harness/build_mpi.hpp"
#include "bench/harness/job.hpp"
#include "plan/pattern.hpp"
#include "type/text/text.hpp"

namespace lacuna::bench {
namespace {

constexpr int kTag = 1;
constexpr int64_t kLine = 64;
constexpr int kUntouched = 0x5a;  // a byte that was neither sent nor received

int64_t line_at_or_before(int64_t offset) {
  const int64_t rest = offset % kLine;
  return offset - (rest < 0 ? rest + kLine : rest);
}

// The offset of the cache line of the first data byte.
int64_t first_offset(const Type& type, int64_t count) {
  return line_at_or_before(data_span(type, count).low);
}
size_t span(const Type& type, int64_t count) {
  return static_cast<size_t>(data_span(type, count).high - first_offset(type, count));
}

// Bytes that depend on their offset, not on the rank, so that both know what the other has sent.
void fill(const Pages& memory) {
  for (size_t i = 0; i < memory.bytes(); ++i)
    memory.data()[i] = static_cast<std::byte>((i * 0x9e3779b97f4a7c15U) >> 56);
}

bool is_there(const Pages& memory) { return memory.data() != nullptr; }

std::string difference(const char* what, const std::byte* got, const std::byte* wanted,
                       size_t bytes) {
  if (std::memcmp(got, wanted, bytes) == 0) return "";
  const auto at = std::mismatch(got, got + bytes, wanted).first - got;
  return std::string(what) + " is wrong at byte " + std::to_string(at);
}

}  // namespace

Result<std::unique_ptr<Message>> Message::make(const Row& row, const PredefinedTypes& predefined) {
  auto text = expand_lists(row.text);
  if (!text) return text.error();
  auto type = parse_type(*text);
  if (!type) return type.error();
  const int64_t bytes = row.count * (*type)->size_bytes;
  if (bytes <= 0 || bytes > INT_MAX || row.count > INT_MAX)
    return Error{LACUNA_INVALID_ARGUMENT,
                 "1 byte to 2 GiB can be sent, not " + std::to_string(bytes)};
  std::unique_ptr<Message> made(new Message(row, *type, make_plan(*type), predefined));
  if (!is_there(made->source_) || !is_there(made->target_) || !is_there(made->flat_source_) ||
      !is_there(made->flat_target_)) {
    return Error{LACUNA_OUT_OF_MEMORY, "no memory for four buffers of this message"};
  }
  const auto built = build_mpi(**type, predefined);
  if (!built) return Error{LACUNA_UNSUPPORTED, "this MPI library has no such type"};
  made->type_ = *built;
  if (predefined.find(made->type_) == nullptr) MPI_Type_commit(&made->type_);
  fill(made->source_);
  fill(made->flat_source_);
  return made;
}

Message::Message(const Row& row, TypePtr type, PlanPtr plan, const PredefinedTypes& predefined)
    : id_(row.id),
      plan_(std::move(plan)),
      predefined_(predefined),
      count_(static_cast<int>(row.count)),
      bytes_(row.count * type->size_bytes),
      piece_bytes_(lacuna::piece_bytes(*type)),
      is_mixed_(type->signature.uniform == nullptr),
      has_loops_(loops_.prepare(*type, row.count)),
      first_(first_offset(*type, row.count)),
      source_(span(*type, row.count)),
      target_(span(*type, row.count)),
      flat_source_(static_cast<size_t>(bytes_)),
      flat_target_(static_cast<size_t>(bytes_)) {}

Message::~Message() {
  if (type_ != MPI_DATATYPE_NULL) free_built(type_, predefined_);
}

void Message::send(Form form, int peer) const {
  if (form == Form::kDerived) {
    MPI_Send(base(source_), count_, type_, peer, kTag, MPI_COMM_WORLD);
    return;
  }
  const std::byte* data = flat_source_.data();
  if (form == Form::kByHand) {
    loops_.pack(base(source_), flat_target_.data());
    data = flat_target_.data();
  }
  MPI_Send(data, static_cast<int>(bytes_), MPI_BYTE, peer, kTag, MPI_COMM_WORLD);
}

int Message::receive(Form form, int peer) const {
  if (form == Form::kDerived)
    return MPI_Recv(base(target_), count_, type_, peer, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const int code = MPI_Recv(flat_target_.data(), static_cast<int>(bytes_), MPI_BYTE, peer, kTag,
                            MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (form == Form::kByHand) loops_.unpack(flat_target_.data(), base(target_));
  return code;
}

void Message::pack(std::byte* packed) const {
  int position = 0;
  MPI_Pack(base(source_), count_, type_, packed, static_cast<int>(bytes_), &position,
           MPI_COMM_WORLD);
}

void Message::clear() const {
  std::memset(target_.data(), kUntouched, target_.bytes());
  std::memset(flat_target_.data(), kUntouched, flat_target_.bytes());
}

std::string Message::check(Form sent, Form received) const {
  switch_lacuna(false);
  const Pages packed(static_cast<size_t>(bytes_));
  const Pages memory(received != Form::kContiguous ? target_.bytes() : 1);
  if (!is_there(packed) || !is_there(memory)) return "no memory to check with";
  const int size = static_cast<int>(bytes_);
  int position = 0;
  if (sent != Form::kContiguous) {
    MPI_Pack(base(source_), count_, type_, packed.data(), size, &position, MPI_COMM_SELF);
  } else {
    std::memcpy(packed.data(), flat_source_.data(), packed.bytes());
  }
  if (received == Form::kContiguous)
    return difference("the message", flat_target_.data(), packed.data(), packed.bytes());
  std::memset(memory.data(), kUntouched, memory.bytes());
  position = 0;
  MPI_Unpack(packed.data(), size, &position, base(memory), count_, type_, MPI_COMM_SELF);
  return difference("the memory", target_.data(), memory.data(), memory.bytes());
}

}  // namespace lacuna::bench
