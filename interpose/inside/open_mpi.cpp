// SPDX-License-Identifier: BSD-3-Clause
//
// Stands before the functions of Open MPI's libopen-pal that prepare and position a convertor, and
// checks in MPI_Init that a convertor of the running library is what convertor.hpp says: by packing
// and unpacking a few numbers, and looking at each member before and after.
#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstring>
#include <string>
#include <string_view>

#include "base/options.hpp"
#include "interpose/inside/convertor.hpp"
#include "interpose/inside/inside.hpp"
#include "interpose/inside/proof.hpp"
#include "interpose/library/device.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/observe/log.hpp"

namespace lacuna::inside {
namespace {

using Prepare = int32_t (*)(void* convertor, const void* datatype, size_t count, const void* mem);

// The next function of this name. Where a program has loaded MPI late and privately, the search
// order does not show it, and the loaded libopen-pal is asked.
class OwnFunction {
 public:
  explicit constexpr OwnFunction(const char* name) noexcept : name_(name) {}

  template <typename Function>
  Function get() noexcept {
    void* found = found_.load(std::memory_order_acquire);
    if (found == nullptr) found = look();
    return reinterpret_cast<Function>(found);
  }

 private:
  static int open_if_it_is(dl_phdr_info* info, size_t, void* path) {
    const char* slash = std::strrchr(info->dlpi_name, '/');
    const char* name = slash != nullptr ? slash + 1 : info->dlpi_name;
    if (std::strncmp(name, "libopen-pal", 11) != 0) return 0;
    *static_cast<const char**>(path) = info->dlpi_name;
    return 1;
  }
  void* look() noexcept {
    void* found = dlsym(RTLD_NEXT, name_);
    if (found == nullptr) {
      const char* path = nullptr;  // the library stays loaded: it has just called us
      dl_iterate_phdr(open_if_it_is, &path);
      void* library = path != nullptr ? dlopen(path, RTLD_NOLOAD | RTLD_LAZY) : nullptr;
      if (library != nullptr) found = dlsym(library, name_);
    }
    found_.store(found, std::memory_order_release);
    return found;
  }

