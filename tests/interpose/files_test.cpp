// SPDX-License-Identifier: BSD-3-Clause
//
// Reading and writing files. What must be in the file, and what must be in memory, is computed from
// the typemap (by the library's own packing) and the view. The library goes first, alone: what it
// does not do itself, lacuna is not asked to.
#include <algorithm>
#include <cstring>

#include "complete.hpp"
#include "file_calls.hpp"
#include "harness.hpp"

using namespace test;

namespace {

constexpr int64_t kOffset = 40;  // in the view, of the first byte that is read or written

// One call of each rank in a file of its own: where its bytes are.
struct Scene {
  const FileCall& call;
  View view;
  int64_t from;  // the first byte in the view
  bool acts;     // this rank calls at all
};

Scene scene_of(const FileCall& call, bool strided, int64_t bytes) {
  const int64_t r = call.shared ? 0 : g_rank;
  const View view = strided ? View{8 + r * 24, 24, 24 * g_size} : View{r * 4096, 64, 64};
  // Ranks follow each other at a shared pointer: by their order, or one alone.
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

// What the status says of the data.
struct Amount {
  Amount(const MPI_Status& status, MPI_Datatype type) {
    MPI_Get_count(&status, type, &count);
    MPI_Get_elements(&status, type, &elements);
    MPI_Get_count(&status, MPI_BYTE, &bytes);
  }
  bool operator==(const Amount&) const = default;
  int count, elements, bytes;
};

// MPICH's requests of files are left alone (policy.cpp).
bool takes_requests() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  return std::strncmp(version, "MPICH", 5) != 0;
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
    const bool good = everywhere(code == MPI_SUCCESS && *from == before) &&
                      is_written(file, scene, data, kLength);
    if (!on && !good) return false;
    CHECK(good);
    amounts.emplace_back(status, type);
  }
  if (scene.acts && !ignore) CHECK(amounts[0] == amounts[1]);
  return true;
}

// The file ends after `length` bytes. Over its end, ROMIO leaves in memory and says in the status
// what it likes where its way is not the plain one; there lacuna alone is looked at.
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
    const bool good = everywhere(code == MPI_SUCCESS && *to == expected);
    if (!on && !good) return false;
    CHECK(good);
    amounts.emplace_back(status, type);
    if (scene.acts && !ignore) CHECK(amounts.back() == amounts.front());
    if (scene.acts && !ignore && !whole) CHECK(amounts.back().bytes == come);
  }
  *to = before;
  return true;
}

// Whether a read over the end of the file is the plain one.
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
        // All of them by one function of each kind, few by the others.
        const bool thorough = call.at && !call.large;
        if (!thorough && shape.name != "vector" && shape.name != "negative stride" &&
            shape.name != "struct") {
          continue;
        }
        for (const int count : {0, 1, 7}) {
          // Intel MPI's MPI_File_write_all of nothing through a view with gaps waits for a lock for
          // ever.
          if (count == 0 && (shape.name != "vector" || strided)) continue;
          if (shape.name == "empty") continue;  // Open MPI 5's MPI_File_iread divides by zero
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
                                scene.acts && (call.ending != Ending::kRequest || takes_requests());
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

// Several at once, of types that are freed meanwhile, completed in each way.
TOPIC(files_every_completion) {
  const SharedFile file;
  constexpr int kMany = 5;
  View{g_rank * 8192, 64, 64}.set(file.fh());
  for (int how = 0; how < static_cast<int>(How::kCount); ++how) {
    if (how >= static_cast<int>(How::kGetStatusAll) && get_status_all == nullptr) continue;
    for (const bool ignore : {false, true}) {
      context("completion " + std::to_string(how));
      std::vector<double> from(256), to(256 * kMany, -1);
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<double>(i) + g_rank;
      std::vector<MPI_Request> requests(kMany);
      const auto all_done = [&](MPI_Datatype basic, int each) {
        std::vector<int> done(kMany, 0);
        complete(static_cast<How>(how), &requests, ignore, [&](int i, const MPI_Status* status) {
          ++done[static_cast<size_t>(i)];
          int count = 0;
          if (status != nullptr) MPI_Get_count(status, basic, &count);
          if (status != nullptr) CHECK(count == each);
        });
        CHECK(done == std::vector<int>(kMany, 1));
      };
      const int64_t writes = taken("MPI_File_iwrite_at"), reads = taken("MPI_File_iread_at");
      for (int i = 0; i < kMany; ++i) {
        MPI_Datatype type = column(16);
        MPI_File_iwrite_at(file.fh(), i * 128, from.data() + i, 1, type,
                           &requests[static_cast<size_t>(i)]);
        MPI_Type_free(&type);
      }
      all_done(MPI_DOUBLE, 16);
      for (int i = 0; i < kMany; ++i) {
        MPI_Datatype type = column(16);
        MPI_File_iread_at(file.fh(), i * 128, to.data() + i * 256, 1, type,
                          &requests[static_cast<size_t>(i)]);
        MPI_Type_free(&type);
      }
      all_done(MPI_DOUBLE, 16);
      const int expected = takes_requests() ? kMany : 0;
      CHECK(taken("MPI_File_iwrite_at") - writes == expected);
      CHECK(taken("MPI_File_iread_at") - reads == expected);
      for (int i = 0; i < 256 * kMany; ++i) {
        const int of = i / 256, at = i % 256;
        CHECK(to[static_cast<size_t>(i)] == (at % 16 == 0 ? at + of + g_rank : -1));
      }
      MPI_Datatype type = column(16);
      MPI_File_read_at(file.fh(), 128, to.data() + 1, 1, type, MPI_STATUS_IGNORE);
      for (size_t i = 1; i < 256; i += 16) CHECK(to[i] == from[i]);
      MPI_Type_free(&type);
    }
  }
}

// Requests that are freed when they are known to be complete.
TOPIC(files_request_free) {
  const SharedFile file;
  View{g_rank * 8192, 64, 64}.set(file.fh());
  MPI_Datatype type = column(16);
  std::vector<double> from(256, 5), to(256, 6);
  MPI_Request request;
  for (const bool reads : {false, true}) {
    if (reads) {
      MPI_File_iread_at(file.fh(), 0, to.data(), 1, type, &request);
    } else {
      MPI_File_iwrite_at(file.fh(), 0, from.data(), 1, type, &request);
    }
    for (int flag = 0; flag == 0;) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL);
  }
  MPI_File_read_at(file.fh(), 0, to.data() + 1, 1, type, MPI_STATUS_IGNORE);
  for (size_t i = 0; i < to.size(); ++i) CHECK(to[i] == (i % 16 < 2 ? 5 : 6));
  MPI_Type_free(&type);
}

