// SPDX-License-Identifier: BSD-3-Clause
#include "bench/apps/ways/way.hpp"

#include <cstring>

#include "bench/apps/ways/calls.hpp"

namespace lacuna::bench {
namespace {

constexpr int kTag = 1;

// Two partners: the even rank sends first, the odd one sends back what it has.
class PairWay : public Way {
 public:
  explicit PairWay(const Message& message)
      : m_(message),
        bytes_(int(problem().packed_bytes())),
        aside_(message.receives_packed ? size_t(bytes_) : 0) {}

  void round(Phases* phases) override {
    if (is_first()) send(phases);
    receive(phases);
    if (!is_first()) send(phases);
  }

  std::string verify() override {
    // The bytes differ between the sides and between the two messages, so that an old message
    // cannot be taken for a new one.
    const std::string wrong = verify_one_way(is_first(), 1);
    const std::string wrong_back = verify_one_way(!is_first(), 3);
    return wrong.empty() ? wrong_back : wrong;
  }

 protected:
  virtual void send(Phases* phases) = 0;
  virtual void receive(Phases* phases) = 0;
  // Whether the received data are those of memory filled with one salt, and everything else is of
  // the other.
  virtual std::string check(unsigned data_salt, unsigned rest_salt) const {
    if (m_.receives_packed) return problem().check_packed(data_salt);
    if (m_.partners != nullptr) return problem().check_arrived(*m_.partners, data_salt);
    return problem().check_moved(data_salt, rest_salt);
  }

  const Message& message() const { return m_; }
  const Problem& problem() const { return *m_.problem; }
  int bytes() const { return bytes_; }
  // The buffer for packed data to send: not the receive buffer, if the program keeps that.
  std::byte* outgoing() const {
    return m_.receives_packed && aside_.data() != nullptr ? aside_.data() : problem().packed();
  }
  int partner() const { return m_.partner; }
  bool is_first() const { return m_.rank % 2 == 0; }

  void send_bytes(const void* data, MPI_Datatype type) const {
    calls::send(data, bytes_, calls::handle_of(type), m_.partner, kTag);
  }
  void receive_bytes(void* data, MPI_Datatype type) const {
    calls::receive(data, bytes_, calls::handle_of(type), m_.partner, kTag);
  }

 private:
  std::string verify_one_way(bool is_sender, unsigned salt) {
    problem().fill_memory(is_sender ? salt : salt + 1);
    problem().fill_packed(salt + 1);
    if (is_sender) {
      send(nullptr);
      return "";
    }
    receive(nullptr);
    return check(salt, salt + 1);
  }

  const Message& m_;
  int bytes_;
  Pages aside_;
};

// With a derived datatype.
class Derived : public PairWay {
 public:
  using PairWay::PairWay;
  void create() override {
    type_ = message().make();
    handle_ = calls::handle_of(type_);
    calls::commit(handle_);
  }
  void destroy() override { calls::free(handle_); }

 protected:
  void send(Phases*) override {
    calls::send(problem().buffer(), message().count, handle_, partner(), kTag);
  }
  void receive(Phases*) override {
    if (message().receives_packed) {
      calls::receive(problem().packed(), message().elements, calls::handle_of(message().element),
                     partner(), kTag);
    } else {
      calls::receive(problem().buffer(), message().count, handle_, partner(), kTag);
    }
  }
  MPI_Datatype type() const { return type_; }
  calls::Handle handle() const { return handle_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  calls::Handle handle_ = {};
};

// Packed and unpacked by MPI_Pack and MPI_Unpack.
class MpiPack : public Derived {
 public:
  using Derived::Derived;
  bool has_phases() const override { return true; }

