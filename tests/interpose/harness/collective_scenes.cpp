// SPDX-License-Identifier: BSD-3-Clause
//
// Running the collectives of collective_calls.cpp, with lacuna and without.
#include <string_view>

#include "tests/interpose/harness/collective_calls.hpp"
#include "tests/interpose/harness/complete.hpp"

namespace test {

std::span<const Way> ways() {
  static constexpr Way kWays[] = {Way::kBlocking, Way::kNonblocking, Way::kPersistent};
  static const bool all = [] {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(version, &length);
    const std::string_view text(version, static_cast<size_t>(length));
    // Persistent collectives of other libraries do not move all data at each start, or do not
    // exist.
    const auto says = [&](const char* what) { return text.find(what) != std::string_view::npos; };
    return says("MPICH Version:      5") || says("Open MPI v5");
  }();
  return std::span(kWays).first(all ? 3 : 2);
}

int room(const Scene& scene) {
  const int most = scene.pairs > scene.sources ? scene.pairs : scene.sources;
  return (most > 0 ? most : 1) * (scene.count + 1);
}

Scene scene_of(MPI_Comm comm) {
  Scene scene;
  scene.comm = comm;
  int inter = 0;
  MPI_Comm_test_inter(comm, &inter);
  scene.inter = inter != 0;
  MPI_Comm_rank(comm, &scene.rank);
  if (scene.inter) {
    MPI_Comm_remote_size(comm, &scene.pairs);
  } else {
    MPI_Comm_size(comm, &scene.pairs);
  }
  return scene;
}

std::string CollectiveCall::function(Way way, bool large) const {
  std::string text = "MPI_";
  if (way == Way::kNonblocking) {
    text += 'I';
    text += static_cast<char>(name[0] - 'A' + 'a');
    text += name + 1;
  } else {
    text += name;
  }
  if (way == Way::kPersistent) text += "_init";
  if (large) text += "_c";
  return text;
}

// A different completing call each time.
static void complete_somehow(MPI_Request* request, [[maybe_unused]] bool persistent) {
  static int turn = 0;
  const int hows = static_cast<int>(How::kGetStatus) + 1;
  How how = static_cast<How>(turn % hows);
#if !defined( \
    LACUNA_MPI_FAMILY_OMPI)  // returns an error natively when it completes a persistent one
  if (persistent && how == How::kTestall) how = How::kWaitall;
#endif
  std::vector<MPI_Request> requests = {*request};
  complete(how, &requests, turn % 3 == 0, [](int, const MPI_Status*) {});
  ++turn;
  *request = requests[0];
}

// Each start of a persistent collective carries other data.
static void start_often(MPI_Request* request, Buffer* send, Buffer* recv) {
  for (unsigned round = 1; round <= 3; ++round) {
    send->fill(static_cast<unsigned>(g_rank) + 10 * round);
    recv->fill(static_cast<unsigned>(g_rank) + 10 * round + 101);
    if (round == 2) lacuna(false);  // a request that was made with lacuna on is packed all the same
    CHECK((round == 1 ? MPI_Startall(1, request) : MPI_Start(request)) == MPI_SUCCESS);
    complete_somehow(request, true);
  }
  CHECK(MPI_Request_free(request) == MPI_SUCCESS);
}

void same_bytes(const CollectiveCall& call, Scene scene, bool with, bool large) {
  Buffer send[2] = {{scene.type, room(scene)}, {scene.type, room(scene)}};
  Buffer recv[2] = {{scene.type, room(scene)}, {scene.type, room(scene)}};
  for (const bool on : {false, true}) {
    send[on].fill(static_cast<unsigned>(g_rank) + 1);
    recv[on].fill(static_cast<unsigned>(g_rank) + 101);
    scene.send = send[on].base();
    scene.recv = recv[on].base();
    lacuna(on && with);
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = large ? call.run_large(scene, &request) : call.run(scene, &request);
    CHECK(code == MPI_SUCCESS);
    if (scene.way == Way::kNonblocking) complete_somehow(&request, false);
    if (scene.way == Way::kPersistent) start_often(&request, &send[on], &recv[on]);
    CHECK(request == MPI_REQUEST_NULL);
  }
  lacuna(true);
  CHECK(send[0] == send[1]);
  CHECK(recv[0] == recv[1]);
}

// With elements of negative extent, some fail natively: Open MPI's MPI_Gather in its tree
// algorithms and on intercommunicators, and its MPI_Ialltoall in place; Intel MPI's MPI_Allgather
// in place, from four ranks on.
static bool library_can(const Shape& shape) {
#if defined(LACUNA_MPI_FAMILY_OMPI)
  const bool backwards = false;
#else
  const bool backwards = g_size == 2;
#endif
  return backwards || shape.name != "negative extent";
}

// Whether lacuna has handled a call in some rank.
bool taken_somewhere(const std::string& function) {
  int64_t mine = taken(function.c_str()), all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return all > 0;
}

void all_calls(std::span<const CollectiveCall> calls, Scene scene, bool with, bool large) {
  // More ranks than cores are slow, so only some of the shapes are tested with them.
  const size_t every = g_size == 2 ? 1 : scene.way == Way::kPersistent ? 9 : 3;
  std::vector<Shape> shapes = all_shapes();
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Shape& shape = shapes[i];
    if (!library_can(shape) || i % every != 0) continue;
    scene.type = shape.type;
    MPI_Type_dup(shape.type, &scene.same);
    for (const int count : {1, 3}) {
      scene.count = count;
      for (const CollectiveCall& call : calls) {
        if (scene.inter && !call.inter) continue;
        context(call.function(scene.way, large) + call.how + " of " + std::to_string(count) + " " +
                shape.name);
        same_bytes(call, scene, with, large);
      }
    }
    MPI_Type_free(&scene.same);
  }
  free_shapes(&shapes);
}

Scene world(Way way) {
  Scene scene = scene_of(MPI_COMM_WORLD);
  scene.way = way;
  scene.is_root = g_rank == 0;
  return scene;
}

}  // namespace test
