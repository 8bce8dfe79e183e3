// Broadcast twice: by hand in a kernel, in which the others forward what the root sends, and by
// weft::kernels::Broadcast. Every PE is the root once.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <weft/device.hpp>
#include <weft/kernels/collectives.hpp>
#include <weft/weft.hpp>

namespace {

constexpr std::size_t kCount = 10007;  // elements; no multiple of anything
constexpr unsigned kBlocks = 3;

std::int32_t value(int root, std::size_t i) {
  return root * 1000003 + static_cast<std::int32_t>(i * (i % 7 + 1));
}

struct ForwardShares {
  weft::DeviceContext handle;
  const std::int32_t* in;  // kCount; read on the root
  std::uint64_t* arrived;  // symmetric, kBlocks * npes: the share of each PE is here
  std::int32_t* out;       // symmetric, kCount
  int root;

  // This block's piece of the share that `owner` forwards.
  WEFT_DEVICE void send(const weft::dev::Context& ctx, const std::int32_t* from, int owner,
                        int to) const {
    const std::size_t blocks = weft::dev::grid_size(), rank = weft::dev::block_rank();
    const auto npes = static_cast<std::size_t>(ctx.npes());
    const std::size_t piece = static_cast<std::size_t>(owner) * blocks + rank;
    const std::size_t begin = kCount * piece / (npes * blocks);
    const std::size_t end = kCount * (piece + 1) / (npes * blocks);
    // The signal is stored with release; pairs with the acquire of the wait there.
    ctx.put(weft::dev::Block{}, out + begin, from + begin, end - begin, to,
            weft::set(arrived + rank * npes + static_cast<std::size_t>(owner), 1));
  }

  // [kernel]
  WEFT_DEVICE void operator()() const {
    const weft::dev::Context ctx(handle);
    const weft::dev::Block block;
    const int me = ctx.pe(), npes = ctx.npes();
    const std::uint64_t* const signals =
        arrived + std::size_t{weft::dev::block_rank()} * static_cast<unsigned>(npes);
    if (me == root) {
      for (int i = 1; i <= npes; ++i) send(ctx, in, (me + i) % npes, (me + i) % npes);
      for (int i = 1; i < npes; ++i) send(ctx, in, (me + i) % npes, me);  // all of it is mine, too
    }
    // Everybody forwards its share to all who have it neither from the root nor by being the root.
    if (!ctx.wait_until(block, signals + me, weft::Cmp::kEq, std::uint64_t{1})) return;
    for (int i = 1; i < npes; ++i) {
      const int to = (me + i) % npes;  // at any time each sends to another
      if (to != root) send(ctx, out, me, to);
    }
    ctx.wait_until_all(block, signals, static_cast<std::size_t>(npes), nullptr, weft::Cmp::kEq,
                       std::uint64_t{1});
  }
  // [kernel]
};

weft::Status by_hand(weft::Runtime& rt, std::int32_t* out, const std::int32_t* in, int root) {
  const auto npes = static_cast<std::size_t>(rt.npes());
  auto arrived = rt.callocate_device<std::uint64_t>(npes * kBlocks);
  if (!arrived) return arrived.status();
  auto handle = rt.context().device();
  if (!handle) return handle.status();
  const unsigned threads = rt.gpu() < 0 ? 4 : 256;  // of a block; on hosts each is a thread
  weft::Status status =
      weft::dev::launch({kBlocks, threads, 0}, ForwardShares{*handle, in, *arrived, out, root});
  if (status) status = weft::dev::synchronize();
  return status ? rt.health() : status;
}

weft::Status check(weft::Runtime& rt, const char* way, const std::int32_t* out, int root) {
  std::vector<std::int32_t> seen(kCount);
  const weft::Status status = rt.context().get(seen.data(), out, kCount, rt.pe());
  if (!status) return status;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (seen[i] == value(root, i)) continue;
    char text[96];
    std::snprintf(text, sizeof(text), "%s, root %d: element %zu is %d, not %d", way, root, i,
                  seen[i], value(root, i));
    return weft::Status::error(weft::Code::kInternal, text);
  }
  return weft::Status::ok();
}

weft::Status every_root_by_hand(weft::Runtime& rt, const std::int32_t* in) {
  for (int root = 0; root < rt.npes(); ++root) {
    auto out = rt.callocate_device<std::int32_t>(kCount);  // of its own: see the text
    if (!out) return out.status();
    weft::Status status = by_hand(rt, *out, in, root);
    if (status) status = check(rt, "by hand", *out, root);
    if (!status) return status;
  }
  return weft::Status::ok();
}

weft::Status every_root_by_operator(weft::Runtime& rt, const std::int32_t* in) {
  auto out = rt.callocate_device<std::int32_t>(kCount);
  if (!out) return out.status();
  // [operator]
  auto broadcast = weft::kernels::Broadcast::create(
      rt, {.max_count = kCount, .dtype = weft::kernels::DType::kInt32});
  if (!broadcast) return broadcast.status();
  for (int root = 0; root < rt.npes(); ++root) {
    weft::Status status = (*broadcast)(nullptr, *out, in, kCount, root);  // the default stream
    if (status) status = weft::dev::synchronize();
    if (status) status = rt.health();
    if (status) status = check(rt, "by operator", *out, root);
    if (!status) return status;
  }
  // [operator]
  if (rt.pe() == 0) std::printf("%s\n", broadcast->describe().c_str());
  return weft::Status::ok();
}

weft::Status job() {
  auto rt = weft::Runtime::create();
  if (!rt) return rt.status();
  auto in = rt->allocate_device<std::int32_t>(kCount);
  if (!in) return in.status();
  std::vector<std::int32_t> values(kCount);
  for (std::size_t i = 0; i < kCount; ++i) values[i] = value(rt->pe(), i);
  weft::Status status = rt->context().put(*in, values.data(), kCount, rt->pe());
  if (status) status = rt->context().quiet();  // the values are there
  if (status) status = every_root_by_hand(*rt, *in);
  if (status) status = every_root_by_operator(*rt, *in);
  if (status)
    std::printf("PE %d of %d got %zu elements of every root, twice\n", rt->pe(), rt->npes(),
                kCount);
  return status;
}

}  // namespace

int main() {
  const weft::Status status = job();
  if (!status) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status ? 0 : 1;
}
