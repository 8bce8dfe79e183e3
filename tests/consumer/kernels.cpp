// A program that knows weft::kernels only from where it was installed.
#include <cstdio>
#include <vector>

#include <weft/device.hpp>
#include <weft/kernels/collectives.hpp>
#include <weft/weft.hpp>

weft::Status body(weft::Runtime& rt) {
  weft::kernels::CollectiveProblem problem;
  problem.max_count = 1000;
  auto sum = weft::kernels::AllReduce::create(rt, problem);
  if (!sum) return sum.status();
  std::vector<float> values(1000, static_cast<float>(rt.pe() + 1));
  weft::Status status = (*sum)(nullptr, values.data(), values.data(), values.size());
  if (!status) return status;
  status = weft::dev::synchronize();
  if (!status) return status;
  if (values != std::vector<float>(1000, 6.0f))
    return weft::Status::error(weft::Code::kInternal, "a wrong sum");
  return rt.barrier();
}

int main() {
  const weft::Status status = weft::run_local(3, body);
  std::printf("weft::kernels: %s\n", status.to_string().c_str());
  return status ? 0 : 1;
}
