// PMIx through the launcher's own client library: Open MPI's mpirun, srun --mpi=pmix.
#include "bootstrap/pmi/pmix.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "bootstrap/pmi/kvs_launcher.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"

namespace weft {
namespace {

Result<Dynlib> open_library(const Options& options) {
  std::vector<std::string> names = {"libpmix.so.2", "libpmix.so"};
  if (!options.pmix_library.empty()) names = {options.pmix_library};
  auto library = Dynlib::open(names);
  if (library) return library;
  return Status::error(
      Code::kUnsupported,
      fmt::format("the PMIx client library cannot be loaded: {}. Install it (Debian and Ubuntu: "
                  "libpmix2, Fedora: pmix), or name its file in WEFT_PMIX_LIBRARY",
                  library.status().text()));
}

// The end of a fence, which may outlast its caller's timeout.
struct Fence {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<pmix::Status> result;  // guarded by mutex
};

void fence_done(pmix::Status result, void* context) {
  const std::unique_ptr<std::shared_ptr<Fence>> owned(
      static_cast<std::shared_ptr<Fence>*>(context));
  Fence& fence = **owned;
  const std::lock_guard lock(fence.mutex);
  fence.result = result;
  fence.changed.notify_all();
}

class PmixLauncher final : public pmi::KvsLauncher {
 public:
  explicit PmixLauncher(pmix::Table table) : pmix_(table) {}

  Status greet();

  std::string_view name() const override { return "pmix"; }
  int pe() const override { return static_cast<int>(me_.rank); }
  int npes() const override { return npes_; }
  bool one_host() const override { return one_host_; }

  void abort(int code) override {
    const pmix::Status told = pmix_.abort(code, "a PE of Weft aborted the job", nullptr, 0);
    if (told != pmix::kSuccess) LOG(kDebug, "bootstrap", "abort: {}", pmix_.error_text(told));
  }

  void finalize() override {
    const pmix::Status done = pmix_.finalize(nullptr, 0);
    if (done != pmix::kSuccess) LOG(kInfo, "bootstrap", "{}", check(done, "Finalize").text());
  }

 protected:
  Status put(const std::string& key, const std::string& value, const Deadline&) override {
    std::string text = value;
    pmix::Value put{};
    put.type = pmix::kString;
    put.data.text = text.data();
    return check(pmix_.put(pmix::kGlobal, key.c_str(), &put), "Put");
  }

  Status fence(const Deadline& deadline) override;

  Result<std::string> get(const std::string& key, const Deadline&) override {
    ASSIGN_OR_RETURN(const pmix::Value* const value, value_of(0, key.c_str(), pmix::kString));
    return std::string(value->data.text);
  }

  std::size_t most_value() const override { return 4095; }

 private:
  Status check(pmix::Status result, const char* call) const {
    if (result == pmix::kSuccess) return Status::ok();
    return Status::error(Code::kIo,
                         fmt::format("PMIx_{}: {} ({})", call, pmix_.error_text(result), result));
  }
  // The value is the library's memory. It is little and is never freed, since how to free it
  // differs between versions.
  Result<const pmix::Value*> value_of(std::uint32_t rank, const char* key, std::uint16_t type);
  Result<int> count_of(const char* key);

  const pmix::Table pmix_;
  pmix::Process me_{};
  int npes_ = 0;
  bool one_host_ = false;
};

Status PmixLauncher::greet() {
  RETURN_IF_ERROR(check(pmix_.init(&me_, nullptr, 0), "Init"));
  ASSIGN_OR_RETURN(npes_, count_of(pmix::kJobSize));
  const auto here = count_of(pmix::kLocalSize);
  one_host_ = here && *here == npes_;
  return Status::ok();
}

Result<const pmix::Value*> PmixLauncher::value_of(std::uint32_t rank, const char* key,
                                                  std::uint16_t type) {
  pmix::Process process = me_;
  process.rank = rank;
  pmix::Value* value = nullptr;
  RETURN_IF_ERROR(check(pmix_.get(&process, key, nullptr, 0, &value), "Get"));
  if (value == nullptr || value->type != type) {
    return Status::error(Code::kIo, fmt::format("PMIx_Get: {} has type {} instead of {}", key,
                                                value == nullptr ? 0 : value->type, type));
  }
  return value;
}

Result<int> PmixLauncher::count_of(const char* key) {
  ASSIGN_OR_RETURN(const pmix::Value* const value,
                   value_of(pmix::kRankWildcard, key, pmix::kUint32));
  return static_cast<int>(value->data.number);
}

Status PmixLauncher::fence(const Deadline& deadline) {
  RETURN_IF_ERROR(check(pmix_.commit(), "Commit"));
  auto fence = std::make_shared<Fence>();
  // Read by the library until the fence is over, however long that takes.
  static const pmix::Info* const collect = [] {
    auto* const info = new pmix::Info{};
    std::strcpy(info->key, pmix::kCollectData);
    info->value.type = pmix::kBool;
    info->value.data.flag = true;
    return info;
  }();
  auto context = std::make_unique<std::shared_ptr<Fence>>(fence);
  RETURN_IF_ERROR(
      check(pmix_.fence(nullptr, 0, collect, 1, fence_done, context.get()), "Fence_nb"));
  (void)context.release();  // fence_done() owns it now
  std::unique_lock lock(fence->mutex);
  while (!fence->result) {
    if (deadline.expired()) {
      return Status::error(Code::kTimeout, fmt::format("waited {:.3g} s for the launcher's fence",
                                                       deadline.waited_seconds()));
    }
    const auto patience =
        std::chrono::milliseconds(deadline.is_never() ? 1000 : deadline.remaining_ms());
    fence->changed.wait_for(lock, patience);
  }
  return check(*fence->result, "Fence");
}

}  // namespace

Result<std::pair<Dynlib, pmix::Table>> pmix::load(const Options& options) {
  ASSIGN_OR_RETURN(Dynlib library, open_library(options));
  Table table{};
  RETURN_IF_ERROR(library.find("PMIx_Init", table.init));
  RETURN_IF_ERROR(library.find("PMIx_Finalize", table.finalize));
  RETURN_IF_ERROR(library.find("PMIx_Abort", table.abort));
  RETURN_IF_ERROR(library.find("PMIx_Put", table.put));
  RETURN_IF_ERROR(library.find("PMIx_Commit", table.commit));
  RETURN_IF_ERROR(library.find("PMIx_Fence_nb", table.fence));
  RETURN_IF_ERROR(library.find("PMIx_Get", table.get));
  RETURN_IF_ERROR(library.find("PMIx_Error_string", table.error_text));
  return std::pair(std::move(library), table);
}

Result<std::string> pmix::describe(const Options& options) {
  ASSIGN_OR_RETURN(const auto loaded, load(options));
  const char* (*version)() = nullptr;
  RETURN_IF_ERROR(loaded.first.find("PMIx_Get_version", version));
  std::string text = version();
  // "OpenPMIx 4.2.2, ..." or "OpenPMIx 4.2.2 (...": up to there.
  text.resize(std::min({text.size(), text.find(','), text.find(" (")}));
  return fmt::format("{} ({})", text, loaded.first.path());
}

Result<std::unique_ptr<Launcher>> make_pmix_launcher(const Options& options) {
  ASSIGN_OR_RETURN(const auto loaded, pmix::load(options));
  auto launcher = std::make_unique<PmixLauncher>(loaded.second);
  RETURN_IF_ERROR(launcher->greet());
  return std::unique_ptr<Launcher>(std::move(launcher));
}

}  // namespace weft