// Two files with a split collective each, one of them begun before lacuna was switched off; then
// the handle of a file that was closed serves again.
TOPIC(files_split) {
  MPI_Datatype type = column(16);
  std::vector<double> from(256, 7), to(256, 8);
  for (int round = 0; round < 3; ++round) {
    const SharedFile one, other;
    for (const SharedFile* file : {&one, &other}) View{g_rank * 8192, 64, 64}.set(file->fh());
    MPI_File_write_at_all_begin(one.fh(), 0, from.data(), 1, type);
    MPI_File_write_at_all_begin(other.fh(), 64, from.data() + 1, 1, type);
    lacuna(false);
    MPI_File_write_at_all_end(other.fh(), from.data() + 1, MPI_STATUS_IGNORE);
    MPI_File_write_at_all_end(one.fh(), from.data(), MPI_STATUS_IGNORE);
    lacuna(true);
    for (double& value : to) value = 8;
    MPI_File_read_at_all_begin(other.fh(), 64, to.data(), 1, type);
    MPI_File_read_at_all_begin(one.fh(), 0, to.data() + 1, 1, type);
    MPI_Status status;
    MPI_File_read_at_all_end(other.fh(), to.data(), &status);
    MPI_File_read_at_all_end(one.fh(), to.data() + 1, MPI_STATUS_IGNORE);
    int count = 0;
    MPI_Get_count(&status, type, &count);
    CHECK(count == 1);
    for (size_t i = 0; i < to.size(); ++i) CHECK(to[i] == (i % 16 < 2 ? 7 : 8));
    // One that is the library's after one that was not.
    double line[2] = {0, 0};
    MPI_File_read_at_all_begin(one.fh(), 0, line, 2, MPI_DOUBLE);
    MPI_File_read_at_all_end(one.fh(), line, MPI_STATUS_IGNORE);
    CHECK(line[0] == 7 && line[1] == 7);
  }
  CHECK(taken("MPI_File_read_at_all_begin") == 6 && taken("MPI_File_read_at_all_end") == 6);
  CHECK(taken("MPI_File_write_at_all_begin") == 6 && taken("MPI_File_write_at_all_end") == 6);
  MPI_Type_free(&type);
}

