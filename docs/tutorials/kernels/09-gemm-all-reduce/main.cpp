// GEMM-AllReduce twice: by hand in a kernel, and by weft::kernels::GemmAr. Elements are small whole
// numbers, whose sums are exact, so the results are the same bits in any order.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <weft/device.hpp>
#include <weft/kernels/gemm_ar.hpp>
#include <weft/weft.hpp>

namespace {

using weft::Bfloat16;

constexpr std::size_t kRows = 20, kColumns = 72, kDepth = 40;  // m, n and k of a PE
constexpr unsigned kBlocks = 4;

// Element i of the rows (kind 0) or the weight (kind 1) of a PE: -1 to 1.
Bfloat16 value(int kind, int pe, std::size_t i) {
  const std::size_t mixed =
      static_cast<std::size_t>(kind) * 31 + static_cast<std::size_t>(pe) * 7919 + i * (i % 13 + 1);
  return Bfloat16(static_cast<float>(mixed % 3) - 1.0f);
}

struct MultiplyAndReduce {
  weft::DeviceContext handle;
  const Bfloat16* a;       // kRows of kDepth
  const Bfloat16* b;       // kColumns of kDepth
  Bfloat16* parts;         // symmetric, npes * kRows of kColumns: the product of each PE
  std::uint64_t* arrived;  // symmetric, npes * kRows: the source's row is here
  Bfloat16* c;             // kRows of kColumns

  // [kernel]
  WEFT_DEVICE void operator()() const {
    const weft::dev::Context ctx(handle);
    for (std::size_t row = weft::dev::block_rank(); row < kRows; row += weft::dev::grid_size()) {
      multiply(ctx.pe(), row);
      push(ctx, row);
    }
    for (std::size_t row = weft::dev::block_rank(); row < kRows; row += weft::dev::grid_size())
      if (!add(ctx, row)) return;
  }
  // [kernel]

  WEFT_DEVICE std::size_t at(int pe, std::size_t row) const {
    return static_cast<std::size_t>(pe) * kRows + row;
  }
  // A row of the product, by all threads of a block.
  WEFT_DEVICE void multiply(int me, std::size_t row) const {
    for (std::size_t j = weft::dev::thread_rank(); j < kColumns; j += weft::dev::block_size()) {
      float sum = 0;
      for (std::size_t i = 0; i < kDepth; ++i)
        sum += static_cast<float>(a[row * kDepth + i]) * static_cast<float>(b[j * kDepth + i]);
      parts[at(me, row) * kColumns + j] = Bfloat16(sum);
    }
  }

  // [push]
  // The epilogue. The put begins with a barrier of the block, so the row is whole.
  WEFT_DEVICE void push(const weft::dev::Context& ctx, std::size_t row) const {
    const int me = ctx.pe(), npes = ctx.npes();
    Bfloat16* const part = parts + at(me, row) * kColumns;
    for (int i = 1; i < npes; ++i)
      // The signal is stored with release; pairs with the acquire of the wait there.
      ctx.put(weft::dev::Block{}, part, part, kColumns, (me + i) % npes,
              weft::set(arrived + at(me, row), 1));
  }
  // [push]

  // [add]
  WEFT_DEVICE bool add(const weft::dev::Context& ctx, std::size_t row) const {
    const int me = ctx.pe(), npes = ctx.npes();
    for (int pe = 0; pe < npes; ++pe)
      if (pe != me && !ctx.wait_until(weft::dev::Block{}, arrived + at(pe, row), weft::Cmp::kEq,
                                      std::uint64_t{1}))
        return false;
    for (std::size_t j = weft::dev::thread_rank(); j < kColumns; j += weft::dev::block_size()) {
      float sum = 0;
      for (int pe = 0; pe < npes; ++pe)  // in rank order
        sum += static_cast<float>(parts[at(pe, row) * kColumns + j]);
      c[row * kColumns + j] = Bfloat16(sum);
    }
    return true;
  }
  // [add]
};

weft::Status by_hand(weft::Runtime& rt, Bfloat16* c, const Bfloat16* a, const Bfloat16* b) {
  const auto npes = static_cast<std::size_t>(rt.npes());
  auto parts = rt.allocate_device<Bfloat16>(npes * kRows * kColumns);
  if (!parts) return parts.status();
  auto arrived = rt.callocate_device<std::uint64_t>(npes * kRows);
  if (!arrived) return arrived.status();
  auto handle = rt.context().device();
  if (!handle) return handle.status();
  const unsigned threads = rt.gpu() < 0 ? 2 : 64;  // of a block; on hosts each is a thread
  weft::Status status = weft::dev::launch({kBlocks, threads, 0},
                                          MultiplyAndReduce{*handle, a, b, *parts, *arrived, c});
  if (status) status = weft::dev::synchronize();
  return status ? rt.health() : status;
}

weft::Status by_operator(weft::Runtime& rt, Bfloat16* c, const Bfloat16* a, const Bfloat16* b) {
  // [operator]
  auto layer = weft::kernels::GemmAr::create(rt, {.m = kRows, .n = kColumns, .k = kDepth});
  if (!layer) return layer.status();
  weft::Status status = (*layer)(nullptr, c, a, b);  // null: the default stream
  // [operator]
  if (status) status = weft::dev::synchronize();
  if (status && rt.pe() == 0) std::printf("%s\n", layer->describe().c_str());
  return status ? rt.health() : status;
}

weft::Status check(weft::Runtime& rt, const char* way, const Bfloat16* c) {
  std::vector<Bfloat16> seen(kRows * kColumns);
  const weft::Status status = rt.context().get(seen.data(), c, seen.size(), rt.pe());
  if (!status) return status;
  for (std::size_t e = 0; e < seen.size(); ++e) {
    const std::size_t row = e / kColumns, column = e % kColumns;
    float sum = 0;
    for (int pe = 0; pe < rt.npes(); ++pe)
      for (std::size_t i = 0; i < kDepth; ++i)
        sum += static_cast<float>(value(0, pe, row * kDepth + i)) *
               static_cast<float>(value(1, pe, column * kDepth + i));
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
    std::printf("PE %d of %d got %zu rows of the sum twice: the same bits\n", rt->pe(), rt->npes(),
                kRows);
  return status;
}

}  // namespace

int main() {
  const weft::Status status = job();
  if (!status) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status ? 0 : 1;
}
