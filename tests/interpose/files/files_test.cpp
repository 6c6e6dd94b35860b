// SPDX-License-Identifier: BSD-3-Clause
//
// Reading and writing files. What must be in the file, and in memory, is computed from the typemap
// (by the library's own packing) and the view. Each call is first made natively: if the library
// does it wrong, lacuna is not tested.
#include "tests/interpose/files/file_calls.hpp"
#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int64_t kOffset = 40;  // in the view, of the first byte that is read or written

// One call of each rank: where its bytes are in the file.
struct Scene {
  const FileCall& call;
  View view;
  int64_t from;  // the first byte in the view
  bool acts;     // this rank makes the call
};

Scene scene_of(const FileCall& call, bool strided, int64_t bytes) {
  const int64_t r = call.shared ? 0 : g_rank;
  const View view = strided ? View{8 + r * 24, 24, 24 * g_size} : View{r * 4096, 64, 64};
  // At a shared pointer, ranks follow each other in their order, or one acts alone.
  const bool ordered = call.shared && call.collective;
  return {call, view, kOffset + (ordered ? g_rank * bytes : 0),
          !call.shared || call.collective || g_rank == 0};
}

int act(const Scene& scene, const SharedFile& file, void* buf, int count, MPI_Datatype type,
        MPI_Status* status) {
  if (scene.call.shared) MPI_File_seek_shared(file.fh(), kOffset, MPI_SEEK_SET);
  MPI_Barrier(MPI_COMM_WORLD);
  if (!scene.acts) return MPI_SUCCESS;
  return transfer(scene.call, file.fh(), kOffset, buf, count, type, status);
}

// The amount of data by the status.
struct Amount {
  Amount(const MPI_Status& status, MPI_Datatype type) {
    MPI_Get_count(&status, type, &count);
    MPI_Get_elements(&status, type, &elements);
    MPI_Get_count(&status, MPI_BYTE, &bytes);
  }
  bool operator==(const Amount&) const = default;
  int count, elements, bytes;
};

// Types that the library cannot read or write natively: Intel MPI under the standard ABI aborts.
bool is_beyond_library(const Shape& shape) {
#if defined(LACUNA_MPI_FAMILY_MPIABI)
  const bool named = shape.name == "dup" || shape.name.find("array") != std::string::npos;
  return named && library_version().find("Intel") != std::string::npos;
#else
  return shape.name == "empty";  // Open MPI 5's MPI_File_iread divides by zero
#endif
}

bool is_mixed(const Shape& shape) {
  return shape.name.starts_with("struct") || shape.name.ends_with("pairs");
}

// Whether the file is as it must be after a write of all ranks that acted.
bool is_written(const SharedFile& file, const Scene& scene, const Bytes& data, int64_t length) {
  Bytes mine(static_cast<size_t>(length)), all(mine.size());
  std::vector<char> here(mine.size(), 0), anywhere(mine.size());
  if (scene.acts) {
    for (size_t i = 0; i < data.size(); ++i) {
      const auto at = static_cast<size_t>(scene.view.place(scene.from + static_cast<int64_t>(i)));
      mine[at] = data[i];
      here[at] = 1;
    }
  }
  const int n = static_cast<int>(length);
  MPI_Allreduce(mine.data(), all.data(), n, MPI_UNSIGNED_CHAR, MPI_BOR, MPI_COMM_WORLD);
  MPI_Allreduce(here.data(), anywhere.data(), n, MPI_SIGNED_CHAR, MPI_MAX, MPI_COMM_WORLD);
  for (size_t i = 0; i < all.size(); ++i) {
    if (anywhere[i] == 0) all[i] = SharedFile::background(static_cast<int64_t>(i));
  }
  return file.content() == all;
}

// Whether both ranks say so.
bool everywhere(bool here) {
  int mine = here ? 1 : 0, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all != 0;
}

constexpr int64_t kLength = 10000;

// False: the library does not do it right.
bool try_write(const SharedFile& file, const Scene& scene, Buffer* from, int count,
               MPI_Datatype type, bool ignore) {
  const Bytes data = packed_bytes(from->base(), count, type);
  const Buffer before = *from;
  std::vector<Amount> amounts;
  for (const bool on : {false, true}) {
    file.reset(kLength);
    lacuna(on);
    MPI_Status status{};
    const int code =
        act(scene, file, from->base(), count, type, ignore ? MPI_STATUS_IGNORE : &status);
    lacuna(true);
    const bool good = everywhere(file_error(code) == MPI_SUCCESS && *from == before) &&
                      is_written(file, scene, data, kLength);
    if (!on && !good) return false;
    CHECK(good);
    amounts.emplace_back(status, type);
  }
  if (scene.acts && !ignore) CHECK(amounts[0] == amounts[1]);
  return true;
}

