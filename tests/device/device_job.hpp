// A job without a runtime: PEs in one process, heaps of plain memory, device states filled by
// hand. Tests of the device API choose with it which way a peer is reached, how small the ring is
// and when waits give up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <weft/device/handle.hpp>

#include <weft/dev/journal.hpp>
#include <weft/dev/state.hpp>

#include "tests/device/late_proxy.hpp"

namespace weft::test {

struct JobOptions {
  int npes = 2;
  bool mapped = true;  // peers are mapped; else all but nobody is, not even the PE itself
  std::size_t heap_bytes = std::size_t{1} << 20;
  std::uint64_t ring_capacity = 8;
  std::uint64_t deadline_ns = 60'000'000'000;
  bool check = false;
  bool proxy = true;  // false: nobody serves the rings
  std::uint64_t seed = 1;
};

class DeviceJob {
 public:
  explicit DeviceJob(const JobOptions& options) : options_(options) {
    for (int pe = 0; pe < options.npes; ++pe) pes_.push_back(std::make_unique<Pe>(options));
    for (int pe = 0; pe < options.npes; ++pe) wire(pe);
    used_ = 64;  // offset 0 means "off" for the journal
    if (options.check) {
      for (auto& pe : pes_) pe->state.journal_offset = used_;
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
  std::byte* heap(int pe) { return pes_[static_cast<std::size_t>(pe)]->heap(); }
  DeviceContext handle(int pe) { return pes_[static_cast<std::size_t>(pe)]->handle; }
  DeviceState& state(int pe) { return pes_[static_cast<std::size_t>(pe)]->state; }
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
    return dev::take_fault(pes_[static_cast<std::size_t>(pe)]->fault, out);
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64] = {};
  };
  struct Pe {
    explicit Pe(const JobOptions& o)
        : lines(o.heap_bytes / sizeof(Line) + 1),
          slots(o.ring_capacity),
          results(o.ring_capacity),
          busy(o.ring_capacity) {}
    std::byte* heap() { return lines.data()->bytes; }

    std::vector<Line> lines;
    std::vector<std::byte*> peers;
    std::vector<Op> slots;
    std::vector<std::uint64_t> results;
    std::vector<std::uint32_t> busy;
    std::uint64_t head = 0, consumed = 0, completed = 0, wanted = 0;
    FaultRecord fault;
    DeviceState state;
    DeviceContext handle;
    std::unique_ptr<LateProxy> proxy;
  };

  void wire(int number) {
    Pe& pe = *pes_[static_cast<std::size_t>(number)];
    for (auto& peer : pes_) pe.peers.push_back(options_.mapped ? peer->heap() : nullptr);
    pe.state.pe = number;
    pe.state.npes = options_.npes;
    pe.state.heap = pe.heap();
    pe.state.heap_bytes = options_.heap_bytes;
    pe.state.peer = pe.peers.data();
    pe.state.deadline_ns = options_.deadline_ns;
    pe.state.fault = &pe.fault;
    pe.state.ring[0] = {pe.slots.data(),   options_.ring_capacity, &pe.head,
                        &pe.consumed,      &pe.completed,          &pe.wanted,
                        pe.results.data(), pe.busy.data()};
    pe.handle = {pe.heap(), pe.peers.data(), &pe.state, options_.heap_bytes,
                 number,    options_.npes,   0,         options_.check ? kDeviceCheck : 0};
    if (options_.proxy) start_proxy(pe);
  }

  void start_proxy(Pe& pe) {
    pe.proxy = std::make_unique<LateProxy>(
        pe.state.ring[0], [this](std::uint32_t target) { return heap(static_cast<int>(target)); },
        options_.seed + static_cast<std::uint64_t>(pe.state.pe));
    pe.proxy->start();
  }

  const JobOptions options_;
  std::vector<std::unique_ptr<Pe>> pes_;
  std::uint64_t used_ = 0;
};

}  // namespace weft::test
