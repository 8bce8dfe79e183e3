// AllToAll twice, several times in a row: by hand in a kernel, in rounds without a barrier, and by
// weft::kernels::AllToAll. Both results are compared bit by bit with what must come.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <weft/device.hpp>
#include <weft/kernels/collectives.hpp>
#include <weft/weft.hpp>

namespace {

constexpr std::size_t kCount = 1003;  // elements of one PE for another; no multiple of anything
constexpr std::uint64_t kRounds = 5;
constexpr unsigned kBlocks = 3;

std::int32_t value(int from, int to, std::size_t i, std::uint64_t round) {
  return static_cast<std::int32_t>(
      ((static_cast<std::size_t>(from) * 31 + static_cast<std::size_t>(to)) * 7919 + i) *
      (round + 1));
}

// [kernel]
struct Exchange {
  weft::DeviceContext handle;
  const std::int32_t* in;  // npes * kCount: elements for each PE
  std::int32_t* slots;     // symmetric, 2 * npes * kCount: of two rounds, from each PE
  std::uint64_t* arrived;  // symmetric, kBlocks * npes: the last round that has come
  std::int32_t* out;       // npes * kCount: elements from each PE
  std::uint64_t round;     // 1, 2, ...

  WEFT_DEVICE void operator()() const {
    const weft::dev::Context ctx(handle);
    const weft::dev::Block block;
    const int me = ctx.pe(), npes = ctx.npes();
    const std::size_t rank = weft::dev::block_rank(), blocks = weft::dev::grid_size();
    const std::size_t begin = kCount * rank / blocks, count = kCount * (rank + 1) / blocks - begin;
    std::int32_t* const half = slots + (round % 2) * static_cast<std::size_t>(npes) * kCount;
    std::uint64_t* const signals = arrived + rank * static_cast<std::size_t>(npes);
    for (int i = 0; i < npes; ++i) {
      const int to = (me + i) % npes;  // at any time each sends to another
      // The signal is stored with release; pairs with the acquire of the wait there.
      ctx.put(block, half + static_cast<std::size_t>(me) * kCount + begin,
              in + static_cast<std::size_t>(to) * kCount + begin, count, to,
              weft::set(signals + me, round));
    }
    for (int i = 0; i < npes; ++i) {
      const auto from = static_cast<std::size_t>((me + npes - i) % npes);
      // A fast PE may be one round further, but not two.
      if (!ctx.wait_until(block, signals + from, weft::Cmp::kGe, round)) return;
      for (std::size_t e = begin + weft::dev::thread_rank(); e < begin + count;
           e += weft::dev::block_size())
        out[from * kCount + e] = half[from * kCount + e];
    }
  }
};
// [kernel]

// The elements that a PE has for the others in a round (sent), or those that must come.
std::vector<std::int32_t> values_of(int pe, bool sent, int npes, std::uint64_t round) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(npes) * kCount);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int peer = static_cast<int>(i / kCount);
    values[i] = sent ? value(pe, peer, i % kCount, round) : value(peer, pe, i % kCount, round);
  }
  return values;
}

weft::Status check(weft::Runtime& rt, const char* way, const std::int32_t* out,
                   std::uint64_t round) {
  const std::vector<std::int32_t> wanted = values_of(rt.pe(), false, rt.npes(), round);
  std::vector<std::int32_t> seen(wanted.size());
  const weft::Status status = rt.context().get(seen.data(), out, seen.size(), rt.pe());
  if (!status) return status;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (seen[i] == wanted[i]) continue;
    char text[112];
    std::snprintf(text, sizeof(text), "%s, round %llu: element %zu is %d, not %d", way,
                  static_cast<unsigned long long>(round), i, seen[i], wanted[i]);
    return weft::Status::error(weft::Code::kInternal, text);
  }
  return weft::Status::ok();
}

// The round's kernel is over, and has brought what it should.
weft::Status finish(weft::Runtime& rt, const char* way, const std::int32_t* out,
                    std::uint64_t round) {
  weft::Status status = weft::dev::synchronize();
  if (status) status = rt.health();
  return status ? check(rt, way, out, round) : status;
}

weft::Status fill(weft::Runtime& rt, std::int32_t* in, std::uint64_t round) {
  const std::vector<std::int32_t> values = values_of(rt.pe(), true, rt.npes(), round);
  const weft::Status status = rt.context().put(in, values.data(), values.size(), rt.pe());
  return status ? rt.context().quiet() : status;  // the values are there
}

weft::Status by_hand(weft::Runtime& rt, std::int32_t* out, std::int32_t* in) {
  const auto npes = static_cast<std::size_t>(rt.npes());
  auto slots = rt.allocate_device<std::int32_t>(2 * npes * kCount);
  if (!slots) return slots.status();
  auto arrived = rt.callocate_device<std::uint64_t>(npes * kBlocks);
  if (!arrived) return arrived.status();
  auto handle = rt.context().device();
  if (!handle) return handle.status();
  const unsigned threads = rt.gpu() < 0 ? 4 : 256;  // of a block; on hosts each is a thread
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    weft::Status status = fill(rt, in, round);
    if (status)
      status = weft::dev::launch({kBlocks, threads, 0},
                                 Exchange{*handle, in, *slots, *arrived, out, round});
    if (status) status = finish(rt, "by hand", out, round);
    if (!status) return status;
  }
  return weft::Status::ok();
}

weft::Status by_operator(weft::Runtime& rt, std::int32_t* out, std::int32_t* in) {
  // [operator]
  auto exchange = weft::kernels::AllToAll::create(
      rt, {.max_count = kCount, .dtype = weft::kernels::DType::kInt32});
  if (!exchange) return exchange.status();
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    weft::Status status = fill(rt, in, round);
    if (status) status = (*exchange)(nullptr, out, in, kCount);  // null: the default stream
    if (status) status = finish(rt, "by operator", out, round);
    if (!status) return status;
  }
  // [operator]
  if (rt.pe() == 0) std::printf("%s\n", exchange->describe().c_str());
  return weft::Status::ok();
}

weft::Status job() {
  auto rt = weft::Runtime::create();
  if (!rt) return rt.status();
  const auto total = static_cast<std::size_t>(rt->npes()) * kCount;
  auto in = rt->allocate_device<std::int32_t>(total);
  if (!in) return in.status();
  auto out = rt->allocate_device<std::int32_t>(total);
  if (!out) return out.status();
  weft::Status status = by_hand(*rt, *out, *in);
  if (status) status = by_operator(*rt, *out, *in);
  if (status)
    std::printf("PE %d of %d exchanged %zu elements %llu times, twice: all came\n", rt->pe(),
                rt->npes(), total, static_cast<unsigned long long>(kRounds));
  return status;
}

}  // namespace

int main() {
  const weft::Status status = job();
  if (!status) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status ? 0 : 1;
}
