// AllReduceNorm twice: by hand in a kernel, and by weft::kernels::AllReduceNorm. The rows with
// their residual are the same bits both times; the squares of a row are added up in another order,
// so the normed rows are compared with a model in double within a bound.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include <weft/device.hpp>
#include <weft/kernels/all_reduce_norm.hpp>
#include <weft/weft.hpp>

namespace {

constexpr std::size_t kRows = 12, kHidden = 200;
constexpr unsigned kBlocks = 3;
constexpr float kEpsilon = 1e-6f;

// Element i of the partial sums of a PE; of the residual and the weight, which are the same on all.
float value(int pe, std::size_t i) {
  const std::size_t mixed = static_cast<std::size_t>(pe) * 7919 + i * (i % 13 + 1);
  return static_cast<float>(mixed % 1009) / 256.0f - 1.7f;
}
float residual_value(std::size_t i) { return 1.0f / static_cast<float>(1 + i % 97); }
float weight_value(std::size_t i) { return 0.5f + static_cast<float>(i % 11) / 10.0f; }

struct ReduceAndNorm {
  weft::DeviceContext handle;
  const float* in;         // kRows of kHidden
  const float* residual;   // kRows of kHidden
  const float* weight;     // kHidden
  float* parts;            // symmetric, npes * kRows of kHidden: the rows of each PE
  std::uint64_t* arrived;  // symmetric, npes * kRows: the source's row is here
  float* residual_out;     // kRows of kHidden
  float* out;              // kRows of kHidden

  WEFT_DEVICE std::size_t at(int pe, std::size_t row) const {
    return static_cast<std::size_t>(pe) * kRows + row;
  }

  // [push]
  WEFT_DEVICE void push(const weft::dev::Context& ctx, std::size_t row) const {
    const int me = ctx.pe(), npes = ctx.npes();
    for (int i = 0; i < npes; ++i)
      // The signal is stored with release; pairs with the acquire of the wait there.
      ctx.put(weft::dev::Block{}, parts + at(me, row) * kHidden, in + row * kHidden, kHidden,
              (me + i) % npes, weft::set(arrived + at(me, row), 1));
  }
  // [push]

  // [add]
  WEFT_DEVICE bool add(const weft::dev::Context& ctx, std::size_t row) const {
    const int npes = ctx.npes();
    for (int pe = 0; pe < npes; ++pe)
      if (!ctx.wait_until(weft::dev::Block{}, arrived + at(pe, row), weft::Cmp::kEq,
                          std::uint64_t{1}))
        return false;
    for (std::size_t j = weft::dev::thread_rank(); j < kHidden; j += weft::dev::block_size()) {
      float sum = parts[at(0, row) * kHidden + j];
      for (int pe = 1; pe < npes; ++pe) sum += parts[at(pe, row) * kHidden + j];  // in rank order
      residual_out[row * kHidden + j] = sum + residual[row * kHidden + j];
    }
    return true;
  }
  // [add]

  // [norm]
  WEFT_DEVICE void norm(std::size_t row) const {
    weft::dev::Block{}.sync();  // all elements of the row are there
    const float* const sums = residual_out + row * kHidden;
    float squares = 0;
    for (std::size_t j = 0; j < kHidden; ++j) squares += sums[j] * sums[j];
    const float factor = 1.0f / sqrtf(squares / static_cast<float>(kHidden) + kEpsilon);
    for (std::size_t j = weft::dev::thread_rank(); j < kHidden; j += weft::dev::block_size())
      out[row * kHidden + j] = sums[j] * factor * weight[j];
  }
  // [norm]

