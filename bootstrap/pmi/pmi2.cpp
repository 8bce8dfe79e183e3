// PMI-2 over the socket in PMI_FD: srun --mpi=pmi2, and MPICH's mpiexec (hydra) when asked.
#include <utility>

#include <fmt/format.h>

#include "bootstrap/pmi/connection.hpp"
#include "bootstrap/pmi/kvs_launcher.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"

namespace weft {
namespace {

constexpr double kGoodbye_s = 5;
// Every server takes 1024 characters with the zero at the end.
constexpr std::size_t kMostValue = 1023;

class Pmi2Launcher final : public pmi::KvsLauncher {
 public:
  explicit Pmi2Launcher(int fd) : connection_(fd) {}

  Status greet(int pe, const std::string& job, const Deadline& deadline);

  std::string_view name() const override { return "pmi2"; }
  int pe() const override { return pe_; }
  int npes() const override { return npes_; }
  bool one_host() const override { return one_host_; }

  // The protocol carries a text but no exit code: the launcher ends the job with one of its own.
  void abort(int code) override {
    const Status told = connection_.tell(
        {"abort", {{"isworld", "TRUE"}, {"msg", fmt::format("exit code {}", code)}}});
    if (!told.is_ok()) LOG(kDebug, "bootstrap", "abort: {}", told.text());
  }

  void finalize() override {
    const auto done = connection_.ask({"finalize", {}}, "finalize-response", Deadline(kGoodbye_s));
    if (!done) LOG(kInfo, "bootstrap", "{}", done.status().text());
  }

 protected:
  Status put(const std::string& key, const std::string& value, const Deadline& deadline) override {
    return connection_
        .ask({"kvs-put", {{"key", key}, {"value", value}}}, "kvs-put-response", deadline)
        .status();
  }

  Status fence(const Deadline& deadline) override {
    return connection_.ask({"kvs-fence", {}}, "kvs-fence-response", deadline).status();
  }

  Result<std::string> get(const std::string& key, const Deadline& deadline) override {
    return found(connection_.ask({"kvs-get", {{"jobid", job_}, {"srcid", "-1"}, {"key", key}}},
                                 "kvs-get-response", deadline),
                 key);
  }

  std::size_t most_value() const override { return kMostValue; }

 private:
  static Result<std::string> found(const Result<pmi::Message>& answer, std::string_view key) {
    RETURN_IF_ERROR(answer.status());
    if (answer->text("found") != "FALSE") return answer->text("value");
    return Status::error(Code::kIo, fmt::format("the launcher's store has no {}", key));
  }

  pmi::Connection connection_;
  std::string job_;
  int pe_ = -1;
  int npes_ = 0;
  bool one_host_ = false;
};

// The versions are agreed on in the form of PMI-1.
Status Pmi2Launcher::greet(int pe, const std::string& job, const Deadline& deadline) {
  ASSIGN_OR_RETURN(const pmi::Message version,
                   connection_.ask({"init", {{"pmi_version", "2"}, {"pmi_subversion", "0"}}},
                                   "response_to_init", deadline));
  if (version.number("pmi_version") != 2) {
    return Status::error(Code::kUnsupported,
                         fmt::format("the launcher speaks PMI {}, not 2; try WEFT_BOOTSTRAP=pmi1",
                                     version.text("pmi_version")));
  }
  connection_.set_form(pmi::Form::kCounted);
  pmi::Message hello{"fullinit", {{"pmirank", std::to_string(pe)}, {"threaded", "FALSE"}}};
  if (!job.empty()) hello.fields.insert(hello.fields.begin(), {"pmijobid", job});
  ASSIGN_OR_RETURN(const pmi::Message welcome,
                   connection_.ask(hello, "fullinit-response", deadline));
  pe_ = welcome.number("rank");
  npes_ = welcome.number("size");
  if (pe_ < 0 || pe_ >= npes_) {
    return Status::error(Code::kIo,
                         fmt::format("the launcher says that this is PE \"{}\" of \"{}\"",
                                     welcome.text("rank"), welcome.text("size")));
  }
  ASSIGN_OR_RETURN(const pmi::Message own,
                   connection_.ask({"job-getid", {}}, "job-getid-response", deadline));
  job_ = own.text("jobid");
  constexpr const char* kMapping = "PMI_process_mapping";
  const auto mapping = found(connection_.ask({"info-getjobattr", {{"key", kMapping}}},
                                             "info-getjobattr-response", deadline),
                             kMapping);
  one_host_ = mapping && pmi::maps_to_one_host(*mapping);
  return Status::ok();
}

}  // namespace

Result<std::unique_ptr<Launcher>> make_pmi2_launcher(int fd, int pe, const std::string& job,
                                                     const Deadline& deadline) {
  auto launcher = std::make_unique<Pmi2Launcher>(fd);
  RETURN_IF_ERROR(launcher->greet(pe, job, deadline));
  return std::unique_ptr<Launcher>(std::move(launcher));
}

}  // namespace weft
