// A job without a runtime: PEs in one process, heaps of plain memory, device states filled by
// hand. Tests of the device API choose with it which way a peer is reached, how small the ring is
// and when waits give up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include <weft/device/handle.hpp>

#include <weft/dev/journal.hpp>
#include <weft/dev/state.hpp>

#include "tests/device/late_proxy.hpp"
#include "tests/device/shared_memory.hpp"

namespace weft::test {

struct JobOptions {
  int npes = 2;
  bool mapped = true;  // peers are mapped; else all but nobody is, not even the PE itself
  std::size_t heap_bytes = std::size_t{1} << 20;
  std::uint64_t ring_capacity = 8;
  std::uint64_t deadline_ns = 60'000'000'000;
  bool check = false;
  bool packs = false;  // where peers are mapped: small messages of collectives go packed
  bool proxy = true;   // false: nobody serves the rings
  std::uint64_t seed = 1;
};

class DeviceJob {
 public:
  explicit DeviceJob(const JobOptions& options) : options_(options) {
    for (int pe = 0; pe < options.npes; ++pe) pes_.push_back(std::make_unique<Pe>(options, pe));
    for (int pe = 0; pe < options.npes; ++pe) wire(pe);
    used_ = 64;  // offset 0 means "off" for the journal
    if (options.check) {
      for (auto& pe : pes_) pe->words().state.journal_offset = used_;
      used_ += dev::kJournalBytes;
    }
  }

  // The same offset on every PE; zeroed.
  template <class T>
  std::uint64_t allocate(std::size_t count, std::size_t align = 64) {
    used_ = (used_ + align - 1) / align * align;
    const std::uint64_t offset = used_;
    used_ += count * sizeof(T);
    if (used_ > options_.heap_bytes) throw std::bad_alloc();
    return offset;
  }
  template <class T>
  T* at(int pe, std::uint64_t offset) {
    return reinterpret_cast<T*>(heap(pe) + offset);
  }
  std::byte* heap(int pe) { return pes_[static_cast<std::size_t>(pe)]->heap.data(); }
  DeviceContext handle(int pe) { return pes_[static_cast<std::size_t>(pe)]->handle; }
  TeamBlocks& teams(int pe) { return pes_[static_cast<std::size_t>(pe)]->handle.teams; }
  DeviceState& state(int pe) { return pes_[static_cast<std::size_t>(pe)]->words().state; }
  // Starts the proxies of a job that was made without.
  void start_proxies() {
    for (auto& pe : pes_) start_proxy(*pe);
  }
  void stop_proxies() {
    for (auto& pe : pes_) pe->proxy.reset();
  }
  int npes() const { return options_.npes; }
  const JobOptions& options() const { return options_; }
  bool take_fault(int pe, FaultRecord* out) {
    return test::take_fault(pes_[static_cast<std::size_t>(pe)]->words().fault, out);
  }

 private:
  // The single words that kernels and the proxy share, and what tells kernels where the rest is.
  struct Words {
    RingTickets tickets;
    std::uint64_t consumed = 0, completed = 0, wanted = 0;
    FaultRecord fault;
    DeviceState state;
  };
  struct Pe {
    Pe(const JobOptions& o, int pe)
        : heap(o.heap_bytes, pe, o.mapped),
          slots(o.ring_capacity),
          results(o.ring_capacity),
          busy(o.ring_capacity),
          one(1) {}
    Words& words() { return one[0]; }

    HeapMemory heap;
    SharedVector<std::byte*> peers;
    SharedVector<Op> slots;
    SharedVector<std::uint64_t> results;
    SharedVector<std::uint32_t> busy;
    SharedVector<Words> one;
    DeviceContext handle;
    std::unique_ptr<LateProxy> proxy;
  };

  void wire(int number) {
    Pe& pe = *pes_[static_cast<std::size_t>(number)];
    Words& words = pe.words();
    DeviceState& state = words.state;
    for (auto& peer : pes_) pe.peers.push_back(options_.mapped ? peer->heap.data() : nullptr);
    state.pe = number;
    state.npes = options_.npes;
    state.heap = pe.heap.data();
    state.heap_bytes = options_.heap_bytes;
    state.peer = pe.peers.data();
    state.deadline_ns = options_.deadline_ns;
    state.fault = &words.fault;
    words.tickets.credit = options_.ring_capacity;
    state.ring[0] = {pe.slots.data(),  options_.ring_capacity, &words.tickets,    &words.consumed,
                     &words.completed, &words.wanted,          pe.results.data(), pe.busy.data()};
    pe.handle = {pe.heap.data(),
                 pe.peers.data(),
                 &state,
                 options_.heap_bytes,
                 number,
                 options_.npes,
                 0,
                 (options_.check ? kDeviceCheck : 0) | kDeviceRing,
                 {}};
    lie_in_a_row(pe.handle);
    if (options_.proxy) start_proxy(pe);
  }

  // The heaps of two PEs always do, so jobs of two need no table, and others need theirs.
  void lie_in_a_row(DeviceContext& handle) {
    if (options_.npes != 2 || !options_.mapped || options_.check) return;
    handle.plain_bytes = handle.heap_bytes;
    handle.to_first = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(heap(0)) -
                                                reinterpret_cast<std::uintptr_t>(handle.heap));
    handle.stride =
        reinterpret_cast<std::uintptr_t>(heap(1)) - reinterpret_cast<std::uintptr_t>(heap(0));
    handle.flags = 0;
  }

  void start_proxy(Pe& pe) {
    const DeviceState& state = pe.words().state;
    pe.proxy = std::make_unique<LateProxy>(
        state.ring[0], [this](std::uint32_t target) { return heap(static_cast<int>(target)); },
        options_.seed + static_cast<std::uint64_t>(state.pe));
    pe.proxy->start();
  }

  const JobOptions options_;
  std::vector<std::unique_ptr<Pe>> pes_;
  std::uint64_t used_ = 0;
};

}  // namespace weft::test
