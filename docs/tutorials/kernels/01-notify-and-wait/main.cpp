// A producer hands tiles to a consumer on another PE, each with a signal; the consumer uses a tile
// as soon as it is there, while others are still being made. Every PE is both: it produces for the
// next PE, and consumes what the one before has made.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <weft/device.hpp>
#include <weft/weft.hpp>

namespace {

constexpr std::size_t kTiles = 13, kTile = 1000, kCount = kTiles * kTile;  // elements
constexpr unsigned kProducers = 2, kConsumers = 2;                         // blocks

// The value that PE `pe` makes.
WEFT_HOST_DEVICE float made_by(int pe, std::size_t i) {
  return static_cast<float>(static_cast<std::size_t>(pe) * 1000 + i);
}

struct NotifyAndWait {
  weft::DeviceContext handle;
  float* made;             // kCount
  float* inbox;            // symmetric, kCount
  std::uint64_t* arrived;  // symmetric, a signal for each tile of the inbox
  float* used;             // kCount

  // [produce]
  WEFT_DEVICE void produce(const weft::dev::Context& ctx, std::size_t first) const {
    const weft::dev::Block block;
    const int next = (ctx.pe() + 1) % ctx.npes();
    for (std::size_t tile = first; tile < kTiles; tile += kProducers) {
      const std::size_t begin = tile * kTile;
      for (std::size_t i = begin + block.rank(); i < begin + kTile; i += block.size())
        made[i] = made_by(ctx.pe(), i);
      // All threads of the block meet, together they put the tile, and one of them then stores the
      // signal with release: it pairs with the acquire in consume().
      ctx.put(block, inbox + begin, made + begin, kTile, next, weft::set(arrived + tile, 1));
    }
  }
  // [produce]

  // [consume]
  WEFT_DEVICE void consume(const weft::dev::Context& ctx, std::size_t first) const {
    const weft::dev::Block block;
    for (std::size_t tile = first; tile < kTiles; tile += kConsumers) {
      // Acquire: pairs with the release of the put that set the signal. False: the deadline passed,
      // and the tile is not there.
      if (!ctx.wait_until(block, arrived + tile, weft::Cmp::kEq, std::uint64_t{1})) return;
      const std::size_t begin = tile * kTile;
      for (std::size_t i = begin + block.rank(); i < begin + kTile; i += block.size())
        used[i] = 2 * inbox[i];
    }
  }
  // [consume]

  // [roles]
  WEFT_DEVICE void operator()() const {
    const weft::dev::Context ctx(handle);
    const unsigned block = weft::dev::block_rank();
    if (block < kProducers)
      produce(ctx, block);
    else
      consume(ctx, block - kProducers);
  }
  // [roles]
};

weft::Status check(weft::Runtime& rt, const float* used) {
  std::vector<float> seen(kCount);
  weft::Status status = rt.context().get(seen.data(), used, kCount, rt.pe());
  if (!status) return status;
  const int before = (rt.pe() + rt.npes() - 1) % rt.npes();
  for (std::size_t i = 0; i < kCount; ++i)
    if (seen[i] != 2 * made_by(before, i))
      return weft::Status::error(weft::Code::kInternal, "element " + std::to_string(i) + " is " +
                                                            std::to_string(seen[i]) + ", not " +
                                                            std::to_string(2 * made_by(before, i)));
  return status;
}

weft::Status job() {
  auto rt = weft::Runtime::create();
  if (!rt) return rt.status();
  auto made = rt->allocate_device<float>(kCount);
  if (!made) return made.status();
  auto inbox = rt->allocate_device<float>(kCount);
  if (!inbox) return inbox.status();
  auto used = rt->allocate_device<float>(kCount);
  if (!used) return used.status();
  auto arrived = rt->callocate_device<std::uint64_t>(kTiles);  // zero on all PEs when it returns
  if (!arrived) return arrived.status();
  auto handle = rt->context().device();
  if (!handle) return handle.status();

  // [launch]
  const unsigned threads = rt->gpu() < 0 ? 4 : 256;  // of a block; on hosts each is a thread
  weft::Status status = weft::dev::launch({kProducers + kConsumers, threads, 0},
                                          NotifyAndWait{*handle, *made, *inbox, *arrived, *used});
  if (status) status = weft::dev::synchronize();
  if (status) status = rt->health();  // did a wait in the kernel reach its deadline?
  // [launch]
  if (status) status = check(*rt, *used);
  if (status) std::printf("PE %d of %d used %zu tiles\n", rt->pe(), rt->npes(), kTiles);
  return status;
}

}  // namespace

int main() {
  const weft::Status status = job();
  if (!status) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status ? 0 : 1;
}
