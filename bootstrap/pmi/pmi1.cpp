// PMI-1 over the socket in PMI_FD: MPICH's mpiexec (hydra), weft-run and many others.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "bootstrap/pmi/connection.hpp"
#include "bootstrap/pmi/kvs_launcher.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"

namespace weft {
namespace {

constexpr double kGoodbye_s = 5;
// Launchers read lines into buffers of 1024 bytes, whatever longer values they announce. A key of
// the KvsLauncher takes no more than kMostKey of these.
constexpr std::size_t kMostLine = 1024;
constexpr std::size_t kMostKey = 32;

class Pmi1Launcher final : public pmi::KvsLauncher {
 public:
  Pmi1Launcher(int fd, int pe, int npes) : connection_(fd), pe_(pe), npes_(npes) {}

  Status greet(const Deadline& deadline);

  std::string_view name() const override { return "pmi1"; }
  int pe() const override { return pe_; }
  int npes() const override { return npes_; }
  bool one_host() const override { return one_host_; }

  void abort(int code) override {
    const Status told = connection_.tell({"abort", {{"exitcode", std::to_string(code)}}});
    if (!told.is_ok()) LOG(kDebug, "bootstrap", "abort: {}", told.text());
  }

  void finalize() override {
    const auto done = connection_.ask({"finalize", {}}, "finalize_ack", Deadline(kGoodbye_s));
    if (!done) LOG(kInfo, "bootstrap", "{}", done.status().text());
  }

 protected:
  Status put(const std::string& key, const std::string& value, const Deadline& deadline) override {
    return connection_
        .ask({"put", {{"kvsname", store_}, {"key", key}, {"value", value}}}, "put_result", deadline)
        .status();
  }

  Status fence(const Deadline& deadline) override {
    return connection_.ask({"barrier_in", {}}, "barrier_out", deadline).status();
  }

  Result<std::string> get(const std::string& key, const Deadline& deadline) override {
    ASSIGN_OR_RETURN(
        const pmi::Message answer,
        connection_.ask({"get", {{"kvsname", store_}, {"key", key}}}, "get_result", deadline));
    return answer.text("value");
  }

  std::size_t most_value() const override { return most_value_; }

 private:
  pmi::Connection connection_;
  std::string store_;
  std::size_t most_value_ = 0;
  const int pe_;
  const int npes_;
  bool one_host_ = false;
};

Status Pmi1Launcher::greet(const Deadline& deadline) {
  RETURN_IF_ERROR(connection_
                      .ask({"init", {{"pmi_version", "1"}, {"pmi_subversion", "1"}}},
                           "response_to_init", deadline)
                      .status());
  ASSIGN_OR_RETURN(const pmi::Message maxes, connection_.ask({"get_maxes", {}}, "maxes", deadline));
  ASSIGN_OR_RETURN(const pmi::Message store,
                   connection_.ask({"get_my_kvsname", {}}, "my_kvsname", deadline));
  store_ = store.text("kvsname");
  // The limit counts the zero at the end.
  const int most = maxes.number("vallen_max") - 1;
  if (store_.empty() || most < 3) {
    return Status::error(Code::kIo,
                         fmt::format("the launcher's PMI-1 store \"{}\" takes values of {} "
                                     "characters, too few for anything",
                                     store_, most));
  }
  const std::string around =
      encode({"put", {{"kvsname", store_}, {"key", ""}, {"value", ""}}}, pmi::Form::kLine);
  if (around.size() + kMostKey + 3 > kMostLine) {
    return Status::error(Code::kIo, fmt::format("the name of the launcher's PMI-1 store is too "
                                                "long for a line: \"{}\"",
                                                store_.substr(0, 60)));
  }
  most_value_ = std::min(static_cast<std::size_t>(most), kMostLine - kMostKey - around.size());
  const auto mapping = get("PMI_process_mapping", deadline);
  one_host_ = mapping && pmi::maps_to_one_host(*mapping);
  return Status::ok();
}

}  // namespace

Result<std::unique_ptr<Launcher>> make_pmi1_launcher(int fd, int pe, int npes,
                                                     const Deadline& deadline) {
  auto launcher = std::make_unique<Pmi1Launcher>(fd, pe, npes);
  if (pe < 0 || pe >= npes) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("PMI_RANK is {} and PMI_SIZE is {} (-1: not set, or no number), but the "
                    "launcher that left PMI_FD must have set both",
                    pe, npes));
  }
  RETURN_IF_ERROR(launcher->greet(deadline));
  return std::unique_ptr<Launcher>(std::move(launcher));
}

}  // namespace weft
