// A job in plain memory, for testing the collectives' algorithms without a runtime: PEs are
// threads (or groups of threads: a scope), heaps are vectors, and the network between them delivers
// as late and as out of order as the memory model allows.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include <weft/signal.hpp>
#include <weft/team.hpp>

#include <weft/dev/packed_member.hpp>
#include <weft/dev/team_block.hpp>

#include "host/team/hosts.hpp"

namespace weft::memory_job {

// One thread, or one of the threads of a PE.
struct OneThread {
  int rank() const { return 0; }
  int size() const { return 1; }
  void sync() const {}
  bool all(bool mine) const { return mine; }
};

struct StepBarrier {
  explicit StepBarrier(int threads) : size(threads) {}
  const int size;
  std::atomic<int> arrived{0};
  std::atomic<int> phase{0};
  std::atomic<int> against{0};
};

class Threads {
 public:
  Threads(StepBarrier& barrier, int rank) : barrier_(&barrier), rank_(rank) {}
  int rank() const { return rank_; }
  int size() const { return barrier_->size; }
  void sync() const {
    const int phase = barrier_->phase.load(std::memory_order_relaxed);
    if (barrier_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == barrier_->size) {
      barrier_->arrived.store(0, std::memory_order_relaxed);
      barrier_->phase.store(phase + 1, std::memory_order_release);
    } else {
      while (barrier_->phase.load(std::memory_order_acquire) == phase) std::this_thread::yield();
    }
  }
  bool all(bool mine) const {
    if (!mine) barrier_->against.fetch_add(1, std::memory_order_relaxed);
    sync();
    const bool all = barrier_->against.load(std::memory_order_relaxed) == 0;
    sync();
    if (rank_ == 0) barrier_->against.store(0, std::memory_order_relaxed);
    sync();
    return all;
  }

 private:
  StepBarrier* barrier_;
  int rank_;
};

// Messages under way. A message is held until some waiting thread happens to draw it; of one
// context and target, those before a fence are drawn before those after it. Nothing else is
// ordered.
class Network {
 public:
  explicit Network(std::uint64_t seed) : random_(seed) {}

  struct Message {
    int from = 0, to = 0, context = 0;
    std::uint64_t fences = 0;
    std::byte* dst = nullptr;
    std::vector<std::byte> bytes;
    std::uint64_t* word = nullptr;
    std::uint64_t value = 0;
  };

  void post(Message message) {
    std::lock_guard lock(mutex_);
    pending_.push_back(std::move(message));
  }
  // Delivers one message now and then.
  void progress() {
    std::lock_guard lock(mutex_);
    if (pending_.empty() || random_() % 2 == 0) return;
    deliver(random_() % pending_.size());
  }
  // Everything that `from` posted on `context` arrives.
  void quiet(int from, int context) {
    std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < pending_.size();)
      if (pending_[i].from == from && pending_[i].context == context && deliver(i))
        i = 0;
      else
        ++i;
  }

 private:
  bool deliver(std::size_t index) {
    const Message& chosen = pending_[index];
    for (const Message& other : pending_)
      if (other.from == chosen.from && other.to == chosen.to && other.context == chosen.context &&
          other.fences < chosen.fences)
        return false;
    if (!chosen.bytes.empty()) std::memcpy(chosen.dst, chosen.bytes.data(), chosen.bytes.size());
    if (chosen.word != nullptr) __atomic_store_n(chosen.word, chosen.value, __ATOMIC_RELEASE);
    pending_[index] = std::move(pending_.back());
    pending_.pop_back();
    return true;
  }

  std::mutex mutex_;
  std::vector<Message> pending_;
  std::mt19937_64 random_;
};

// Which peers a PE loads and stores directly; kHost: those of its host, of which there are several.
enum class Reach { kAll, kNone, kSome, kHost };

class Job {
 public:
  static constexpr int kMaxTeams = 8;

