// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Pack and MPI_Unpack: the packed form is the library's, positions are right, and errors are
// left to the library.
#include <climits>
#include <cstring>
#include <numeric>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kHead = 13;  // where packing begins in the buffer

struct Packed {
  std::vector<unsigned char> bytes;
  int position = kHead;
  int code = MPI_SUCCESS;
  bool operator==(const Packed&) const = default;
};

Packed pack(Buffer& from, int count, MPI_Datatype type, MPI_Comm comm = MPI_COMM_WORLD) {
  int bound = 0;
  MPI_Pack_size(count, type, comm, &bound);
  CHECK(bound >= data_bytes(type, count));
  Packed packed{std::vector<unsigned char>(static_cast<size_t>(bound + kHead), 0xEE)};
  packed.code = MPI_Pack(from.base(), count, type, packed.bytes.data(),
                         static_cast<int>(packed.bytes.size()), &packed.position, comm);
  return packed;
}

int unpack(Packed packed, Buffer& to, int count, MPI_Datatype type,
           MPI_Comm comm = MPI_COMM_WORLD) {
  int position = kHead;
  const int code = MPI_Unpack(packed.bytes.data(), static_cast<int>(packed.bytes.size()), &position,
                              to.base(), count, type, comm);
  CHECK(position == packed.position);
  return code;
}

void compare(const Shape& shape, int count) {
  context(shape.name + " x " + std::to_string(count));
  Buffer from(shape.type, count);
  from.fill(1);
  lacuna(false);
  const Packed native = pack(from, count, shape.type);
  lacuna(true);
  Packed ours;
  const int64_t calls = taken_by("MPI_Pack", [&] { ours = pack(from, count, shape.type); });
  CHECK(calls == (shape.taken && count > 1 ? 1 : calls));
  CHECK(ours == native);

  Buffer natively(shape.type, count), by_us(shape.type, count);
  natively.fill(2);
  by_us.fill(2);
  lacuna(false);
  CHECK(unpack(ours, natively, count, shape.type) ==
        MPI_SUCCESS);  // the library reads what lacuna wrote
  lacuna(true);
  CHECK(unpack(native, by_us, count, shape.type) == MPI_SUCCESS);  // and the other way round
  CHECK(natively == by_us);
}

}  // namespace

TOPIC(pack_same_bytes) {
  std::vector<Shape> shapes = all_shapes();
  for (const Shape& shape : shapes) {
    for (const int count : {0, 1, 2, 3, 17}) {
      if (data_bytes(shape.type, 1) > 0 || unpacks_nothing()) compare(shape, count);
    }
  }
  free_shapes(&shapes);
}

TOPIC(pack_on_any_communicator) {
  MPI_Datatype type = column(16);
  Buffer from(type, 1);
  from.fill(1);
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF, copy}) {
    lacuna(true);
    const int64_t calls = taken_by("MPI_Pack", [&] {
      const Packed ours = pack(from, 1, type, comm);
      lacuna(false);
      CHECK(ours == pack(from, 1, type, comm));
    });
    CHECK(calls == 1);
  }
  lacuna(true);
  MPI_Comm_free(&copy);
  MPI_Type_free(&type);
}

// Several packs into one buffer, and back.
TOPIC(pack_in_turn) {
  MPI_Datatype type = column(8);
  Buffer one(type, 1), two(type, 1), three(type, 1);
  one.fill(1);
  two.fill(2);
  char buffer[1024];
  int position = 0;
  MPI_Pack(one.base(), 1, type, buffer, sizeof(buffer), &position, MPI_COMM_WORLD);
  CHECK(position == 64);
  int number = 4711;
  MPI_Pack(&number, 1, MPI_INT, buffer, sizeof(buffer), &position, MPI_COMM_WORLD);
  CHECK(position == 68);
  MPI_Pack(two.base(), 1, type, buffer, sizeof(buffer), &position, MPI_COMM_WORLD);
  CHECK(position == 132);
  position = 0;
  three.fill(1);
  MPI_Unpack(buffer, 132, &position, three.base(), 1, type, MPI_COMM_WORLD);
  CHECK(three == one);
  int back = 0;
  MPI_Unpack(buffer, 132, &position, &back, 1, MPI_INT, MPI_COMM_WORLD);
  CHECK(back == number);
  three.fill(2);
  MPI_Unpack(buffer, 132, &position, three.base(), 1, type, MPI_COMM_WORLD);
  CHECK(three == two);
  CHECK(position == 132);
  MPI_Type_free(&type);
}

