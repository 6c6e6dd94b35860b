// SPDX-License-Identifier: BSD-3-Clause
//
// Threads of programs may have 16 KiB of stack. In a call, lacuna uses at most 4 KiB of it more
// than the library does for a similar call.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/interpose/harness/harness.hpp"
#include "tests/painted_stack.hpp"

using namespace test;

namespace {

constexpr int64_t kMost = 4096;
constexpr size_t kStackBytes = size_t{512} << 10;  // MPICH uses 130 KiB of it for a vector

MPI_Datatype committed(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}

// n x n elements of so many bytes, `pitch` elements to a row, by columns.
MPI_Datatype transpose(int bytes, int n, int pitch) {
  MPI_Datatype element, column, next, all;
  MPI_Type_contiguous(bytes, MPI_BYTE, &element);
  MPI_Type_vector(n, 1, pitch, element, &column);
  MPI_Type_create_resized(column, 0, bytes, &next);
  MPI_Type_contiguous(n, next, &all);
  MPI_Type_free(&element);
  MPI_Type_free(&column);
  MPI_Type_free(&next);
  return committed(all);
}

MPI_Datatype structs(int count) {
  const int lengths[] = {1, 2, 3};
  const MPI_Aint places[] = {0, 8, 20};
  const MPI_Datatype members[] = {MPI_CHAR, MPI_INT, MPI_SHORT};
  MPI_Datatype one, next, all;
  MPI_Type_create_struct(3, lengths, places, members, &one);
  MPI_Type_create_resized(one, 0, 40, &next);
  MPI_Type_contiguous(count, next, &all);
  MPI_Type_free(&one);
  MPI_Type_free(&next);
  return committed(all);
}

MPI_Datatype listed(int count) {
  std::vector<int> lengths, places;
  for (int i = 0; i < count; ++i) {
    lengths.push_back(1 + i % 3);
    places.push_back(5 * i + i * i % 2);
  }
  MPI_Datatype type;
  MPI_Type_indexed(count, lengths.data(), places.data(), MPI_INT, &type);
  return committed(type);
}

MPI_Datatype block_of(int n) {
  const int sizes[] = {30, 30, 30}, parts[] = {10, n, 12}, starts[] = {3, 3, 3};
  MPI_Datatype type;
  MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
  return committed(type);
}

struct Made {
  std::string name;
  MPI_Datatype type;
};

// `which`: types of the same kinds that are not the same types.
std::vector<Made> all_types(int which) {
  std::vector<Made> all;
  for (const int bytes : {1, 2, 3, 4, 7, 8, 12, 16, 24}) {
    for (const int pad : {0, 3})
      all.push_back({"transpose", transpose(bytes, 100 + which, 100 + which + pad)});
  }
  all.push_back({"vector", column(1000 + which, 3)});
  all.push_back({"structs", structs(500 + which)});
  all.push_back({"list", listed(1000 + which)});
  all.push_back({"subarray", block_of(11 + which)});
  return all;
}

// Compares the bytes of stack that two calls use in a thread.
class Depths {
 public:
  explicit Depths(PaintedStack& stack) : stack_(stack) {}

  // `plain` is the library's own call for as many bytes without gaps.
  template <typename Plain, typename Call>
  void compare(const Made& made, const char* name, Plain plain, Call call) {
    context(made.name + ", " + name);
    lacuna(false);
    plain();
    const int64_t native = stack_.depth_of(plain);
    lacuna(true);
    const int64_t first = stack_.depth_of(call);
    const int64_t second = stack_.depth_of(call);
    CHECK(first - native - asked_ <= kMost);
    CHECK(second - native <= kMost);
  }

  // The stack that the library uses for the queries with which lacuna analyses a type.
  void ask(MPI_Datatype type) {
    lacuna(false);
    for (int i = 0; i < 2; ++i) {
      asked_ = stack_.depth_of([&] {
        int integers = 0, addresses = 0, types = 0, combiner = 0;
        MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
        std::vector<int> some(static_cast<size_t>(integers) + 1);
        std::vector<MPI_Aint> places(static_cast<size_t>(addresses) + 1);
        std::vector<MPI_Datatype> parts(static_cast<size_t>(types) + 1);
        MPI_Type_get_contents(type, integers, addresses, types, some.data(), places.data(),
                              parts.data());
        for (int k = 0; k < types; ++k) {
          MPI_Type_get_envelope(parts[static_cast<size_t>(k)], &integers, &addresses, &types,
                                &combiner);
          if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&parts[static_cast<size_t>(k)]);
          types = static_cast<int>(parts.size()) - 1;
        }
      });
    }
    lacuna(true);
  }

