// The code that docs/guide/teams-and-collectives.md shows; each PE is a thread of this process.
#include <cstdio>

#include <weft/weft.hpp>

namespace {

using weft::Status;

Status differs(const char* what) { return Status::error(weft::Code::kInternal, what); }

Status teams(weft::Runtime& rt) {
  // [team]
  // The even PEs. Every member of the parent calls; odd ones get a team with rank -1.
  const int evens = (rt.npes() + 1) / 2;
  auto made = rt.split_strided(rt.world(), 0, 2, evens);
  if (!made) return made.status();
  weft::Team even = *made;
  if (even.is_member()) {
    const int pe_of_last = even.pe_of(even.size - 1);  // rank to PE
    const int rank_in_world = weft::translate(even, even.rank, rt.world());
    if (rank_in_world != rt.pe() || pe_of_last != 2 * (evens - 1)) return differs("translate");
  }
  if (even.is_member()) return rt.destroy(even);  // collective over the team
  // [team]
  return Status::ok();
}

Status sums(weft::Runtime& rt) {
  auto in = rt.allocate<float>(100);
  if (!in) return in.status();
  auto out = rt.allocate<float>(100);
  if (!out) return out.status();
  float* src = *in;
  float* dst = *out;
  // [reduce]
  for (int i = 0; i < 100; ++i) src[i] = static_cast<float>(rt.pe() + 1);
  // Formed in rank order, so every PE gets the same bits, in every run.
  Status status = weft::reduce(rt.context(), rt.world(), dst, src, 100, weft::ReduceOp::kSum);
  if (!status) return status;
  // [reduce]
  if (dst[99] != static_cast<float>(rt.npes() * (rt.npes() + 1) / 2)) return differs("reduce");

  // [broadcast]
  if (rt.pe() == 0) src[0] = 42;
  status = weft::broadcast(rt.context(), rt.world(), dst, src, 1, 0);
  // [broadcast]
  if (!status) return status;
  if (dst[0] != 42) return differs("broadcast");
  if (status = rt.barrier(); !status) return status;
  if (status = rt.free(dst); !status) return status;
  return rt.free(src);
}

}  // namespace

int main() {
  const Status status = weft::run_local(5, [](weft::Runtime& rt) {
    const Status done = teams(rt);
    return done ? sums(rt) : done;
  });
  if (!status) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status ? 0 : 1;
}
