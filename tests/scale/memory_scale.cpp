// The memory cost of PEs that are never spoken to:  WEFT_TRANSPORTS=ib,loopback memory_scale [PES]
//
// A runtime among PES that all answer the bootstrap as it does, so that its tables are those of a
// job of as many on other hosts; nobody is spoken to. Its resident memory less that of one among
// two is what the others cost. Prints it, and fails above 64 KiB for a PE.
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bootstrap/bootstrap.hpp"
#include "host/runtime/impl.hpp"
#include "src/base/status.hpp"

namespace weft {
namespace {

constexpr long kMostBytes = 64 << 10;
constexpr int kFewPes = 2;

class Echo final : public Bootstrap {
 public:
  explicit Echo(int npes) : npes_(npes) {}
  std::string_view name() const override { return "echo"; }
  int pe() const override { return 0; }
  int npes() const override { return npes_; }
  Result<std::vector<Blob>> allgather(std::span<const std::byte> mine) override {
    return std::vector<Blob>(static_cast<std::size_t>(npes_), Blob(mine.begin(), mine.end()));
  }
  Status barrier() override { return Status::ok(); }
  void abort(int, std::string_view) override {}
  Status health() override { return Status::ok(); }
  Status leave() override { return Status::ok(); }

 private:
  int npes_;
};

long resident_bytes() {
  long all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

// In a process of its own: what one before it has freed does not count.
Result<long> memory_among(const Options& options, int npes) {
  int ends[2];
  if (::pipe(ends) != 0) return Status::error(Code::kIo, "no pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    std::unique_ptr<Bootstrap> others = std::make_unique<Echo>(npes);
    const auto runtime = Runtime::Impl::create(std::move(others), options);
    const long bytes = resident_bytes();
    const bool told = ::write(ends[1], &bytes, sizeof bytes) == sizeof bytes;
    ::_exit(runtime && told ? 0 : 1);
  }
  ::close(ends[1]);
  long bytes = 0;
  const bool heard = ::read(ends[0], &bytes, sizeof bytes) == sizeof bytes;
  ::close(ends[0]);
  int status = 1;
  ::waitpid(child, &status, 0);
  if (child > 0 && heard && status == 0) return bytes;
  return Status::error(Code::kInternal, fmt::format("no runtime among {} PEs", npes));
}

Status run(const Options& options, int npes) {
  ASSIGN_OR_RETURN(const long few, memory_among(options, kFewPes));
  ASSIGN_OR_RETURN(const long many, memory_among(options, npes));
  const long each = (many - few) / (npes - kFewPes);
  fmt::print("{}: {} PEs take {} bytes, {} take {}: {} for each PE\n", options.transports, npes,
             many, kFewPes, few, each);
  if (each <= kMostBytes) return Status::ok();
  return Status::error(Code::kInternal, fmt::format("more than {} bytes for a PE", kMostBytes));
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  using weft::Options;
  int npes = 1024;
  const std::string text = argc > 1 ? argv[1] : "";
  const char* const end = text.data() + text.size();
  const bool is_number = argc < 2 || std::from_chars(text.data(), end, npes).ptr == end;
  if (!is_number || npes <= weft::kFewPes || argc > 2) {
    fmt::print(stderr, "usage: memory_scale [PES], more than {}\n", weft::kFewPes);
    return 2;
  }
  const weft::Result<Options> options = Options::from_environment();
  const weft::Status status = options ? weft::run(*options, npes) : options.status();
  if (!status.is_ok()) fmt::print(stderr, "memory_scale: {}\n", status.text());
  return status.is_ok() ? 0 : 1;
}
