// GEMM-ReduceScatter twice: by hand in a kernel, and by weft::kernels::GemmRs. Elements are small
// whole numbers, whose sums are exact, so the results are the same bits in any order.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <weft/device.hpp>
#include <weft/kernels/gemm_rs.hpp>
#include <weft/weft.hpp>

namespace {

using weft::Bfloat16;

constexpr std::size_t kRows = 48, kColumns = 72, kDepth = 40;  // rows of the sum for a PE; n; k
constexpr unsigned kBlocks = 4;

// Element i of the rows (kind 0) or the weight (kind 1) of a PE: -1 to 1.
Bfloat16 value(int kind, int pe, std::size_t i) {
  const std::size_t mixed =
      static_cast<std::size_t>(kind) * 31 + static_cast<std::size_t>(pe) * 7919 + i * (i % 13 + 1);
  return Bfloat16(static_cast<float>(mixed % 3) - 1.0f);
}

struct MultiplyAndScatter {
  weft::DeviceContext handle;
  const Bfloat16* a;       // npes * kRows of kDepth
  const Bfloat16* b;       // kColumns of kDepth
  Bfloat16* mine;          // symmetric: my part of each PE's rows, kRows of kColumns
  Bfloat16* staging;       // symmetric: what each PE has sent of my rows
  std::uint64_t* arrived;  // symmetric: how many rows of each PE have come
  Bfloat16* c;             // kRows of kColumns

  // [kernel]
  WEFT_DEVICE void operator()() const {
    const weft::dev::Context ctx(handle);
    const int me = ctx.pe(), npes = ctx.npes();
    for (int i = 1; i < npes; ++i) send(ctx, (me + i) % npes);  // the others' rows, mine last
    for (std::size_t row = weft::dev::block_rank(); row < kRows; row += weft::dev::grid_size()) {
      multiply(me, row);
      if (!add(ctx, row)) return;
    }
  }
  // [kernel]

  // A row of the product, by all threads of a block.
  WEFT_DEVICE void multiply(int owner, std::size_t row) const {
    const std::size_t at = static_cast<std::size_t>(owner) * kRows + row;
    for (std::size_t j = weft::dev::thread_rank(); j < kColumns; j += weft::dev::block_size()) {
      float sum = 0;
      for (std::size_t i = 0; i < kDepth; ++i)
        sum += static_cast<float>(a[at * kDepth + i]) * static_cast<float>(b[j * kDepth + i]);
      mine[at * kColumns + j] = Bfloat16(sum);
    }
  }

  // [send]
  WEFT_DEVICE void send(const weft::dev::Context& ctx, int owner) const {
    const auto me = static_cast<std::size_t>(ctx.pe());
    for (std::size_t row = weft::dev::block_rank(); row < kRows; row += weft::dev::grid_size()) {
      multiply(owner, row);
      // The signal is stored with release; pairs with the acquire of the wait there.
      ctx.put(weft::dev::Block{}, staging + (me * kRows + row) * kColumns,
              mine + (static_cast<std::size_t>(owner) * kRows + row) * kColumns, kColumns, owner,
              weft::set(arrived + me * kRows + row, 1));
    }
  }
  // [send]