 protected:
  void send(Phases* phases) override {
    Laps laps(phases);
    calls::pack(problem().buffer(), message().count, handle(), outgoing(), bytes());
    laps.end(&Phases::pack);
    send_bytes(outgoing(), MPI_PACKED);
    laps.end(&Phases::communicate);
  }
  void receive(Phases* phases) override {
    Laps laps(phases);
    receive_bytes(problem().packed(), MPI_PACKED);
    laps.end(&Phases::communicate);
    if (message().receives_packed) return;
    calls::unpack(problem().packed(), bytes(), problem().buffer(), message().count, handle());
    laps.end(&Phases::unpack);
  }
};

// Packed and unpacked by the application's own loops.
class ByHand : public PairWay {
 public:
  using PairWay::PairWay;
  bool has_phases() const override { return true; }

 protected:
  void send(Phases* phases) override {
    Laps laps(phases);
    message().app->pack(message().input, problem().buffer(), outgoing());
    laps.end(&Phases::pack);
    send_bytes(outgoing(), MPI_BYTE);
    laps.end(&Phases::communicate);
  }
  void receive(Phases* phases) override {
    Laps laps(phases);
    receive_bytes(problem().packed(), MPI_BYTE);
    laps.end(&Phases::communicate);
    if (message().receives_packed) return;
    message().app->unpack(message().input, problem().packed(), problem().buffer());
    laps.end(&Phases::unpack);
  }
};

// With a derived datatype that is made and freed for each message.
class Each : public Derived {
 public:
  using Derived::Derived;
  void create() override {}
  void destroy() override {}

 protected:
  void send(Phases* phases) override {
    with_type([&] { Derived::send(phases); });
  }
  void receive(Phases* phases) override {
    with_type([&] { Derived::receive(phases); });
  }

 private:
  template <class Call>
  void with_type(const Call& call) {
    Derived::create();
    call();
    Derived::destroy();
  }
};

// The application's own calls, compiled by lacuna-c++ (sites.hpp): with the type made and freed
// around all rounds, or, `kIsEach`, around each message.
template <bool kIsEach>
class Specialised : public PairWay {
 public:
  explicit Specialised(const Message& message) : PairWay(message) {
    ends_ = {problem().buffer(), partner(), is_first(), MPI_DATATYPE_NULL, 0, problem().packed()};
    if (!message.receives_packed) return;
    ends_.element = message.element;
    ends_.elements = message.elements;
  }
  std::string verify() override {
    const std::string wrong = PairWay::verify();
    if (kIsEach || !wrong.empty()) return wrong;
    problem().fill_memory(is_first() ? 5 : 6);
    rounds(1);
    return is_first() ? "" : check(5, 6);
  }
  double rounds(int count) override {
    if (kIsEach) return Way::rounds(count);
    return sites().exchange(message().input, ends_, count);
  }

 protected:
  void send(Phases*) override { sites().send(message().input, ends_); }
  void receive(Phases*) override { sites().receive(message().input, ends_); }

 private:
  const Sites& sites() const { return *message().specialised->sites; }
  Ends ends_ = {};
};

// As many bytes without gaps: the communication alone.
class Contiguous : public PairWay {
 public:
  using PairWay::PairWay;

 protected:
  void send(Phases*) override { send_bytes(problem().dense(), MPI_BYTE); }
  void receive(Phases*) override { receive_bytes(problem().dense(), MPI_BYTE); }
  std::string check(unsigned data_salt, unsigned) const override {
    return problem().check_dense(data_salt);
  }
};

// As many messages as there are elements of the type, one each.
class OneByOne : public Derived {
 public:
  using Derived::Derived;

 protected:
  void send(Phases*) override {
    for (int i = 0; i < message().count; ++i)
      MPI_Send(element(i), 1, type(), partner(), kTag, MPI_COMM_WORLD);
  }
  void receive(Phases*) override {
    for (int i = 0; i < message().count; ++i)
      MPI_Recv(element(i), 1, type(), partner(), kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }

 private:
  std::byte* element(int i) const {
    const Type& type = *problem().type();
    return problem().buffer() + i * (type.ub - type.lb);
  }
};

// A derived datatype in persistent requests, made with the type.
class Persistent : public Derived {
 public:
  using Derived::Derived;
  void create() override {
    Derived::create();
    MPI_Send_init(problem().buffer(), message().count, type(), partner(), kTag, MPI_COMM_WORLD,
                  &send_);
    MPI_Recv_init(problem().buffer(), message().count, type(), partner(), kTag, MPI_COMM_WORLD,
                  &receive_);
  }
  void destroy() override {
    MPI_Request_free(&send_);
    MPI_Request_free(&receive_);
    Derived::destroy();
  }

