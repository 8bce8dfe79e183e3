#include <cstdint>
#include <cstdio>

#include <weft/device.hpp>
#include <weft/weft.hpp>

struct Hello {  // a kernel: one source for CUDA, HIP and host threads
  weft::DeviceContext handle;
  int* inbox;
  std::uint64_t* signal;
  WEFT_DEVICE void operator()() const {
    weft::dev::Context ctx(handle);
    const int next = (ctx.pe() + 1) % ctx.npes(), me = ctx.pe();
    ctx.put(weft::dev::Thread{}, inbox, &me, 1, next, weft::set(signal, 1));  // data, then signal
    ctx.wait_until(weft::dev::Thread{}, signal, weft::Cmp::kEq, std::uint64_t{1});
  }
};

weft::Status hello() {
  auto rt = weft::Runtime::create();  // finds its launcher by itself
  if (!rt) return rt.status();
  auto inbox = rt->callocate_device<int>(1);  // on my GPU; without one, on the host
  auto signal = rt->callocate_device<std::uint64_t>(1);
  auto handle = rt->context().device();
  if (!inbox || !signal || !handle) return weft::Status::error(weft::Code::kOutOfMemory, "heap");
  weft::Status status = weft::dev::launch({1, 1, 0}, Hello{*handle, *inbox, *signal});
  if (status) status = weft::dev::synchronize();
  int from = -1;
  if (status) status = rt->context().get(&from, *inbox, 1, rt->pe());
  if (status) std::printf("PE %d of %d heard from PE %d\n", rt->pe(), rt->npes(), from);
  return status;
}

int main() {
  const weft::Status status = hello();
  if (!status) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status ? 0 : 1;
}
