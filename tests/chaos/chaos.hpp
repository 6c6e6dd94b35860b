// SPDX-License-Identifier: BSD-3-Clause
//
// Random legal MPI programs, natively and under lacuna (run.py). A program is a sequence of steps
// that all ranks draw from one seed. Each step first draws the same numbers in all ranks; then the
// ranks that take part do their part. There are no barriers between steps: ranks run ahead of each
// other. A hash (digest) is made of what a step leaves in buffers, statuses and error classes.
//
// A program cannot deadlock by itself: what a step waits for was begun in this step or an earlier
// one, and all ranks do the steps in the same order.
#ifndef LACUNA_TESTS_CHAOS_CHAOS_HPP_
#define LACUNA_TESTS_CHAOS_CHAOS_HPP_

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "page.hpp"
#include "tests/interpose/harness/complete.hpp"
#include "type/random/random.hpp"
#include "type/type.hpp"

namespace chaos {

using lacuna::Random;

uint64_t mix(uint64_t one, uint64_t other);

// A sum of hashes, so that the order in which things are added does not matter.
class Digest {
 public:
  void add(uint64_t label, const void* bytes, size_t size);
  void add(uint64_t label, int64_t value) { add(label, &value, sizeof(value)); }
  uint32_t value() const { return static_cast<uint32_t>(sum_ >> 32 ^ sum_); }

 private:
  uint64_t sum_ = 0;
};

// ---- types ------------------------------------------------------------------------------------

struct Drawn {
  lacuna::TypePtr type;
  bool apart;  // successive elements are not interleaved
  std::string text() const;
  // How many elements a buffer may have, for about so many bytes of data.
  int most(int64_t bytes) const;
};
Drawn draw_type(Random* draw);
int64_t draw_size(Random* draw);  // about the bytes of a message

// This rank's handle of a type, newly made. `plain`: without gaps, with the same signature, if that
// has a single basic type.
class Handle {
 public:
  Handle() = default;
  Handle(const Drawn& drawn, bool plain);
  Handle(Handle&& other) noexcept;
  Handle& operator=(Handle&& other) noexcept;
  ~Handle() { free(); }
  void free();  // before the object ends, as programs may do while a call is pending
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

// devices.cpp. False: there is no fake driver.
bool start_device();
unsigned char* device_memory(size_t bytes);  // null: there is none left
struct Freed {
  bool on_device = false;
  void operator()(unsigned char* memory) const;
};

// Room for elements of a type with a margin on both sides, all of which is digested.
class Memory {
 public:
  Memory() = default;
  Memory(MPI_Datatype type, int count, uint64_t seed);
  void* base() { return bytes_.get() + offset_; }
  void digest(Digest* digest, uint64_t label) const { digest->add(label, bytes_.get(), size_); }
  void digest_margins(Digest* digest, uint64_t label) const;

 private:
  std::unique_ptr<unsigned char[], Freed> bytes_;
  size_t size_ = 0, offset_ = 0;
};

// ---- the state of a program ------------------------------------------------------------------

// A communicator, as all ranks know it, also those outside of it. Ranks are those of the program.
struct Comm {
  int id = 0;
  std::vector<int> group;                          // by rank in it
  std::vector<int> other;                          // the other group, of an intercommunicator
  std::vector<std::vector<int>> sources, targets;  // neighbours, by rank, in a topology
  bool kept = false;                               // never freed: MPI_COMM_WORLD and its like
  MPI_Comm handle = MPI_COMM_NULL;                 // null in other ranks
  bool buffered = false;                           // MPI_Bsend or its like was used on it

  bool inter() const { return !other.empty(); }
  bool topology() const { return !sources.empty(); }
  int rank_of(int place) const;  // in its group; -1: not there
  bool has(int place) const;     // in either group
  int size() const { return static_cast<int>(group.size()); }
  std::string text() const;
};
using CommPtr = std::shared_ptr<Comm>;

struct Item {
  MPI_Request request = MPI_REQUEST_NULL;
  std::function<void(const MPI_Status*)> done;  // null: the status is not known
  bool persistent = false;                      // freed when it is done
};

// Requests of one step, in this rank; all ranks have the bundle, some of them an empty one.
struct Bundle {
  int comm = 0;
  bool collective = false;
  std::vector<Item> items;
};

struct Quirks {
  bool mpich = false, intel = false, ompi = false;
  bool persistent_collectives = false;
};
extern Quirks g_quirks;
extern bool g_threads;

class Program {
 public:
  Program(uint64_t seed, int thread, MPI_Comm all);
  void run();

  uint64_t seed;
  int thread, rank = 0, size = 0, step = 0;
  MPI_Comm all;
  std::vector<CommPtr> comms;
  std::vector<Bundle> bundles;
  std::vector<std::shared_ptr<void>> kept;  // until the end, when all has been received
  Digest digest;                            // of this step
  Random noise;                             // this rank's own choices
  Random pauses;                            // for pauses between calls
  int next_id = 0, next_tag = 100;

  // A communicator of those that `fits`; null: there is none.
  CommPtr pick(Random* draw, const std::function<bool(const Comm&)>& fits);
  // Records where this rank is, to be shown if the program hangs.
  void say(const std::string& text) const;
  // Perhaps waits for a while between two calls.
  void pause();
  // After a call that must succeed: digests another code. Perhaps pauses.
  void ok(int code);
  int tag();  // that no other message has
  uint64_t label(uint64_t number) const {
    return mix(seed * 1000 + static_cast<uint64_t>(step), number);
  }

  // Digests a status; that of a probe without the cancelled flag.
  void note(uint64_t label, const MPI_Status& status, MPI_Datatype type, bool of_probe = false);
  // How this rank completes requests.
  test::How how(bool persistent);
  void finish(std::vector<Item> items);
  // Keeps requests pending, or completes them.
  void leave(Bundle bundle, bool pending);
  // Completes what is pending on a communicator, or only its collectives.
  void finish_of(int comm, bool collectives = false);

 private:
  void end();
};

struct Step {
  const char* name;
  int weight;
  void (*run)(Program*, Random*);
};
// The steps of each file.
extern const std::vector<Step> kCommSteps, kCollectiveSteps, kMessageSteps, kExchangeSteps,
    kRequestSteps, kErrorSteps, kCallbackSteps;

// steps/collectives.cpp and steps/comms.cpp: shared by steps.
void collective_on(Program* p, Random* draw, const CommPtr& comm);
CommPtr add_comm(Program* p, std::vector<int> group);
void drop_comm(Program* p, const CommPtr& comm, bool disconnect);
std::vector<int> draw_subset(Random* draw, const std::vector<int>& of, size_t least);

// ---- around programs ---------------------------------------------------------------------------

extern Page* g_page;
extern int g_pauses;   // per thousand calls
extern int g_refused;  // one in so many of lacuna's allocations fails; 0: none
extern bool g_verbose;
extern int64_t g_planted_digest;  // a planted fault: goes into the next digest, and is then cleared
void log_line(const std::string& line);
void refuse_memory(bool on);
bool is_without(const std::string& step);
bool is_left_out(int step);
// Called after MPI_Finalize.
extern std::vector<std::function<void(Digest*)>> g_at_end;

}  // namespace chaos

#endif  // LACUNA_TESTS_CHAOS_CHAOS_HPP_