// Absolute addresses: MPI_BOTTOM as the buffer is legal, and the data may lie anywhere.
TOPIC(pack_from_bottom) {
  static double here[40], there[40];
  for (int i = 0; i < 40; ++i) here[i] = there[i] = i;
  MPI_Aint places[6];
  for (int i = 0; i < 3; ++i) MPI_Get_address(&here[5 * i], &places[i]);
  for (int i = 0; i < 3; ++i) MPI_Get_address(&there[7 * i], &places[3 + i]);
  MPI_Datatype type;
  MPI_Type_create_hindexed_block(6, 1, places, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  double packed[6] = {};
  int position = 0;
  int code = MPI_ERR_OTHER;
  const int64_t calls = taken_by("MPI_Pack", [&] {
    code = MPI_Pack(MPI_BOTTOM, 1, type, packed, sizeof(packed), &position, MPI_COMM_WORLD);
  });
  CHECK(calls == 1);
  CHECK(code == MPI_SUCCESS);
  CHECK(position == 48);
  const double expected[6] = {0, 5, 10, 0, 7, 14};
  CHECK(std::memcmp(packed, expected, sizeof(packed)) == 0);
  for (double& value : packed) value += 100;
  position = 0;
  CHECK(MPI_Unpack(packed, sizeof(packed), &position, MPI_BOTTOM, 1, type, MPI_COMM_WORLD) ==
        MPI_SUCCESS);
  CHECK(here[5] == 105 && here[10] == 110 && there[7] == 107 && there[14] == 114 && here[6] == 6);
  MPI_Type_free(&type);
}

// The library's errors: the same class with and without lacuna, and nothing is written.
TOPIC(pack_errors) {
  MPI_Datatype type = column(8);
  MPI_Datatype uncommitted;
  MPI_Type_vector(8, 1, 8, MPI_DOUBLE, &uncommitted);
  return_errors(MPI_COMM_WORLD);
  return_errors(MPI_COMM_SELF);  // where MPI 4 raises errors that belong to no communicator
  Buffer from(type, 4);
  from.fill(1);
  struct Case {
    const char* name;
    std::function<int(char*, int*)> call;
  };
  const Case cases[] = {
      {"no room",
       [&](char* to, int* at) {
         return MPI_Pack(from.base(), 1, type, to, 63, at, MPI_COMM_WORLD);
       }},
      {"uncommitted",
       [&](char* to, int* at) {
         return MPI_Pack(from.base(), 1, uncommitted, to, 64, at, MPI_COMM_WORLD);
       }},
      {"null type",
       [&](char* to, int* at) {
         return MPI_Pack(from.base(), 1, MPI_DATATYPE_NULL, to, 64, at, MPI_COMM_WORLD);
       }},
      {"null communicator",
       [&](char* to, int* at) {
         return MPI_Pack(from.base(), 1, type, to, 64, at, MPI_COMM_NULL);
       }},
      {"negative count",
       [&](char* to, int* at) {
         return MPI_Pack(from.base(), -1, type, to, 64, at, MPI_COMM_WORLD);
       }},
  };
  for (const Case& one : cases) {
    context(one.name);
    char to[2][64];
    int at[2] = {0, 0}, code[2], handled[2];
    for (const bool on : {false, true}) {
      std::memset(to[on], 0x55, sizeof(to[on]));
      lacuna(on);
      handled[on] = handled_errors();
      code[on] = one.call(to[on], &at[on]);
      handled[on] = handled_errors() - handled[on];
    }
    CHECK(handled[0] == handled[1]);
    CHECK(class_of(code[0]) == class_of(code[1]));
    CHECK(handled[0] == 1 ||
          one.name == std::string("no room"));  // MPICH 5 packs what fits, and says nothing
    CHECK(at[0] == at[1]);
    CHECK(std::memcmp(to[0], to[1], sizeof(to[0])) == 0);
  }
  context("");
  // Once it is committed, it is handled.
  MPI_Type_commit(&uncommitted);
  char to[64];
  int at = 0;
  CHECK(taken_by("MPI_Pack",
                 [&] { MPI_Pack(from.base(), 1, uncommitted, to, 64, &at, MPI_COMM_WORLD); }) == 1);
  MPI_Type_free(&uncommitted);
  MPI_Type_free(&type);
}

// Arguments at their limits.
TOPIC(pack_limits) {
  MPI_Datatype type = column(8);
  Buffer from(type, 1);
  from.fill(1);
  std::vector<char> to(1 << 10);
  int position = 0;
  // A size of the buffer far beyond what is used.
  CHECK(taken_by("MPI_Pack", [&] {
          MPI_Pack(from.base(), 1, type, to.data(), INT_MAX, &position, MPI_COMM_WORLD);
        }) == 1);
  CHECK(position == 64);
  MPI_Type_free(&type);
}

// Some libraries place these types otherwise than the standard says. The program gets what the
// library does.
TOPIC(pack_darrays) {
  constexpr int kBlock = MPI_DISTRIBUTE_BLOCK, kCyclic = MPI_DISTRIBUTE_CYCLIC,
                kDefault = MPI_DISTRIBUTE_DFLT_DARG;
  const int sizes[] = {60, 70, 9}, grid[] = {2, 2, 1};
  const int ways[][3] = {
      {kCyclic, kBlock, kBlock}, {kCyclic, kCyclic, kBlock}, {kBlock, kCyclic, kBlock}};
  const int blocks[][3] = {{3, kDefault, kDefault}, {kDefault, 4, kDefault}, {3, 2, kDefault}};
  std::vector<int> whole(60 * 70 * 9);
  std::iota(whole.begin(), whole.end(), 0);
  for (const int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN}) {
    for (int dims = 1; dims <= 3; ++dims) {
      for (const auto& way : ways) {
        for (const auto& block : blocks) {
          int dargs[3];
          for (int i = 0; i < 3; ++i) dargs[i] = way[i] == kBlock ? kDefault : block[i];
          MPI_Datatype type;
          MPI_Type_create_darray(dims == 1 ? 2 : 4, 1, dims, sizes, way, dargs, grid, order,
                                 MPI_INT, &type);
          MPI_Type_commit(&type);
          std::vector<int> packed[2] = {std::vector<int>(whole.size()),
                                        std::vector<int>(whole.size())};
          std::vector<int> back[2] = {std::vector<int>(whole.size()),
                                      std::vector<int>(whole.size())};
          for (const bool on : {false, true}) {
            lacuna(on);
            const int room = static_cast<int>(whole.size() * sizeof(int));
            int to = 0, from = 0;
            MPI_Pack(whole.data(), 1, type, packed[on].data(), room, &to, MPI_COMM_WORLD);
            MPI_Unpack(whole.data(), to, &from, back[on].data(), 1, type, MPI_COMM_WORLD);
          }
          CHECK(packed[0] == packed[1]);
          CHECK(back[0] == back[1]);
          MPI_Type_free(&type);
        }
      }
    }
  }
}

