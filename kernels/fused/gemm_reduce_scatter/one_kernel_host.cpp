// On host threads: blocks that multiply tile after tile, send each on by Lamport, and add up what
// has come of it.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include <weft/device.hpp>
#include <weft/small_float.hpp>

#include "kernels/core/pause.hpp"
#include "kernels/fused/gemm_reduce_scatter/one_kernel_plan.hpp"
#include "kernels/fused/gemm_reduce_scatter/one_kernel_target.hpp"
#include "kernels/fused/gemm_reduce_scatter/round_host.hpp"
#include "kernels/gemm/host_gemm.hpp"
#include "kernels/protocol/sendable.hpp"

namespace weft::kernels::gemm_rs {
namespace {

constexpr int kTile = gemm::kHostTile;
constexpr std::size_t kElements = std::size_t{kTile} * kTile, kInWord = 4;
constexpr std::size_t kTileWords = kElements / kInWord, kRowWords = kTile / kInWord;
using Words = std::vector<std::uint64_t>;

template <class T>
struct OneKernelGemm {
  DeviceContext handle;
  Team team;
  OneKernelSpace space;
  Reduction reduction;
  int m, each;  // rows of the GEMM, and of an owner
  std::ptrdiff_t lda;
  const T* a;
  gemm::HostGemm<T> gemm;

  void operator()() const {
    const std::uint64_t round = space.record->round + 1;
    const dev::Context ctx(handle);
    const std::uint64_t failed_round = ctx.signal_fetch(&space.record->failed_round);
    if (failed_round != 0 && failed_round != round)
      return;  // who sends on overwrites what a late member reads
    bool ok = failed_round == 0;
    if (dev::block_rank() == 0) send_handshakes(ctx, round);
    std::vector<float> k_block(gemm.kKBlock * kTile), sums(kElements);
    Words part(kTileWords);
    const int down = gemm::ceil_div(m, kTile), tiles = down * gemm::ceil_div(gemm.n, kTile);
    for (int tile = static_cast<int>(dev::block_rank()); tile < tiles;
         tile += static_cast<int>(dev::grid_size())) {
      const int row = tile % down * kTile, column = tile / down * kTile;
      const int height = std::min(kTile, m - row);
      gemm.add_up(a + row * lda, lda, height, column, k_block, sums);
      for (std::size_t w = 0; w < kTileWords; ++w) part[w] = packed(&sums[w * kInWord]);
      ok = exchange(ctx, round, tile, row, height, part, ok);
      if (ok) store(row, height, column, part);
    }
    if (dev::block_rank() == 0) ok = ok && wait_handshakes(round);
    if (!ok) ctx.atomic_set(&space.record->failed_round, round, ctx.pe());
    cpu::pause(Point::kBeforeExit);
  }

 private:
  static std::uint64_t packed(const float* sums) {
    std::array<T, kInWord> values;
    for (std::size_t i = 0; i < kInWord; ++i) values[i] = T(sums[i]);
    std::uint64_t word;
    std::memcpy(&word, values.data(), sizeof(word));
    return sendable(word);
  }
  static std::array<T, kInWord> unpacked(std::uint64_t word) {
    std::array<T, kInWord> values;
    std::memcpy(values.data(), &word, sizeof(word));
    return values;
  }

  // Words of a tile that go the same way: whole rows of it.
  struct Span {
    std::size_t first, last;
  };
  // The words of `rows` in a tile, whose rows begin at `row`.
  static Span span_of(Rows rows, int row, int height) {
    const auto at = [&](int r) {
      return static_cast<std::size_t>(std::clamp(r - row, 0, height)) * kRowWords;
    };
    return {at(rows.first), at(rows.first + rows.count)};
  }

  std::uint64_t* tile_slot(std::uint64_t round, int sender, int tile) const {
    return space.words + space.slot_offset(round, sender) +
           static_cast<std::uint64_t>(tile) * kTileWords;
  }