 private:
  PaintedStack& stack_;
  int64_t asked_ = 0;
};

void check_packs(Depths& depths, const Made& made) {
  Buffer data(made.type, 1);
  const int bytes = static_cast<int>(data_bytes(made.type, 1));
  std::vector<char> packed(static_cast<size_t>(bytes) + 64);
  int position = 0;
  depths.compare(
      made, "MPI_Pack",
      [&] {
        position = 0;
        MPI_Pack(data.base(), bytes, MPI_BYTE, packed.data(), bytes, &position, MPI_COMM_SELF);
      },
      [&] {
        position = 0;
        MPI_Pack(data.base(), 1, made.type, packed.data(), bytes, &position, MPI_COMM_SELF);
      });
  depths.compare(
      made, "MPI_Unpack", [&] {},
      [&] {
        position = 0;
        MPI_Unpack(packed.data(), bytes, &position, data.base(), 1, made.type, MPI_COMM_SELF);
      });
}

void check_messages(Depths& depths, const Made& made) {
  Buffer data(made.type, 1);
  const int bytes = static_cast<int>(data_bytes(made.type, 1));
  std::vector<char> plain(static_cast<size_t>(bytes));
  const int other = g_rank ^ 1;
  if (other >= g_size) return;
  const auto pass = [&](void* memory, int count, MPI_Datatype type) {
    if (g_rank % 2 == 0) {
      MPI_Send(memory, count, type, other, 0, MPI_COMM_WORLD);
      MPI_Recv(memory, count, type, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(memory, count, type, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(memory, count, type, other, 1, MPI_COMM_WORLD);
    }
  };
  depths.compare(
      made, "MPI_Send and MPI_Recv", [&] { pass(plain.data(), bytes, MPI_BYTE); },
      [&] { pass(data.base(), 1, made.type); });
  const auto start = [&](void* memory, int count, MPI_Datatype type, void* to, int to_count,
                         MPI_Datatype to_type) {
    MPI_Request requests[2];
    MPI_Irecv(to, to_count, to_type, other, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(memory, count, type, other, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  };
  Buffer to(made.type, 1);
  std::vector<char> plain_to(static_cast<size_t>(bytes));
  depths.compare(
      made, "MPI_Isend and MPI_Waitall",
      [&] { start(plain.data(), bytes, MPI_BYTE, plain_to.data(), bytes, MPI_BYTE); },
      [&] { start(data.base(), 1, made.type, to.base(), 1, made.type); });
}

void check_collectives(Depths& depths, const Made& made) {
  Buffer data(made.type, 1), to(made.type, g_size);
  const int bytes = static_cast<int>(data_bytes(made.type, 1));
  std::vector<char> plain(static_cast<size_t>(bytes)),
      plain_to(static_cast<size_t>(bytes) * static_cast<size_t>(g_size));
  depths.compare(
      made, "MPI_Bcast", [&] { MPI_Bcast(plain.data(), bytes, MPI_BYTE, 0, MPI_COMM_WORLD); },
      [&] { MPI_Bcast(data.base(), 1, made.type, 0, MPI_COMM_WORLD); });
  depths.compare(
      made, "MPI_Allgather",
      [&] {
        MPI_Allgather(plain.data(), bytes, MPI_BYTE, plain_to.data(), bytes, MPI_BYTE,
                      MPI_COMM_WORLD);
      },
      [&] { MPI_Allgather(data.base(), 1, made.type, to.base(), 1, made.type, MPI_COMM_WORLD); });
}

}  // namespace

// For types that lacuna has analysed, and for new ones, after similar types were used.
TOPIC(stack_of_calls) {
  PaintedStack stack(kStackBytes);
  CHECK(stack.run([&] {
    Depths depths(stack);
    for (int which = 0; which < 2; ++which) {
      std::vector<Made> all = all_types(which);
      for (Made& made : all) {
        depths.ask(made.type);
        check_packs(depths, made);
        check_messages(depths, made);
        // Collectives on structs are declined.
        if (made.name != "transpose" && made.name != "structs") check_collectives(depths, made);
        MPI_Type_free(&made.type);
      }
    }
  }));
}
