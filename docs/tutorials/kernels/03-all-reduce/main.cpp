// AllReduce twice: by hand in a kernel, in two shots, and by weft::kernels::AllReduce. Both form
// their sums in rank order, so the results are the same bits.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include <weft/device.hpp>
#include <weft/kernels/collectives.hpp>
#include <weft/weft.hpp>

namespace {

constexpr std::size_t kCount = 10007;  // elements of the vector; no multiple of anything
constexpr unsigned kBlocks = 4;

// Fractions, so that a sum in another order is another one.
float value(int pe, std::size_t i) {
  return 1.0f / static_cast<float>(1 + (static_cast<std::size_t>(pe) * 7919 + i * (i + 1)) % 1009);
}

struct ReduceInTwoShots {
  weft::DeviceContext handle;
  const float* in;         // kCount
  float* staging;          // symmetric, npes * kCount: what each PE has sent of its vector
  std::uint64_t* arrived;  // symmetric, kBlocks * npes: a signal for each block and source
  std::uint64_t* summed;   // symmetric, the same: the source's sums are here
  float* out;              // symmetric, kCount

  // [pieces]
  struct Piece {
    std::size_t begin, count;
  };
  // The piece that this block of `owner` adds up: the vector has a share for each PE, in it one for
  // each block.
  WEFT_DEVICE Piece piece_of(int owner, int npes) const {
    const std::size_t pieces = static_cast<std::size_t>(npes) * weft::dev::grid_size();
    const std::size_t piece =
        static_cast<std::size_t>(owner) * weft::dev::grid_size() + weft::dev::block_rank();
    const std::size_t begin = kCount * piece / pieces;
    return {begin, kCount * (piece + 1) / pieces - begin};
  }
  // [pieces]

  // [add]
  WEFT_DEVICE void add(const Piece& piece, int npes) const {
    for (std::size_t i = piece.begin + weft::dev::thread_rank(); i < piece.begin + piece.count;
         i += weft::dev::block_size()) {
      float sum = staging[i];
      for (int pe = 1; pe < npes; ++pe) sum += staging[static_cast<std::size_t>(pe) * kCount + i];
      out[i] = sum;
    }
  }
  // [add]

  // [kernel]
  WEFT_DEVICE void operator()() const {
    const weft::dev::Context ctx(handle);
    const weft::dev::Block block;
    const int me = ctx.pe(), npes = ctx.npes();
    const std::size_t signals = std::size_t{weft::dev::block_rank()} * static_cast<unsigned>(npes);
    // First shot: each owner gets everybody's elements of its piece.
    for (int i = 0; i < npes; ++i) {
      const int owner = (me + i) % npes;  // at any time each sends to another
      const Piece piece = piece_of(owner, npes);
      // The signal is stored with release; pairs with the acquire of the wait there.
      ctx.put(block, staging + static_cast<std::size_t>(me) * kCount + piece.begin,
              in + piece.begin, piece.count, owner, weft::set(arrived + signals + me, 1));
    }
    if (!ctx.wait_until_all(block, arrived + signals, static_cast<std::size_t>(npes), nullptr,
                            weft::Cmp::kEq, std::uint64_t{1}))
      return;
    const Piece mine = piece_of(me, npes);
    add(mine, npes);
    // Second shot: the sums go to everybody. The put begins with a barrier of the block, so all of
    // its threads have added.
    for (int i = 1; i < npes; ++i)
      ctx.put(block, out + mine.begin, out + mine.begin, mine.count, (me + i) % npes,
              weft::set(summed + signals + me, 1));
    for (int i = 1; i < npes; ++i)
      if (!ctx.wait_until(block, summed + signals + (me + npes - i) % npes, weft::Cmp::kEq,
                          std::uint64_t{1}))
        return;
  }
  // [kernel]
};

weft::Status by_hand(weft::Runtime& rt, float* out, const float* in) {
  const auto npes = static_cast<std::size_t>(rt.npes());
  auto staging = rt.allocate_device<float>(npes * kCount);
  if (!staging) return staging.status();
  auto arrived = rt.callocate_device<std::uint64_t>(npes * kBlocks);
  if (!arrived) return arrived.status();
  auto summed = rt.callocate_device<std::uint64_t>(npes * kBlocks);
  if (!summed) return summed.status();
  auto handle = rt.context().device();
  if (!handle) return handle.status();
  const unsigned threads = rt.gpu() < 0 ? 4 : 256;  // of a block; on hosts each is a thread
  weft::Status status = weft::dev::launch(
      {kBlocks, threads, 0}, ReduceInTwoShots{*handle, in, *staging, *arrived, *summed, out});
  if (status) status = weft::dev::synchronize();
  return status ? rt.health() : status;
}

weft::Status by_operator(weft::Runtime& rt, float* out, const float* in) {
  // [operator]
  auto sum = weft::kernels::AllReduce::create(
      rt, {.max_count = kCount, .dtype = weft::kernels::DType::kFloat32});
  if (!sum) return sum.status();
  weft::Status status = (*sum)(nullptr, out, in, kCount);  // null: the default stream
  // [operator]
  if (status) status = weft::dev::synchronize();
  if (status && rt.pe() == 0) std::printf("%s\n", sum->describe().c_str());
  return status ? rt.health() : status;
}

// The model: the same sums on the host.
std::vector<float> sums_of(int npes) {
  std::vector<float> sums(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    sums[i] = value(0, i);
    for (int pe = 1; pe < npes; ++pe) sums[i] += value(pe, i);
  }
  return sums;
}

weft::Status check(weft::Runtime& rt, const char* way, const float* out) {
  const std::vector<float> wanted = sums_of(rt.npes());
  std::vector<float> seen(kCount);
  const weft::Status status = rt.context().get(seen.data(), out, kCount, rt.pe());
  if (!status) return status;
  for (std::size_t i = 0; i < kCount; ++i) {
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
  auto in = rt->allocate_device<float>(kCount);
  if (!in) return in.status();
  auto first = rt->allocate_device<float>(kCount);
  if (!first) return first.status();
  auto second = rt->allocate_device<float>(kCount);
  if (!second) return second.status();

  std::vector<float> values(kCount);
  for (std::size_t i = 0; i < kCount; ++i) values[i] = value(rt->pe(), i);
  weft::Status status = rt->context().put(*in, values.data(), kCount, rt->pe());
  if (status) status = rt->context().quiet();  // the values are there
  if (status) status = by_hand(*rt, *first, *in);
  if (status) status = check(*rt, "by hand", *first);
  if (status) status = by_operator(*rt, *second, *in);
  if (status) status = check(*rt, "by operator", *second);
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
