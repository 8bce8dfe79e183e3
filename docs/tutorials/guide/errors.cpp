// The code that docs/guide/errors-and-waits.md shows; each PE is a thread of this process.
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <weft/weft.hpp>

namespace {

using weft::Status;

Status wrong_calls(weft::Runtime& rt) {
  auto memory = rt.callocate<std::uint64_t>(1);
  if (!memory) return memory.status();
  std::uint64_t* word = *memory;
  int local = 0;
  // [error]
  Status status = rt.context().put(&local, &local, 1, 0);  // `local` is not in the symmetric heap
  if (status.is(weft::Code::kNotSymmetric)) {
    std::printf("%s\n", status.to_string().c_str());  // what, where, how to mend it
    std::printf("%s\n", weft::last_error());          // the same text, per thread
  }
  // [error]
  if (status || std::strlen(weft::last_error()) == 0) {
    return Status::error(weft::Code::kInternal, "a put to a local variable was taken");
  }

  // [timeout]
  // Nobody sets the word to 7: after WEFT_WAIT_TIMEOUT the wait ends with a report.
  status = weft::wait_until(rt.context(), word, weft::Cmp::kEq, std::uint64_t{7});
  if (status.is(weft::Code::kTimeout)) std::printf("%s\n", status.to_string().c_str());
  // [timeout]
  if (status) return Status::error(weft::Code::kInternal, "a wait for nothing came to an end");
  return Status::ok();
}

}  // namespace

int main() {
  // [options]
  weft::Options options;
  options.wait_timeout = 0.2;  // as WEFT_WAIT_TIMEOUT=200ms
  options.check = true;        // as WEFT_CHECK=1
  const Status status = weft::run_local(1, wrong_calls, options);
  // [options]
  if (!status) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status ? 0 : 1;
}