// The same for rows of several elements of negative extent.
TOPIC(pack_backward_rows) {
  constexpr int kRows = 3;
  MPI_Datatype comb, backward, rows[5];
  MPI_Type_vector(2, 1, 3, MPI_INT, &comb);
  MPI_Type_create_resized(comb, 0, -64, &backward);
  const int length = 3, none[] = {0, 3}, at[] = {5, 0};
  const MPI_Aint place = 16;
  MPI_Type_contiguous(length, backward, &rows[0]);
  MPI_Type_vector(1, length, 7, backward, &rows[1]);
  MPI_Type_indexed(2, none, at, backward, &rows[2]);
  MPI_Type_create_struct(1, &length, &place, &backward, &rows[3]);
  MPI_Type_vector(2, 1, 2, backward, &rows[4]);  // two rows of one: right in all libraries
  std::vector<int> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 0);
  for (MPI_Datatype& row : rows) {
    MPI_Datatype nested;
    MPI_Type_contiguous(2, row, &nested);
    for (MPI_Datatype* type : {&row, &nested}) {
      MPI_Type_commit(type);
      std::vector<int> packed[2] = {std::vector<int>(36), std::vector<int>(36)};
      std::vector<int> back[2];
      for (const bool on : {false, true}) {
        lacuna(on);
        int to = 0, from = 0;
        MPI_Pack(&numbers[500], kRows, *type, packed[on].data(), 36 * sizeof(int), &to,
                 MPI_COMM_WORLD);
        back[on].resize(numbers.size());
        MPI_Unpack(packed[0].data(), to, &from, &back[on][500], kRows, *type, MPI_COMM_WORLD);
      }
      CHECK(packed[0] == packed[1]);
      CHECK(back[0] == back[1]);
      MPI_Type_free(type);
    }
  }
  MPI_Type_free(&backward);
  MPI_Type_free(&comb);
}
