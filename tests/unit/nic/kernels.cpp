// Every operation of the GPU-initiated queue pair in a kernel: what the GPU compilers are given.
#include <weft/device.hpp>

#include <weft/dev/nic/operations.hpp>
#include <weft/dev/nic/mlx5.hpp>

namespace weft::test {
namespace {

struct UseTheQueue {
  DeviceContext h;
  Op op;
  std::uint64_t* word;
  WEFT_DEVICE void operator()() const {
    using Nic = dev::nic::Mlx5;
    const int pe = static_cast<int>(op.pe);
    bool ok = dev::nic::takes(op) && dev::nic::put<Nic>(h, "put", op);
    ok = dev::nic::get<Nic>(h, "get", op, true) && ok;
    ok = dev::nic::change<Nic>(h, "signal", op) && ok;
    ok = dev::nic::fetch<Nic>(h, "atomic_fetch", op, word) && ok;
    ok = dev::nic::fence<Nic>(h, "fence", pe) && ok;
    ok = dev::nic::quiet<Nic>(h, "quiet", pe) && ok;
    if (!ok) *word = 0;
  }
};

}  // namespace

// Never called: it makes the kernel.
bool make_nic_kernel() { return dev::launch(dev::Grid{1, 1, 0}, UseTheQueue{}).is_ok(); }

}  // namespace weft::test