  // [add]
  WEFT_DEVICE bool add(const weft::dev::Context& ctx, std::size_t row) const {
    const int me = ctx.pe(), npes = ctx.npes();
    for (int pe = 0; pe < npes; ++pe)
      if (pe != me &&
          !ctx.wait_until(weft::dev::Block{}, arrived + static_cast<std::size_t>(pe) * kRows + row,
                          weft::Cmp::kEq, std::uint64_t{1}))
        return false;
    for (std::size_t j = weft::dev::thread_rank(); j < kColumns; j += weft::dev::block_size()) {
      float sum = 0;
      for (int pe = 0; pe < npes; ++pe) {  // in rank order
        const Bfloat16* const part = pe == me ? mine : staging;
        sum +=
            static_cast<float>(part[(static_cast<std::size_t>(pe) * kRows + row) * kColumns + j]);
      }
      c[row * kColumns + j] = Bfloat16(sum);
    }
    return true;
  }
  // [add]
};

weft::Status by_hand(weft::Runtime& rt, Bfloat16* c, const Bfloat16* a, const Bfloat16* b) {
  const auto npes = static_cast<std::size_t>(rt.npes());
  auto mine = rt.allocate_device<Bfloat16>(npes * kRows * kColumns);
  if (!mine) return mine.status();
  auto staging = rt.allocate_device<Bfloat16>(npes * kRows * kColumns);
  if (!staging) return staging.status();
  auto arrived = rt.callocate_device<std::uint64_t>(npes * kRows);
  if (!arrived) return arrived.status();
  auto handle = rt.context().device();
  if (!handle) return handle.status();
  const unsigned threads = rt.gpu() < 0 ? 2 : 64;  // of a block; on hosts each is a thread
  weft::Status status = weft::dev::launch(
      {kBlocks, threads, 0}, MultiplyAndScatter{*handle, a, b, *mine, *staging, *arrived, c});
  if (status) status = weft::dev::synchronize();
  return status ? rt.health() : status;
}

weft::Status by_operator(weft::Runtime& rt, Bfloat16* c, const Bfloat16* a, const Bfloat16* b) {
  // [operator]
  const std::int64_t rows = rt.npes() * static_cast<std::int64_t>(kRows);
  auto product = weft::kernels::GemmRs::create(rt, {.m = rows, .n = kColumns, .k = kDepth});
  if (!product) return product.status();
  weft::Status status = (*product)(nullptr, c, a, b);  // null: the default stream
  // [operator]
  if (status) status = weft::dev::synchronize();
  if (status && rt.pe() == 0) std::printf("%s\n", product->describe().c_str());
  return status ? rt.health() : status;
}

weft::Status check(weft::Runtime& rt, const char* way, const Bfloat16* c) {
  std::vector<Bfloat16> seen(kRows * kColumns);
  const weft::Status status = rt.context().get(seen.data(), c, seen.size(), rt.pe());
  if (!status) return status;
  for (std::size_t e = 0; e < seen.size(); ++e) {
    const std::size_t row = static_cast<std::size_t>(rt.pe()) * kRows + e / kColumns;
    float sum = 0;
    for (int pe = 0; pe < rt.npes(); ++pe)
      for (std::size_t i = 0; i < kDepth; ++i)
        sum += static_cast<float>(value(0, pe, row * kDepth + i)) *
               static_cast<float>(value(1, pe, e % kColumns * kDepth + i));
    if (seen[e].bits == Bfloat16(sum).bits) continue;
    char text[96];
    std::snprintf(text, sizeof(text), "%s: row %zu, column %zu is %g, not %g", way, row,
                  e % kColumns, static_cast<double>(static_cast<float>(seen[e])),
                  static_cast<double>(sum));
    return weft::Status::error(weft::Code::kInternal, text);
  }
  return weft::Status::ok();
}

weft::Status job() {
  auto rt = weft::Runtime::create();
  if (!rt) return rt.status();
  const std::size_t count = static_cast<std::size_t>(rt->npes()) * kRows * kDepth;
  auto a = rt->allocate_device<Bfloat16>(count);
  if (!a) return a.status();
  auto b = rt->allocate_device<Bfloat16>(kColumns * kDepth);
  if (!b) return b.status();
  auto first = rt->allocate_device<Bfloat16>(kRows * kColumns);
  if (!first) return first.status();
  auto second = rt->allocate_device<Bfloat16>(kRows * kColumns);
  if (!second) return second.status();

  std::vector<Bfloat16> rows(count), weight(kColumns * kDepth);
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
    std::printf("PE %d of %d has %zu rows of the sum twice: the same bits\n", rt->pe(), rt->npes(),
                kRows);
  return status;
}

}  // namespace

int main() {
  const weft::Status status = job();
  if (!status) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status ? 0 : 1;
}
