// A job of one: nobody to wait for, nobody to lose.
#include <mutex>

#include <fmt/format.h>

#include "bootstrap/bootstrap.hpp"
#include "src/base/abort_text.hpp"
#include "src/base/status.hpp"

namespace weft {
namespace {

class SingleBootstrap final : public Bootstrap {
 public:
  std::string_view name() const override { return "single"; }
  int pe() const override { return 0; }
  int npes() const override { return 1; }

  Result<std::vector<Blob>> allgather(std::span<const std::byte> mine) override {
    RETURN_IF_ERROR(health());
    return std::vector<Blob>{Blob(mine.begin(), mine.end())};
  }

  Status barrier() override { return health(); }

  void abort(int code, std::string_view why) override {
    const std::lock_guard lock(mutex_);
    if (!aborted_.is_ok()) return;
    aborted_ = Status::error(Code::kAborted, fmt::format("PE 0 {}: {}", abort_text(code), why));
  }

  Status health() override {
    const std::lock_guard lock(mutex_);
    return aborted_;
  }

  Status leave() override { return health(); }

 private:
  std::mutex mutex_;
  Status aborted_;  // guarded by mutex_
};

}  // namespace

std::unique_ptr<Bootstrap> make_single_bootstrap() { return std::make_unique<SingleBootstrap>(); }

}  // namespace weft
