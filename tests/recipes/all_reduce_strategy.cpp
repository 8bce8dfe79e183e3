// Uses the recipe all_reduce_strategy: AllReduce takes the algorithm by its name, in options and in
// tables, and sums up in rank order as all of them do.
#include <cstdio>
#include <string>
#include <vector>

#include <weft/device.hpp>
#include <weft/kernels/collectives.hpp>
#include <weft/kernels/table.hpp>
#include <weft/small_float.hpp>
#include <weft/weft.hpp>

namespace {

using weft::Bfloat16;
using weft::kernels::Algorithm;
using weft::kernels::AllReduce;

constexpr int kPes = 4;
constexpr std::size_t kMost = 5000;

weft::Status wrong(const std::string& text) {
  return weft::Status::error(weft::Code::kInternal, text);
}

// Elements have many magnitudes, so that a sum in another order is another one.
Bfloat16 element(int pe, std::size_t i) {
  const auto number = static_cast<float>((static_cast<int>(i) * 37 + pe * 101) % 199 - 99);
  return Bfloat16(number * (pe % 2 == 0 ? 1.0f : 0.0078125f));
}
Bfloat16 sum_of(std::size_t i) {
  float sum = static_cast<float>(element(0, i));
  for (int pe = 1; pe < kPes; ++pe) sum += static_cast<float>(element(pe, i));
  return Bfloat16(sum);
}

weft::Status sum_up(weft::Runtime& runtime, AllReduce& sum, std::size_t count) {
  const auto plan = sum.plan(count);
  if (!plan) return plan.status();
  if (plan->algorithm != Algorithm("one-shot-simple"))
    return wrong(std::string("the plan is by ") + to_string(plan->algorithm));
  std::vector<Bfloat16> data(count);
  for (std::size_t i = 0; i < count; ++i) data[i] = element(runtime.pe(), i);
  weft::Status status = sum(nullptr, data.data(), data.data(), count);
  if (status) status = weft::dev::synchronize();
  if (!status) return status;
  for (std::size_t i = 0; i < count; ++i)
    if (static_cast<float>(data[i]) != static_cast<float>(sum_of(i)))
      return wrong("element " + std::to_string(i) + " of " + std::to_string(count));
  return runtime.barrier();
}

weft::Status job(weft::Runtime& runtime) {
  weft::kernels::CollectiveProblem problem;
  problem.max_count = kMost;
  problem.dtype = weft::kernels::DType::kBfloat16;
  weft::kernels::CollectiveOptions named, by_table;
  named.algorithm = Algorithm("one-shot-simple");
  auto table = weft::kernels::parse_table(
      "weft-kernels-table 1\nAllReduce any any one-shot-simple 3 2\n", "the recipe's table");
  if (!table) return table.status();
  by_table.table = *table;
  for (const auto* options : {&named, &by_table}) {
    auto sum = AllReduce::create(runtime, problem, *options);
    if (!sum) return sum.status();
    for (const std::size_t count : {kMost, std::size_t{1}, std::size_t{7}, kMost - 3}) {
      weft::Status status = sum_up(runtime, *sum, count);
      if (!status) return status;
    }
    if (runtime.pe() == 0) std::printf("%s\n", sum->describe().c_str());
  }
  return weft::Status::ok();
}

}  // namespace

int main() {
  const weft::Status status = weft::run_local(kPes, job);
  if (!status) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status ? 0 : 1;
}
