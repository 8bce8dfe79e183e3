// AllGather-GEMM twice: by hand in a kernel, and by weft::kernels::AgGemm. Elements are small whole
// numbers, whose sums are exact, so the results are the same bits in any order.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <weft/device.hpp>
#include <weft/kernels/ag_gemm.hpp>
#include <weft/weft.hpp>

namespace {

using weft::Bfloat16;

constexpr std::size_t kRows = 100, kColumns = 72, kDepth = 64;  // m and n of a PE, and k
constexpr unsigned kBlocks = 5;

// Element i of the rows (kind 0) or the weight (kind 1) of a PE: -2 to 2.
Bfloat16 value(int kind, int pe, std::size_t i) {
  const std::size_t mixed =
      static_cast<std::size_t>(kind) * 31 + static_cast<std::size_t>(pe) * 7919 + i * (i % 13 + 1);
  return Bfloat16(static_cast<float>(mixed % 5) - 2.0f);
}

struct GatherAndMultiply {
  weft::DeviceContext handle;
  const Bfloat16* a;       // kRows of kDepth
  Bfloat16* rows;          // symmetric: the rows of every PE
  std::uint64_t* arrived;  // symmetric, a signal for each source
  const Bfloat16* b;       // kColumns of kDepth
  Bfloat16* c;             // npes * kRows of kColumns

  // [push]
  WEFT_DEVICE void push(const weft::dev::Context& ctx) const {
    const int me = ctx.pe(), npes = ctx.npes();
    for (int i = 1; i < npes; ++i) {
      const int to = (me - i + npes) % npes;  // who needs my rows next
      // The signal is stored with release; pairs with the acquire of the wait there.
      ctx.put(weft::dev::Block{}, rows + static_cast<std::size_t>(me) * kRows * kDepth, a,
              kRows * kDepth, to, weft::set(arrived + me, 1));
    }
  }
  // [push]

  // [multiply]
  // By all blocks but the first: the elements of c in turn.
  WEFT_DEVICE void multiply(const weft::dev::Context& ctx) const {
    const int me = ctx.pe(), npes = ctx.npes();
    for (int i = 0; i < npes; ++i) {
      const int source = (me + i) % npes;
      const Bfloat16* from = a;
      if (i > 0) {
        from = rows + static_cast<std::size_t>(source) * kRows * kDepth;
        // Acquire: pairs with the release of the put.
        if (!ctx.wait_until(weft::dev::Block{}, arrived + source, weft::Cmp::kEq, std::uint64_t{1}))
          return;
      }
      multiply(from, c + static_cast<std::size_t>(source) * kRows * kColumns);
    }
  }
  // [multiply]
  WEFT_DEVICE void multiply(const Bfloat16* from, Bfloat16* to) const {
    const std::size_t block = weft::dev::block_rank() - 1;
    const std::size_t step = std::size_t{weft::dev::grid_size() - 1} * weft::dev::block_size();
    for (std::size_t e = block * weft::dev::block_size() + weft::dev::thread_rank();
         e < kRows * kColumns; e += step) {
      float sum = 0;
      for (std::size_t i = 0; i < kDepth; ++i)
        sum += static_cast<float>(from[e / kColumns * kDepth + i]) *
               static_cast<float>(b[e % kColumns * kDepth + i]);
      to[e] = Bfloat16(sum);
    }
  }

  // [kernel]
  WEFT_DEVICE void operator()() const {
    const weft::dev::Context ctx(handle);
    if (weft::dev::block_rank() == 0)
      push(ctx);
    else
      multiply(ctx);
  }
  // [kernel]
};

weft::Status by_hand(weft::Runtime& rt, Bfloat16* c, const Bfloat16* a, const Bfloat16* b) {
  const auto npes = static_cast<std::size_t>(rt.npes());
  auto rows = rt.allocate_device<Bfloat16>(npes * kRows * kDepth);
  if (!rows) return rows.status();
  auto arrived = rt.callocate_device<std::uint64_t>(npes);
  if (!arrived) return arrived.status();
  auto handle = rt.context().device();
  if (!handle) return handle.status();
  const unsigned threads = rt.gpu() < 0 ? 2 : 256;  // of a block; on hosts each is a thread
  weft::Status status = weft::dev::launch({kBlocks, threads, 0},
                                          GatherAndMultiply{*handle, a, *rows, *arrived, b, c});
  if (status) status = weft::dev::synchronize();
  return status ? rt.health() : status;
}

weft::Status by_operator(weft::Runtime& rt, Bfloat16* c, const Bfloat16* a, const Bfloat16* b) {
  // [operator]
  auto product = weft::kernels::AgGemm::create(rt, {.m = kRows, .n = kColumns, .k = kDepth});
  if (!product) return product.status();
  weft::Status status = (*product)(nullptr, c, a, b);  // null: the default stream
  // [operator]
  if (status) status = weft::dev::synchronize();
  if (status && rt.pe() == 0) std::printf("%s\n", product->describe().c_str());
  return status ? rt.health() : status;
}

weft::Status check(weft::Runtime& rt, const char* way, const Bfloat16* c) {
  std::vector<Bfloat16> seen(static_cast<std::size_t>(rt.npes()) * kRows * kColumns);
  const weft::Status status = rt.context().get(seen.data(), c, seen.size(), rt.pe());
  if (!status) return status;
  for (std::size_t e = 0; e < seen.size(); ++e) {
    const std::size_t row = e / kColumns, column = e % kColumns;
    float sum = 0;
    for (std::size_t i = 0; i < kDepth; ++i)
      sum += static_cast<float>(value(0, static_cast<int>(row / kRows), row % kRows * kDepth + i)) *
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
  const std::size_t count = static_cast<std::size_t>(rt->npes()) * kRows * kColumns;
  auto mine = rt->allocate_device<Bfloat16>(count);
  if (!mine) return mine.status();
  auto theirs = rt->allocate_device<Bfloat16>(count);
  if (!theirs) return theirs.status();

  std::vector<Bfloat16> rows(kRows * kDepth), weight(kColumns * kDepth);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = value(0, rt->pe(), i);
  for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = value(1, rt->pe(), i);
  weft::Status status = rt->context().put(*a, rows.data(), rows.size(), rt->pe());
  if (status) status = rt->context().put(*b, weight.data(), weight.size(), rt->pe());
  if (status) status = rt->context().quiet();  // the values are there
  if (status) status = by_hand(*rt, *mine, *a, *b);
  if (status) status = check(*rt, "by hand", *mine);
  if (status) status = by_operator(*rt, *theirs, *a, *b);
  if (status) status = check(*rt, "by operator", *theirs);
  if (status)
    std::printf("PE %d of %d multiplied %zu rows twice: the same bits\n", rt->pe(), rt->npes(),
                static_cast<std::size_t>(rt->npes()) * kRows);
  return status;
}

}  // namespace

int main() {
  const weft::Status status = job();
  if (!status) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status ? 0 : 1;
}
