// SPDX-License-Identifier: BSD-3-Clause
//
// The harness of the preload tests: one MPI program per ABI, made of topics (`interpose_test TOPIC
// ...`). Each rule is a check; where a comparison means something, the same code runs natively
// and under lacuna in one job, switched by MPI_Pcontrol.
#ifndef LACUNA_TESTS_INTERPOSE_HARNESS_HARNESS_HPP_
#define LACUNA_TESTS_INTERPOSE_HARNESS_HARNESS_HPP_

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace test {

extern int g_rank;
extern bool g_direct;     // LACUNA_DIRECT=1
extern bool g_pipelined;  // LACUNA_PIPELINE=all
extern int g_size;

void check(bool ok, const char* what, const char* file, int line);
// Sets a text that is printed with checks that fail from here on.
void context(std::string text);

#define CHECK(...) ::test::check((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

struct Topic {
  Topic(const char* name, void (*run)());
};
#define TOPIC(name)                                     \
  static void name();                                   \
  static const ::test::Topic topic_##name(#name, name); \
  static void name()

// lacuna on or off in this rank.
void lacuna(bool on);
// Calls of an MPI function that lacuna has handled in this rank since the topic began.
int64_t taken(const char* function);
// Calls of all functions.
int64_t taken_in_all();
// How many calls of `function` lacuna handles while `body` runs.
int64_t taken_by(const char* function, const std::function<void()>& body);

// Whether the library has a function (the large-count forms are in MPI 4.0).
bool has_function(const char* name);

// The library's own function, called through lacuna where lacuna has one of that name; null: the
// library lacks it. For what is newer than MPI 3.1.
void* newer_function(const char* name);
template <typename Function>
Function newer(const char* name) {
  return reinterpret_cast<Function>(newer_function(name));
}

// Makes the communicator return errors, by a handler of our own: the standard ABI's libraries do
// not agree on the value of MPI_ERRORS_RETURN. handled_errors() counts what the handler has seen.
void return_errors(MPI_Comm comm);
int handled_errors();
// Runs `body` while errors on MPI_COMM_WORLD and MPI_COMM_SELF are returned by such a handler
// (own), then by MPI_ERRORS_RETURN, if its value can be relied on.
void with_each_handler(const std::function<void(bool own)>& body);

// Whether MPI_Unpack of a type without data is safe: MPICH 4.0 divides by zero.
bool unpacks_nothing();

// ---- types to test with
// ------------------------------------------------------------------------------------------

struct Shape {
  std::string name;
  MPI_Datatype type;
  bool taken;  // lacuna is expected to handle a message of several elements
};
// One of each constructor and of each oddity, committed. None of them overlaps itself, also when
// repeated a few times.
std::vector<Shape> all_shapes();
void free_shapes(std::vector<Shape>* shapes);

// A column of an n x n matrix of doubles, committed.
MPI_Datatype column(int n);
// Every stride-th double, committed.
MPI_Datatype column(int count, int stride);

// Memory for `count` elements of a type, whatever its bounds: base() is what MPI gets.
class Buffer {
 public:
  Buffer(MPI_Datatype type, int count);

  void* base() { return bytes_.data() + offset_; }
  // Every byte differs from its neighbours and from other seeds' bytes.
  void fill(unsigned seed);
  bool operator==(const Buffer& other) const { return bytes_ == other.bytes_; }

 private:
  std::vector<unsigned char> bytes_;
  size_t offset_ = 0;
};

// Data bytes of `count` elements.
int64_t data_bytes(MPI_Datatype type, int count);

// The contents of a status, for comparison.
struct StatusView {
  StatusView(const MPI_Status& status, MPI_Datatype type);
  bool operator==(const StatusView&) const = default;

  int source, tag, count, elements, bytes, cancelled;
};

// The error class of a code.
int class_of(int code);

}  // namespace test

#endif  // LACUNA_TESTS_INTERPOSE_HARNESS_HARNESS_HPP_
