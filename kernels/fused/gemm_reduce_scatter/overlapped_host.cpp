// On host threads: blocks that multiply tile after tile, put those of others' rows with a flag
// behind each, and add up those of mine.
#include <algorithm>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include <weft/device.hpp>
#include <weft/small_float.hpp>

#include "kernels/core/pause.hpp"
#include "kernels/fused/gemm_reduce_scatter/overlapped_target.hpp"
#include "kernels/fused/gemm_reduce_scatter/round_host.hpp"
#include "kernels/fused/gemm_reduce_scatter/overlapped_scheduler.hpp"
#include "kernels/gemm/host_gemm.hpp"

namespace weft::kernels::gemm_rs {
namespace {

constexpr int kTile = gemm::kHostTile;
constexpr std::size_t kElements = std::size_t{kTile} * kTile;

template <class T>
struct ScatterGemm {
  DeviceContext handle;
  Team team;
  Space space;
  ScatterScheduler scheduler;
  int rows;  // of a member
  std::ptrdiff_t lda;
  const T* a;
  gemm::HostGemm<T> gemm;

  void operator()() const {
    const dev::Context ctx(handle);
    const std::uint64_t round = space.record->round + 1;
    const std::uint64_t failed_round = ctx.signal_fetch(&space.record->failed_round);
    if (failed_round != 0 && failed_round != round)
      return;  // who sends on overwrites what a late member reads
    bool ok = failed_round == 0;
    std::vector<float> k_block(gemm.kKBlock * kTile), sums(kElements);
    std::vector<T> part(kElements);
    gemm::Work work{};
    for (int index = static_cast<int>(dev::block_rank()); scheduler.work(index, 0, &work);
         index += static_cast<int>(dev::grid_size())) {
      const int height = std::min(kTile, rows - work.row);
      const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(work.segment) * rows + work.row;
      gemm.add_up(a + row * lda, lda, height, work.column, k_block, sums);
      for (std::size_t i = 0; i < kElements; ++i) part[i] = T(sums[i]);
      const auto tile =
          static_cast<unsigned>(work.row / kTile * scheduler.segment.columns + work.column / kTile);
      if (work.segment == team.rank)
        ok = ok && fold(round, tile, part) && store(work, height, part);
      else
        send(ctx, round, work.segment, tile, part);
    }
    if (!ok) ctx.atomic_set(&space.record->failed_round, round, ctx.pe());
    cpu::pause(Point::kBeforeExit);
  }

 private:
  T* tile_of(std::uint64_t round, int sender, std::uint64_t tile) const {
    return reinterpret_cast<T*>(space.slot(round, sender)) + tile * kElements;
  }
  void send(const dev::Context& ctx, std::uint64_t round, int rank, std::uint64_t tile,
            const std::vector<T>& part) const {
    const int sender = sender_number(team.rank, rank, team.size);
    cpu::pause(Point::kBeforeData);
    // Release: pairs with the acquire of fold() there.
    ctx.put(dev::Thread{}, tile_of(round, sender, tile), part.data(), kElements, team.pe_of(rank),
            weft::set(space.flag(sender, tile), round));
  }
  // Adds what all ranks have of the tile, in their order, to one sum that is rounded once.
  bool fold(std::uint64_t round, std::uint64_t tile, std::vector<T>& part) const {
    std::vector<const T*> parts;
    for (int rank = 0; rank < team.size; ++rank) {
      const int sender = sender_number(rank, team.rank, team.size);
      parts.push_back(rank == team.rank ? part.data() : tile_of(round, sender, tile));
      if (rank == team.rank) continue;
      cpu::pause(Point::kBeforeWait);
      // Acquire: pairs with the release of send() there.
      if (!dev::wait_flag(handle, "GemmRs", {space.flag(sender, tile), team.pe_of(rank)}, round))
        return false;
    }
    for (std::size_t i = 0; i < kElements; ++i) {
      float sum = static_cast<float>(parts[0][i]);
      for (std::size_t r = 1; r < parts.size(); ++r) sum += static_cast<float>(parts[r][i]);
      part[i] = T(sum);
    }
    return true;
  }
  bool store(const gemm::Work& work, int height, const std::vector<T>& part) const {
    const int width = std::min(kTile, gemm.n - work.column);
    for (int r = 0; r < height; ++r)
      std::copy_n(part.data() + r * kTile, width, gemm.c + (work.row + r) * gemm.ldc + work.column);
    return true;
  }
};

class HostOverlapped : public OverlappedTarget {
 public:
  HostOverlapped(const GemmProblem& problem, int members)
      : p_(problem), members_(members), blocks_(host_blocks()) {}

  Needs needs() const override {
    return {static_cast<std::uint64_t>(rows_of_tiles(static_cast<int>(p_.m)) * columns()),
            kElements * bytes_of(p_.dtype), 1};
  }
  Status run(Stream stream, const Members& members, void* c, const void* a, const void* b,
             int rows) override {
    return p_.dtype == DType::kBfloat16 ? launch<Bfloat16>(stream, members, c, a, b, rows)
                                        : launch<Half>(stream, members, c, a, b, rows);
  }
  std::string describe() const override {
    return fmt::format("{} host threads, tiles of {}x{}", blocks_, kTile, kTile);
  }

 private:
  static int rows_of_tiles(int rows) { return gemm::ceil_div(rows, kTile); }
  int columns() const { return gemm::ceil_div(static_cast<int>(p_.n), kTile); }

  template <class T>
  Status launch(Stream stream, const Members& members, void* c, const void* a, const void* b,
                int rows) const {
    const int down = rows_of_tiles(rows);
    const int margin = std::min(2 * static_cast<int>(blocks_), down * columns());
    ScatterGemm<T> kernel{members.handle,
                          members.team,
                          members.space,
                          {{1, 0, down, columns(), down, kTile, kTile, 1, 0},
                           members_,
                           members.team.rank,
                           margin,
                           members_ > 2},
                          rows,
                          p_.lda,
                          static_cast<const T*>(a),
                          gemm::HostGemm<T>::of(p_, rows, b, c)};
    return launch_round(stream, blocks_, kernel, members.space.record);
  }

  const GemmProblem p_;
  const int members_;
  const unsigned blocks_;
};

}  // namespace

Result<std::unique_ptr<OverlappedTarget>> make_overlapped_host(const GemmProblem& problem,
                                                               int members, const DeviceModel&,
                                                               int) {
  return std::unique_ptr<OverlappedTarget>(std::make_unique<HostOverlapped>(problem, members));
}

}  // namespace weft::kernels::gemm_rs
