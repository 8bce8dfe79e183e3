// The symmetric heap: allocate and free.
#include <cstdlib>

#include "perftest/contents.hpp"
#include "perftest/tests/make.hpp"

namespace weft::perf {
namespace {

class Allocate : public Test {
 public:
  Allocate(Job& job, const Point& point) : job_(job), bytes_(point.bytes) {}
  Status allocate() { return Status::ok(); }

  Status prepare() override {
    key_ = job_.fresh_key();
    return Status::ok();
  }

  Result<Ns> run(Count iters) override {
    Runtime& runtime = job_.runtime();
    return time_loop(iters, [&](Count) {
      ASSIGN_OR_RETURN(void* const memory, runtime.allocate_bytes(bytes_));
      return runtime.free(memory);
    });
  }

  Result<Ns> run_floor(Count iters) override {
    return time_plain(iters, [&](Count) {
      void* volatile memory = std::malloc(bytes_);
      std::free(memory);
    });
  }

  // Two blocks; the next PE's puts find the first one and leave the second one alone.
  Status check() override {
    Runtime& runtime = job_.runtime();
    const int n = job_.npes();
    const auto key_of = [&](int pe) { return mix(key_, static_cast<std::uint64_t>(pe)); };
    const int previous = (job_.pe() + n - 1) % n;
    ASSIGN_OR_RETURN(void* const first, runtime.allocate_bytes(bytes_));
    ASSIGN_OR_RETURN(void* const second, runtime.allocate_bytes(bytes_));
    fill_wrong(first, bytes_, key_of(previous));
    fill(second, bytes_, key_of(n));
    std::vector<std::byte> mine(bytes_);
    fill(mine.data(), bytes_, key_of(job_.pe()));
    RETURN_IF_ERROR(runtime.barrier());
    RETURN_IF_ERROR(job_.ctx().put_bytes(first, mine.data(), bytes_, (job_.pe() + 1) % n));
    RETURN_IF_ERROR(runtime.barrier());
    Status right = expect("the first block", job_.pe(), first, bytes_, key_of(previous));
    if (right) right = expect("the second block", job_.pe(), second, bytes_, key_of(n));
    RETURN_IF_ERROR(runtime.barrier());
    RETURN_IF_ERROR(runtime.free(first));
    RETURN_IF_ERROR(runtime.free(second));
    return right;
  }

 private:
  Job& job_;
  const std::size_t bytes_;
  std::uint64_t key_ = 0;
};

}  // namespace

std::vector<Row> memory_rows() {
  return {
      {.name = "allocate",
       .kind = Kind::kLatency,
       .what = "symmetric allocation and free, memory of the heap's present chunk",
       .formula = "time = batch / pairs, of the slowest PE",
       .floor = "malloc and free",
       .min_pes = 1,
       .uses = kUsesSize,
       .max = 1u << 20,
       .type = "uint8",
       .make = make<Allocate>},
  };
}

}  // namespace weft::perf