 protected:
  void send(Phases*) override { run(send_); }
  void receive(Phases*) override { run(receive_); }

 private:
  static void run(MPI_Request& request) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Request send_ = MPI_REQUEST_NULL;
  MPI_Request receive_ = MPI_REQUEST_NULL;
};

// Packing on rank 0 without a message.
class Alone : public Way {
 public:
  explicit Alone(const Message& message) : m_(message) {}
  int transfers() const override { return 1; }
  bool is_alone() const override { return true; }
  void round(Phases*) override {
    if (m_.rank == 0) pack();
  }
  std::string verify() override {
    m_.problem->fill_memory(1);
    m_.problem->fill_packed(2);
    round(nullptr);
    return m_.rank == 0 ? m_.problem->check_packed(1) : "";
  }

 protected:
  virtual void pack() = 0;
  const Message& m_;
};

class MpiPackAlone : public Alone {
 public:
  using Alone::Alone;
  void create() override {
    type_ = m_.make();
    MPI_Type_commit(&type_);
  }
  void destroy() override { MPI_Type_free(&type_); }

 protected:
  void pack() override {
    int position = 0;
    MPI_Pack(m_.problem->buffer(), m_.count, type_, m_.problem->packed(),
             int(m_.problem->packed_bytes()), &position, MPI_COMM_WORLD);
  }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

class ByHandAlone : public Alone {
 public:
  using Alone::Alone;

 protected:
  void pack() override { m_.app->pack(m_.input, m_.problem->buffer(), m_.problem->packed()); }
};

// A copy of as many bytes without gaps.
class CopyAlone : public Alone {
 public:
  using Alone::Alone;
  std::string verify() override { return ""; }

 protected:
  void pack() override {
    std::memcpy(m_.problem->packed(), m_.problem->dense(), size_t(m_.problem->packed_bytes()));
    // Keeps the compiler from removing the copy.
    asm volatile("" : : "r"(m_.problem->packed()) : "memory");
  }
};

template <class Made>
std::unique_ptr<Way> made(const Message& message) {
  return std::make_unique<Made>(message);
}

struct Named {
  const char* name;
  std::unique_ptr<Way> (*make)(const Message&);
  enum { kAny, kApp, kSpecialised } needs = kAny;
  bool is_for(const Message& message) const {
    if (needs == kSpecialised) return message.specialised != nullptr && message.count == 1;
    return needs == kAny || message.app != nullptr;
  }
};

constexpr Named kWays[] = {
    {"derived", made<Derived>},
    {"mpi_pack", made<MpiPack>},
    {"by_hand", made<ByHand>, Named::kApp},
    {"each", made<Each>},
    {"specialised", made<Specialised<false>>, Named::kSpecialised},
    {"specialised_each", made<Specialised<true>>, Named::kSpecialised},
    {"contiguous", made<Contiguous>},
    {"one_by_one", made<OneByOne>},
    {"persistent", made<Persistent>},
    {"mpi_pack_alone", made<MpiPackAlone>},
    {"by_hand_alone", made<ByHandAlone>, Named::kApp},
    {"copy_alone", made<CopyAlone>},
};

}  // namespace

std::unique_ptr<Way> make_way(const std::string& name, const Message& message) {
  if (message.fft != nullptr) return make_fft_way(name, *message.fft);
  if (message.graph != nullptr) return make_graph_way(name, *message.graph);
  if (message.grid != nullptr) return make_grid_way(name, *message.grid);
  for (const Named& way : kWays) {
    if (name == way.name && way.is_for(message)) return way.make(message);
  }
  if (auto way = make_cache_way(name, message)) return way;
  if (message.received == nullptr) return nullptr;
  if (auto way = make_overlap_way(name, message)) return way;
  return make_one_sided_way(name, message);
}

}  // namespace lacuna::bench
