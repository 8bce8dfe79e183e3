// A matrix product twice, on each PE by itself: by hand in a kernel that goes through tiles, and by
// weft::kernels::Gemm. Elements are small whole numbers, whose sums are exact, so the results are
// the same bits in any order.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <weft/device.hpp>
#include <weft/kernels/gemm.hpp>
#include <weft/weft.hpp>

namespace {

using weft::Bfloat16;

constexpr std::size_t kRows = 70, kColumns = 88, kDepth = 72;  // m, n, k
constexpr std::size_t kTile = 16, kDepthOfBlock = 32;          // rows and columns; a k-block
constexpr std::size_t kGroup = 2;                              // rows of tiles
constexpr unsigned kBlocks = 3;

// Element i of the rows (kind 0) or the weight (kind 1): -2 to 2, another on each PE.
Bfloat16 value(int kind, int pe, std::size_t i) {
  const std::size_t mixed =
      static_cast<std::size_t>(kind) * 31 + static_cast<std::size_t>(pe) * 7919 + i * (i % 13 + 1);
  return Bfloat16(static_cast<float>(mixed % 5) - 2.0f);
}

struct Multiply {
  const Bfloat16* a;  // kRows of kDepth
  const Bfloat16* b;  // kColumns of kDepth
  Bfloat16* c;        // kRows of kColumns

  // [scheduler]
  static constexpr std::size_t kTilesDown = (kRows + kTile - 1) / kTile;
  static constexpr std::size_t kTilesAcross = (kColumns + kTile - 1) / kTile;
  struct Tile {
    std::size_t row, column;  // of its first element
  };
  // Tile number i: a raster group of kGroup rows of tiles, column by column, then the next group.
  WEFT_DEVICE static Tile tile_of(std::size_t i) {
    const std::size_t first = i / (kGroup * kTilesAcross) * kGroup;  // row of tiles
    const std::size_t rows = kTilesDown - first < kGroup ? kTilesDown - first : kGroup;
    const std::size_t at = i % (kGroup * kTilesAcross);
    return {(first + at % rows) * kTile, at / rows * kTile};
  }
  // [scheduler]

  // [tile]
  // An element for each thread at a time: its sum goes on from k-block to k-block.
  WEFT_DEVICE void multiply(const Tile& tile) const {
    for (std::size_t e = weft::dev::thread_rank(); e < kTile * kTile;
         e += weft::dev::block_size()) {
      const std::size_t row = tile.row + e / kTile, column = tile.column + e % kTile;
      if (row >= kRows || column >= kColumns) continue;  // a tile at the edge
      float sum = 0;
      for (std::size_t k = 0; k < kDepth; k += kDepthOfBlock) sum += product(row, column, k);
      c[row * kColumns + column] = Bfloat16(sum);  // the epilogue: rounded once, and stored
    }
  }
  WEFT_DEVICE float product(std::size_t row, std::size_t column, std::size_t first) const {
    const std::size_t end = first + kDepthOfBlock < kDepth ? first + kDepthOfBlock : kDepth;
    float sum = 0;
    for (std::size_t k = first; k < end; ++k)
      sum += static_cast<float>(a[row * kDepth + k]) * static_cast<float>(b[column * kDepth + k]);
    return sum;
  }
  // [tile]

  // [kernel]
  WEFT_DEVICE void operator()() const {
    for (std::size_t i = weft::dev::block_rank(); i < kTilesDown * kTilesAcross;
         i += weft::dev::grid_size())
      multiply(tile_of(i));
  }
  // [kernel]
};

weft::Status by_hand(weft::Runtime& rt, Bfloat16* c, const Bfloat16* a, const Bfloat16* b) {
  const unsigned threads = rt.gpu() < 0 ? 2 : 256;  // of a block; on hosts each is a thread
  const weft::Status status = weft::dev::launch({kBlocks, threads, 0}, Multiply{a, b, c});
  return status ? weft::dev::synchronize() : status;
}

weft::Status by_operator(weft::Runtime& rt, Bfloat16* c, const Bfloat16* a, const Bfloat16* b) {
  // [operator]
  auto product = weft::kernels::Gemm::create(rt, {.m = kRows, .n = kColumns, .k = kDepth},
                                             {.constant_b = true});  // b is a weight
  if (!product) return product.status();
  weft::Status status = (*product)(nullptr, c, a, b);  // null: the default stream
  // [operator]
  if (status) status = weft::dev::synchronize();
  if (status && rt.pe() == 0) std::printf("%s\n", product->describe().c_str());
  return status;
}

weft::Status check(weft::Runtime& rt, const char* way, const Bfloat16* c) {
  std::vector<Bfloat16> seen(kRows * kColumns);
  const weft::Status status = rt.context().get(seen.data(), c, seen.size(), rt.pe());
  if (!status) return status;
  for (std::size_t e = 0; e < seen.size(); ++e) {
    const std::size_t row = e / kColumns, column = e % kColumns;
    float sum = 0;
    for (std::size_t i = 0; i < kDepth; ++i)
      sum += static_cast<float>(value(0, rt.pe(), row * kDepth + i)) *
             static_cast<float>(value(1, rt.pe(), column * kDepth + i));
    if (seen[e].bits == Bfloat16(sum).bits) continue;
    char text[96];
    std::snprintf(text, sizeof(text), "%s: row %zu, column %zu is %g, not %g", way, row, column,
                  static_cast<double>(static_cast<float>(seen[e])), static_cast<double>(sum));
    return weft::Status::error(weft::Code::kInternal, text);
  }
  return weft::Status::ok();
}

weft::Status job() {
  auto rt = weft::Runtime::create();
  if (!rt) return rt.status();
  auto a = rt->allocate_device<Bfloat16>(kRows * kDepth);
  if (!a) return a.status();
  auto b = rt->allocate_device<Bfloat16>(kColumns * kDepth);
  if (!b) return b.status();
  auto first = rt->allocate_device<Bfloat16>(kRows * kColumns);
  if (!first) return first.status();
  auto second = rt->allocate_device<Bfloat16>(kRows * kColumns);
  if (!second) return second.status();

  std::vector<Bfloat16> rows(kRows * kDepth), weight(kColumns * kDepth);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = value(0, rt->pe(), i);
  for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = value(1, rt->pe(), i);
  weft::Status status = rt->context().put(*a, rows.data(), rows.size(), rt->pe());
  if (status) status = rt->context().put(*b, weight.data(), weight.size(), rt->pe());
  if (status) status = rt->context().quiet();  // the values are there
  if (status) status = by_hand(*rt, *first, *a, *b);
  if (status) status = check(*rt, "by hand", *first);
  if (status) status = by_operator(*rt, *second, *a, *b);
  if (status) status = check(*rt, "by operator", *second);
  if (status)
    std::printf("PE %d of %d multiplied %zu x %zu x %zu twice: the same bits\n", rt->pe(),
                rt->npes(), kRows, kColumns, kDepth);
  return status;
}

}  // namespace

int main() {
  const weft::Status status = job();
  if (!status) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status ? 0 : 1;
}
