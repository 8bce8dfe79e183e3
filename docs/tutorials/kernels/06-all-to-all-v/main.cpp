// AllToAllV twice: by hand in a kernel, whose signals carry the counts, and by
// weft::kernels::AllToAllV. Counts lie in memory of kernels; the host of a receiver learns them
// from the result.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <weft/device.hpp>
#include <weft/kernels/collectives.hpp>
#include <weft/weft.hpp>

namespace {

constexpr std::size_t kMaxCount = 500;  // elements of one PE for another, at most
constexpr unsigned kBlocks = 2;

// How many elements `from` has for `to`, as a router might have it; some pairs have none.
std::uint64_t count_of(int from, int to) {
  return static_cast<std::uint64_t>(from * 131 + to * 17) % 5 * 123;
}

std::int32_t value(int from, int to, std::size_t i) {
  return static_cast<std::int32_t>((from * 31 + to) * 7919) + static_cast<std::int32_t>(i);
}

struct Exchange {
  weft::DeviceContext handle;
  const std::int32_t* in;
  const std::uint64_t* send_counts;   // by destination
  const std::uint64_t* send_offsets;  // in `in`
  std::int32_t* slots;                // symmetric, npes * kMaxCount: from each PE
  std::uint64_t* arrived;             // symmetric, a signal for each source: 1 + its count
  std::int32_t* out;
  const std::uint64_t* recv_offsets;  // in `out`, by source
  std::uint64_t* recv_counts;         // written

  // [send]
  WEFT_DEVICE void send(const weft::dev::Context& ctx, int to) const {
    const auto me = static_cast<std::size_t>(ctx.pe());
    // The signal is stored with release; pairs with the acquire of the wait there.
    ctx.put(weft::dev::Block{}, slots + me * kMaxCount, in + send_offsets[to], send_counts[to], to,
            weft::set(arrived + me, 1 + send_counts[to]));
  }
  // [send]

  // [receive]
  WEFT_DEVICE bool receive(const weft::dev::Context& ctx, int from) const {
    const weft::dev::Block block;
    if (!ctx.wait_until(block, arrived + from, weft::Cmp::kNe, std::uint64_t{0})) return false;
    const std::uint64_t count = arrived[from] - 1;
    for (std::size_t i = static_cast<std::size_t>(block.rank()); i < count;
         i += weft::dev::block_size())
      out[recv_offsets[from] + i] = slots[static_cast<std::size_t>(from) * kMaxCount + i];
    if (block.rank() == 0) recv_counts[from] = count;
    return true;
  }
  // [receive]

