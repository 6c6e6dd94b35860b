// SPDX-License-Identifier: BSD-3-Clause
//
// Which messages are tokens: copies of tokens that have been received are not. Also synchronous
// sends that are probed, and many messages that a probe holds.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "interpose/direct/arena/region.hpp"
#include "tests/interpose/direct/numbers.hpp"
#include "tests/interpose/harness/arena_view.hpp"
#include "tests/interpose/harness/harness.hpp"

using namespace test;
using lacuna::direct::kTokenBytes;
using lacuna::direct::Region;

namespace {

constexpr int kToken = static_cast<int>(kTokenBytes);

const auto Isendrecv =
    newer<int (*)(const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int,
                  MPI_Comm, MPI_Request*)>("MPI_Isendrecv");

// The token that rank 0 has sent for a payload of kBytes to this rank, found in rank 0's arena.
std::vector<char> stale_token() {
  for (const Mapping& arena : arenas()) {
    for (const char* at = arena.begin; at + sizeof(Region) <= arena.end; at += 64) {
      const auto& token = reinterpret_cast<const Region*>(at)->token;
      if (token.bytes == kBytes && token.offset == at - arena.begin) {
        const auto* bytes = reinterpret_cast<const char*>(&token);
        return {bytes, bytes + kToken};
      }
    }
  }
  return {};
}

// The token of a pipelined message to this rank, which comes as data while lacuna is off.
std::vector<char> raw_token() {
  static const auto switch_on =
      reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "lacuna_interposed_switch"));
  std::vector<char> token(kToken);
  MPI_Status status{};
  switch_on(0);
  MPI_Recv(token.data(), kToken, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &status);
  switch_on(1);
  return token;
}

void send_numbers(int salt, int tag) {
  MPI_Datatype type = column(kCount, 3);
  MPI_Send(numbers(salt).data(), 1, type, 1, tag, MPI_COMM_WORLD);
  MPI_Type_free(&type);
}

void receive_numbers(int salt, int tag) {
  std::vector<double> got(kCount, -1);
  MPI_Status status{};
  MPI_Recv(got.data(), kCount, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD, &status);
  CHECK(bytes_in(status) == kBytes && is_packed(got, salt));
}

bool begins_with(const std::vector<double>& got, const std::vector<char>& token) {
  return std::memcmp(got.data(), token.data(), token.size()) == 0 && got[kCount - 1] == -1;
}

struct Case {
  const char* name;
  int bytes;  // of the message: those of the stale token
  void (*receive)(std::vector<double>* got, MPI_Status* status);
};

void receive(std::vector<double>* got, MPI_Status* status) {
  MPI_Recv(got->data(), kCount, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, status);
}

const Case kCases[] = {
    {"as data", kToken, receive},
    {"as data that are probed", kToken,
     [](std::vector<double>* got, MPI_Status* status) {
       MPI_Probe(0, 3, MPI_COMM_WORLD, status);
       CHECK(bytes_in(*status) == kToken);
       receive(got, status);
     }},
    {"as data that are matched", kToken,
     [](std::vector<double>* got, MPI_Status* status) {
       MPI_Message message;
       MPI_Mprobe(0, 3, MPI_COMM_WORLD, &message, status);
       CHECK(bytes_in(*status) == kToken);
       MPI_Mrecv(got->data(), kCount, MPI_DOUBLE, &message, status);
     }},
    {"as data for a column", kToken,
     [](std::vector<double>* got, MPI_Status* status) {
       MPI_Datatype type = column(64, 2);
       for (int i = 0; i < 3; ++i) {  // from the second on by the fast path
         std::vector<double> spread(128, -1);
         MPI_Recv(spread.data(), 1, type, 0, i == 2 ? 3 : 4, MPI_COMM_WORLD, status);
         for (size_t k = 0; k < kToken / 8; ++k) (*got)[k] = spread[2 * k];
         CHECK(spread[1] == -1 && (i < 2 || spread[kToken / 4] == -1));
       }
       MPI_Type_free(&type);
     }},
    {"where nothing comes", 0,
     [](std::vector<double>* got, MPI_Status* status) {
       MPI_Request request;
       if (Isendrecv == nullptr) return receive(got, status);
       Isendrecv(nullptr, 0, MPI_CHAR, MPI_PROC_NULL, 0, got->data(), kCount, MPI_DOUBLE, 0, 3,
                 MPI_COMM_WORLD, &request);
       MPI_Wait(&request, MPI_STATUS_IGNORE);
       MPI_Status_set_elements(status, MPI_BYTE, 0);
     }},
};

}  // namespace

