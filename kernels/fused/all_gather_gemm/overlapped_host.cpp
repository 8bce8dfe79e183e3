// On host threads: one grid, of which the first blocks push, and the others multiply.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include <weft/device.hpp>
#include <weft/small_float.hpp>

#include "kernels/fused/all_gather_gemm/overlapped_target.hpp"
#include "kernels/fused/all_gather_gemm/push.hpp"
#include "kernels/gemm/host_gemm.hpp"

namespace weft::kernels::ag_gemm {
namespace {

// The rows that the GEMM reads, with a wait as the prologue wait of the GPU's kernels.
template <class T>
class GatheredRows {
 public:
  GatheredRows(const PushCall& call, std::uint64_t round)
      : ctx_(call.handle), g_(call.gather_buffer), round_(round), own_(call) {}

  const T* first_of(int segment, int row, int height) const {
    if (segment == g_.own) return reinterpret_cast<const T*>(own_.rows + row * own_.row_stride);
    whole_.resize(static_cast<std::size_t>(height * g_.parts) * g_.stride / sizeof(T));
    for (int part = 0; part < g_.parts; ++part) {
      for (int piece = row / kGatherRows; piece * kGatherRows < row + height; ++piece)
        wait(g_.flag_of(segment, part, piece));
      for (int i = 0; i < height; ++i)
        std::memcpy(reinterpret_cast<std::byte*>(whole_.data()) +
                        static_cast<std::size_t>(i * g_.parts + part) * g_.stride,
                    g_.row_of(round_, segment, part, row + i), g_.stride);
    }
    return whole_.data();
  }
  std::ptrdiff_t stride_of(int segment) const {
    const std::size_t gathered = static_cast<std::size_t>(g_.parts) * g_.stride;
    return static_cast<std::ptrdiff_t>((segment == g_.own ? own_.row_stride : gathered) /
                                       sizeof(T));
  }

 private:
  // The push waits for the same, with a deadline and a report: when it gives up, so does this.
  void wait(const std::uint64_t* flag) const {
    // Acquire: pairs with the release of the put that set it.
    while (!ctx_.test(flag, Cmp::kGe, round_) && ctx_.signal_fetch(g_.failed_round()) == 0)
      std::this_thread::yield();
  }

  const dev::Context ctx_;
  const AllGatherBuffer& g_;
  const std::uint64_t round_;
  const PushCall& own_;
  mutable std::vector<T> whole_;  // a tile's rows, whose parts lie apart
};

template <class T>
struct Both {
  cpu::Push push;
  unsigned push_blocks;
  gemm::HostGemm<T> gemm;

  void operator()() const {
    const unsigned block = dev::block_rank();
    if (block < push_blocks) return push.run(block, push_blocks);
    multiply(block - push_blocks, dev::grid_size() - push_blocks);
  }

 private:
  void multiply(unsigned block, unsigned blocks) const {
    if (dev::thread_rank() != 0) return;
    const AllGatherBuffer& g = push.call.gather_buffer;
    const std::uint64_t round = g.gemm_rounds[block] + 1;
    const std::uint64_t failed_round =
        dev::Context(push.call.handle).signal_fetch(g.failed_round());
    if (failed_round != 0 && failed_round != round) return;
    gemm.multiply(GatheredRows<T>(push.call, round), block, blocks);
    g.gemm_rounds[block] = round;
  }
};

class HostOverlapped : public OverlappedTarget {
 public:
  HostOverlapped(const GemmProblem& problem, int segments, unsigned push_blocks)
      : p_(problem),
        segments_(segments),
        push_blocks_(push_blocks),
        blocks_(std::clamp(std::thread::hardware_concurrency(), 1u, kMostBlocks)) {}

  Status run(const PushCall& push, Stream stream, void* c, const void*, const void* b) override {
    return p_.dtype == DType::kBfloat16 ? launch<Bfloat16>(push, stream, c, b)
                                        : launch<Half>(push, stream, c, b);
  }
  std::string describe() const override {
    return fmt::format("{} host threads, tiles of {}x{}", blocks_, gemm::kHostTile,
                       gemm::kHostTile);
  }

 private:
  static constexpr unsigned kThreads = 2;     // of a block, for the push
  static constexpr unsigned kMostBlocks = 8;  // of the GEMM

  template <class T>
  Status launch(const PushCall& push, Stream stream, void* c, const void* b) const {
    const auto gemm =
        gemm::HostGemm<T>::of(p_, push.gather_buffer.rows, b, c, segments_, push.gather_buffer.own);
    return dev::launch({push_blocks_ + blocks_, kThreads, 0},
                       Both<T>{{push, 0}, push_blocks_, gemm}, stream);
  }

  const GemmProblem p_;
  const int segments_;
  const unsigned push_blocks_, blocks_;
};

}  // namespace

Result<std::unique_ptr<OverlappedTarget>> make_overlapped_host(const GemmProblem& problem,
                                                               int segments, unsigned push_blocks,
                                                               const GemmOptions&) {
  return std::unique_ptr<OverlappedTarget>(
      std::make_unique<HostOverlapped>(problem, segments, push_blocks));
}

}  // namespace weft::kernels::ag_gemm