  Job(int npes, std::size_t buffer_bytes, Reach reach, std::uint64_t seed,
      std::size_t packed_bytes = 0)
      : npes(npes),
        reach(reach),
        network(seed),
        blocks(team_blocks(npes, kMaxTeams, 0, packed_bytes)),
        buffer_bytes_(buffer_bytes) {
    const std::size_t bytes = blocks.stride * kMaxTeams + 2 * buffer_bytes;
    for (int pe = 0; pe < npes; ++pe) heaps_.emplace_back(bytes / kCacheLine + 2);
    // A little before the flags of packed messages begin anew.
    for (int pe = 0; pe < npes; ++pe)
      for (int team = 0; team < kMaxTeams; ++team) {
        const auto block = heap(pe) + team_block_offset(blocks, team);
        auto* const header = reinterpret_cast<TeamHeader*>(block);
        header->packed = header->packed_synced = kPackedPeriod - 3;
      }
  }
  std::byte* heap(int pe) {
    return reinterpret_cast<std::byte*>(heaps_[static_cast<unsigned>(pe)].data());
  }
  // Two buffers behind the blocks.
  std::byte* buffers(int pe) { return heap(pe) + blocks.stride * kMaxTeams; }
  std::size_t buffer_bytes() const { return buffer_bytes_; }
  std::size_t heap_bytes() const { return heaps_[0].size() * kCacheLine; }
  bool direct(int from, int to) const {
    if (reach == Reach::kHost) return host_of[index(from)] == host_of[index(to)];
    return from == to || reach == Reach::kAll || (reach == Reach::kSome && (from + to) % 3 != 0);
  }
  // PEs go to hosts as they come, so that teams lie on them in every way.
  void place(int hosts, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int pe = 0; pe < npes; ++pe)
      host_of.push_back(static_cast<int>(random() % static_cast<std::uint64_t>(hosts)));
  }
  // The runtime writes the same into a member's block.
  void tell_hosts(const Team& team, int pe) {
    if (host_of.empty()) return;
    std::vector<int> of_rank;
    for (int rank = 0; rank < team.size; ++rank)
      of_rank.push_back(host_of[index(team.pe_of(rank))]);
    const auto words = team_hosts(of_rank, team.rank);
    std::memcpy(heap(pe) + team_block_offset(blocks, team.id) + team_layout(blocks, npes).hosts,
                words.data(), words.size() * sizeof(words[0]));
  }

  const int npes;
  const Reach reach;
  std::vector<int> host_of;  // empty: nobody looks at hosts
  Network network;
  const TeamBlocks blocks;
  std::chrono::milliseconds deadline{60000};

 private:
  static std::size_t index(int pe) { return static_cast<std::size_t>(pe); }
  struct alignas(kCacheLine) Line {
    std::byte bytes[kCacheLine] = {};
  };
  const std::size_t buffer_bytes_;
  std::vector<std::vector<Line>> heaps_;
};

// One thread's way to the peers. `context` separates ordering domains.
class MemoryPort {
 public:
  using Thread = OneThread;
  using Passed = const MemoryPort&;
  static constexpr bool kPacks = true;
  static constexpr bool kSpansHosts = true;

  MemoryPort(Job& job, int pe, int context) : job_(job), pe_(pe), context_(context) {}