// The file ends after `length` bytes. For a read over its end, ROMIO's memory and status are
// unpredictable unless the read is a plain one; in that case only lacuna's result is checked.
bool try_read(const SharedFile& file, const Scene& scene, Buffer* to, int count, MPI_Datatype type,
              int64_t length, bool ignore) {
  file.reset(length);
  const Buffer before = *to;
  Buffer expected = *to;
  Bytes data = packed_bytes(to->base(), count, type);
  int come = 0;
  for (size_t i = 0; i < data.size(); ++i) {
    const int64_t at = scene.view.place(scene.from + static_cast<int64_t>(i));
    if (at >= length) break;
    data[i] = SharedFile::background(at);
    ++come;
  }
  if (scene.acts) unpack_bytes(data, expected.base(), count, type);
  const bool whole = length == kLength;
  std::vector<Amount> amounts;
  for (const bool on : {false, true}) {
    if (!on && !whole) continue;
    *to = before;
    lacuna(on);
    MPI_Status status{};
    const int code =
        act(scene, file, to->base(), count, type, ignore ? MPI_STATUS_IGNORE : &status);
    lacuna(true);
    const bool good = everywhere(file_error(code) == MPI_SUCCESS && *to == expected);
    if (!on && !good) return false;
    CHECK(good);
    amounts.emplace_back(status, type);
    if (scene.acts && !ignore) CHECK(amounts.back() == amounts.front());
    if (scene.acts && !ignore && !whole) CHECK(amounts.back().bytes == come);
  }
  *to = before;
  return true;
}

// Whether a read over the end of the file is plain: contiguous view, blocking, not collective.
bool is_plain(const FileCall& call, bool strided) {
  return !strided && !call.collective && call.ending == Ending::kBlocking;
}

}  // namespace

// Each function, from and to each type, through a contiguous view and one with gaps, to the end of
// the file and over it.
TOPIC(files_every_function) {
  std::vector<Shape> shapes = all_shapes();
  const SharedFile file;
  for (const FileCall& call : file_calls()) {
    for (const bool strided : {false, true}) {
      scene_of(call, strided, 0).view.set(file.fh());
      for (const Shape& shape : shapes) {
        // All shapes by one function of each kind, a few by the others.
        const bool thorough = call.at && !call.large;
        if (!thorough && shape.name != "vector" && shape.name != "negative stride" &&
            shape.name != "struct") {
          continue;
        }
        for (const int count : {0, 1, 7}) {
          // Intel MPI's MPI_File_write_all of nothing through a view with gaps waits for a lock for
          // ever.
          if (count == 0 && (shape.name != "vector" || strided)) continue;
          if (is_beyond_library(shape)) continue;
          context(call.counted() + " of " + shape.name + " x " + std::to_string(count) +
                  (strided ? ", view with gaps" : ""));
          const int64_t bytes = data_bytes(shape.type, count);
          const Scene scene = scene_of(call, strided, bytes);
          Buffer buffer(shape.type, count);
          buffer.fill(static_cast<unsigned>(g_rank + count));
          const bool ignore = count == 7 && shape.name == "negative stride";
          const int64_t before = taken(call.counted().c_str());
          const bool tried =
              call.reads ? try_read(file, scene, &buffer, count, shape.type, kLength, ignore)
                         : try_write(file, scene, &buffer, count, shape.type, ignore);
          const bool expected = tried && shape.taken && !is_mixed(shape) && count > 1 &&
                                scene.acts &&
                                (call.ending != Ending::kRequest || takes_requests(call.reads));
          const int64_t times = taken(call.counted().c_str()) - before;
          if (expected) CHECK(times == 1);
          if (is_mixed(shape) || count == 0) CHECK(times == 0);
          int ends = call.reads && is_plain(call, strided) && times == 1 ? 1 : 0;
          MPI_Bcast(&ends, 1, MPI_INT, 0, MPI_COMM_WORLD);
          for (const int64_t less : {bytes, bytes / 2 + 1, int64_t{3}}) {
            if (ends == 0) continue;
            context(call.counted() + " of " + shape.name + ", " + std::to_string(less) + " less");
            int64_t end = scene.view.place(scene.from + bytes - less);
            MPI_Bcast(&end, 1, MPI_INT64_T, g_size - 1, MPI_COMM_WORLD);
            try_read(file, scene, &buffer, count, shape.type, end, ignore);
          }
        }
      }
    }
  }
  free_shapes(&shapes);
}