  const char* name_;
  std::atomic<void*> found_{nullptr};
};

constinit OwnFunction g_prepare_for_send{"opal_convertor_prepare_for_send"};
constinit OwnFunction g_prepare_for_recv{"opal_convertor_prepare_for_recv"};
constinit OwnFunction g_set_position{"opal_convertor_set_position_nocheck"};

constexpr int32_t kFailed = -1;  // OPAL_ERROR

int32_t own_set_position(void* convertor, size_t* position) {
  const auto own = g_set_position.get<SetPosition>();
  return own != nullptr ? own(convertor, position) : kFailed;
}

// While MPI_Init looks at how the library uses a convertor.
constinit std::atomic<Proof*> g_proof{nullptr};

// The library's convertor knows only the devices that it was built for. Of absolute addresses
// nothing is known.
bool is_on_device(const void* mem) noexcept {
  return is_watched(kDevices) && (mem == nullptr || may_be_on_device(mem));
}

// Before lacuna is inside, and in MPI_Init while it looks whether it can be.
template <Direction kWay>
int32_t prepare_outside(void* convertor, const void* datatype, size_t count, const void* mem) {
  const auto own =
      (kWay == Direction::kPack ? g_prepare_for_send : g_prepare_for_recv).get<Prepare>();
  if (own == nullptr) return kFailed;
  const int32_t code = own(convertor, datatype, count, mem);
  Proof* const proof = g_proof.load(std::memory_order_acquire);
  if (code == 0 && proof != nullptr) proof->prepared(convertor, kWay, datatype, count, mem);
  return code;
}

constinit Prepare g_own_prepare[2] = {};  // once lacuna is inside

__attribute__((noinline)) int32_t look(void* convertor, Direction way, const void* mem) noexcept {
  if (is_open(kInsideSwitch) && !is_on_device(mem)) take(convertor, way);
  return 0;
}

// Each contiguous message comes by here, too.
template <Direction kWay>
int32_t prepare(void* convertor, const void* datatype, size_t count, const void* mem) {
  const int32_t code = g_own_prepare[static_cast<size_t>(kWay)](convertor, datatype, count, mem);
  return code != 0 || is_left_to_library(convertor) ? code : look(convertor, kWay, mem);
}
int32_t set_any_position(void* convertor, size_t* position) {
  return set_position(convertor, position, own_set_position);
}

// What the exported functions call: those above, or, if lacuna stays outside, the library's.
constinit std::atomic<Prepare> g_send{prepare_outside<Direction::kPack>};
constinit std::atomic<Prepare> g_recv{prepare_outside<Direction::kUnpack>};
constinit std::atomic<SetPosition> g_position{set_any_position};

// The library has called both functions by now (prove()).
void go_inside() noexcept {
  g_own_prepare[static_cast<size_t>(Direction::kPack)] = g_prepare_for_send.get<Prepare>();
  g_own_prepare[static_cast<size_t>(Direction::kUnpack)] = g_prepare_for_recv.get<Prepare>();
  g_send.store(prepare<Direction::kPack>, std::memory_order_release);
  g_recv.store(prepare<Direction::kUnpack>, std::memory_order_release);
}

void stay_outside() noexcept {
  if (const auto own = g_prepare_for_send.get<Prepare>()) g_send.store(own);
  if (const auto own = g_prepare_for_recv.get<Prepare>()) g_recv.store(own);
  if (const auto own = g_set_position.get<SetPosition>()) g_position.store(own);
}

// For the time of one call.
class Watched {
 public:
  explicit Watched(Proof* proof) noexcept { g_proof.store(proof, std::memory_order_release); }
  ~Watched() { g_proof.store(nullptr, std::memory_order_release); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
};

struct OwnType {
  MPI_Datatype type = runtime().datatype_null;
  ~OwnType() {
    if (type != runtime().datatype_null) next_functions().MPI_Type_free(&type);
  }
};

// Gaps in each element: two of four numbers, three times. And gaps between elements alone.
bool make_types(OwnType* inner, OwnType* outer) noexcept {
  const Next& next = next_functions();
  const MPI_Datatype byte = runtime().byte;
  OwnType pair;
  const int lengths[] = {8, 8, 8};
  const MPI_Aint displacements[] = {0, 16, 32};
  if (next.MPI_Type_create_hindexed(3, lengths, displacements, byte, &inner->type) != MPI_SUCCESS ||
      next.MPI_Type_commit(&inner->type) != MPI_SUCCESS ||
      next.MPI_Type_contiguous(8, byte, &pair.type) != MPI_SUCCESS ||
      next.MPI_Type_create_resized(pair.type, 0, 16, &outer->type) != MPI_SUCCESS) {
    return false;
  }
  return next.MPI_Type_commit(&outer->type) == MPI_SUCCESS;
}

// Packs and unpacks with each of the types; null: all is as it must be.
const char* prove(const ConvertorLayout& layout) noexcept {
  const Next& next = next_functions();
  OwnType inner;
  OwnType outer;
  if (!make_types(&inner, &outer)) return "the library makes no types for it";
  for (const bool has_inner : {true, false}) {
    const MPI_Datatype type = has_inner ? inner.type : outer.type;
    for (const Direction way : {Direction::kPack, Direction::kUnpack}) {
      Proof proof(layout, own_set_position, way, handle_bits(type), has_inner);
      const Watched watched(&proof);
      int position = 0;
      if (way == Direction::kPack) {
        next.MPI_Pack(proof.mem(), Proof::kCount, type, proof.packed(), proof.bytes(), &position,
                      runtime().probe_comm);
      } else {
        next.MPI_Unpack(proof.packed(), proof.bytes(), &position, proof.mem(), Proof::kCount, type,
                        runtime().probe_comm);
      }
      if (const char* why = proof.failure()) return why;
      g_convertors.own_advance[static_cast<size_t>(way)][has_inner ? 0 : 1] = proof.own_advance();
    }
  }
  return nullptr;
}

void complain(Direction way, uintptr_t) {
  if (!log_wanted()) return;
  log_line(way == Direction::kPack
               ? "inside: the library packs a type otherwise than lacuna; it goes on doing it"
               : "inside: the library unpacks a type otherwise than lacuna; it goes on doing it");
}

bool decline(std::string_view why) {
  if (log_wanted()) log_line(std::string("inside: off: ").append(why));
  return false;
}

}  // namespace

namespace {

bool begin() {
  if (!option_flag(OptionId::kInside)) return false;
  if (is_watched(kVerified)) return decline("LACUNA_VERIFY is set");
  std::string version(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
  int length = 0;
  next_functions().MPI_Get_library_version(version.data(), &length);
  const ConvertorLayout* layout = layout_of(version.c_str());
  if (layout == nullptr) return decline("this version of the MPI library is not known");
  if (const char* why = prove(*layout)) return decline(why);
  if (runtime().always) g_convertors.least_bytes = 1;
  g_complaint.store(complain, std::memory_order_release);
  g_convertors.layout.store(layout, std::memory_order_release);
  return true;
}

}  // namespace

bool start() {
  const bool is_inside = begin();
  is_inside ? go_inside() : stay_outside();
  return is_inside;
}

}  // namespace lacuna::inside

using namespace lacuna;
using namespace lacuna::inside;

extern "C" {

LACUNA_EXPORT int32_t opal_convertor_prepare_for_send(void* convertor, const void* datatype,
                                                      size_t count, const void* mem) {
  return g_send.load(std::memory_order_acquire)(convertor, datatype, count, mem);
}

LACUNA_EXPORT int32_t opal_convertor_prepare_for_recv(void* convertor, const void* datatype,
                                                      size_t count, const void* mem) {
  return g_recv.load(std::memory_order_acquire)(convertor, datatype, count, mem);
}

LACUNA_EXPORT int32_t opal_convertor_set_position_nocheck(void* convertor, size_t* position) {
  return g_position.load(std::memory_order_acquire)(convertor, position);
}

}  // extern "C"