  // Makes of my part of the tile the sum of all, where that is mine to have. False: somebody did
  // not come.
  bool exchange(const dev::Context& ctx, std::uint64_t round, int tile, int row, int height,
                Words& part, bool ok) const {
    const auto rows_of_rank = [&](int rank) {
      return span_of(rows_of(reduction, rank, each, m), row, height);
    };
    const Span all = rows_of_rank(team.rank);
    if (reduction != Reduction::kTwoShot) {
      for (int i = 1; i < team.size; ++i) {
        const int rank = (team.rank + i) % team.size;
        send(ctx, round, tile, part, rows_of_rank(rank), rank);
      }
      return ok && fold(round, tile, part, all);
    }
    const int owner = owner_of(tile, team.size);
    if (owner != team.rank) {
      send(ctx, round, tile, part, all, owner);
      return ok && take(round, owner, tile, part, all);
    }
    if (!ok || !fold(round, tile, part, all)) return false;  // and they say so, too
    for (int i = 1; i < team.size; ++i)
      send(ctx, round, tile, part, all, (team.rank + i) % team.size);
    return true;
  }
  void send(const dev::Context& ctx, std::uint64_t round, int tile, const Words& data, Span span,
            int rank) const {
    cpu::pause(Point::kBeforeData);
    std::uint64_t* const there = ctx.ptr(tile_slot(round, team.rank, tile), team.pe_of(rank));
    for (std::size_t w = span.first; w < span.last; ++w) dev::send_lamport(there + w, data[w]);
  }
  bool take(std::uint64_t round, int rank, int tile, Words& data, Span span) const {
    cpu::pause(Point::kBeforeWait);
    for (std::size_t w = span.first; w < span.last; ++w) {
      std::uint64_t got[1];
      const auto awaited = [&](int) -> dev::AwaitedLamport {
        return {tile_slot(round, rank, tile) + w, team.pe_of(rank)};
      };
      if (!dev::receive_lamport<1>(handle, name(), awaited, got)) return false;
      data[w] = got[0];
    }
    return true;
  }
  // The parts of all, in rank order, to one sum that is rounded once.
  bool fold(std::uint64_t round, int tile, Words& part, Span span) const {
    cpu::pause(Point::kBeforeWait);
    for (std::size_t w = span.first; w < span.last; ++w) {
      std::uint64_t got[kMostMembers];
      const auto awaited = [&](int rank) -> dev::AwaitedLamport {
        if (rank >= team.size || rank == team.rank) return {nullptr, -1};
        return {tile_slot(round, rank, tile) + w, team.pe_of(rank)};
      };
      if (!dev::receive_lamport<kMostMembers>(handle, name(), awaited, got)) return false;
      got[team.rank] = part[w];
      std::array<float, kInWord> sums{};
      for (int rank = 0; rank < team.size; ++rank) {
        const std::array<T, kInWord> values = unpacked(got[rank]);
        for (std::size_t i = 0; i < kInWord; ++i)
          sums[i] =
              rank == 0 ? static_cast<float>(values[i]) : sums[i] + static_cast<float>(values[i]);
      }
      part[w] = packed(sums.data());
    }
    return true;
  }
  void store(int row, int height, int column, const Words& sums) const {
    const Rows mine = rows_of(reduction, team.rank, each, m);
    const Span span = span_of(mine, row, height);
    const int width = std::min(kTile, gemm.n - column);
    for (std::size_t w = span.first; w < span.last; w += kRowWords)
      std::memcpy(gemm.c + (row + static_cast<int>(w / kRowWords) - mine.first) * gemm.ldc + column,
                  &sums[w], static_cast<std::size_t>(width) * sizeof(T));
  }

  void send_handshakes(const dev::Context& ctx, std::uint64_t round) const {
    std::uint64_t* const mine = space.words + space.handshake_offset(round, team.rank);
    for (int rank = 0; rank < team.size; ++rank)
      if (rank != team.rank) dev::send_lamport(ctx.ptr(mine, team.pe_of(rank)), round);
  }
  bool wait_handshakes(std::uint64_t round) const {
    std::uint64_t handshakes[kMostMembers];
    const auto awaited = [&](int rank) -> dev::AwaitedLamport {
      if (rank >= team.size || rank == team.rank) return {nullptr, -1};
      return {space.words + space.handshake_offset(round, rank), team.pe_of(rank)};
    };
    return dev::receive_lamport<kMostMembers>(handle, name(), awaited, handshakes);
  }
  const char* name() const { return name_of(reduction == Reduction::kScatter); }
};

class HostOneKernel : public OneKernelTarget {
 public:
  HostOneKernel(const GemmProblem& problem, int members, bool scatters)
      : p_(problem), members_(members), scatters_(scatters), blocks_(host_blocks()) {}

  std::uint64_t words() const override {
    return static_cast<std::uint64_t>(tiles(static_cast<int>(p_.m))) * kTileWords;
  }
  Status run(Stream stream, const OneKernelMembers& members, void* c, const void* a, const void* b,
             int rows) override {
    return p_.dtype == DType::kBfloat16 ? launch<Bfloat16>(stream, members, c, a, b, rows)
                                        : launch<Half>(stream, members, c, a, b, rows);
  }
  std::string describe() const override {
    return fmt::format("{} host threads, tiles of {}x{}, {}", blocks_, kTile, kTile,
                       to_string(reduction_of(static_cast<int>(p_.m))));
  }

 private:
  int tiles(int rows) const {
    return gemm::ceil_div(rows, kTile) * gemm::ceil_div(static_cast<int>(p_.n), kTile);
  }
  Reduction reduction_of(int rows) const {
    if (scatters_) return Reduction::kScatter;
    return takes_two_shots(tiles(rows), members_) ? Reduction::kTwoShot : Reduction::kOneShot;
  }

  template <class T>
  Status launch(Stream stream, const OneKernelMembers& members, void* c, const void* a,
                const void* b, int rows) const {
    OneKernelGemm<T> kernel{members.handle,
                            members.team,
                            members.space,
                            reduction_of(rows),
                            rows,
                            gemm::ceil_div(rows, members_),
                            p_.lda,
                            static_cast<const T*>(a),
                            gemm::HostGemm<T>::of(p_, rows, b, c)};
    return launch_round(stream, blocks_, kernel, members.space.record);
  }

  const GemmProblem p_;
  const int members_;
  const bool scatters_;
  const unsigned blocks_;
};

}  // namespace

Result<std::unique_ptr<OneKernelTarget>> make_one_kernel_host(const GemmProblem& problem,
                                                              int members, const DeviceModel&, int,
                                                              bool scatters) {
  return std::unique_ptr<OneKernelTarget>(
      std::make_unique<HostOneKernel>(problem, members, scatters));
}

}  // namespace weft::kernels::gemm_rs
