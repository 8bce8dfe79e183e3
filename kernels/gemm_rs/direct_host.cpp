// On host threads: blocks that multiply tile after tile, send each to the other members as words,
// and add up what has come of it.
#include <algorithm>
#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include <weft/device.hpp>
#include <weft/small_float.hpp>

#include "kernels/core/pause.hpp"
#include "kernels/core/sendable.hpp"
#include "kernels/gemm/host_product.hpp"
#include "kernels/gemm_rs/direct_kernel.hpp"
#include "kernels/gemm_rs/direct_plan.hpp"
#include "kernels/gemm_rs/end_round.hpp"

namespace weft::kernels::gemm_rs {
namespace {

constexpr int kTile = gemm::kHostTile;
constexpr std::size_t kElements = std::size_t{kTile} * kTile, kInWord = 4;
constexpr std::size_t kTileWords = kElements / kInWord;
using Words = std::vector<std::uint64_t>;

template <class T>
struct DirectProduct {
  DeviceContext handle;
  Team team;
  DirectSpace space;
  int m;
  bool two_shots;
  std::ptrdiff_t lda;
  const T* a;
  gemm::HostProduct<T> product;

  void operator()() const {
    const std::uint64_t round = space.record->round + 1;
    const dev::Context ctx(handle);
    const std::uint64_t broken = ctx.signal_fetch(&space.record->broken);
    if (broken != 0 && broken != round) return;  // who sends on overwrites what a late member reads
    bool ok = broken == 0;
    std::vector<float> slice(product.kSlice * kTile), sums(kElements);
    Words part(kTileWords);
    const int down = gemm::ceil_div(m, kTile), tiles = down * gemm::ceil_div(product.n, kTile);
    for (int tile = static_cast<int>(dev::block_rank()); tile < tiles;
         tile += static_cast<int>(dev::grid_size())) {
      const int row = tile % down * kTile, column = tile / down * kTile;
      const int height = std::min(kTile, m - row);
      product.add_up(a + row * lda, lda, height, column, slice, sums);
      for (std::size_t w = 0; w < kTileWords; ++w) part[w] = packed(&sums[w * kInWord]);
      ok = meet(ctx, round, tile, part, ok);
      if (ok) store(row, height, column, part);
    }
    if (!ok) ctx.atomic_set(&space.record->broken, round, ctx.pe());
    WEFT_KERNELS_PAUSE(kBeforeExit);
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

  // What I have of the tile becomes the sum of all. False: somebody did not come.
  bool meet(const dev::Context& ctx, std::uint64_t round, int tile, Words& part, bool ok) const {
    const std::uint64_t at = static_cast<std::uint64_t>(tile) * kTileWords;
    std::uint64_t* const mine = space.part(round, team.rank) + at;
    if (!two_shots) {
      send_to_all(ctx, mine, part);
      return ok && fold(round, at, part);
    }
    const int owner = owner_of(tile, team.size);
    std::uint64_t* const sum = space.sum(round) + at;
    if (owner != team.rank) {
      send(ctx, mine, part, owner);
      return ok && take(sum, owner, part);
    }
    if (!ok || !fold(round, at, part)) return false;  // and they say so, too
    send_to_all(ctx, sum, part);
    return true;
  }
  void send(const dev::Context& ctx, std::uint64_t* place, const Words& data, int rank) const {
    WEFT_KERNELS_PAUSE(kBeforeData);
    std::uint64_t* const there = ctx.ptr(place, team.pe_of(rank));
    for (std::size_t w = 0; w < kTileWords; ++w) dev::send_word(there + w, data[w]);
  }
  void send_to_all(const dev::Context& ctx, std::uint64_t* place, const Words& data) const {
    for (int i = 1; i < team.size; ++i) send(ctx, place, data, (team.rank + i) % team.size);
  }
  bool take(std::uint64_t* place, int rank, Words& data) const {
    WEFT_KERNELS_PAUSE(kBeforeWait);
    for (std::size_t w = 0; w < kTileWords; ++w) {
      std::uint64_t got[1];
      const auto awaited = [&](int) -> dev::AwaitedWord { return {place + w, team.pe_of(rank)}; };
      if (!dev::take_words<1>(handle, "GemmAr", awaited, got)) return false;
      data[w] = got[0];
    }
    return true;
  }
  // The parts of all, in rank order, to one sum that is rounded once.
  bool fold(std::uint64_t round, std::uint64_t at, Words& part) const {
    WEFT_KERNELS_PAUSE(kBeforeWait);
    for (std::size_t w = 0; w < kTileWords; ++w) {
      std::uint64_t got[kMostMembers];
      const auto awaited = [&](int rank) -> dev::AwaitedWord {
        if (rank >= team.size || rank == team.rank) return {nullptr, -1};
        return {space.part(round, rank) + at + w, team.pe_of(rank)};
      };
      if (!dev::take_words<kMostMembers>(handle, "GemmAr", awaited, got)) return false;
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
    const int width = std::min(kTile, product.n - column);
    const auto* const values = reinterpret_cast<const std::byte*>(sums.data());
    for (int r = 0; r < height; ++r)
      std::memcpy(product.c + (row + r) * product.ldc + column, values + r * kTile * sizeof(T),
                  static_cast<std::size_t>(width) * sizeof(T));
  }
};

class HostDirect : public DirectKernel {
 public:
  HostDirect(const GemmProblem& problem, int members)
      : p_(problem),
        two_shots_(takes_two_shots(tiles(), members)),
        blocks_(std::clamp(std::thread::hardware_concurrency(), 2u, 4u)) {}

  std::uint64_t words() const override { return static_cast<std::uint64_t>(tiles()) * kTileWords; }
  Status use(Runtime& runtime, const Team& team, const DirectSpace& space) override {
    team_ = team;
    space_ = space;
    auto handle = runtime.context().device();
    if (!handle) return std::move(handle).status();
    handle_ = *handle;
    return Status::ok();
  }
  Status run(Stream stream, void* c, const void* a, const void* b, int rows) override {
    return p_.dtype == DType::kBfloat16 ? launch<Bfloat16>(stream, c, a, b, rows)
                                        : launch<Half>(stream, c, a, b, rows);
  }
  std::string describe() const override {
    return fmt::format("{} host threads, tiles of {}x{}, {}", blocks_, kTile, kTile,
                       two_shots_ ? "two shots" : "one shot");
  }

 private:
  int tiles() const { return tiles(static_cast<int>(p_.m)); }
  int tiles(int rows) const {
    return gemm::ceil_div(rows, kTile) * gemm::ceil_div(static_cast<int>(p_.n), kTile);
  }

  template <class T>
  Status launch(Stream stream, void* c, const void* a, const void* b, int rows) const {
    // Fewer rows have fewer tiles, and not each member may own one.
    const bool two_shots = two_shots_ && takes_two_shots(tiles(rows), team_.size);
    DirectProduct<T> kernel{handle_,
                            team_,
                            space_,
                            rows,
                            two_shots,
                            p_.lda,
                            static_cast<const T*>(a),
                            {1, 0, rows, static_cast<int>(p_.n), static_cast<int>(p_.k), p_.ldb,
                             p_.ldc, static_cast<const T*>(b), static_cast<T*>(c)}};
    Status status = dev::launch({blocks_, 1, 0}, kernel, stream);
    if (status) status = dev::launch({1, 1, 0}, EndRound{space_.record}, stream);
    return status;
  }

  const GemmProblem p_;
  const bool two_shots_;
  const unsigned blocks_;
  DeviceContext handle_{};
  Team team_;
  DirectSpace space_;
};

}  // namespace

std::unique_ptr<DirectKernel> make_host_direct(const GemmProblem& problem, int members) {
  return std::make_unique<HostDirect>(problem, members);
}

}  // namespace weft::kernels::gemm_rs
