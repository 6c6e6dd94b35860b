// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/inside/proof.hpp"

namespace lacuna::inside {
namespace {

// What advance() belongs to: in MPI_Init, one proof at a time.
constinit Proof* g_moving = nullptr;

constexpr unsigned char kGap = 0xEE;
unsigned char datum(int i) noexcept { return static_cast<unsigned char>(i * 3 + 1); }

}  // namespace

Proof::Proof(const ConvertorLayout& layout, SetPosition own_position, Direction way,
             uintptr_t datatype, bool has_inner) noexcept
    : layout_(layout),
      own_position_(own_position),
      way_(way),
      datatype_(datatype),
      has_inner_(has_inner) {
  for (int i = 0; i < kMemoryBytes; ++i) mem_[i] = packed_[i] = kGap;
  for (int i = 0; i < bytes(); ++i) {
    unsigned char& source = way == Direction::kPack ? mem_[place(i)] : packed_[i];
    source = datum(i);
  }
}

int Proof::place(int i) const noexcept {
  if (!has_inner_) return i / 8 * 16 + i % 8;
  return i / 24 * 40 + i % 24 / 8 * 16 + i % 8;
}

void Proof::prepared(void* at, Direction way, const void* datatype, size_t count,
                     const void* mem) noexcept {
  if (reinterpret_cast<uintptr_t>(datatype) != datatype_ || own_ != nullptr) return;
  const Convertor convertor(at, layout_);
  if (way != way_ || count != kCount || mem != mem_)
    return fail("its convertor is called otherwise");
  if (const char* why = after_preparing(convertor)) return fail(why);
  own_ = convertor.function();
  g_moving = this;
  convertor.set_function(advance);
}

const char* Proof::after_preparing(const Convertor& convertor) const noexcept {
  const uint32_t ways = layout_.is_sending | layout_.is_receiving;
  const uint32_t way = way_ == Direction::kPack ? layout_.is_sending : layout_.is_receiving;
  const uint32_t others =
      layout_.is_homogeneous | layout_.is_completed | layout_.is_left_to_library;
  if ((convertor.flags() & (ways | others)) != (way | layout_.is_homogeneous))
    return "the flags of its convertor are others";
  if (convertor.local_size() != static_cast<uint64_t>(bytes()))
    return "its convertor has the message's size elsewhere";
  if (convertor.desc() != datatype_) return "its convertor has the datatype elsewhere";
  if (convertor.count() != kCount) return "its convertor has the count elsewhere";
  if (convertor.base() != mem_) return "its convertor has the buffer elsewhere";
  if (convertor.converted() != 0) return "its convertor has the position elsewhere";
  return convertor.function() == nullptr ? "its convertor has the function elsewhere" : nullptr;
}

int32_t Proof::advance(void* at, iovec* pieces, uint32_t* count, size_t* bytes) noexcept {
  return g_moving->move(at, pieces, count, bytes);
}

// Bytes [begin, end) by the library's function.
bool Proof::moves_part(void* at, size_t begin, size_t end) noexcept {
  const Convertor convertor(at, layout_);
  const bool is_last = end == static_cast<size_t>(bytes());
  iovec piece{packed_ + begin, end - begin};
  uint32_t count = 1;
  size_t moved = piece.iov_len;
  const int32_t code = own_(at, &piece, &count, &moved);
  const bool is_completed = (convertor.flags() & layout_.is_completed) != 0;
  return code == (is_last ? 1 : 0) && is_completed == is_last && count == 1 &&
         moved == end - begin && piece.iov_len == moved && convertor.converted() == end;
}

int32_t Proof::move(void* at, iovec* pieces, uint32_t* count, size_t* bytes) noexcept {
  const Convertor convertor(at, layout_);
  const auto all = static_cast<size_t>(this->bytes());
  was_moved_ = true;
  convertor.set_function(own_);
  if (*count < 1 || pieces[0].iov_base != packed_ || pieces[0].iov_len < all) {
    fail("its convertor's function is called otherwise");
    return own_(at, pieces, count, bytes);
  }
  size_t position = 3;
  if (!moves_part(at, 0, 13)) {
    fail("its convertor's function moves fragments otherwise");
  } else if (own_position_(at, &position) != 0 || convertor.converted() != 3) {
    fail("its convertor is positioned otherwise");
  } else if (!moves_part(at, 3, all)) {
    fail("its convertor's function ends otherwise");
  }
  if (failure_ != nullptr) return -1;
  pieces[0].iov_len = all;
  *count = 1;
  *bytes = all;
  return 1;
}

const char* Proof::failure() const noexcept {
  if (failure_ != nullptr) return failure_;
  if (own_ == nullptr || !was_moved_) return "its convertor does not come by here";
  int data = 0;
  for (int i = 0; i < kMemoryBytes; ++i) {
    if (data < bytes() && i == place(data)) {
      if (mem_[i] != datum(data) || packed_[data] != datum(data)) return "its data are others";
      ++data;
    } else if (mem_[i] != kGap) {
      return "it writes between the data";
    }
  }
  return nullptr;
}

}  // namespace lacuna::inside
