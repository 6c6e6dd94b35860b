// SPDX-License-Identifier: BSD-3-Clause
//
// Files: requests, split collectives, kinds of data, errors.
#include <algorithm>

#include "tests/interpose/files/file_calls.hpp"
#include "tests/interpose/harness/complete.hpp"
#include "tests/interpose/harness/harness.hpp"

using namespace test;

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
      CHECK(taken("MPI_File_iwrite_at") - writes == (takes_requests(false) ? kMany : 0));
      CHECK(taken("MPI_File_iread_at") - reads == (takes_requests(true) ? kMany : 0));
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
// the handle of a closed file is used again.
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
    // A split collective that is declined after one that was handled.
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
  // First by the library alone.
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

// The file ends within an element: its complete parts are read, and nothing behind is written.
TOPIC(files_end_within_data) {
  const SharedFile file;
  constexpr int kWhole = 20;
  file.reset(kWhole * int64_t{sizeof(double)} + 3);
  const Bytes content = file.content();
  MPI_Datatype type = column(32, 3);
  for (const bool waits : {true, false}) {
#if defined(LACUNA_MPI_FAMILY_OMPI)  // its request then never completes, without lacuna either
    if (!waits) continue;
#endif
    context(waits ? "MPI_File_read_at" : "MPI_File_iread_at");
    std::vector<double> to(96, -1), whole(kWhole);
    MPI_Status status;
    if (!waits) {
      MPI_Request request;
      MPI_File_iread_at(file.fh(), 0, to.data(), 1, type, &request);
      MPI_Wait(&request, &status);
    } else {
      MPI_File_read_at(file.fh(), 0, to.data(), 1, type, &status);
    }
    for (int i = 0; i < kWhole; ++i) whole[static_cast<size_t>(i)] = to[static_cast<size_t>(3 * i)];
    CHECK(std::memcmp(whole.data(), content.data(), sizeof(double) * kWhole) == 0);
    for (size_t i = 0; i < to.size(); ++i) CHECK(i % 3 == 0 || to[i] == -1);
  }
  MPI_Type_free(&type);
}

// Errors are reported by the library, and no data are changed.
TOPIC(files_errors) {
  MPI_Datatype type = column(16), uncommitted;
  MPI_Type_vector(16, 1, 16, MPI_DOUBLE, &uncommitted);
  const SharedFile file;
  std::vector<double> data(256, 4);
  MPI_File write_only;
  MPI_File_open(MPI_COMM_SELF, (file.path() + (g_rank == 0 ? "" : "1")).c_str(),
                MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &write_only);
  return_errors(write_only);
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
      classes[on] = file_error(code);
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
