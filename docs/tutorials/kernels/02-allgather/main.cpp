// AllGather twice: by hand in a kernel, out of puts with signals, and by weft::kernels::AllGather.
// Both results are compared bit by bit.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include <weft/device.hpp>
#include <weft/kernels/collectives.hpp>
#include <weft/weft.hpp>

namespace {

constexpr std::size_t kCount = 10007;  // elements of a shard; no multiple of anything
constexpr unsigned kBlocks = 4;

float value(int pe, std::size_t i) {
  return 1.0f / static_cast<float>(1 + (static_cast<std::size_t>(pe) * 7919 + i) % 1009);
}

// [kernel]
struct Gather {
  weft::DeviceContext handle;
  const float* shard;      // kCount
  float* all;              // symmetric, npes * kCount: the shard of each PE
  std::uint64_t* arrived;  // symmetric, a signal for each source

  WEFT_DEVICE void operator()() const {
    const weft::dev::Context ctx(handle);
    const weft::dev::Block block;
    const int me = ctx.pe(), npes = ctx.npes();
    const int first = static_cast<int>(weft::dev::block_rank());
    const int step = static_cast<int>(weft::dev::grid_size());
    // To myself, to the next PE, to the one behind it: at any time each sends to another.
    for (int i = first; i < npes; i += step) {
      // The signal is stored with release; pairs with the acquire of the wait there.
      ctx.put(block, all + static_cast<std::size_t>(me) * kCount, shard, kCount, (me + i) % npes,
              weft::set(arrived + me, 1));
    }
    // Only now: who waits between its puts holds up the others. In the order in which they come.
    for (int i = first; i < npes; i += step) {
      const int source = (me + npes - i) % npes;
      if (!ctx.wait_until(block, arrived + source, weft::Cmp::kEq, std::uint64_t{1})) return;
    }
  }
};
// [kernel]

weft::Status by_hand(weft::Runtime& rt, float* all, const float* shard) {
  auto arrived = rt.callocate_device<std::uint64_t>(static_cast<std::size_t>(rt.npes()));
  if (!arrived) return arrived.status();
  auto handle = rt.context().device();
  if (!handle) return handle.status();
  const unsigned threads = rt.gpu() < 0 ? 4 : 256;  // of a block; on hosts each is a thread
  weft::Status status =
      weft::dev::launch({kBlocks, threads, 0}, Gather{*handle, shard, all, *arrived});
  if (status) status = weft::dev::synchronize();
  return status ? rt.health() : status;
}

weft::Status by_operator(weft::Runtime& rt, float* all, const float* shard) {
  // [operator]
  auto gather = weft::kernels::AllGather::create(rt, {kCount, weft::kernels::DType::kFloat32});
  if (!gather) return gather.status();
  weft::Status status = (*gather)(nullptr, all, shard, kCount);  // null: the default stream
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

weft::Status job() {
  auto rt = weft::Runtime::create();
  if (!rt) return rt.status();
  const auto total = static_cast<std::size_t>(rt->npes()) * kCount;
  auto shard = rt->allocate_device<float>(kCount);
  if (!shard) return shard.status();
  auto mine = rt->allocate_device<float>(total);
  if (!mine) return mine.status();
  auto theirs = rt->allocate_device<float>(total);
  if (!theirs) return theirs.status();

  std::vector<float> wanted(total), seen(total);
  for (int pe = 0; pe < rt->npes(); ++pe)
    for (std::size_t i = 0; i < kCount; ++i)
      wanted[static_cast<std::size_t>(pe) * kCount + i] = value(pe, i);
  weft::Status status = rt->context().put(
      *shard, wanted.data() + static_cast<std::size_t>(rt->pe()) * kCount, kCount, rt->pe());
  if (status) status = rt->context().quiet();  // the shard is there
  if (status) status = by_hand(*rt, *mine, *shard);
  if (status) status = rt->context().get(seen.data(), *mine, total, rt->pe());
  if (status) status = check("by hand", seen, wanted);
  if (status) status = by_operator(*rt, *theirs, *shard);
  if (status) status = rt->context().get(wanted.data(), *theirs, total, rt->pe());
  if (status) status = check("by operator", wanted, seen);
  if (status)
    std::printf("PE %d of %d gathered %zu elements twice: the same bits\n", rt->pe(), rt->npes(),
                total);
  return status;
}

}  // namespace

int main() {
  const weft::Status status = job();
  if (!status) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status ? 0 : 1;
}
