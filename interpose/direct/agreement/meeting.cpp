// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/agreement/meeting.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>

namespace lacuna::direct {
namespace {

using Clock = Meeting::Clock;

// The same in all builds of lacuna, so that other programs are recognised, and other builds can be
// refused afterwards.
struct Hello {
  char name[8];
  int32_t rank;
};
constexpr char kName[sizeof(Hello::name) + 1] = "lacuna 1";

struct Place {
  int32_t place;
};

int64_t seconds_of(Clock::duration time) noexcept {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

sockaddr_un address_of(uint64_t job, socklen_t* length) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int chars =
      std::snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "lacuna-%u-%016llx",
                    static_cast<unsigned>(geteuid()), static_cast<unsigned long long>(job));
  *length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(chars));
  return address;
}

// Moves the socket above descriptor 2: a program may write to its standard streams although it has
// closed them.
int above_standard_streams(int socket) noexcept {
  if (socket < 0 || socket > STDERR_FILENO) return socket;
  const int other = fcntl(socket, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(socket);
  return other;
}

// Process id at the other end, if it belongs to the same user; else 0.
int32_t pid_behind(int socket) noexcept {
  ucred peer{};
  socklen_t length = sizeof(peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return 0;
  return peer.uid == geteuid() ? std::max<int32_t>(peer.pid, 1) : 0;
}

// Whether something has happened at one of the sockets before the limit.
bool wait_until(Clock::time_point limit, pollfd* sockets, int count) noexcept {
  for (;;) {
    const auto left = limit - Clock::now();
    if (left <= Clock::duration::zero()) return false;
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(left).count() + 1;
    const int found =
        poll(sockets, static_cast<nfds_t>(count), static_cast<int>(std::min<int64_t>(ms, 1 << 20)));
    if (found > 0) return true;
    if (found < 0 && errno != EINTR) return false;
  }
}

enum class Got : uint8_t { kAll, kNothing, kEnd };

Got take(int socket, void* data, size_t bytes) noexcept {
  ssize_t got = 0;
  do {
    got = recv(socket, data, bytes, MSG_TRUNC);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Got::kNothing;
  return got == static_cast<ssize_t>(bytes) ? Got::kAll : Got::kEnd;
}

// The system refuses messages that are larger than the socket's send buffer (net.core.wmem_default,
// of at least 4608 bytes). So more than this is sent as several messages. A node of 512 ranks has
// 36 KiB of cards.
constexpr size_t kMostInMessage = 4 << 10;

bool take_within(Clock::time_point limit, int socket, void* data, size_t bytes) noexcept {
  for (size_t done = 0; done < bytes;) {
    const size_t part = std::min(bytes - done, kMostInMessage);
    const Got got = take(socket, static_cast<std::byte*>(data) + done, part);
    if (got == Got::kEnd) return false;
    pollfd there{socket, POLLIN, 0};
    if (got == Got::kAll)
      done += part;
    else if (!wait_until(limit, &there, 1))
      return false;
  }
  return true;
}

// False: the other end is closed. Waits while its buffer is full.
bool give(int socket, const void* data, size_t bytes) noexcept {
  for (size_t done = 0; done < bytes;) {
    const size_t part = std::min(bytes - done, kMostInMessage);
    const ssize_t sent =
        send(socket, static_cast<const std::byte*>(data) + done, part, MSG_NOSIGNAL);
    if (sent >= 0) {
      done += part;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd there{socket, POLLOUT, 0};
      poll(&there, 1, -1);
    } else if (errno == ENOBUFS || errno == ENOMEM) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace

Meeting::Meeting(const Rules& rules) : rules_(rules), guests_(rules.ranks) {}

Meeting::~Meeting() { end(); }

void Meeting::end() noexcept {
  for (int i = 0; i < count_; ++i) {
    if (guests_.data()[i].socket >= 0) close(guests_.data()[i].socket);
  }
  for (int i = 0; i < silent_count_; ++i) close(silent_[i].socket);
  count_ = silent_count_ = 0;
  for (int* socket : {&listener_, &host_}) {
    if (*socket >= 0) close(*socket);
    *socket = -1;
  }
}

bool Meeting::begin() noexcept {
  const bool all = find_others() && (listener_ >= 0 ? receive_guests() : request_index());
  if (!all) end();
  return all;
}

bool Meeting::find_others() noexcept {
  socklen_t length = 0;
  const sockaddr_un address = address_of(rules_.job, &length);
  const auto* const name = reinterpret_cast<const sockaddr*>(&address);
  for (const auto limit = Clock::now() + rules_.limit; Clock::now() < limit;) {
    const int made =
        above_standard_streams(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (made < 0) return false;
    if (bind(made, name, length) == 0) {
      listener_ = made;
      return listen(made, rules_.ranks) == 0;
    }
    if (errno == EADDRINUSE && connect(made, name, length) == 0) {
      host_ = made;
      host_pid_ = pid_behind(made);
      return host_pid_ != 0;
    }
    // The host does not listen yet, or has just left, or its queue is full.
    const bool may_come = errno == ECONNREFUSED || errno == EAGAIN || errno == EINTR;
    close(made);
    if (!may_come) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  char sentence[200];
  std::snprintf(
      sentence, sizeof(sentence),
      "shared-memory path off: the process that leads the agreement of this node's ranks in "
      "MPI_Init does not answer within %lld s",
      static_cast<long long>(seconds_of(rules_.limit)));
  rules_.report(sentence);
  return false;
}

// False: there can be no more guests.
bool Meeting::accept_guest() noexcept {
  const int came =
      above_standard_streams(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (came < 0) return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
  const int32_t pid = pid_behind(came);
  if (pid == 0)
    close(came);
  else
    silent_[silent_count_++] = {came, 0, pid};
  return true;
}

void Meeting::read_guest(Guest* guest) noexcept {
  Hello hello{};
  const Got got = take(guest->socket, &hello, sizeof(hello));
  if (got == Got::kNothing) return;
  guest->rank = hello.rank;
  if (got == Got::kAll && std::memcmp(hello.name, kName, sizeof(hello.name)) == 0)
    guests_.data()[count_++] = *guest;
  else
    close(guest->socket);
  *guest = silent_[--silent_count_];
}

// A guest may be stopped before it says who it is, or be a stranger that never does. So all are
// waited for at once. False: the time limit is over.
bool Meeting::wait_for_guest(Clock::time_point limit) noexcept {
  pollfd polled[kMostSilent + 1];
  for (int i = 0; i < silent_count_; ++i) polled[i] = {silent_[i].socket, POLLIN, 0};
  // If there is no place for another one, it stays in the listener's queue.
  const bool has_place = silent_count_ < kMostSilent;
  if (has_place) polled[silent_count_] = {listener_, POLLIN, 0};
  if (!wait_until(limit, polled, silent_count_ + (has_place ? 1 : 0))) return false;
  for (int i = 0; i < silent_count_; ++i) {
    if (polled[i].revents == 0) continue;
    read_guest(&silent_[i]);
    return true;
  }
  return accept_guest();
}

bool Meeting::receive_guests() noexcept {
  const auto limit = Clock::now() + rules_.limit;
  guests_.data()[count_++] = {-1, rules_.rank, static_cast<int32_t>(getpid())};
  while (count_ < rules_.ranks) {
    if (wait_for_guest(limit)) continue;
    report_who_came();
    return false;
  }
  while (silent_count_ > 0) close(silent_[--silent_count_].socket);
  close(listener_);
  listener_ = -1;
  Guest* const begin = guests_.data();
  Guest* const end = begin + count_;
  std::sort(begin, end, [](const Guest& a, const Guest& b) { return a.rank < b.rank; });
  for (const Guest* guest = begin; guest != end; ++guest) {
    if (guest != begin && guest->rank == guest[-1].rank) return false;  // no such job
    const Place place{static_cast<int32_t>(guest - begin)};
    if (guest->socket < 0)
      index_ = place.place;
    else if (!give(guest->socket, &place, sizeof(place)))
      return false;
  }
  return true;
}

bool Meeting::request_index() noexcept {
  Hello hello{};
  std::memcpy(hello.name, kName, sizeof(hello.name));
  hello.rank = rules_.rank;
  Place place{};
  if (!give(host_, &hello, sizeof(hello)) || !wait_for_host(&place, sizeof(place))) return false;
  index_ = place.place;
  return true;
}

// Waits as long as the host lives. Only the host decides, so a guest has no time limit of its own.
bool Meeting::wait_for_host(void* data, size_t bytes) noexcept {
  auto report_after = 2 * rules_.limit;
  for (const auto begin = Clock::now();; report_after *= 2) {
    if (take_within(begin + report_after, host_, data, bytes)) return true;
    if (Clock::now() < begin + report_after) return false;  // it has left
    char sentence[200];
    std::snprintf(
        sentence, sizeof(sentence),
        "shared-memory path: waiting in MPI_Init for %lld s for process %d, which leads "
        "the agreement of this node's ranks; remedy: check whether it is stopped (`lacuna doctor "
        "%d`)",
        static_cast<long long>(seconds_of(report_after)), host_pid_, host_pid_);
    rules_.report(sentence);
  }
}

bool Meeting::exchange(const void* own, void* all, size_t bytes) noexcept {
  const auto whole = bytes * static_cast<size_t>(rules_.ranks);
  auto* const gathered = static_cast<std::byte*>(all);
  if (host_ >= 0) return give(host_, own, bytes) && wait_for_host(all, whole);
  const auto limit = Clock::now() + rules_.limit;
  for (int i = 0; i < count_; ++i) {
    const Guest& guest = guests_.data()[i];
    std::byte* const to = gathered + static_cast<size_t>(i) * bytes;
    if (guest.socket < 0) {
      std::memcpy(to, own, bytes);
    } else if (!take_within(limit, guest.socket, to, bytes)) {
      if (Clock::now() >= limit) report_who_is_silent(guest);
      end();
      return false;
    }
  }
  // All answers are here, so the result is final. A rank that has died in the meantime cannot
  // change it.
  return tell(all, whole);
}

bool Meeting::tell(void* data, size_t bytes) noexcept {
  if (host_ >= 0) return wait_for_host(data, bytes);
  for (int i = 0; i < count_; ++i) {
    if (guests_.data()[i].socket >= 0) give(guests_.data()[i].socket, data, bytes);
  }
  return count_ > 0;
}

void Meeting::report_who_is_silent(const Guest& guest) noexcept {
  char sentence[200];
  std::snprintf(sentence, sizeof(sentence),
                "shared-memory path off: rank %d (process %d) did not answer in MPI_Init within "
                "%lld s; remedy: check whether it is stopped, or increase LACUNA_DIRECT_WAIT",
                guest.rank, guest.pid, static_cast<long long>(seconds_of(rules_.limit)));
  rules_.report(sentence);
}

void Meeting::report_who_came() noexcept {
  char who[120] = "";
  size_t length = 0;
  for (int i = 0; i < count_ && length + 16 < sizeof(who); ++i) {
    length += static_cast<size_t>(std::snprintf(who + length, sizeof(who) - length, "%s%d",
                                                i > 0 ? ", " : "", guests_.data()[i].rank));
  }
  char silent[80] = "";
  if (silent_count_ > 0) {
    std::snprintf(silent, sizeof(silent), "; process %d has sent nothing, it may be stopped",
                  silent_[0].pid);
  }
  char sentence[480];
  std::snprintf(sentence, sizeof(sentence),
                "shared-memory path off: of %d ranks on this node only %d answered in MPI_Init "
                "within %lld s (ranks %s%s); remedy: start all of them with lacuna, or set "
                "LACUNA_DIRECT=0, or increase LACUNA_DIRECT_WAIT",
                rules_.ranks, count_, static_cast<long long>(seconds_of(rules_.limit)), who,
                silent);
  rules_.report(sentence);
}

}  // namespace lacuna::direct