  // [kernel]
  WEFT_DEVICE void operator()() const {
    const weft::dev::Context ctx(handle);
    const std::size_t first = weft::dev::block_rank(), step = weft::dev::grid_size();
    for (std::size_t row = first; row < kRows; row += step) push(ctx, row);
    for (std::size_t row = first; row < kRows; row += step) {
      if (!add(ctx, row)) return;
      norm(row);
    }
  }
  // [kernel]
};

// The arguments of a call of either kind: kRows of kHidden each, the weight one row.
struct Buffers {
  float *in, *residual, *weight, *residual_out, *out;
};

weft::Status by_hand(weft::Runtime& rt, const Buffers& with) {
  const auto npes = static_cast<std::size_t>(rt.npes());
  auto parts = rt.allocate_device<float>(npes * kRows * kHidden);
  if (!parts) return parts.status();
  auto arrived = rt.callocate_device<std::uint64_t>(npes * kRows);
  if (!arrived) return arrived.status();
  auto handle = rt.context().device();
  if (!handle) return handle.status();
  const unsigned threads = rt.gpu() < 0 ? 4 : 128;  // of a block; on hosts each is a thread
  weft::Status status = weft::dev::launch(
      {kBlocks, threads, 0}, ReduceAndNorm{*handle, with.in, with.residual, with.weight, *parts,
                                           *arrived, with.residual_out, with.out});
  if (status) status = weft::dev::synchronize();
  return status ? rt.health() : status;
}

weft::Status by_operator(weft::Runtime& rt, const Buffers& with) {
  // [operator]
  auto norm = weft::kernels::AllReduceNorm::create(rt, {.max_rows = kRows,
                                                        .hidden = kHidden,
                                                        .dtype = weft::kernels::DType::kFloat32,
                                                        .epsilon = kEpsilon});
  if (!norm) return norm.status();
  weft::Status status = (*norm)(nullptr, with.out, with.residual_out, with.in, with.residual,
                                with.weight, kRows);  // null: the default stream
  // [operator]
  if (status) status = weft::dev::synchronize();
  if (status && rt.pe() == 0) std::printf("%s\n", norm->describe().c_str());
  return status ? rt.health() : status;
}

float sum_of(int npes, std::size_t e) {
  float sum = value(0, e);
  for (int pe = 1; pe < npes; ++pe) sum += value(pe, e);
  return sum + residual_value(e);
}

weft::Status wrong(const char* way, const char* matrix, std::size_t e, double seen, double wanted) {
  char text[128];
  std::snprintf(text, sizeof(text), "%s: row %zu, column %zu of %s is %.9g, not %.9g", way,
                e / kHidden, e % kHidden, matrix, seen, wanted);
  return weft::Status::error(weft::Code::kInternal, text);
}

weft::Status check_row(const char* way, int npes, std::size_t row, const float* sums,
                       const float* normed) {
  double squares = 0;
  for (std::size_t j = 0; j < kHidden; ++j) {
    const std::size_t e = row * kHidden + j;
    const float wanted = sum_of(npes, e);
    if (std::memcmp(&sums[e], &wanted, sizeof(float)) != 0)
      return wrong(way, "residual_out", e, sums[e], wanted);
    squares += static_cast<double>(wanted) * wanted;
  }
  const double root = std::sqrt(squares / kHidden + kEpsilon);
  for (std::size_t j = 0; j < kHidden; ++j) {
    const std::size_t e = row * kHidden + j;
    const double wanted = sums[e] / root * weight_value(j);
    // A float has 24 bits, and some of them are lost where 200 squares are added.
    if (!(std::abs(normed[e] - wanted) <= std::abs(wanted) * 1e-5))
      return wrong(way, "out", e, normed[e], wanted);
  }
  return weft::Status::ok();
}

// Takes the results away again, so that the next call cannot pass by them.
weft::Status check(weft::Runtime& rt, const char* way, const Buffers& with) {
  std::vector<float> sums(kRows * kHidden), normed(kRows * kHidden);
  weft::Context& ctx = rt.context();
  weft::Status status = ctx.get(sums.data(), with.residual_out, sums.size(), rt.pe());
  if (status) status = ctx.get(normed.data(), with.out, normed.size(), rt.pe());
  for (std::size_t row = 0; status && row < kRows; ++row)
    status = check_row(way, rt.npes(), row, sums.data(), normed.data());
  sums.assign(sums.size(), -1.0f);
  if (status) status = ctx.put(with.residual_out, sums.data(), sums.size(), rt.pe());
  if (status) status = ctx.put(with.out, sums.data(), sums.size(), rt.pe());
  return status ? ctx.quiet() : status;
}

weft::Status fill(weft::Runtime& rt, const Buffers& with) {
  std::vector<float> in(kRows * kHidden), residual(kRows * kHidden), weight(kHidden);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = value(rt.pe(), i);
  for (std::size_t i = 0; i < residual.size(); ++i) residual[i] = residual_value(i);
  for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = weight_value(i);
  weft::Context& ctx = rt.context();
  weft::Status status = ctx.put(with.in, in.data(), in.size(), rt.pe());
  if (status) status = ctx.put(with.residual, residual.data(), residual.size(), rt.pe());
  if (status) status = ctx.put(with.weight, weight.data(), weight.size(), rt.pe());
  return status ? ctx.quiet() : status;  // the values are there
}

weft::Status job() {
  auto rt = weft::Runtime::create();
  if (!rt) return rt.status();
  constexpr std::size_t kCount = kRows * kHidden;
  auto memory = rt->allocate_device<float>(4 * kCount + kHidden);
  if (!memory) return memory.status();
  const Buffers with{*memory, *memory + kCount, *memory + 4 * kCount, *memory + 2 * kCount,
                     *memory + 3 * kCount};
  weft::Status status = fill(*rt, with);
  if (status) status = by_hand(*rt, with);
  if (status) status = check(*rt, "by hand", with);
  if (status) status = by_operator(*rt, with);
  if (status) status = check(*rt, "by operator", with);
  if (status)
    std::printf("PE %d of %d normed %zu rows of %zu twice\n", rt->pe(), rt->npes(), kRows, kHidden);
  return status;
}

}  // namespace

int main() {
  const weft::Status status = job();
  if (!status) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status ? 0 : 1;
}
