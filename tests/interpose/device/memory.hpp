// SPDX-License-Identifier: BSD-3-Clause
//
// Memory of a CUDA device or of the host, for the same tests: of a device if there is one, else of
// the fake driver (LACUNA_TEST_CUDA is its path).
#ifndef LACUNA_TESTS_INTERPOSE_DEVICE_MEMORY_HPP_
#define LACUNA_TESTS_INTERPOSE_DEVICE_MEMORY_HPP_

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace test {

// Loads the driver and makes a context current. Once; false: there is no device.
bool start_device();
// Whether it is the fake one. Its variables and functions (fake_driver.c, fake_mover.cpp), by name;
// null: it has none such.
bool is_fake_device();
void* fake_symbol(const char* name);
int& fake_switch(const char* name);
long fake_count(const char* name);

// The context ends with all that it has, as by cudaDeviceReset(), and there is a new one. With the
// fake driver memory stays.
void reset_device();
// The same without a new one.
void end_context();
// A further context of the program's; it is the current one until it ends.
void* begin_other_context();
void end_other_context(void* context);

// Moves of the fake device between its memory and memory that ranks share for the direct path, of
// the host or of the device (windows), since this was made.
class DirectMoves {
 public:
  DirectMoves();
  // Whether messages between ranks must go that way, and the fake device counts them: with
  // LACUNA_DIRECT=1 and LACUNA_ALWAYS=1, and room for all messages.
  bool are_counted() const { return are_counted_; }
  long packs() const;
  long unpacks() const;
  // Those in windows alone.
  long window_packs() const;
  long window_unpacks() const;

 private:
  bool are_counted_;
  long packs_ = 0, unpacks_ = 0, window_packs_ = 0, window_unpacks_ = 0;
};

// In ranks 0 and 1, that a topic's messages from and to a device went that way.
class GoesDirectly {
 public:
  GoesDirectly() = default;
  ~GoesDirectly();
  GoesDirectly(const GoesDirectly&) = delete;
  GoesDirectly& operator=(const GoesDirectly&) = delete;

 private:
  DirectMoves moves_;
};

enum class On { kHost, kDevice };

// So many bytes.
class Memory {
 public:
  Memory(On where, size_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void write(const std::vector<unsigned char>& bytes);
  std::vector<unsigned char> read() const;
  void* at() const { return reinterpret_cast<void*>(at_); }

 private:
  std::vector<unsigned char> host_;
  size_t bytes_;
  uintptr_t at_;
  bool is_on_device_;
};

// `count` elements of a type, whatever its bounds, with a margin; filled by a seed.
class Elements {
 public:
  Elements(On where, MPI_Datatype type, int count, unsigned seed);
  void* base() const { return static_cast<unsigned char*>(memory_.at()) + offset_; }
  void fill(unsigned seed);
  std::vector<unsigned char> read() const { return memory_.read(); }
  // What the memory must hold after data of `from` were received: by the host's MPI_Pack and
  // MPI_Unpack, without lacuna.
  std::vector<unsigned char> with(const Elements& from) const;

 private:
  struct Bounds {
    Bounds(MPI_Datatype type, int count);
    size_t bytes, offset;
  };
  Elements(const Bounds& bounds, On where, MPI_Datatype type, int count, unsigned seed);

  MPI_Datatype type_;
  int count_;
  size_t offset_;
  Memory memory_;
};

// A type of so many doubles, every third.
struct Column {
  explicit Column(int length = 1024);
  ~Column() { MPI_Type_free(&type); }
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;

  MPI_Datatype type;
};

}  // namespace test

#endif  // LACUNA_TESTS_INTERPOSE_DEVICE_MEMORY_HPP_
