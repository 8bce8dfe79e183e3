// A program that knows Weft only from where it was installed: host API and a kernel.
#include <cstdint>
#include <cstdio>

#include <weft/device.hpp>
#include <weft/weft.hpp>

struct Notify {
  weft::DeviceContext handle;
  std::uint64_t* word;
  WEFT_DEVICE void operator()() const {
    weft::dev::Context ctx(handle);
    const int next = (ctx.pe() + 1) % ctx.npes();
    if (weft::dev::Thread{}.rank() == 0) ctx.signal(weft::set(word, 42), next);
    ctx.wait_until(weft::dev::Thread{}, word, weft::Cmp::kEq, std::uint64_t{42});
  }
};

weft::Status body(weft::Runtime& rt) {
  auto word = rt.callocate<std::uint64_t>(1);
  if (!word) return word.status();
  auto handle = rt.context().device();
  if (!handle) return handle.status();
  weft::Status status = weft::dev::launch({1, 1, 0}, Notify{*handle, *word});
  if (!status) return status;
  status = weft::dev::synchronize();
  if (!status) return status;
  status = rt.barrier();
  if (!status) return status;
  return rt.free(*word);
}

int main() {
  const weft::Status status = weft::run_local(3, body);
  std::printf("weft %s: %s\n", WEFT_VERSION, status.to_string().c_str());
  return status ? 0 : 1;
}
