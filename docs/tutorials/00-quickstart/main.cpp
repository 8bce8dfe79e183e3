// Four PEs, two kernels. In the first a vector travels round the ring and every PE adds its number;
// in the second every PE sends a block to every other. Each byte is checked.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <weft/device.hpp>
#include <weft/weft.hpp>

namespace {

constexpr std::size_t kCount = 1000;  // no multiple of anything

// One block on each PE: wait for the vector, add my number, hand it on. PE 0 starts and ends the
// round.
struct Ring {
  weft::DeviceContext handle;
  std::uint64_t* vector;  // symmetric, kCount
  std::uint64_t* signal;  // symmetric
  WEFT_DEVICE void operator()() const {
    weft::dev::Context ctx(handle);
    weft::dev::Block block;
    const int next = (ctx.pe() + 1) % ctx.npes();
    if (ctx.pe() != 0) {
      ctx.wait_until(block, signal, weft::Cmp::kEq, std::uint64_t{1});
      for (std::size_t i = block.rank(); i < kCount; i += block.size())
        vector[i] += static_cast<std::uint64_t>(ctx.pe());
      block.sync();
    }
    ctx.put(block, vector, vector, kCount, next, weft::set(signal, 1));
    if (ctx.pe() == 0) ctx.wait_until(block, signal, weft::Cmp::kEq, std::uint64_t{1});
  }
};

// Sends my piece for PE `to` there and adds to its counter; the last of these kernels waits until
// every PE's piece has come here.
struct AllToAll {
  weft::DeviceContext handle;
  const std::uint64_t* send;  // npes pieces of kCount
  std::uint64_t* receive;     // symmetric, npes pieces of kCount
  std::uint64_t* arrived;     // symmetric
  int to;
  WEFT_DEVICE void operator()() const {
    weft::dev::Context ctx(handle);
    weft::dev::Block block;
    ctx.put(block, receive + kCount * static_cast<std::size_t>(ctx.pe()),
            send + kCount * static_cast<std::size_t>(to), kCount, to, weft::add(arrived, 1));
    if (to == ctx.npes() - 1)
      ctx.wait_until(block, arrived, weft::Cmp::kEq, static_cast<std::uint64_t>(ctx.npes()));
  }
};

std::uint64_t value(int from, int to, std::size_t i) {
  return (static_cast<std::uint64_t>(from) << 40) ^ (static_cast<std::uint64_t>(to) << 20) ^
         (i * 2654435761u);
}

weft::Status wrong(const char* what, std::size_t i, std::uint64_t seen, std::uint64_t wanted) {
  return weft::Status::error(weft::Code::kInternal,
                             std::string(what) + ": element " + std::to_string(i) + " is " +
                                 std::to_string(seen) + ", not " + std::to_string(wanted));
}

// The memory of kernels may be a GPU's, which the host reaches by copies: put and get.
weft::Result<std::uint64_t*> symmetric(weft::Runtime& rt,
                                       const std::vector<std::uint64_t>& values) {
  auto memory = rt.allocate_device<std::uint64_t>(values.size());
  if (!memory) return memory;
  weft::Status status = rt.context().put(*memory, values.data(), values.size(), rt.pe());
  if (status) status = rt.barrier();
  if (!status) return status;
  return memory;
}

weft::Status run(weft::Runtime& rt) {
  weft::Status status = weft::dev::synchronize();
  return status ? rt.health() : status;  // health: of a wait that timed out inside the kernel
}

weft::Status ring(weft::Runtime& rt) {
  std::vector<std::uint64_t> values(kCount);
  for (std::size_t i = 0; i < kCount; ++i) values[i] = i;
  auto vector = symmetric(rt, values);
  if (!vector) return vector.status();
  auto signal = rt.callocate_device<std::uint64_t>(1);
  if (!signal) return signal.status();
  auto handle = rt.context().device();
  if (!handle) return handle.status();

  weft::Status status = weft::dev::launch({1, 8, 0}, Ring{*handle, *vector, *signal});
  if (status) status = run(rt);
  if (status) status = rt.context().get(values.data(), *vector, kCount, rt.pe());
  if (!status) return status;

  const std::uint64_t sum =
      static_cast<std::uint64_t>(rt.npes()) * static_cast<std::uint64_t>(rt.npes() - 1) / 2;
  if (rt.pe() == 0)
    for (std::size_t i = 0; i < kCount; ++i)
      if (values[i] != i + sum) return wrong("ring", i, values[i], i + sum);
  return rt.barrier();
}

weft::Status all_to_all(weft::Runtime& rt) {
  const auto pieces = static_cast<std::size_t>(rt.npes());
  std::vector<std::uint64_t> values(kCount * pieces);
  for (int to = 0; to < rt.npes(); ++to)
    for (std::size_t i = 0; i < kCount; ++i)
      values[kCount * static_cast<std::size_t>(to) + i] = value(rt.pe(), to, i);
  auto send = symmetric(rt, values);
  if (!send) return send.status();
  auto receive = rt.callocate_device<std::uint64_t>(kCount * pieces);
  if (!receive) return receive.status();
  auto arrived = rt.callocate_device<std::uint64_t>(1);
  if (!arrived) return arrived.status();
  auto handle = rt.context().device();
  if (!handle) return handle.status();

  for (int to = 0; to < rt.npes(); ++to) {
    weft::Status status =
        weft::dev::launch({1, 4, 0}, AllToAll{*handle, *send, *receive, *arrived, to});
    if (!status) return status;
  }
  weft::Status status = run(rt);
  if (status) status = rt.context().get(values.data(), *receive, values.size(), rt.pe());
  if (!status) return status;

  for (int from = 0; from < rt.npes(); ++from)
    for (std::size_t i = 0; i < kCount; ++i) {
      const std::uint64_t seen = values[kCount * static_cast<std::size_t>(from) + i];
      if (seen != value(from, rt.pe(), i))
        return wrong("all-to-all", i, seen, value(from, rt.pe(), i));
    }
  return rt.barrier();
}

weft::Status job() {
  auto rt = weft::Runtime::create();
  if (!rt) return rt.status();
  weft::Status status = ring(*rt);
  if (!status) return status;
  status = all_to_all(*rt);
  if (!status) return status;
  if (rt->pe() == 0)
    std::printf(
        "%d PEs: ring of %zu values and all-to-all of %zu values a pair, by kernels on %s: all "
        "correct\n",
        rt->npes(), kCount, kCount, rt->gpu() < 0 ? "host threads" : "GPUs");
  return status;
}

}  // namespace

int main() {
  const weft::Status status = job();
  if (!status) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status ? 0 : 1;
}
