// The Port of dev/team_member.hpp over a host context: plain loads and stores where a peer is
// mapped, the context's slow path else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include <weft/dev/team_block.hpp>
#include <weft/status.hpp>
#include <weft/types.hpp>

#include "host/context/check.hpp"
#include "host/context/impl.hpp"
#include "host/context/waiter.hpp"
#include "host/transport/apply.hpp"
#include "src/base/status.hpp"

namespace weft {

// A host thread calls alone.
struct HostThread {
  int rank() const { return 0; }
  int size() const { return 1; }
  void sync() const {}
  bool all(bool mine) const { return mine; }
};

// Puts and gets keep the first failure; the next wait then fails without waiting. If threads
// share a context, each of them in a collective has a port, for another team; what goes beyond
// mapped memory takes turns.
class ContextPort {
 public:
  using Thread = HostThread;
  using Passed = ContextPort&;
  static constexpr bool kPacks = false;
  static constexpr bool kSpansHosts = true;

  ContextPort(Context::Impl& context, const char* routine)
      : c_(context),
        heap_(context.job->heap->range().base),
        routine_(routine),
        failures_(context.failures) {}

  Status take_status() {
    if (status_.is_ok() && c_.failures != failures_) [[unlikely]]
      keep(c_.latest_failure());
    return std::move(status_);
  }
  std::uint64_t signals() const { return signals_; }  // that were posted

  TeamLayout layout() const { return team_layout(c_.job->teams, c_.npes); }
  std::byte* block(int team_id) const { return heap_ + team_block_offset(c_.job->teams, team_id); }
  template <class T>
  T* direct(T* mine, int pe) const {
    std::byte* const peer = c_.mapped(pe);
    return peer == nullptr ? nullptr : user_at(peer, mine);
  }

  bool pulls(std::size_t bytes) const { return bytes > c_.job->teams.pushed_bytes; }

  void put(HostThread, void* dst, const void* src, std::size_t bytes, int pe, Notify notify) {
    std::byte* const peer = c_.direct(pe);
    if (peer == nullptr) [[unlikely]] {
      const auto alone = c_.turn();
      return keep(c_.put(dst, src, bytes, pe, notify, Done::kLocal));
    }
    if (bytes != 0) std::memcpy(user_at(peer, static_cast<std::byte*>(dst)), src, bytes);
    if (notify.op != NotifyOp::kNone) notify_at(at(peer, notify.signal), notify.op, notify.value);
  }
  void get_nbi(HostThread, void* dst, const void* src, std::size_t bytes, int pe) {
    const auto alone = c_.turn();
    keep(c_.get(dst, src, bytes, pe, Done::kLater));
  }
  // Release: pairs with the acquire in wait().
  void signal(std::uint64_t* word, std::uint64_t value, int pe) {
    std::byte* const peer = c_.direct(pe);
    if (peer == nullptr) [[unlikely]] {
      ++signals_;
      const auto alone = c_.turn();
      return keep(c_.put(nullptr, nullptr, 0, pe, set(word, value), Done::kLocal));
    }
    __atomic_store_n(at(peer, word), value, __ATOMIC_RELEASE);
  }
  bool wait(const std::uint64_t* word, std::uint64_t value, int pe) {
    return wait_at(word, word, value, pe);
  }
  bool wait_there(const std::uint64_t* word, std::uint64_t value, int pe) {
    return wait_at(at(c_.mapped(pe), word), word, value, pe);
  }
  // Stores that went straight to memory are ordered by the release of the signal that follows.
  void fence(HostThread) {
    if (!c_.unfenced) return;
    const auto alone = c_.turn();
    keep(c_.fence(kAllPes));
  }
  void quiet(HostThread) {
    if (!c_.posted) return;
    const auto alone = c_.turn();
    keep(c_.quiet(Context::Impl::kAnyPe));
  }
  void copy(HostThread, void* dst, const void* src, std::size_t bytes) {
    if (bytes != 0 && dst != src) std::memcpy(dst, src, bytes);
  }
  // kTooManyBytes: of all members, since that is what they are together or what one of them says.
  bool fits(const void* mine, std::size_t bytes) {
    if (bytes == kTooManyBytes)
      keep(Status::error(Code::kOutOfRange,
                         fmt::format("{}: what the members bring does not fit in {} bits; or a "
                                     "member's arguments are wrong, as it says itself",
                                     caller_or(routine_), 8 * sizeof(bytes))));
    else if (bytes != 0)
      keep(check_symmetric(*c_.heap, routine_, "dst", mine, bytes, c_.checks).status());
    return status_.is_ok();
  }

 private:
  // The user's memory: in the heap, or adopted.
  template <class T>
  T* user_at(std::byte* peer, T* mine) const {
    return reinterpret_cast<T*>(peer + c_.heap->try_offset(mine, 0));
  }
  // A team's block.
  template <class T>
  T* at(std::byte* peer, T* mine) const {
    const auto offset = reinterpret_cast<const std::byte*>(mine) - heap_;
    return reinterpret_cast<T*>(peer + offset);
  }
  // Acquire: pairs with the release of the signal, and of the notify of a put.
  static bool has_come(const std::uint64_t* copy, std::uint64_t value) {
    return __atomic_load_n(copy, __ATOMIC_ACQUIRE) >= value;
  }
  // `copy` is looked at; a report names the word by where it lies in every heap.
  bool wait_at(const std::uint64_t* copy, const std::uint64_t* word, std::uint64_t value, int pe) {
    if (!status_.is_ok()) return false;
    if (has_come(copy, value)) return true;
    return wait_long(copy, word, value, pe);
  }
  bool wait_long(const std::uint64_t* copy, const std::uint64_t* word, std::uint64_t value,
                 int pe) {
    keep(wait_for(
        *c_.job, &c_.queue, [&] { return has_come(copy, value); },
        [&] {
          return WaitFacts{.operation = routine_,
                           .peer = pe,
                           .word = word,
                           .holder = copy == word ? -1 : pe,
                           .seen = fmt::format("{}", __atomic_load_n(copy, __ATOMIC_RELAXED)),
                           .wanted = fmt::format(">= {}", value)};
        },
        c_.shared ? &c_.mutex : nullptr));
    return status_.is_ok();
  }
  void keep(Status status) {
    if (!status.is_ok() && status_.is_ok()) status_ = std::move(status);
  }

  Context::Impl& c_;
  std::byte* const heap_;
  const char* const routine_;
  const std::uint64_t failures_;  // of the context, when the call began
  std::uint64_t signals_ = 0;
  Status status_;
};

}  // namespace weft