  // [kernel]
  WEFT_DEVICE void operator()() const {
    const weft::dev::Context ctx(handle);
    const int me = ctx.pe(), npes = ctx.npes();
    const int first = static_cast<int>(weft::dev::block_rank());
    const int step = static_cast<int>(weft::dev::grid_size());
    for (int i = first; i < npes; i += step) send(ctx, (me + i) % npes);
    for (int i = first; i < npes; i += step)
      if (!receive(ctx, (me + npes - i) % npes)) return;
  }
  // [kernel]
};

// All that a call of either kind is given.
struct Buffers {
  std::int32_t *in, *out;
  std::uint64_t *send_counts, *send_offsets, *recv_offsets, *recv_counts;
};

weft::Status by_hand(weft::Runtime& rt, const Buffers& with) {
  const auto npes = static_cast<std::size_t>(rt.npes());
  auto slots = rt.allocate_device<std::int32_t>(npes * kMaxCount);
  if (!slots) return slots.status();
  auto arrived = rt.callocate_device<std::uint64_t>(npes);
  if (!arrived) return arrived.status();
  auto handle = rt.context().device();
  if (!handle) return handle.status();
  const unsigned threads = rt.gpu() < 0 ? 4 : 256;  // of a block; on hosts each is a thread
  weft::Status status = weft::dev::launch(
      {kBlocks, threads, 0}, Exchange{*handle, with.in, with.send_counts, with.send_offsets, *slots,
                                      *arrived, with.out, with.recv_offsets, with.recv_counts});
  if (status) status = weft::dev::synchronize();
  return status ? rt.health() : status;
}

weft::Status by_operator(weft::Runtime& rt, const Buffers& with) {
  // [operator]
  auto exchange = weft::kernels::AllToAllV::create(
      rt, {.max_count = kMaxCount, .dtype = weft::kernels::DType::kInt32});
  if (!exchange) return exchange.status();
  weft::Status status = (*exchange)(nullptr, with.out, with.in,  // null: the default stream
                                    {.send_counts = with.send_counts,
                                     .send_offsets = with.send_offsets,
                                     .recv_offsets = with.recv_offsets,
                                     .recv_counts = with.recv_counts});
  // [operator]
  if (status) status = weft::dev::synchronize();
  if (status && rt.pe() == 0) std::printf("%s\n", exchange->describe().c_str());
  return status ? rt.health() : status;
}

weft::Status wrong(const char* way, const char* thing, int from, long long seen, long long wanted) {
  char text[112];
  std::snprintf(text, sizeof(text), "%s: %s PE %d is %lld, not %lld", way, thing, from, seen,
                wanted);
  return weft::Status::error(weft::Code::kInternal, text);
}

// Takes the results away again, so that the next call cannot pass by them.
weft::Status check(weft::Runtime& rt, const char* way, const Buffers& with) {
  const auto npes = static_cast<std::size_t>(rt.npes());
  std::vector<std::uint64_t> counts(npes);
  std::vector<std::int32_t> all(npes * kMaxCount);
  weft::Status status = rt.context().get(counts.data(), with.recv_counts, npes, rt.pe());
  if (status) status = rt.context().get(all.data(), with.out, all.size(), rt.pe());
  if (!status) return status;
  for (int from = 0; from < rt.npes(); ++from) {
    const std::uint64_t count = counts[static_cast<std::size_t>(from)];
    if (count != count_of(from, rt.pe()))
      return wrong(way, "the count of", from, static_cast<long long>(count),
                   static_cast<long long>(count_of(from, rt.pe())));
    for (std::size_t i = 0; i < count; ++i) {
      const std::int32_t seen = all[static_cast<std::size_t>(from) * kMaxCount + i];
      if (seen != value(from, rt.pe(), i))
        return wrong(way, "an element of", from, seen, value(from, rt.pe(), i));
    }
  }
  all.assign(all.size(), -1);
  counts.assign(npes, ~std::uint64_t{0});
  status = rt.context().put(with.out, all.data(), all.size(), rt.pe());
  if (status) status = rt.context().put(with.recv_counts, counts.data(), npes, rt.pe());
  return status ? rt.context().quiet() : status;
}

weft::Status fill(weft::Runtime& rt, const Buffers& with) {
  const auto npes = static_cast<std::size_t>(rt.npes());
  std::vector<std::int32_t> values;
  std::vector<std::uint64_t> counts, from, to;
  for (int pe = 0; pe < rt.npes(); ++pe) {
    counts.push_back(count_of(rt.pe(), pe));
    from.push_back(values.size());  // one behind the other
    to.push_back(static_cast<std::size_t>(pe) * kMaxCount);
    for (std::size_t i = 0; i < counts.back(); ++i) values.push_back(value(rt.pe(), pe, i));
  }
  weft::Context& ctx = rt.context();
  weft::Status status = ctx.put(with.in, values.data(), values.size(), rt.pe());
  if (status) status = ctx.put(with.send_counts, counts.data(), npes, rt.pe());
  if (status) status = ctx.put(with.send_offsets, from.data(), npes, rt.pe());
  if (status) status = ctx.put(with.recv_offsets, to.data(), npes, rt.pe());
  return status ? ctx.quiet() : status;  // the values are there
}

weft::Status job() {
  auto rt = weft::Runtime::create();
  if (!rt) return rt.status();
  const auto npes = static_cast<std::size_t>(rt->npes());
  auto elements = rt->allocate_device<std::int32_t>(2 * npes * kMaxCount);
  if (!elements) return elements.status();
  auto sizes = rt->allocate_device<std::uint64_t>(4 * npes);
  if (!sizes) return sizes.status();
  const Buffers with{
      *elements,        *elements + npes * kMaxCount, *sizes, *sizes + npes, *sizes + 2 * npes,
      *sizes + 3 * npes};
  weft::Status status = fill(*rt, with);
  if (status) status = by_hand(*rt, with);
  if (status) status = check(*rt, "by hand", with);
  if (status) status = by_operator(*rt, with);
  if (status) status = check(*rt, "by operator", with);
  if (status)
    std::printf(
        "PE %d of %d got %llu elements of PE 0 twice, and as many as they had of the others\n",
        rt->pe(), rt->npes(), static_cast<unsigned long long>(count_of(0, rt->pe())));
  return status;
}

}  // namespace

int main() {
  const weft::Status status = job();
  if (!status) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status ? 0 : 1;
}