  TeamLayout layout() const { return team_layout(job_.blocks, job_.npes); }
  std::byte* block(int team_id) const {
    return job_.heap(pe_) + team_block_offset(job_.blocks, team_id);
  }
  template <class T>
  T* direct(T* mine, int pe) const {
    return job_.direct(pe_, pe) ? at(mine, pe) : nullptr;
  }
  template <class T>
  T* there(T* in_block, int pe) const {
    return at(in_block, pe);
  }
  bool pulls(std::size_t bytes) const { return job_.reach == Reach::kAll && bytes > 300; }
  // A scope's leader talks to the network, as on the ring; direct stores are split up.
  template <class Scope>
  void put(const Scope& scope, void* dst, const void* src, std::size_t bytes, int pe,
           Notify notify) {
    scope.sync();
    if (job_.direct(pe_, pe)) {
      copy(scope, at(static_cast<std::byte*>(dst), pe), src, bytes);
      scope.sync();
      if (scope.rank() == 0 && notify.signal != nullptr) signal(notify.signal, notify.value, pe);
    } else if (scope.rank() == 0) {
      ++crossings;
      const auto* from = static_cast<const std::byte*>(src);
      post(pe, at(static_cast<std::byte*>(dst), pe), {from, from + bytes}, notify);
    }
    scope.sync();
  }
  template <class Scope>
  void get_nbi(const Scope& scope, void* dst, const void* src, std::size_t bytes, int pe) {
    scope.sync();
    copy(scope, dst, at(static_cast<const std::byte*>(src), pe), bytes);
  }
  void signal(std::uint64_t* word, std::uint64_t value, int pe) const {
    ++signals;
    if (!job_.direct(pe_, pe)) ++crossings;
    if (job_.direct(pe_, pe))
      __atomic_store_n(at(word, pe), value, __ATOMIC_RELEASE);
    else
      post(pe, nullptr, {}, set(word, value));
  }
  template <class Scope>
  bool make_ready(const Scope& scope, const Team& team, bool meets, bool wipes) const {
    return dev::make_packed_ready(*this, scope, team, meets, wipes, [&] {
      dev::TeamMember<const MemoryPort, Scope> m(*this, scope, team);
      return m.finish(m.sync());
    });
  }
  template <class Scope>
  void count_up(const Scope& scope, const Team& team) const {
    for (int distance = 1 + scope.rank(); distance < team.size; distance += scope.size()) {
      ++signals;
      const int to = team.pe_of(dev::wrapped(team.rank + distance, team.size));
      __atomic_fetch_add(at(count_of(team, distance), to), 1, __ATOMIC_RELEASE);
    }
  }
  template <class Scope>
  bool hear_counts(const Scope& scope, const Team& team, std::uint64_t epoch) const {
    bool ok = true;
    for (int distance = 1 + scope.rank(); ok && distance < team.size; distance += scope.size())
      ok = wait(count_of(team, distance), epoch, 0);
    return ok;
  }
  bool wait_there(const std::uint64_t* word, std::uint64_t value, int pe) {
    return wait(at(word, pe), value, pe);
  }
  bool wait(const std::uint64_t* word, std::uint64_t value, int) const {
    return wait([=] { return __atomic_load_n(word, __ATOMIC_ACQUIRE) >= value; });
  }
  bool wait_on(const dev::PackedRow& row) const {
    for (int k = 0; k < row.count; ++k) {
      if (wait([&] { return dev::has_flag(dev::platform::load_pair(row.words(k)), row.flag); }))
        continue;
      missed = row.pe(k);
      return false;
    }
    return true;
  }
  template <class Scope>
  void fence(const Scope& scope) {
    scope.sync();
    ++fences_;  // every thread keeps count, so it does not matter which one posts
    scope.sync();
  }
  template <class Scope>
  void quiet(const Scope& scope) {
    scope.sync();
    if (scope.rank() == 0) job_.network.quiet(pe_, context_);
    scope.sync();
  }
  template <class Scope>
  void copy(const Scope& scope, void* dst, const void* src, std::size_t bytes) {
    for (auto i = static_cast<std::size_t>(scope.rank()); i < bytes;
         i += static_cast<std::size_t>(scope.size()))
      static_cast<std::byte*>(dst)[i] = static_cast<const std::byte*>(src)[i];
  }
  bool fits(const void* mine, std::size_t bytes) const {
    const auto offset =
        static_cast<std::size_t>(static_cast<const std::byte*>(mine) - job_.heap(pe_));
    return offset <= job_.heap_bytes() && bytes <= job_.heap_bytes() - offset;
  }

  mutable int signals = 0;
  mutable int crossings = 0;  // messages to whom it does not load and store
  mutable int missed = -1;    // who a packed message did not come from

 private:
  // The word that the member `distance` ranks before me counts up.
  std::uint64_t* count_of(const Team& team, int distance) const {
    return reinterpret_cast<std::uint64_t*>(block(team.id) + layout().sync_word(0, distance - 1));
  }
  template <class Came>
  bool wait(Came came) const {
    const auto end = std::chrono::steady_clock::now() + job_.deadline;
    while (!came()) {
      if (std::chrono::steady_clock::now() > end) return false;
      job_.network.progress();
      std::this_thread::yield();
    }
    return true;
  }
  template <class T>
  T* at(T* mine, int pe) const {
    const auto offset = reinterpret_cast<const std::byte*>(mine) - job_.heap(pe_);
    return reinterpret_cast<T*>(job_.heap(pe) + offset);
  }
  void post(int pe, std::byte* dst, std::vector<std::byte> bytes, Notify notify) const {
    Network::Message message{pe_,     pe,          context_, fences_, dst, std::move(bytes),
                             nullptr, notify.value};
    if (notify.signal != nullptr) message.word = at(notify.signal, pe);
    job_.network.post(std::move(message));
  }

  Job& job_;
  int pe_;
  int context_;
  std::uint64_t fences_ = 0;
};

}  // namespace weft::memory_job
