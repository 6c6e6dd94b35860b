// SPDX-License-Identifier: BSD-3-Clause
//
// All functions of MPI that move data between memory and a file, as one function, and a file to
// call them on.
#ifndef LACUNA_TESTS_INTERPOSE_FILES_FILE_CALLS_HPP_
#define LACUNA_TESTS_INTERPOSE_FILES_FILE_CALLS_HPP_

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace test {

using Bytes = std::vector<unsigned char>;

enum class Ending { kBlocking, kRequest, kSplit };

struct FileCall {
  std::string name;  // "MPI_File_iread_at"; of a split one without _begin
  bool reads;
  bool at;          // an explicit offset
  bool shared;      // one of the shared pointer
  bool collective;  // all ranks take part
  Ending ending;
  bool large = false;

  // The name under which lacuna counts it.
  std::string counted() const;
  bool exists() const;
};
// In all forms that the library has.
std::vector<FileCall> file_calls();

std::string library_version();
// Whether nonblocking operations on files are handled: not MPICH's, not those under the standard
// ABI, and not Intel MPI's reads (interpose/policy/policy.cpp, interpose/files/files.cpp).
bool takes_requests(bool reads);

// Makes the file return errors, by a handler of our own (as return_errors() in harness.hpp).
void return_errors(MPI_File fh);
// The error class of a call on such a file: of its code, or, if that is MPI_SUCCESS, of what the
// handler has seen since the last call of this function.
int file_error(int code);

// Calls it at `offset` of the view, and completes it.
int transfer(const FileCall& call, MPI_File fh, MPI_Offset offset, void* buf, int count,
             MPI_Datatype type, MPI_Status* status);

// A file of one job, opened by all ranks of MPI_COMM_WORLD, in a folder that is removed.
class SharedFile {
 public:
  SharedFile();
  ~SharedFile();
  MPI_File fh() const { return fh_; }
  const std::string& path() const { return path_; }
  // Collective; the file is then so long and each byte is as background() says.
  void reset(int64_t length) const;
  static unsigned char background(int64_t at) { return static_cast<unsigned char>(at * 7 + 90); }
  // Collective: what is in it.
  Bytes content() const;

 private:
  MPI_File fh_;
  std::string path_;
};

// Where a view shows its bytes: `block` bytes of every `stride`, from `first` on.
struct View {
  int64_t first;
  int64_t block;
  int64_t stride;

  int64_t place(int64_t i) const { return first + i / block * stride + i % block; }
  int set(MPI_File fh, const char* representation = "native") const;
};

// The data of `count` elements in the order of the typemap, as the library packs them; and back.
Bytes packed_bytes(void* buf, int count, MPI_Datatype type);
void unpack_bytes(const Bytes& bytes, void* buf, int count, MPI_Datatype type);

}  // namespace test

#endif  // LACUNA_TESTS_INTERPOSE_FILES_FILE_CALLS_HPP_