// A copy of a token that has been received is data, wherever it comes from, even while another
// token is in flight.
TOPIC(direct_stale_tokens) {
  if (!g_direct) return;
  for (const Case& each : kCases) {
    context(each.name);
    if (g_rank == 0) {
      send_numbers(1, 1);
      std::vector<char> token(kToken);
      MPI_Recv(token.data(), kToken, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      send_numbers(2, 5);  // in flight meanwhile
      if (g_pipelined) MPI_Send(token.data(), kToken, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
      if (std::strstr(each.name, "column") != nullptr) {
        const std::vector<double> plain(64);
        for (int i = 0; i < 2; ++i) MPI_Send(plain.data(), 64, MPI_DOUBLE, 1, 4, MPI_COMM_WORLD);
      }
      MPI_Send(token.data(), each.bytes, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
    } else if (g_rank == 1) {
      if (!g_pipelined) receive_numbers(1, 1);
      const std::vector<char> token = g_pipelined ? raw_token() : stale_token();
      CHECK(token.size() == kToken);
      if (token.size() != kToken) MPI_Abort(MPI_COMM_WORLD, 1);
      MPI_Send(token.data(), kToken, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
      if (g_pipelined) receive_numbers(1, 1);
      std::vector<double> got(kCount, -1);
      if (each.bytes == 0) std::memcpy(got.data(), token.data(), token.size());
      MPI_Status status{};
      each.receive(&got, &status);
      CHECK(bytes_in(status) == each.bytes);
      CHECK(begins_with(got, token));
      receive_numbers(2, 5);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

namespace {

// Whether this rank's heap has the token of a pipelined message of kBytes to rank 1 where a buffer
// of lacuna's begins: 4 KiB or 64 KiB, whose size glibc keeps before it. (The MPI library may have
// copies elsewhere.)
bool heap_has_token() {
  const volatile int64_t wanted[] = {-2, kBytes};  // offset and bytes
  bool found = false;
  each_line("/proc/self/maps", [&](const std::string& line) {
    unsigned long begin = 0, end = 0;
    if (line.find("[heap]") == std::string::npos) return;
    if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) != 2) return;
    for (unsigned long at = (begin + 63) / 64 * 64; at + kToken <= end; at += 64) {
      const auto* const words = reinterpret_cast<const volatile int64_t*>(at);
      if (at == begin || words[3] != wanted[0] || words[4] != wanted[1]) continue;
      const int64_t size = words[-1] & ~int64_t{7};
      for (const int64_t buffer : {4 << 10, 64 << 10})
        found = found || (size >= buffer && size <= buffer + 128);
    }
  });
  return found;
}

}  // namespace

// The program may get the memory from which a token was sent, and send what lies there, before the
// message has been received.
TOPIC(pipeline_wiped_tokens) {
  for (int way = 0; way < 3; ++way) {
    context("way " + std::to_string(way));
    if (g_rank == 0) {
      MPI_Datatype type = column(kCount, 3);
      const std::vector<double> data = numbers(way);
      MPI_Request request = MPI_REQUEST_NULL;
      if (way == 0) MPI_Send(data.data(), 1, type, 1, 1, MPI_COMM_WORLD);
      if (way == 1) MPI_Isend(data.data(), 1, type, 1, 1, MPI_COMM_WORLD, &request);
      if (way == 2) {
        MPI_Send_init(data.data(), 1, type, 1, 1, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
      }
      if (way > 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (way == 2) MPI_Request_free(&request);
      CHECK(!heap_has_token());
      MPI_Type_free(&type);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank == 1) receive_numbers(way, 1);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// A synchronous send is not complete as long as it has only been probed.
TOPIC(direct_probed_synchronous) {
  const std::vector<double> sent = numbers(1);
  MPI_Datatype type = column(kCount, 3);
  struct {
    const char* name;
    int count;
    MPI_Datatype type;
    bool behind;  // it is held, as a token that comes after it is probed
  } cases[] = {{"as long as a token", kToken, MPI_CHAR, false},
               {"with gaps", 1, type, false},
               {"short, before a token", 8, MPI_CHAR, true},
               {"with gaps, before a token", 1, type, true}};
  for (const auto& each : cases) {
    context(each.name);
    if (g_rank == 0) {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Issend(sent.data(), each.count, each.type, 1, 1, MPI_COMM_WORLD, &request);
      if (each.behind) send_numbers(2, 2);
      MPI_Recv(nullptr, 0, MPI_CHAR, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      int done = 0;
      for (int i = 0; i < 1000 && done == 0; ++i) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      CHECK(done == 0);
      MPI_Send(nullptr, 0, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (g_rank == 1) {
      MPI_Status status{};
      const int bytes = each.type == MPI_CHAR ? each.count : kBytes;
      for (int i = 0; i < 20; ++i) {
        MPI_Probe(0, each.behind ? 2 : 1, MPI_COMM_WORLD, &status);
        CHECK(bytes_in(status) == (each.behind ? kBytes : bytes));
        int found = 0;
        MPI_Iprobe(0, 1, MPI_COMM_WORLD, &found, &status);
        CHECK(found != 0 && bytes_in(status) == bytes);
      }
      MPI_Send(nullptr, 0, MPI_CHAR, 0, 3, MPI_COMM_WORLD);
      MPI_Recv(nullptr, 0, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      std::vector<double> got(kCount, -1);
      if (each.type == MPI_CHAR) {
        MPI_Recv(got.data(), kBytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &status);
        CHECK(std::memcmp(got.data(), sent.data(), static_cast<size_t>(each.count)) == 0);
      } else {
        MPI_Recv(got.data(), kCount, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &status);
        CHECK(is_packed(got, 1));
      }
      CHECK(bytes_in(status) == bytes);
      if (each.behind) receive_numbers(2, 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Type_free(&type);
}

// More messages than can be held, from all other ranks and with several tags: each is received in
// order, by its tag, its source, or wildcards.
TOPIC(direct_many_held) {
  constexpr int kMessages = 2000;
  constexpr int kTags = 3;
  if (g_rank != 1) {
    for (int i = 0; i < kMessages; ++i) MPI_Send(&i, 1, MPI_INT, 1, 10 + i % kTags, MPI_COMM_WORLD);
    send_numbers(g_rank, 2);
  } else {
    std::vector<int> next(static_cast<size_t>(g_size * kTags));
    for (size_t i = 0; i < next.size(); ++i) next[i] = static_cast<int>(i) % kTags;
    int wrong = 0;
    const auto receive_one = [&](int source, int tag) {
      int got = -1;
      MPI_Status status{};
      MPI_Recv(&got, 1, MPI_INT, source, tag, MPI_COMM_WORLD, &status);
      int& expected = next[static_cast<size_t>(status.MPI_SOURCE * kTags + status.MPI_TAG - 10)];
      wrong += got == expected ? 0 : 1;
      expected += kTags;
    };
    for (int rank = 0; rank < g_size; ++rank) {
      if (rank == 1) continue;
      MPI_Status status{};
      MPI_Probe(rank, 2, MPI_COMM_WORLD, &status);
      CHECK(bytes_in(status) == kBytes);
    }
    for (int rank = g_size - 1; rank >= 0; --rank) {
      if (rank == 1) continue;
      for (int i = 0; i < 200; ++i) receive_one(rank, 10 + i % 2);
      std::vector<double> got(kCount, -1);
      MPI_Recv(got.data(), kCount, MPI_DOUBLE, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(is_packed(got, rank));
    }
    const int left = (g_size - 1) * (kMessages - 200);
    for (int i = 0; i < left; ++i) receive_one(MPI_ANY_SOURCE, MPI_ANY_TAG);
    CHECK(wrong == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}
