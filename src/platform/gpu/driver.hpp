// The driver's library, loaded and started once per process.
#pragma once

#include <string>
#include <string_view>

#include <weft/status.hpp>

#include "src/platform/gpu/abi.hpp"

namespace weft::gpu {

class Driver {
 public:
  // `library` names the file; "": the system's. What succeeded once is kept for the process; a
  // failure is tried again.
  static Result<const Driver*> get(const std::string& library);

  const abi::Table& call() const { return table_; }
  // A driver without GPUs: kernels of the host's own code run in its streams instead.
  bool runs_on_host() const { return runs_on_host_; }
  // The failure of a call, in the driver's words, and how to mend it: "cannot map memory: cuMemMap:
  // CUDA_ERROR_... (...). ...". ok for kSuccess.
  Status check(abi::Error error, std::string_view function, std::string_view what) const {
    return error == abi::Error::kSuccess ? Status::ok() : failure(error, function, what);
  }
  // The driver does not survive fork(): an error in a child of the process that loaded it.
  Status check_process() const;

 private:
  Driver(const abi::Table& table, bool runs_on_host)
      : table_(table), runs_on_host_(runs_on_host), process_(process_uuid()) {}
  static Result<const Driver*> load(const std::string& library);
  Status failure(abi::Error error, std::string_view function, std::string_view what) const;

  abi::Table table_;
  bool runs_on_host_;
  Uuid process_;
};

}  // namespace weft::gpu
