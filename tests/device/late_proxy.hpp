// The host end of a job's rings and faults. Compiled for the CPU target even where kernels are a
// GPU's, as libweft is.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include <weft/dev/op.hpp>
#include <weft/dev/state.hpp>

namespace weft::test {

// As dev::take_fault.
bool take_fault(FaultRecord& record, FaultRecord* out);

// Serves one PE's ring, as cruel as the memory model allows: plain puts are held until somebody
// waits for completion or an operation behind a fence needs them there; signals, atomics and gets
// are drawn at random. Its thread is the proxy's.
class LateProxy {
 public:
  using HeapOf = std::function<std::byte*(std::uint32_t pe)>;

  LateProxy(const RingView& ring, HeapOf heap_of, std::uint64_t seed);
  ~LateProxy();

  void start();
  void stop();

 private:
  struct Pending {
    Op op;
    std::vector<std::byte> source;  // what was copied at post, unless it stays
    bool delivered = false;
  };

  bool step();
  bool take();
  bool deliver();
  void deliver_with_what_it_needs(std::size_t index);
  void apply(const Op& op);

  const RingView ring_;
  const HeapOf heap_of_;
  std::mt19937_64 random_;
  std::deque<Pending> pending_;
  std::uint64_t taken_ = 0;
  std::uint64_t completed_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace weft::test