// Large, from MPI_BOTTOM, and in the other representation of data.
TOPIC(files_kinds_of_data) {
  const SharedFile file;
  MPI_Datatype narrow = column(512), large, absolute;
  MPI_Type_create_resized(narrow, 0, sizeof(double), &large);
  MPI_Type_commit(&large);
  std::vector<double> from(512 * 512), to(512 * 512, -1);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<double>(i) * 3 + g_rank;
  const View view{g_rank * (int64_t{2} << 20), 4096, 4096};
  view.set(file.fh());
  CHECK(MPI_File_write_all(file.fh(), from.data(), 512, large, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_File_read_at(file.fh(), 0, to.data(), 512, large, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(to == from);
  MPI_File_read_at(file.fh(), 0, to.data(), 512 * 512, MPI_DOUBLE, MPI_STATUS_IGNORE);
  CHECK(to[1] == from[512] && to[512] == from[1]);
  const int lengths[] = {1, 1};
  MPI_Aint places[2];
  MPI_Get_address(&to[100], &places[0]);
  MPI_Get_address(&to[7], &places[1]);
  MPI_Type_create_hindexed(2, lengths, places, MPI_DOUBLE, &absolute);
  MPI_Type_commit(&absolute);
  MPI_File_read_at(file.fh(), 0, MPI_BOTTOM, 1, absolute, MPI_STATUS_IGNORE);
  CHECK(to[100] == from[0] && to[7] == from[512]);
  MPI_Type_free(&absolute);
  CHECK(taken("MPI_File_read_at") == 2 && taken("MPI_File_write_all") == 1);
  // The library's way first.
  if (view.set(file.fh(), "external32") == MPI_SUCCESS) {
    Bytes content[2];
    for (const bool on : {false, true}) {
      lacuna(on);
      MPI_File_write_at(file.fh(), 0, from.data(), 1, narrow, MPI_STATUS_IGNORE);
      std::fill(to.begin(), to.end(), -1);
      const int code = MPI_File_read_at(file.fh(), 0, to.data() + 1, 1, narrow, MPI_STATUS_IGNORE);
      lacuna(true);
      content[on] = file.content();
      if (!on && code != MPI_SUCCESS) break;
      CHECK(code == MPI_SUCCESS && to[1] == from[0] && to[513] == from[512] && to[0] == -1);
    }
    if (!content[1].empty()) CHECK(content[0] == content[1]);
  }
  MPI_Type_free(&narrow);
  MPI_Type_free(&large);
}

// What is wrong is the library's to say, and nothing is touched.
TOPIC(files_errors) {
  MPI_Datatype type = column(16), uncommitted;
  MPI_Type_vector(16, 1, 16, MPI_DOUBLE, &uncommitted);
  const SharedFile file;
  std::vector<double> data(256, 4);
  MPI_File write_only;
  MPI_File_open(MPI_COMM_SELF, (file.path() + (g_rank == 0 ? "" : "1")).c_str(),
                MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &write_only);
  for (int what = 0; what < 5; ++what) {
    context("mistake " + std::to_string(what));
    int classes[2];
    for (const bool on : {false, true}) {
      lacuna(on);
      MPI_Request request = MPI_REQUEST_NULL;
      int code = MPI_SUCCESS;
      if (what == 0)
        code = MPI_File_write_at(file.fh(), 0, data.data(), 1, uncommitted, MPI_STATUS_IGNORE);
      if (what == 1)
        code = MPI_File_read_at(write_only, 0, data.data(), 1, type, MPI_STATUS_IGNORE);
      if (what == 2) code = MPI_File_iread_at(write_only, 0, data.data(), 1, type, &request);
      if (what == 3)
        code = MPI_File_write_at(file.fh(), 0, data.data(), -1, type, MPI_STATUS_IGNORE);
      if (what == 4)
        code = MPI_File_read_at(file.fh(), -5, data.data(), 1, type, MPI_STATUS_IGNORE);
      if (request != MPI_REQUEST_NULL) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
      lacuna(true);
      classes[on] = class_of(code);
    }
    CHECK(classes[0] == classes[1]);
    CHECK(data == std::vector<double>(256, 4));
  }
  MPI_File_close(&write_only);
  if (g_rank != 0) MPI_File_delete((file.path() + "1").c_str(), MPI_INFO_NULL);
  MPI_Type_free(&type);
  MPI_Type_free(&uncommitted);
}

// One rank with lacuna, the other without, in one collective.
TOPIC(files_mixed_job) {
  const SharedFile file;
  MPI_Datatype type = column(16);
  std::vector<double> from(256, g_rank + 1), to(256, 0);
  for (int round = 0; round < 2; ++round) {
    View{8 + g_rank * 24, 24, 48}.set(file.fh());
    lacuna(g_rank == round);
    MPI_File_write_all(file.fh(), from.data(), 1, type, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(file.fh(), 0, to.data(), 1, type, MPI_STATUS_IGNORE);
    lacuna(true);
    for (size_t i = 0; i < to.size(); ++i) CHECK(to[i] == (i % 16 == 0 ? g_rank + 1 : 0));
    std::fill(to.begin(), to.end(), 0);
  }
  MPI_Type_free(&type);
}
