// ReduceScatter twice: by hand in a kernel, and by weft::kernels::ReduceScatter. Both form their
// sums in rank order, so the results are the same bits.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include <weft/device.hpp>
#include <weft/kernels/collectives.hpp>
#include <weft/weft.hpp>

namespace {

constexpr std::size_t kCount = 10007;  // elements that each PE owns; no multiple of anything
constexpr unsigned kBlocks = 4;

// The value that PE `pe` adds to element i of `owner`: fractions, so that a sum in another order is
// another one.
float value(int pe, int owner, std::size_t i) {
  const std::size_t mixed =
      static_cast<std::size_t>(pe) * 7919 + static_cast<std::size_t>(owner) * 104729 + i * (i + 1);
  return 1.0f / static_cast<float>(1 + mixed % 1009);
}

struct ScatterAndAdd {
  weft::DeviceContext handle;
  const float* in;         // npes * kCount: a piece for each owner
  float* staging;          // symmetric, npes * kCount: the piece of each PE for me
  std::uint64_t* arrived;  // symmetric, a signal for each source
  float* out;              // kCount

  // [scatter]
  WEFT_DEVICE void scatter(const weft::dev::Context& ctx) const {
    const int me = ctx.pe(), npes = ctx.npes();
    for (int i = static_cast<int>(weft::dev::block_rank()); i < npes;
         i += static_cast<int>(weft::dev::grid_size())) {
      const int owner = (me + i) % npes;  // at any time each sends to another
      // The signal is stored with release; pairs with the acquire of the wait there.
      ctx.put(weft::dev::Block{}, staging + static_cast<std::size_t>(me) * kCount,
              in + static_cast<std::size_t>(owner) * kCount, kCount, owner,
              weft::set(arrived + me, 1));
    }
  }
  // [scatter]

  // [add]
  // Each thread of the grid has some of the elements, and needs the pieces of all PEs for them.
  WEFT_DEVICE void add(int npes) const {
    const std::size_t step = std::size_t{weft::dev::grid_size()} * weft::dev::block_size();
    for (std::size_t i =
             weft::dev::block_rank() * weft::dev::block_size() + weft::dev::thread_rank();
         i < kCount; i += step) {
      float sum = staging[i];
      for (int pe = 1; pe < npes; ++pe) sum += staging[static_cast<std::size_t>(pe) * kCount + i];
      out[i] = sum;
    }
  }
  // [add]

  // [kernel]
  WEFT_DEVICE void operator()() const {
    const weft::dev::Context ctx(handle);
    const auto npes = static_cast<std::size_t>(ctx.npes());
    scatter(ctx);
    // Acquire: pairs with the release of each PE's put.
    if (ctx.wait_until_all(weft::dev::Block{}, arrived, npes, nullptr, weft::Cmp::kEq,
                           std::uint64_t{1}))
      add(ctx.npes());
  }
  // [kernel]
};

weft::Status by_hand(weft::Runtime& rt, float* out, const float* in) {
  const auto npes = static_cast<std::size_t>(rt.npes());
  auto staging = rt.allocate_device<float>(npes * kCount);
  if (!staging) return staging.status();
  auto arrived = rt.callocate_device<std::uint64_t>(npes);
  if (!arrived) return arrived.status();
  auto handle = rt.context().device();
  if (!handle) return handle.status();
  const unsigned threads = rt.gpu() < 0 ? 4 : 256;  // of a block; on hosts each is a thread
  weft::Status status =
      weft::dev::launch({kBlocks, threads, 0}, ScatterAndAdd{*handle, in, *staging, *arrived, out});
  if (status) status = weft::dev::synchronize();
  return status ? rt.health() : status;
}

weft::Status by_operator(weft::Runtime& rt, float* out, const float* in) {
  // [operator]
  auto sum = weft::kernels::ReduceScatter::create(rt, {kCount, weft::kernels::DType::kFloat32});
  if (!sum) return sum.status();
  weft::Status status = (*sum)(nullptr, out, in, kCount);  // null: the default stream
  // [operator]
  if (status) status = weft::dev::synchronize();
  return status ? rt.health() : status;
}

weft::Status check(const char* way, const std::vector<float>& seen,
                   const std::vector<float>& wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (std::memcmp(&seen[i], &wanted[i], sizeof(float)) == 0) continue;
    char text[96];  // nine digits tell any two floats apart
    std::snprintf(text, sizeof(text), "%s: element %zu is %.9g, not %.9g", way, i,
                  static_cast<double>(seen[i]), static_cast<double>(wanted[i]));
    return weft::Status::error(weft::Code::kInternal, text);
  }
  return weft::Status::ok();
}

// The same sums on the host.
std::vector<float> sums_of(int owner, int npes) {
  std::vector<float> sums(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    sums[i] = value(0, owner, i);
    for (int pe = 1; pe < npes; ++pe) sums[i] += value(pe, owner, i);
  }
  return sums;
}

weft::Status job() {
  auto rt = weft::Runtime::create();
  if (!rt) return rt.status();
  const auto total = static_cast<std::size_t>(rt->npes()) * kCount;
  auto in = rt->allocate_device<float>(total);
  if (!in) return in.status();
  auto mine = rt->allocate_device<float>(kCount);
  if (!mine) return mine.status();
  auto theirs = rt->allocate_device<float>(kCount);
  if (!theirs) return theirs.status();

  std::vector<float> values(total), seen(kCount), again(kCount);
  for (int owner = 0; owner < rt->npes(); ++owner)
    for (std::size_t i = 0; i < kCount; ++i)
      values[static_cast<std::size_t>(owner) * kCount + i] = value(rt->pe(), owner, i);
  weft::Status status = rt->context().put(*in, values.data(), total, rt->pe());
  if (status) status = rt->context().quiet();  // the values are there
  if (status) status = by_hand(*rt, *mine, *in);
  if (status) status = rt->context().get(seen.data(), *mine, kCount, rt->pe());
  if (status) status = check("by hand", seen, sums_of(rt->pe(), rt->npes()));
  if (status) status = by_operator(*rt, *theirs, *in);
  if (status) status = rt->context().get(again.data(), *theirs, kCount, rt->pe());
  if (status) status = check("by operator", again, seen);
  if (status)
    std::printf("PE %d of %d formed %zu sums twice: the same bits\n", rt->pe(), rt->npes(), kCount);
  return status;
}

}  // namespace

int main() {
  const weft::Status status = job();
  if (!status) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status ? 0 : 1;
}
