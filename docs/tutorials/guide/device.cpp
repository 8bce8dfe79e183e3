// The code that docs/guide/device-api.md shows; each PE is a thread of this process.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <weft/device.hpp>
#include <weft/weft.hpp>

namespace {

using weft::Status;

constexpr std::size_t kCount = 1023;

// [kernel]
// A block puts a vector to the next PE and waits for the one from the PE before.
struct Shift {
  weft::DeviceContext handle;
  const float* from;
  float* to;              // symmetric
  std::uint64_t* signal;  // symmetric
  WEFT_DEVICE void operator()() const {
    weft::dev::Context ctx(handle);
    weft::dev::Block block;  // all threads of the block make each call together
    const int next = (ctx.pe() + 1) % ctx.npes();
    ctx.put(block, to, from, kCount, next, weft::add(signal, 1));
    ctx.wait_until(block, signal, weft::Cmp::kGe, std::uint64_t{1});
    // Here every thread of the block sees the whole vector in `to`.
    for (std::size_t i = block.rank(); i < kCount; i += block.size()) to[i] *= 2;
  }
};
// [kernel]

// [reduce]
struct Sum {
  weft::DeviceContext handle;
  weft::Team team;
  float* dst;
  const float* src;
  WEFT_DEVICE void operator()() const {
    weft::dev::Context ctx(handle);
    weft::dev::reduce<weft::ReduceOp::kSum>(ctx, weft::dev::Block{}, team, dst, src, kCount);
  }
};
// [reduce]

Status run(weft::Runtime& rt) {
  auto from = rt.allocate_device<float>(kCount);
  if (!from) return from.status();
  auto to = rt.allocate_device<float>(kCount);
  if (!to) return to.status();
  auto signal = rt.callocate_device<std::uint64_t>(1);
  if (!signal) return signal.status();
  std::vector<float> values(kCount, static_cast<float>(rt.pe()));
  Status status = rt.context().put(*from, values.data(), kCount, rt.pe());
  if (!status) return status;

  // [launch]
  auto handle = rt.context().device();  // plain data, passed by value
  if (!handle) return handle.status();
  status = weft::dev::launch({1, 64, 0}, Shift{*handle, *from, *to, *signal});
  if (!status) return status;         // it could not be queued
  status = weft::dev::synchronize();  // waits until it has run
  if (!status) return status;
  status = rt.health();  // did a wait in the kernel reach its deadline?
  if (!status) return status;
  // [launch]
  const int before = (rt.pe() + rt.npes() - 1) % rt.npes();
  status = rt.context().get(values.data(), *to, kCount, rt.pe());
  if (!status) return status;
  if (values[kCount - 1] != static_cast<float>(2 * before)) {
    return Status::error(weft::Code::kInternal, "shift");
  }

  if (status = rt.barrier(); !status) return status;
  status = weft::dev::launch({1, 8, 0}, Sum{*handle, rt.world(), *to, *from});
  if (status) status = weft::dev::synchronize();
  if (status) status = rt.health();
  if (status) status = rt.context().get(values.data(), *to, kCount, rt.pe());
  if (!status) return status;
  if (values[0] != static_cast<float>(rt.npes() * (rt.npes() - 1) / 2)) {
    return Status::error(weft::Code::kInternal, "reduce");
  }
  return rt.barrier();
}

}  // namespace

int main() {
  const Status status = weft::run_local(3, run);
  if (!status) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status ? 0 : 1;
}
