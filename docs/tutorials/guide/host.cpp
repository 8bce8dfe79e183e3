// The code that docs/guide/host-api.md shows; each PE is a thread of this process.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <weft/weft.hpp>

namespace {

using weft::Status;

Status differs(const char* what) { return Status::error(weft::Code::kInternal, what); }

Status puts_and_gets(weft::Runtime& rt) {
  // [heap]
  // Collective: same arguments, same order, on every PE. Zeroed everywhere when it returns.
  auto memory = rt.callocate<double>(1000);
  if (!memory) return memory.status();
  double* vector = *memory;
  // [heap]

  // [put]
  weft::Context& ctx = rt.context();
  const int next = (rt.pe() + 1) % rt.npes();
  const std::vector<double> mine(1000, rt.pe());

  // My address of `vector` names the same object on PE `next`. The source may lie anywhere.
  Status status = ctx.put(vector, mine.data(), 1000, next);
  if (status) status = rt.barrier();  // completes my puts, then waits for everybody
  if (!status) return status;
  // [put]
  if (vector[999] != (rt.pe() + rt.npes() - 1) % rt.npes()) return differs("put");

  // [get]
  std::vector<double> theirs(10);
  status = ctx.get(theirs.data(), vector, 10, next);  // blocking: the data is here on return
  if (!status) return status;
  auto one = ctx.g(vector + 5, next);  // one value
  if (!one) return one.status();
  // [get]
  if (theirs[0] != rt.pe() || *one != rt.pe()) return differs("get");
  if (status = rt.barrier(); !status) return status;
  return rt.free(vector);
}

Status atomics(weft::Runtime& rt) {
  auto memory = rt.callocate<std::uint64_t>(1);
  if (!memory) return memory.status();
  std::uint64_t* counter = *memory;
  // [atomic]
  weft::Context& ctx = rt.context();
  // Every PE takes a number from the counter of PE 0.
  auto ticket = ctx.atomic_fetch_add(counter, std::uint64_t{1}, 0);
  if (!ticket) return ticket.status();
  // [atomic]
  if (*ticket >= static_cast<std::uint64_t>(rt.npes())) return differs("fetch_add");
  if (Status status = rt.barrier(); !status) return status;
  if (rt.pe() == 0 && *counter != static_cast<std::uint64_t>(rt.npes())) return differs("atomics");
  return rt.free(counter);
}

Status signals(weft::Runtime& rt) {
  auto data = rt.allocate<int>(64);
  if (!data) return data.status();
  auto arrived = rt.callocate<std::uint64_t>(1);
  if (!arrived) return arrived.status();
  int* inbox = *data;
  std::uint64_t* signal = *arrived;
  const std::vector<int> mine(64, rt.pe());
  // [signal]
  weft::Context& ctx = rt.context();
  const int next = (rt.pe() + 1) % rt.npes();
  // Data, then signal: whoever sees the signal sees all the data.
  Status status = ctx.put(inbox, mine.data(), 64, next, weft::set(signal, 1));
  if (!status) return status;
  // The receiver waits on its own word; there is no barrier between the two. At least 1, not
  // equal to 1: a sender that is ahead may already have set the next value.
  status = weft::wait_until(ctx, signal, weft::Cmp::kGe, std::uint64_t{1});
  if (!status) return status;
  // [signal]
  if (inbox[63] != (rt.pe() + rt.npes() - 1) % rt.npes()) return differs("signal");

  // [order]
  // Two puts to one PE may arrive in any order. fence() orders what comes after it behind what
  // came before; quiet() returns when all of it is complete.
  const int half = 32;
  status = ctx.put_nbi(inbox, mine.data(), half, next);
  if (status) status = ctx.put_nbi(inbox + half, mine.data() + half, half, next);
  if (status) status = ctx.fence();
  if (status) status = ctx.signal(weft::set(signal, 2), next);
  if (status) status = ctx.quiet();  // now `mine` may be reused
  // [order]
  if (status) status = weft::wait_until(ctx, signal, weft::Cmp::kGe, std::uint64_t{2});
  if (status) status = rt.barrier();
  if (status) status = rt.free(signal);
  if (status) status = rt.free(inbox);
  return status;
}

Status contexts(weft::Runtime& rt) {
  auto memory = rt.callocate<std::uint64_t>(1);
  if (!memory) return memory.status();
  std::uint64_t* word = *memory;
  // [context]
  // A context is an ordering domain for one thread. Its quiet does not wait for other contexts.
  auto made = rt.create_context();
  if (!made) return made.status();
  weft::Context& side = *made;
  Status status = side.atomic_add(word, std::uint64_t{1}, 0);
  if (status) status = side.quiet();
  // [context]
  if (status) status = rt.barrier();
  if (status && rt.pe() == 0 && *word != static_cast<std::uint64_t>(rt.npes())) {
    return differs("context");
  }
  if (status) status = rt.free(word);
  return status;
}

}  // namespace

int main() {
  const Status status = weft::run_local(4, [](weft::Runtime& rt) {
    for (const auto part : {puts_and_gets, atomics, signals, contexts}) {
      const Status done = part(rt);
      if (!done) return done;
    }
    return Status::ok();
  });
  if (!status) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status ? 0 : 1;
}
